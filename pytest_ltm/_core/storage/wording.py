"""Readable wording: long lists, plurals, a text in one line."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm._core.storage.sanitize import for_screen


def join_some(parts: Sequence[str], limit: int) -> str:
    """Return `a, b and 3 more`; all parts if there are at most `limit`."""
    more = len(parts) - limit
    return ", ".join(parts[:limit]) + (f" and {more:,} more" if more > 0 else "")


def first_and_rest(
    parts: Sequence[str], limit: int, ending: str = "… and {:,} more"
) -> list[str]:
    """Return the first parts, and `ending` with the number of the remaining ones, if any."""
    more = len(parts) - limit
    if more > 0:
        return [*parts[:limit], ending.format(more)]
    return list(parts)


def join_words(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def one_line(text: str) -> str:
    """Return a text for the screen, with every run of white space replaced by one blank."""
    return for_screen(" ".join(text.split()))


def pluralize(number: int, noun: str) -> str:
    """Return `1 filler`, `4 fillers`, `1,200 tokens`."""
    if number == 1:
        return f"{number:,} {noun}"
    if noun.endswith("ply"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"
