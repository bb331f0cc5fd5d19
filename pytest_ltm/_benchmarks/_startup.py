"""`startup`: what the installed plugin costs a pytest run that does not use it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from pytest_ltm._benchmarks._process import pytest_run

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
            extra = [(used - bare) * 1000 for used, bare in pairs]
            low, _, high = quantiles(extra, n=4)
            bare = median(bare for _, bare in pairs) * 1000
            yield (
                f"{len(pairs)} pairs: {median(extra):+.1f} ms (middle half {low:+.1f} to {high:+.1f}) "
                f"on {bare:.0f} ms without the plugin"
            )


def _pair(folder: Path, *, with_first: bool) -> tuple[float, float]:
    """Return the seconds with the plugin and without it."""
    seconds = {plugin: pytest_run(folder, _words(plugin=plugin)).seconds for plugin in (with_first, not with_first)}
    return seconds[True], seconds[False]


def _words(*, plugin: bool) -> list[str]:
    return [] if plugin else ["-p", "no:ltm"]
