"""Wordings: sentences whose brackets hold alternatives, so that few of them say the same thing in many ways."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence

_CHOICE = re.compile(r"\[([^][]*)\]")
_BEGINNING = re.compile(r"(?<=[.!?] )[¿¡]?[a-z]")


def worded(rng: random.Random, wordings: Sequence[str], **slots: object) -> str:
    """Return one of the wordings as sentences: `[a|b|]` is one of its alternatives, `{slot}` what stands for it."""
    chosen = _BEGINNING.sub(
        lambda result: result[0].upper(), filled(rng, rng.choice(wordings))
    )
    return capital(chosen.format(**slots))


def filled(rng: random.Random, wording: str) -> str:
    """Return a wording with one of its alternatives in the place of each bracket."""
    return _CHOICE.sub(lambda result: rng.choice(result[1].split("|")), wording)


def variants(wordings: Sequence[str]) -> Iterator[str]:
    """Yield all that the wordings can come to, their slots unfilled."""
    for wording in wordings:
        parts = _CHOICE.split(wording)  # text, alternatives, text, …
        options = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
        yield from ("".join(chosen) for chosen in itertools.product(*options))


def either(
    rng: random.Random, named: Sequence[str], unnamed: Sequence[str]
) -> Sequence[str]:
    """Return one of two lists of wordings with equal chance: those that name what they are about, or the others."""
    return named if rng.random() < 0.5 else unnamed


def capital(text: str) -> str:
    """Return the text with a capital letter at its beginning, in Spanish after the mark that opens a question."""
    first = 2 if text.startswith(("¿", "¡")) else 1
    return text[:first].upper() + text[first:]
