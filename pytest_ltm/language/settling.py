"""Repeats a pass over a text until it changes nothing."""

from __future__ import annotations

from collections.abc import Callable


def settle_text(text: str, one_pass: Callable[[str], str]) -> str:
    """Return what the pass makes of a text once it changes no more; the text itself where it never settles.

    Idempotent for any pass, and as linear as the pass.
    """
    before = text
    # what has more layers than any model puts around an answer is noise
    for _ in range(8):
        after = one_pass(before)
        if after == before:
            return after
        before = after
    return text
