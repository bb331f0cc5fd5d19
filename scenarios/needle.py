"""Needle: one code at one depth of the conversation, beside others that are nearly the same."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say
from pytest_ltm.evaluators import RecallsValue
from pytest_ltm.locales import CODES, parse_languages

from ._needles import RESET, Hay, asked, depth_of, laid
from ._parameters import last_wait, whole


def needle(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return one code, told at one of the `depths` (default 0, 0.25 … 1) before the question, and what is near to it.

    `near_misses` (default 6) are spread evenly, from the first message to the last: the
    code of somebody else's thing of that kind, of another thing of the same owner, and
    one that opened it before.
    """
    near = whole(parameters, "near_misses", 6, most=60)
    telling, asking = parse_languages(parameters)
    hay, depth = Hay(rng, telling), depth_of(rng, parameters)
    place, code = hay.place(), hay.code()
    say = Say(hay.told(place, code), tells={place.said(telling): code})
    others = hay.near(place, near)
    rng.shuffle(others)
    beside = []
    for number, (text, _) in enumerate(others):
        beside.append((number / max(near - 1, 1), Say(text)))
    question = Ask(asked(rng, place, asking), about=(say.text,))
    return Definition(
        # Of two at the same depth the needle is told first: else whoever repeats the
        # last message had it at depth 1.
        steps=laid([(depth, say), *beside], [question], last_wait(rng, parameters)),
        expected=code,
        parameters={
            **parameters,
            "depth": depth,
            "other_codes": [other for _, other in others],
        },
    )


@pytest.mark.ltm(generate=needle, skills="R", version="1", reset=RESET, languages=CODES)
def test_needle(ltm: Ltm) -> None:
    """Gives the one code that was asked for, and none that is near to it."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    others = tuple(ltm.definition.parameters["other_codes"])
    rule = RecallsValue(ltm.definition.expected, others, scoring=ltm.scoring)
    ltm.score(parse_languages(ltm.definition.parameters).judged(rule, answers))
