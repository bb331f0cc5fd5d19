"""Key-Value Pairs: entries of a register told one by one; a value may be the key of another entry."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import RecallsValue
from pytest_ltm.locales import CODES, either, parse_languages, worded

from ._parameters import last_wait, whole

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
ENTRIES = (
    "[new entry in|please put this into|new for|note in] the register: {key} [holds|gives|leads to] {value}.",
    "the register has [another entry|something new|one more code][:|,] {key} [holds|gives] {value}.",
    "in the register {key} [now |]holds {value}[.|, by the way.|, as of today.]",
)
UNNAMED = (
    "[and|next|also,|then] {key} [holds|gives|leads to|goes with] {value}.",
    "[I see that|I'm told that|it turns out that] {key} [holds|gives|leads to|goes with] {value}[.|, by the way.]",
    "[under|for|with] {key} [you find|there is|put|write] {value}[.|, please.]",
)
TOGETHER = (
    "[please keep|here is|this is|note|learn] the [whole |]register[ for me|, all of it|, as it stands|]:\n{entries}",
    "[these are pairs|each key has its value]. [Keep them|You will need them|Note them][:| now:]\n{entries}",
)
PLAIN = (
    "[so, |now, |]what does {key} [hold|give|lead to][ in the register|]? [Reply with|Give me|I need] the code only.",
    "[please |]look up {key}[ in the register|][:|, please:] which code does it hold? [Reply with|Say] nothing else.",
)
NESTED = (
    (
        "[please |now |]look up {key}[ in the register|]. If the code that it holds has an entry of its own, look that "
        "up [as well|too], and so on. [What|Which] is the code at which this ends, because it has no entry? "
        "[Reply with|Give me] that code only."
    ),
)
APART, AT_ONCE = "apart", "together"


def kv_pairs(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `pairs` (default 8) entries over the span, then the question.

    `levels` (default 2) is how many entries have to be looked up, one after the other:
    with 1 no value is the key of another entry. The further entries form such chains,
    too. The value at the end of one is expected. `told` is `apart` (default) for a
    message each, or `together` for all in one JSON object, with long random keys and
    values.
    """
    pairs, levels = (
        whole(parameters, "pairs", 8, most=1000),
        whole(parameters, "levels", 2, most=20),
    )
    if levels > pairs:
        raise ValueError(f"{levels} levels need as many pairs; there are only {pairs}")
    told = parameters.get("told", APART)
    if told not in (APART, AT_ONCE):
        raise ValueError(f"told is {APART!r} or {AT_ONCE!r}, not {told!r}")
    chains = _chains(rng, pairs, levels, _long_codes if told == AT_ONCE else _codes)
    links: list[tuple[str, str]] = []
    for chain in chains:
        links += pairwise(chain)
    telling, asking = parse_languages(parameters)
    if told == AT_ONCE:
        shuffled = dict(rng.sample(links, len(links)))
        together = telling.find_text("kv_pairs.together", TOGETHER)
        entries = [Say(worded(rng, together, entries=json.dumps(shuffled, indent=0)))]
        needles = tuple(say.text for say in entries)
    else:
        named, unnamed = (
            telling.find_text("kv_pairs.entries", ENTRIES),
            telling.find_text("kv_pairs.unnamed", UNNAMED),
        )
        entries = []
        for key, value in links:
            text = worded(rng, either(rng, named, unnamed), key=key, value=value)
            entries.append(Say(text, tells={key: value}))
        needles = tuple(say.text for say in entries[:levels])
        rng.shuffle(entries)
    nested, plain = (
        asking.find_text("kv_pairs.nested", NESTED),
        asking.find_text("kv_pairs.plain", PLAIN),
    )
    question = Ask(
        worded(rng, nested if levels > 1 else plain, key=chains[0][0]), about=needles
    )
    other_codes: list[str] = []
    for chain in chains[1:]:
        other_codes += chain
    return Definition(
        steps=spread([*entries, question], last_wait(rng, parameters)),
        expected=chains[0][-1],
        parameters={
            **parameters,
            "other_codes": other_codes,
        },
    )


def _chains(
    rng: random.Random,
    pairs: int,
    levels: int,
    make: Callable[[random.Random, int], list[str]],
) -> list[list[str]]:
    """Return chains of codes, each the key of the next one, with `pairs` links; the first chain has `levels` links."""
    links, codes = pairs, make(rng, 2 * pairs)
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
        syllables = "".join(
            rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(2)
        )
        codes[f"{syllables}{rng.randint(10, 99)}"] = None
    return list(codes)


def _long_codes(rng: random.Random, number: int) -> list[str]:
    return [f"{rng.getrandbits(128):032x}" for _ in range(number)]


@pytest.mark.ltm(
    generate=kv_pairs,
    skills="R,I",
    version="1",
    reset="You can forget the register with all its entries.",
    languages=CODES,
)
def test_kv_pairs(ltm: Ltm) -> None:
    """Follows the entries of a register from one code to the last one."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    others = tuple(ltm.definition.parameters.get("other_codes", ()))
    rule = RecallsValue(ltm.definition.expected, others, scoring=ltm.scoring)
    ltm.score(parse_languages(ltm.definition.parameters).judged(rule, answers))
