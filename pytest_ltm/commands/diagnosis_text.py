"""The layout of a diagnosis for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_ltm.api.storage import one_line
from pytest_ltm.figures.text import wrap_text

_KILO = 1e3
_MEGA = 1e6


def problem_lines(problems: Sequence[str]) -> list[str]:
    """Return the problems, or a line that there are none."""
    if not problems:
        return ["nothing is wrong"]
    return ["what is wrong:", *(f"  - {problem}" for problem in problems)]


def size_text(size: int) -> str:
    """Return a number of bytes as `512 B`, `12 kB` or `3.4 MB`."""
    if size < _KILO:
        return f"{size} B"
    if size < _MEGA:
        return f"{size / _KILO:.0f} kB"
    return f"{size / _MEGA:.1f} MB"


def fit_lines(lines: Iterable[str], width: int) -> list[str]:
    """Return lines of at most `width` columns; wrapped lines keep their indent."""
    fitted = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        wrapped = wrap_text(one_line(line), width - len(indent), "    ")
        fitted += [indent + part for part in wrapped]
    return fitted
