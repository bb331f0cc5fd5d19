"""`longmemeval-retrieval`: the official retrieval metrics of a file of rankings."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._retrieval import DEPTHS, Retrieval, retrieval, turns_as_sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(argv: Sequence[str]) -> int:
    """Print the metrics of every ranking at every k, and their means, as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-retrieval",
        description="recall_any, recall_all and ndcg_any as published, and the standard nDCG, as JSON.",
    )
    parser.add_argument("file", type=Path, help="a JSON list of {corpus_ids, correct_docs, rankings}")
    parser.add_argument(
        "--turns", action="store_true", help="the ids are turns (<session>_<turn>): give the metrics over sessions, too"
    )
    parser.add_argument("--json", action="store_true", help="accepted for symmetry: JSON is what is always printed")
    given = parser.parse_args(argv)
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
