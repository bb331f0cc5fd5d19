"""Number of examples that a property test tries."""

from __future__ import annotations

from hypothesis import settings


def share(count: int) -> int:
    """Return `count` scaled to the active Hypothesis profile: a tenth before a merge, all at night."""
    return max(1, count * settings().max_examples // 100)
