"""Repeating a pass over a text until it changes nothing."""

from __future__ import annotations

from collections.abc import Callable


def settle_text(text: str, one_pass: Callable[[str], str]) -> str:
    """Return a text after repeating the pass until it changes nothing; the original if it never settles.

    Idempotent for any pass, and linear if the pass is.
    """
    before = text
    # more layers than any model puts around an answer are noise
    for _ in range(8):
        after = one_pass(before)
        if after == before:
            return after
        before = after
    return text
