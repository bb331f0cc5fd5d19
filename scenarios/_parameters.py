"""Parameters that are whole numbers, read alike by all scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def whole(parameters: Mapping[str, Any], name: str, default: int, least: int = 1, most: int | None = None) -> int:
    """Return the parameter, or the default where it is absent; ValueError unless it is a whole number in the range."""
    value = parameters.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value and (most is None or value <= most):
        return value
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise ValueError(f"{name} is a whole number {bounds}, not {value!r}")
