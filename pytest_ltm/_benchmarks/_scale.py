"""`scale`: how time and peak memory grow with the length of the conversation."""

from __future__ import annotations

from math import log
from statistics import median
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._recorded import converse

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 10_000_000
"""Tokens of the longest conversation; the others have a tenth and a hundredth."""
SPANS = 2.7
"""So many spans make a conversation of the suite `standard`: three examples in a row, 90 % of a span each."""


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield a line for each length, then the slopes: the exponent of the growth, 1 being linear."""
    points = []
    for tokens in (size // 100, size // 10, size):
        runs = [converse(max(2_000, round(tokens / SPANS))) for _ in range(repeats)]
        seconds = median(run.cost.cpu_seconds for run in runs)
        megabytes = median(run.cost.megabytes for run in runs)
        points.append((runs[0].tokens, seconds, megabytes))
        yield f"{runs[0].tokens:,} tokens: {seconds:.2f} s, peak {megabytes:.0f} MB"
    (low, *before), (high, *after) = points[-2:]
    growth = [(later - earlier) / (high - low) * 1e6 for earlier, later in zip(before, after, strict=True)]
    slopes = [log(later / earlier) / log(high / low) for earlier, later in zip(before, after, strict=True) if earlier]
    yield f"each further million tokens: {growth[0]:.2f} s, {growth[1]:.1f} MB"
    yield "slopes of the last tenfold (1 is linear): " + ", ".join(f"{slope:.2f}" for slope in slopes)
