"""Sums over LongMemEval verdicts, as the published script makes them (`print_qa_metrics`).

Abstention questions count in their type, too. The task average is the mean over the types' accuracies, whatever their
sizes. Rows that nobody could judge are in no mean and are counted beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.longmemeval._schema import TYPES, is_abstention

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Judged:
    """One question's verdict."""

    question_id: str
    type: str
    right: bool | None
    """None: nobody could tell."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share that is right of the questions that were judged."""

    right: int
    judged: int
    unscored: int

    @property
    def value(self) -> float | None:
        """0 to 1; None where nothing was judged."""
        return self.right / self.judged if self.judged else None

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"accuracy": self.value, "right": self.right, "judged": self.judged, "unscored": self.unscored}


@dataclass(frozen=True, slots=True)
class Aggregates:
    """All sums over one set of verdicts."""

    by_type: dict[str, Accuracy]
    overall: Accuracy
    abstention: Accuracy

    @property
    def task_averaged(self) -> float | None:
        """The mean of the types' accuracies; None where nothing was judged."""
        values = [one.value for one in self.by_type.values() if one.value is not None]
        return sum(values) / len(values) if values else None


def aggregate(rows: Sequence[Judged]) -> Aggregates:
    """Return the sums; types in the order in which the paper lists them."""
    types = [name for name in TYPES if any(row.type == name for row in rows)]
    return Aggregates(
        by_type={name: _accuracy(row for row in rows if row.type == name) for name in types},
        overall=_accuracy(rows),
        abstention=_accuracy(row for row in rows if is_abstention(row.question_id)),
    )


def _accuracy(rows: Iterable[Judged]) -> Accuracy:
    verdicts = [row.right for row in rows]
    unscored = verdicts.count(None)
    return Accuracy(verdicts.count(True), len(verdicts) - unscored, unscored)
