"""The shade of a score: eleven steps that the style sheet gives their colours, in light, dark and print."""

from __future__ import annotations

from pytest_ltm._statistics import FULL_MARKS

NONE = "hx"
"""The class of a cell without a score."""


def shade(score: float | None) -> str:
    """Return `h0` (nothing) to `h10` (full marks); only full marks are `h10`, only nothing is `h0`."""
    if score is None:
        return NONE
    if score >= FULL_MARKS:
        return "h10"
    return "h0" if score <= 0 else f"h{min(max(round(score * 10), 1), 9)}"
