"""Needles: many codes over the whole span, each asked for in the end."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say
from pytest_ltm.evaluators import RecallsValue

from ._needles import QUESTIONS, RESET, Hay, laid
from ._parameters import last_wait, whole
from ._wording import worded


def needles(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `needles` (default 6) codes over the span, and a question for each, in another order.

    Beside each stand `near_misses` (default 1), all of them mixed.
    """
    number, near = whole(parameters, "needles", 6, 2, 60), whole(parameters, "near_misses", 1, 0, 10)
    hay = Hay(rng)
    places = [(hay.place(), hay.code()) for _ in range(number)]
    told = {code: Say(hay.told(place, code)) for place, code in places}
    others = [other for place, _ in places for other in hay.near(place, near)]
    says = [*told.values(), *(Say(text) for text, _ in others)]
    rng.shuffle(says)
    asked = rng.sample(places, number)
    questions = [Ask(worded(rng, QUESTIONS, thing=place), about=(told[code].text,)) for place, code in asked]
    return Definition(
        steps=laid([(at / len(says), said) for at, said in enumerate(says)], questions, last_wait(rng, parameters)),
        expected=[code for _, code in asked],
        parameters={**parameters, "other_codes": [code for _, code in others]},
    )


@pytest.mark.ltm(generate=needles, skills="R", version="1", reset=RESET)
def test_needles(ltm: Ltm) -> None:
    """Gives each of many codes, and no other with it."""
    expected = list(ltm.definition.expected)
    answers = ltm.play(ltm.definition, answers=expected)
    known = [*expected, *ltm.definition.parameters["other_codes"]]
    for code, answer in zip(expected, answers, strict=True):
        others = tuple(other for other in known if other != code)
        ltm.check(f"gives {code}", RecallsValue(code, others, scoring=ltm.scoring)([answer]).value)
