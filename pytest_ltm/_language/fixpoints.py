"""Repeating a pass over a text until it changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# What takes more layers off than any model puts on is noise.
_MOST_PASSES = 8


def settle_text(text: str, one_pass: Callable[[str], str]) -> str:
    """Return what the pass makes of a text once it changes no more; the text itself where it never settles.

    Idempotent for any pass, and as linear as the pass.
    """
    before = text
    for _ in range(_MOST_PASSES):
        after = one_pass(before)
        if after == before:
            return after
        before = after
    return text
