"""How often a property is tried."""

from __future__ import annotations

from hypothesis import settings


def share(count: int) -> int:
    """Return how many of so many examples are tried: a tenth before a merge, all at night."""
    return max(1, count * settings().max_examples // 100)
