"""Measures of a memory's work: one entry each for tables, summaries, exports and gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from msgspec import Struct

from pytest_ltm.api.journal import FactMemory, MemoryResult, ScenarioResult
from pytest_ltm.figures.text import NOTHING, shorten_text


class MemoryMeasure(Struct, frozen=True, kw_only=True):
    """A share or mean over the facts, questions or records of all examples."""

    name: str
    label: str
    definition: str
    words: str = ""
    """The name used by gates; "" if no rule can use it."""
    pair: Callable[[MemoryResult], tuple[float, int]]
    """Returns the numerator and denominator for one example."""
    unit: str = "share"
    higher_is_better: bool = True

    def of_rows(self, rows: Iterable[ScenarioResult]) -> float | None:
        """Return the measure over examples; None if it is known for none."""
        total = 0.0
        count = 0
        for row in rows:
            if row.memory is not None:
                numerator, denominator = self.pair(row.memory)
                total += numerator
                count += denominator
        return total / count if count else None


def _facts(
    change: str, keep: Callable[[FactMemory], bool]
) -> Callable[[MemoryResult], tuple[float, int]]:
    def pair(result: MemoryResult) -> tuple[float, int]:
        # unknown outcomes, such as a value that a memory may have reworded, are not
        # misses
        facts = [fact for fact in result.facts if fact.known and fact.change == change]
        return sum(map(keep, facts)), len(facts)

    return pair


def _sum_lags(result: MemoryResult) -> tuple[int, int]:
    lags = [fact.lag for fact in result.facts if fact.lag is not None]
    return sum(lags), len(lags)


def _count_found(result: MemoryResult) -> tuple[int, int]:
    ranks = [fact.rank for fact in result.facts if fact.rank is not None]
    return sum(rank > 0 for rank in ranks), len(ranks)


def _is_written(fact: FactMemory) -> bool:
    return fact.lag is not None


MEASURES = (
    MemoryMeasure(
        name="kept",
        words="the share of facts that memory kept",
        label="kept",
        pair=_facts("new", _is_written),
        definition="share of the facts told whose value got into a record",
    ),
    MemoryMeasure(
        name="updated",
        words="the share of changes that memory kept",
        label="updated",
        pair=_facts("update", _is_written),
        definition="share of the facts that replaced an earlier value whose new value got into a record",
    ),
    MemoryMeasure(
        name="found",
        words="the share of facts that memory found",
        label="found",
        pair=_count_found,
        definition="share of the facts in memory, when a question needed them, that were found for it",
    ),
    MemoryMeasure(
        name="stale_served",
        words="the share of questions served old values",
        label="stale served",
        pair=lambda result: result.stale,
        higher_is_better=False,
        definition="share of the questions on a replaced value for which the old value was found",
    ),
    MemoryMeasure(
        name="deleted_served",
        words="the share of questions served deleted values",
        label="deleted served",
        pair=lambda result: result.deleted,
        higher_is_better=False,
        definition="share of the questions on a withdrawn or deleted value for which it was found",
    ),
    MemoryMeasure(
        name="duplicated",
        words="the share of facts that memory has twice",
        label="duplicated",
        pair=lambda result: result.duplicated,
        higher_is_better=False,
        definition="share of the facts told again that then stood in more than one record",
    ),
    MemoryMeasure(
        name="invented",
        words="the share of invented records",
        label="invented",
        pair=lambda result: result.invented,
        higher_is_better=False,
        definition="share of the records written during scenarios that hold a name or number never said",
    ),
    MemoryMeasure(
        name="lag",
        label="written after",
        unit="ratio",
        higher_is_better=False,
        pair=_sum_lags,
        definition="mean number of exchanges until a record held the value of a fact",
    ),
    MemoryMeasure(
        name="writes",
        label="writes a message",
        pair=lambda result: result.writes,
        unit="ratio",
        higher_is_better=False,
        definition="records added, changed and deleted per exchange of a scenario",
    ),
)


# The steps from telling to answering at which a mark may be lost.
PLACES = ("never written", "written, not found", "found, not used")


def count_facts(rows: Iterable[ScenarioResult]) -> int | None:
    """Return the number of facts whose fate is known; None if no memory is known."""
    # an unknown memory is not an empty one
    memories = [row.memory for row in rows if row.memory is not None]
    if not memories:
        return None
    facts = chain.from_iterable(memory.facts for memory in memories)
    return sum(fact.known for fact in facts)


def count_lost(rows: Sequence[ScenarioResult]) -> Counter[str]:
    """Return the number of examples that lost marks at each step from telling to answering."""
    lost = Counter[str]()
    for row in rows:
        if row.memory is not None and row.memory.lost:
            lost[row.memory.lost] += 1
    return lost


def needle_rows(rows: Iterable[ScenarioResult]) -> list[tuple[str, ...]]:
    """Return a row per fact: its example, the fact, whether it was written and found, and its score."""
    rows_of_facts: list[tuple[str, ...]] = []
    for row in rows:
        for fact in row.memory.facts if row.memory is not None else ():
            if fact.subject:
                fact_text = f"{fact.subject}: {fact.value or 'withdrawn'}"
            else:
                fact_text = fact.value
            lag = {None: "never", 0: "at once"}.get(
                fact.lag, f"after {fact.lag} exchanges"
            )
            if fact.change == "withdrawal":
                written = NOTHING
            elif fact.known:
                written = lag
            else:
                written = "in other words"
            found = {None: NOTHING, 0: "no"}.get(fact.rank, f"at rank {fact.rank}")
            earned = NOTHING if row.score is None else f"{row.score:.2f}"
            text = f"#{fact.needle} {shorten_text(fact_text, _LONGEST)}"
            loss = row.memory.lost if row.memory else ""
            rows_of_facts.append(
                (f"{row.agent} {row.id}", text, written, found, earned, loss or NOTHING)
            )
    return rows_of_facts


_LONGEST = 120
