"""Wordings of generated messages: `"[I live|my home is] in {town}[.|, by the way.]"` has alternatives and a slot.

A few lines express the same thing in many ways, so that an agent cannot recognise a
message by its form. All randomness comes from the generator that is passed: the same
seed and wordings give the same text. Brackets cannot be nested.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

__all__ = [
    "anchor_of",
    "capital",
    "either",
    "filled",
    "pattern_of",
    "variants",
    "worded",
]

_CHOICE = re.compile(r"\[([^][]*)\]")
_SLOT = re.compile(r"\{[\w.]+\}")
_ESCAPED_SLOT = re.compile(r"\\\{(\w+)(?:\\\.(\w+))?\\\}")
# A full stop after a digit may belong to a date.
_WITHIN = r"[^,.;:!?，。；：！？]|(?<=\d)\.(?= )"
_BEGINNING = re.compile(r"(?<=[.!?] )[¿¡]?[a-z]")
# Wordings whose parts are cached: more than all scenarios have.
_KEPT = 8192


def worded(rng: random.Random, wordings: Sequence[str], **slots: object) -> str:
    """Return one of the wordings as sentences that begin with capital letters.

    Each bracket becomes one of its alternatives, then each `{slot}` the value passed
    under its name, as by `str.format`; KeyError if it is missing. Capital letters
    inside a slot's text stay unchanged.
    """
    chosen = filled(rng, rng.choice(wordings))
    if ". " in chosen or "! " in chosen or "? " in chosen:
        chosen = _BEGINNING.sub(lambda result: result[0].upper(), chosen)
    return capital(chosen.format(**slots))


def filled(rng: random.Random, wording: str) -> str:
    """Return a wording with each bracket replaced by one of its alternatives; its slots stay."""
    first, *parts = _split_wording(wording)
    text = first[0]
    for options, (fixed,) in zip(parts[::2], parts[1::2], strict=True):
        text += rng.choice(options) + fixed
    return text


@lru_cache(_KEPT)
def _split_wording(wording: str) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives of each part: a fixed text, the options of a bracket, and so on."""
    alternatives: list[tuple[str, ...]] = []
    for i, part in enumerate(_CHOICE.split(wording)):
        alternatives.append(tuple(part.split("|")) if i % 2 else (part,))
    return tuple(alternatives)


def variants(wordings: Sequence[str]) -> Iterator[str]:
    """Yield each text that `filled` can make of the wordings, for tests of a scenario or its evaluator."""
    for wording in wordings:
        parts = _split_wording(wording)
        for chosen in itertools.product(*parts):
            yield "".join(chosen)


def pattern_of(wording: str, words: Mapping[str, Mapping[str, str]]) -> str:
    """Return a regular expression for all texts of a wording, with a group per slot.

    Slots are outside brackets, and occur once each. `{item.many}` matches
    `words["item"]["many"]`, a pattern, optionally followed by a name; a slot with an
    empty mapping matches any text, and one without a mapping any text without
    punctuation.
    """
    parts = []
    for place, part in enumerate(_CHOICE.split(wording)):
        options = "|".join(map(re.escape, part.split("|")))
        parts.append(f"(?:{options})" if place % 2 else options)

    def slot_pattern(match: re.Match[str]) -> str:
        slot, form = match.groups()
        if slot not in words:
            return rf"(?P<{slot}>(?:{_WITHIN})+?)"
        if not words[slot]:
            return f"(?P<{slot}>.+?)"
        return rf"(?P<{slot}>(?:{words[slot][form or 'said']})(?: (?-i:[A-ZÀ-Ý])\w*?)?)"

    return _ESCAPED_SLOT.sub(slot_pattern, "".join(parts))


def anchor_of(wording: str) -> str:
    """Return the part that all texts of a wording share, case folded.

    It is the longest text outside brackets and slots.
    """
    fixed_parts = _CHOICE.split(wording)[::2]
    stretches: list[str] = []
    for part in fixed_parts:
        stretches += _SLOT.split(part)
    return max(stretches, key=len).casefold()


def either(
    rng: random.Random, named: Sequence[str], unnamed: Sequence[str]
) -> Sequence[str]:
    """Return one of two lists of wordings with equal probability.

    One names its subject, the other does not.
    """
    return named if rng.random() < 0.5 else unnamed


def capital(text: str) -> str:
    """Return the text with a capital letter at its beginning, which in Spanish may follow `¿` or `¡`."""
    first = 2 if text.startswith(("¿", "¡")) else 1
    return text[:first].upper() + text[first:]
