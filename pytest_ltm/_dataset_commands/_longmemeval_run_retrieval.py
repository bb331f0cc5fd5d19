"""The published retrieval metrics of a run: what its agent said that it retrieved for each question."""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_ltm import _journal
from pytest_ltm._dataset_commands._longmemeval_export import chosen, facts_of
from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.longmemeval._retrieval import DEPTHS
from pytest_ltm.datasets.longmemeval._retrieved import figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.reporting._run_folder import ConversationFolder, Run

LEVELS = ("session", "turn")
METRICS = ("recall_any", "recall_all", "ndcg_any", "ndcg")


@dataclass(frozen=True, slots=True)
class Found:
    """One question with something to find, and the metrics of what was retrieved for it."""

    question_id: str
    metrics: dict[str, float]
    """By name, such as `session_recall_any_5`."""


def retrieval_of(run: Run, agent: str, trial: str) -> list[Found]:
    """Return the metrics of one agent's questions that have something to find.

    Left out are, as published, those that cannot be answered and those without a marked turn of the user's.
    DatasetError where no question is left, or the agent does not tell what it retrieved.
    """
    found = [one for each in chosen(run, agent, trial) for one in _of(each)]
    if not found:
        raise DatasetError(
            f"{run.path}: no answer to a LongMemEval question with marked evidence of which the agent says what it "
            "retrieved: it needs a method retrieved()"
        )
    return found


def _of(each: ConversationFolder) -> Iterator[Found]:
    shown = _retrieved(each)
    for row in each.result.scenarios:
        facts = facts_of(each.path, row)
        if facts is None or not facts.get("wanted_turns") or not row.questions:
            continue
        retrieved = shown.get(row.questions[-1].number)
        if retrieved is not None:
            yield Found(facts["id"], figures(retrieved, facts["wanted_turns"], facts.get("user_turns", {})))


def _retrieved(each: ConversationFolder) -> dict[int, Sequence[str]]:
    """Return what was retrieved by the number of the exchange; nothing where the agent does not tell."""
    path = each.path / "journal.jsonl"
    if not path.is_file():
        return {}
    events = (event for event in _journal.read(path) if event["event"] == "reply")
    return {event["exchange"]: event["retrieved"] for event in events if "retrieved" in event}


def means(found: Sequence[Found]) -> dict[str, float]:
    """Return the mean of each metric over the questions."""
    return {name: fmean(one.metrics[name] for one in found) for name in found[0].metrics}


def as_json(found: Sequence[Found]) -> str:
    """Return means and rows as JSON text."""
    rows: list[dict[str, Any]] = [{"question_id": one.question_id, "metrics": one.metrics} for one in found]
    return json.dumps({"questions": len(found), "means": means(found), "rows": rows}, indent=2) + "\n"


def table(found: Sequence[Found]) -> str:
    """Return the means as text: a line for each metric, a column for each k."""
    averages = means(found)
    lines = [f"{f'{len(found):,} questions, k =':<24}" + "".join(f"{k:>8}" for k in DEPTHS)]
    for level in LEVELS:
        for metric in METRICS:
            cells = "".join(f"{averages[f'{level}_{metric}_{k}']:>8.3f}" for k in DEPTHS)
            lines.append(f"{f'{level} {metric}':<24}{cells}")
    return "\n".join(lines) + "\n"
