"""`startup`: what the installed plugin costs a pytest run that does not use it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._process import Cost, pytest_run

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 30
"""Pairs of runs."""


def measure(size: int, repeats: int) -> Iterator[str]:
    """Yield the median difference of pairs: with the plugin and with `-p no:ltm`, each first every other time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
        pytest_run(folder, [])  # warms the caches of files and bytecode
        for _ in range(repeats):
            pairs = [_pair(folder, with_first=bool(number % 2)) for number in range(max(2, size))]
            bare = median(bare.seconds for _, bare in pairs) * 1000
            yield (
                f"{len(pairs)} pairs, {bare:.0f} ms without the plugin. With it: "
                f"{_extra([(used.seconds, bare.seconds) for used, bare in pairs])} on the wall, "
                f"{_extra([(used.cpu_seconds, bare.cpu_seconds) for used, bare in pairs])} of the processor"
            )


def _pair(folder: Path, *, with_first: bool) -> tuple[Cost, Cost]:
    """Return the cost with the plugin and without it."""
    words: dict[bool, list[str]] = {True: [], False: ["-p", "no:ltm"]}
    costs = {plugin: pytest_run(folder, words[plugin]) for plugin in (with_first, not with_first)}
    return costs[True], costs[False]


def _extra(pairs: list[tuple[float, float]]) -> str:
    """Return the median of the differences and their middle half, in milliseconds."""
    low, middle, high = quantiles(((used - bare) * 1000 for used, bare in pairs), n=4)
    return f"{middle:+.1f} ms (middle half {low:+.1f} to {high:+.1f})"
