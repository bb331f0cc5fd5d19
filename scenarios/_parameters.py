"""Parameters that are read alike by all scenarios: whole numbers, and the last wait."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

LAST_WAITS = (0.8, 0.9)
"""Between which shares of the span last waits are drawn: never beyond the published one."""


def whole(
    parameters: Mapping[str, Any],
    name: str,
    default: int,
    least: int = 1,
    most: int | None = None,
) -> int:
    """Return the parameter, or the default where it is absent; ValueError unless it is a whole number in the range."""
    value = parameters.get(name, default)
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and least <= value
        and (most is None or value <= most)
    ):
        return value
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} is a whole number {bounds}, not {value!r}")


def last_wait(rng: random.Random, parameters: Mapping[str, Any]) -> float:
    """Return the share of the span after which an example's last message comes: the parameter `last_wait`, or drawn.

    As published it is 0.9 for all, so that they ask in one burst, which a memory may
    notice. A generator draws it when it has drawn all its texts, so that these are the
    same for any wait. ValueError if it is not a share.
    """
    share = parameters.get("last_wait")
    if share is None:
        return round(rng.uniform(*LAST_WAITS), 3)
    if (
        isinstance(share, (int, float))
        and not isinstance(share, bool)
        and 0 < share <= 1
    ):
        return float(share)
    raise ValueError(
        f"last_wait is a share of the span above 0 and up to 1, not {share!r}"
    )
