"""Measuring a judge: what it said about each labelled answer, and the rates that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._judge import Decision, decide
from pytest_ltm._score import Unscored
from pytest_ltm._statistics import Interval, wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._judge import AnsweredBy
    from pytest_ltm._judge_check._labelled import Labelled
    from pytest_ltm._statistics._agreement import Kappa


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled answer and what the judge made of it."""

    item: Labelled
    passed: bool | None
    """None: the judge could not tell, or failed."""
    reason: str
    """Why it could not; else the judge's reply."""
    failed: bool = False
    """The judge failed, which says nothing about its judgement."""

    @property
    def wrong(self) -> bool:
        """Whether the judge said the opposite of the label."""
        return self.passed is not None and self.passed is not self.item.passes


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, with the 95 % interval of Wilson (1927)."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval:
        """Where the share lies, each answer taken for independent of the others."""
        return wilson(self.count, self.of)


def judge_all(items: Iterable[Labelled], ask: AnsweredBy, *, votes: int) -> list[Judged]:
    """Return what the judge makes of each answer, asked one after the other."""
    return [_judged(item, decide(ask, item.inquiry, votes=votes)) for item in items]


def _judged(item: Labelled, decision: Decision | Unscored) -> Judged:
    if isinstance(decision, Unscored):
        return Judged(item, None, decision.reason, failed=decision.cause == "judge")
    return Judged(item, decision.grade != item.inquiry.fail, decision.reply)


def wrong_of(rows: Sequence[Judged], kind: str) -> Rate:
    """Return how often the judge was wrong about a kind of answer, among those that it judged."""
    mine = [row for row in rows if row.item.kind == kind and row.passed is not None]
    return Rate(sum(row.wrong for row in mine), len(mine))


def false_passes(rows: Sequence[Judged]) -> Rate:
    """Return how often the judge passed an answer that is wrong."""
    return _rate(rows, passes=False)


def false_fails(rows: Sequence[Judged]) -> Rate:
    """Return how often the judge failed an answer that is right."""
    return _rate(rows, passes=True)


def unscored(rows: Sequence[Judged]) -> Rate:
    """Return how often the judge gave no grade."""
    return Rate(sum(row.passed is None for row in rows), len(rows))


def kappa_of(rows: Sequence[Judged]) -> Kappa:
    """Return Cohen's kappa of labels and judge, over the answers that it judged."""
    from pytest_ltm._statistics._agreement import kappa  # noqa: PLC0415 - only this needs it

    table = [[0, 0], [0, 0]]
    for row in rows:
        if row.passed is not None:
            table[row.item.passes][row.passed] += 1
    return kappa(table)


def _rate(rows: Sequence[Judged], *, passes: bool) -> Rate:
    mine = [row for row in rows if row.item.passes is passes and row.passed is not None]
    return Rate(sum(row.wrong for row in mine), len(mine))
