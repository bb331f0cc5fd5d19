"""Where needles were told, and in how long a conversation: the heat map of needle tests, from any run."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._results.statistics import grouped, mean
from pytest_ltm._results.text import counted, score_text
from pytest_ltm.reporting.html.charts import Shaded, shade

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_ltm._journal.fold import ConversationRecord
    from pytest_ltm.reporting.html.breaking_points import Breaks
    from pytest_ltm.reporting.html.report_data import ExampleEntry, Material

BANDS = 10
"""So many rows a conversation has, from its beginning to the question."""
_UNIT = 1_000
"""In tokens: shorter distances have one row or column together."""


class DepthSpot(NamedTuple):
    """An example with a score: where the nearest needle of its last question was told."""

    agent: str
    length: int
    """Of the conversation before the question, as `power` has it."""
    band: int
    """The share of it before the needle, in steps of 1 / BANDS."""
    row: ExampleEntry
    score: float


class Depths(NamedTuple):
    """The heat map of one agent."""

    agent: str
    heads: Sequence[str]
    """Lengths of the conversation."""
    rows: Sequence[tuple[str, Sequence[Shaded | None]]]
    """From its beginning to its end; None: there is no such example."""


def asked_at(rows: Iterable[ExampleEntry], record: ConversationRecord) -> dict[int, int]:
    """Return how many tokens came before the last question of each example that has a score and a needle, by key."""
    wanted = [row for row in rows if row.result.questions and row.result.gap is not None and row.result.scored]
    asked = {row.key: record.exchange(row.result.questions[-1].number) for row in wanted}
    return {key: question.start for key, question in asked.items() if question}


def spots(found: Material, asked: Mapping[int, int]) -> Iterator[DepthSpot]:
    """Yield the examples of which it is known where they asked."""
    for row in found.rows:
        start, gap, score = asked.get(row.key), row.result.gap, row.result.score
        if start is not None and gap is not None and score is not None:
            band = min(BANDS * max(start - gap, 0) // max(start, 1), BANDS - 1)
            yield DepthSpot(found.series[row.series].agent, power(start), band, row, score)


def power(tokens: int) -> int:
    """Return the nearest power of two thousands of tokens, as an exponent; -1 for what is shorter."""
    return max(round(log2(max(tokens, 1) / _UNIT)), -1)


def size(power: int) -> str:
    """Return `32k` for 5."""
    if power < 0:
        return f"< {_UNIT // 1_000}k"
    return f"{2**power}k" if power < 10 else f"{2 ** (power - 10)}M"


def share(band: int) -> str:
    """Return `30 %` for 3."""
    return f"{100 * band // BANDS} %"


def depths(found: Material, asked: Mapping[int, int], order: Sequence[Breaks], shown: Collection[int]) -> list[Depths]:
    """Return the heat maps of the agents under test, in the order of where they break.

    Nothing where all needles lie in one square. `shown`: the examples that a square can open.
    """
    there = list(spots(found, asked))
    lengths = sorted({spot.length for spot in there})
    if len({(spot.length, spot.band) for spot in there}) < 2:
        return []
    by_square = grouped(there, lambda spot: (spot.agent, spot.length, spot.band))
    known = {spot.agent for spot in there}
    return [
        Depths(
            one.agent,
            [*map(size, lengths)],
            [
                (share(band), [_square(by_square.get((one.agent, length, band), []), shown) for length in lengths])
                for band in range(BANDS)
            ],
        )
        for one in order
        if one.tested and one.agent in known
    ]


def _square(here: Sequence[DepthSpot], shown: Collection[int]) -> Shaded | None:
    score = mean([spot.score for spot in here])
    if score is None:
        return None
    agent, length, band, *_ = here[0]
    worst = min((spot for spot in here if spot.row.key in shown), key=lambda spot: spot.score, default=None)
    number = counted(len(here), "example")
    return Shaded(
        text=score_text(score),
        more=f"{len(here):,}",
        shade=shade(score),
        title=f"{agent}, needle after {share(band)} of {size(length)} tokens: {number}",
        link=worst and worst.row.key,
    )
