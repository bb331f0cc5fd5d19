"""Long lists as people write them: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def join_some(parts: Sequence[str], most: int) -> str:
    """Return `a, b and 3 more`; all of them where they are not more than `most`."""
    more = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {more:,} more" if more > 0 else "")


def first_and_rest(
    parts: Sequence[str], most: int, rest: str = "… and {:,} more"
) -> list[str]:
    """Return the first parts, and `rest` with the number of the others, where there are any."""
    more = len(parts) - most
    return [*parts[:most], rest.format(more)] if more > 0 else list(parts)


def join_words(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
