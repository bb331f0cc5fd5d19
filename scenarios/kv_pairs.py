"""Key-Value Pairs: entries of a register told one by one; a value may be the key of another entry."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import RecallsValue

from ._parameters import whole

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
ENTRIES = (
    "New entry in the register: {key} holds {value}.",
    "Please put this into the register: {key} holds {value}.",
    "The register has another entry, {key} holds {value}.",
)
PLAIN = (
    "What does {key} hold in the register? Reply with the code only.",
    "Please look up {key} in the register: which code does it hold? Reply with nothing else.",
)
NESTED = (
    "Look up {key} in the register. If the code that it holds has an entry of its own, look that up as well, and so "
    "on. What is the code at which this ends, because it has no entry? Reply with that code only."
)


def kv_pairs(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `pairs` (default 8) entries over 90 % of the span, then the question.

    `levels` (default 2) is how many entries have to be looked up, one after the other: with 1 no value is the key of
    another entry. The further entries form such chains, too. The value at the end of one is expected.
    """
    pairs, levels = whole(parameters, "pairs", 8, most=1000), whole(parameters, "levels", 2, most=20)
    if levels > pairs:
        raise ValueError(f"{levels} levels need as many pairs; there are only {pairs}")
    chains = _chains(rng, pairs, levels)
    entries = [
        Say(rng.choice(ENTRIES).format(key=key, value=value)) for chain in chains for key, value in pairwise(chain)
    ]
    needles = tuple(say.text for say in entries[:levels])
    rng.shuffle(entries)
    question = Ask((NESTED if levels > 1 else rng.choice(PLAIN)).format(key=chains[0][0]), about=needles)
    return Definition(
        steps=spread([*entries, question]),
        expected=chains[0][-1],
        parameters={**parameters, "other_codes": [code for chain in chains[1:] for code in chain]},
    )


def _chains(rng: random.Random, pairs: int, levels: int) -> list[list[str]]:
    """Return chains of codes, each the key of the next one, with `pairs` links; the first chain has `levels` links."""
    links, codes = pairs, _codes(rng, 2 * pairs)
    chains: list[list[str]] = []
    while links:
        length = min(links, rng.randint(1, levels) if chains else levels)
        chains.append([codes.pop() for _ in range(length + 1)])
        links -= length
    return chains


def _codes(rng: random.Random, number: int) -> list[str]:
    """Return different codes of two syllables and two digits."""
    codes: dict[str, None] = {}
    while len(codes) < number:
        syllables = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(2))
        codes[f"{syllables}{rng.randint(10, 99)}"] = None
    return list(codes)


@pytest.mark.ltm(
    generate=kv_pairs,
    skills="R,I",
    version="1",
    reset="You can forget the register with all its entries.",
)
def test_kv_pairs(ltm: Ltm) -> None:
    """Follows the entries of a register from one code to the last one."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    others = tuple(ltm.definition.parameters.get("other_codes", ()))
    ltm.score(RecallsValue(ltm.definition.expected, others, scoring=ltm.scoring)(answers))
