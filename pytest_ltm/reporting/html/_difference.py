"""Whether the difference between two series is real: the comparison of `_statistics`, in points of the total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._statistics import ALPHA, ScoredRow, compare, paired

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ltm.reporting.html._material import Row, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one series has over another, on the examples in which both have a score."""

    gain: float
    """In points: sum over scenarios of the mean difference of their examples."""
    p: float | None
    """How often series that are equally good differ at least as much; None where it cannot be told."""
    pairs: int
    """Examples in which both have a score."""
    better: int
    worse: int
    reason: str
    """Why it cannot be told; "" where it can."""

    @property
    def real(self) -> bool:
        """Whether chance alone would hardly make it."""
        return self.p is not None and self.p <= ALPHA


def difference(one: Series, other: Series) -> Difference | None:
    """Return what `one` has over `other`; None if they share no example with a score."""
    pairs = paired(_rows(other.rows), _rows(one.rows)).pairs
    if not pairs:
        return None
    found = compare(pairs, alpha=ALPHA / 2)
    scenarios = len({pair.scenario for pair in pairs})
    return Difference(
        gain=scenarios * (found.difference or 0.0),
        p=found.p,
        pairs=found.pairs,
        better=found.better,
        worse=found.worse,
        reason=found.reason,
    )


def _rows(rows: Iterable[Row]) -> Iterator[ScoredRow]:
    """Yield the rows without their spans: series of two spans can be compared, too."""
    for row in rows:
        each = row.result
        yield ScoredRow(
            scenario=each.scenario, example=each.example, span_label="", trial=each.trial,
            score=each.score, pass_mark=each.pass_mark,
        )  # fmt: skip
