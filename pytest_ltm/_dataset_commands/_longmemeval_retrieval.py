"""`longmemeval-retrieval`: the official retrieval metrics of a file of rankings, or of a run."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._dataset_commands._longmemeval_run_retrieval import as_json, retrieval_of, table
from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._retrieval import DEPTHS, Retrieval, retrieval, turns_as_sessions
from pytest_ltm.reporting._run_folder import find_run, read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(argv: Sequence[str]) -> int:
    """Print the metrics of every ranking at every k as JSON; of a run their means as a table, or all as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-retrieval",
        description="recall_any, recall_all and ndcg_any as published, and the standard nDCG.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("file", type=Path, nargs="?", help="a JSON list of {corpus_ids, correct_docs, rankings}")
    which.add_argument("--run", help="a run's id or folder, or 'latest': what its agent said that it retrieved")
    parser.add_argument("--agent", default="", metavar="LABEL", help="whose, in a run of several agents")
    parser.add_argument("--trial", default="", metavar="N", help="of which trial, in a run of several")
    parser.add_argument("--ltm-dir", default=Path(".ltm"), type=Path, metavar="DIR", help="where run folders are")
    parser.add_argument(
        "--turns", action="store_true", help="the ids are turns (<session>_<turn>): give the metrics over sessions, too"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; of a file of rankings it is always printed")
    given = parser.parse_args(argv)
    if given.run is not None:
        found = retrieval_of(read_run(find_run(given.run, given.ltm_dir)), given.agent, given.trial)
        sys.stdout.write(as_json(found) if given.json else table(found))
        return 0
    vectors = _read(given.file)
    sys.stdout.write(json.dumps({"rows": [_row(one, turns=given.turns) for one in vectors]}, indent=2) + "\n")
    return 0


def _read(path: Path) -> list[dict[str, Field]]:
    try:
        top = Field(json.loads(path.read_bytes()), str(path))
        needed = ("corpus_ids", "correct_docs", "rankings")
        return [item.mapping(required=needed) for item in top.items("rankings")]
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: not JSON: {error}") from error
    except DefinitionError as error:
        raise DatasetError(str(error)) from error


def _row(fields: dict[str, Field], *, turns: bool) -> dict[str, Any]:
    try:
        corpus = fields["corpus_ids"].texts()
        gold = frozenset(fields["correct_docs"].texts())
        places = [item.whole() for item in fields["rankings"].items("places in corpus_ids")]
    except DefinitionError as error:
        raise DatasetError(str(error)) from error
    beyond = next((place for place in places if place >= len(corpus)), None)
    if beyond is not None:
        raise DatasetError(
            f"{fields['rankings'].where}: {fields['rankings'].path}: there is no id {beyond} in corpus_ids"
        )
    ranked = [corpus[place] for place in places]
    row: dict[str, Any] = {"metrics": _at_depths(retrieval, ranked, corpus, gold)}
    if turns or "turn2session" in fields:
        row["turn2session"] = _at_depths(turns_as_sessions, ranked, corpus, gold)
    return row


def _at_depths(
    metric: Callable[[Sequence[str], Sequence[str], frozenset[str], int], Retrieval],
    ranked: Sequence[str],
    corpus: Sequence[str],
    gold: frozenset[str],
) -> dict[str, dict[str, float]]:
    return {str(k): asdict(metric(ranked, corpus, gold, k)) for k in DEPTHS}
