"""`longmemeval-export`, a run's answers as the official file; `longmemeval-retrieval`, how well it retrieved."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_ltm._journal.run_file import find_run
from pytest_ltm._results.run_loading import read_run
from pytest_ltm._storage.disk import write_whole
from pytest_ltm._storage.errors import ConfigurationError, DatasetError
from pytest_ltm._storage.rows import json_of
from pytest_ltm._storage.sanitize import for_file
from pytest_ltm._storage.schema import Field
from pytest_ltm.datasets.longmemeval.retrieval import DEPTHS, RetrievalMetrics, figures, retrieval, turns_as_sessions

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_ltm._journal.result import ScenarioResult
    from pytest_ltm._results.run_loading import ConversationFolder, LoadedRun


LEVELS = ("session", "turn")
METRICS = ("recall_any", "recall_all", "ndcg_any", "ndcg")


def _chosen(run: LoadedRun, given: Namespace) -> list[ConversationFolder]:
    """Return the conversations of one agent in one trial; ConfigurationError where it is not clear which."""
    agent = _only("--agent", given.agent, dict.fromkeys(each.result.agent for each in run.conversations))
    held = [each for each in run.conversations if each.result.agent == agent]
    trial = _only("--trial", given.trial, dict.fromkeys(each.result.name.planned.trial for each in held))
    return [each for each in held if each.result.name.planned.trial == trial]


def _only(flag: str, wanted: str, known: Iterable[str]) -> str:
    names = list(known)
    if wanted in names:
        return wanted
    if not wanted and len(names) == 1:
        return names[0]
    what = f"{wanted!r} is not one of them" if wanted else "say whose"
    raise ConfigurationError(f"{flag}: {what}. There are {', '.join(names)}")


def _asked(held: Iterable[ConversationFolder]) -> Iterator[tuple[ConversationFolder, ScenarioResult, dict[str, Any]]]:
    """Yield the results that are about LongMemEval questions, with what their definitions say of them."""
    for each in held:
        for row in each.result.scenarios:
            path = each.path / "definitions" / row.scenario / f"{row.example}.def.json"
            try:
                facts = json.loads(path.read_bytes())["parameters"]
            except (OSError, ValueError, KeyError, TypeError):
                continue
            if isinstance(facts, dict) and {"id", "type", "ability"} <= facts.keys():
                yield each, row, facts


# --- longmemeval-export


def export(given: Namespace) -> int:
    """Write one line for each answered question; say on stderr how many there are, and how many have no answer."""
    run = read_run(find_run(given.run, given.ltm_dir))
    found = [
        {"question_id": str(facts["id"]), "hypothesis": row.questions[-1].answer if row.questions else None}
        for _, row, facts in _asked(_chosen(run, given))
    ]
    if not found:
        raise DatasetError(f"{run.path}: holds no LongMemEval questions")
    lines = [json.dumps(row) + "\n" for row in found if row["hypothesis"] is not None]
    if given.output is None:
        sys.stdout.writelines(lines)
    else:
        write_whole(given.output, for_file("".join(lines)))
    missing = len(found) - len(lines)
    sys.stderr.write(f"{len(lines):,} answers" + (f", {missing:,} questions without one" if missing else "") + "\n")
    return 0


# --- longmemeval-retrieval


def measure(given: Namespace) -> int:
    """Print the metrics of every ranking at every k as JSON; of a run their means as a table, or all as JSON."""
    if Path(given.run).is_file():
        rows = [_row(one, turns=given.turns) for one in _rankings(Path(given.run))]
        sys.stdout.write(json.dumps({"rows": rows}, indent=2) + "\n")
        return 0
    found = _of_run(read_run(find_run(given.run, given.ltm_dir)), given)
    means = {name: fmean(metrics[name] for metrics in found.values()) for name in next(iter(found.values()))}
    if given.json:
        listed = [{"question_id": name, "metrics": metrics} for name, metrics in found.items()]
        sys.stdout.write(json.dumps({"questions": len(found), "means": means, "rows": listed}, indent=2) + "\n")
    else:
        sys.stdout.write(_table(means, len(found)))
    return 0


def _of_run(run: LoadedRun, given: Namespace) -> dict[str, dict[str, float]]:
    """Return the metrics (such as `session_recall_any_5`) of one agent's questions that have something to find.

    Left out are, as published, those that cannot be answered and those without a marked turn of the user's.
    DatasetError where no question is left, or the agent does not tell what it retrieved.
    """
    found = {}
    for each in _chosen(run, given):
        record = each.record()
        for _, row, facts in _asked([each]):
            asked = record.exchange(row.questions[-1].number) if record and row.questions else None
            if asked is not None and asked.retrieved is not None and facts.get("wanted_turns"):
                found[facts["id"]] = figures(asked.retrieved, facts["wanted_turns"], facts.get("user_turns", {}))
    if not found:
        raise DatasetError(
            f"{run.path}: no answer to a LongMemEval question with marked evidence says what was retrieved: the agent "
            "needs a method retrieved()"
        )
    return found


def _table(means: dict[str, float], questions: int) -> str:
    """Return the means as text: a line for each metric, a column for each k."""
    lines = [f"{f'{questions:,} questions, k =':<24}" + "".join(f"{k:>8}" for k in DEPTHS)]
    for level in LEVELS:
        for metric in METRICS:
            cells = "".join(f"{means[f'{level}_{metric}_{k}']:>8.3f}" for k in DEPTHS)
            lines.append(f"{f'{level} {metric}':<24}{cells}")
    return "\n".join(lines) + "\n"


def _rankings(path: Path) -> list[dict[str, Field]]:
    needed = ("corpus_ids", "correct_docs", "rankings")
    return [item.mapping(required=needed) for item in Field(json_of(path), str(path)).items("rankings")]


def _row(fields: dict[str, Field], *, turns: bool) -> dict[str, Any]:
    corpus = fields["corpus_ids"].texts()
    gold = frozenset(fields["correct_docs"].texts())
    places = [item.whole() for item in fields["rankings"].items("places in corpus_ids")]
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
    metric: Callable[..., RetrievalMetrics], ranked: Sequence[str], corpus: Sequence[str], gold: frozenset[str]
) -> dict[str, dict[str, float]]:
    return {str(k): asdict(metric(ranked, corpus, gold, k)) for k in DEPTHS}
