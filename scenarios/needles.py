"""Needles: many codes over the whole span, each asked for in the end."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say
from pytest_ltm.evaluators import RecallsValue
from pytest_ltm.locales import CODES, parse_languages

from ._needles import RESET, Hay, asked, laid
from ._parameters import last_wait, whole


def needles(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `needles` (default 6) codes over the span, and a question for each, in another order.

    Beside each stand `near_misses` (default 1), all of them mixed.
    """
    number, near = (
        whole(parameters, "needles", 6, 2, 60),
        whole(parameters, "near_misses", 1, 0, 10),
    )
    telling, asking = parse_languages(parameters)
    hay = Hay(rng, telling)
    places = [(hay.place(), hay.code()) for _ in range(number)]
    by_code = {}
    for place, code in places:
        tells = {place.said(telling): code}
        by_code[code] = Say(hay.told(place, code), tells=tells)
    others: list[tuple[str, str]] = []
    for place, _ in places:
        others += hay.near(place, near)
    says = [*by_code.values(), *(Say(text) for text, _ in others)]
    rng.shuffle(says)
    wanted = rng.sample(places, number)
    questions = []
    for place, code in wanted:
        question = asked(rng, place, asking)
        questions.append(Ask(question, about=(by_code[code].text,)))
    return Definition(
        steps=laid(
            [(at / len(says), said) for at, said in enumerate(says)],
            questions,
            last_wait(rng, parameters),
        ),
        expected=[code for _, code in wanted],
        parameters={**parameters, "other_codes": [code for _, code in others]},
    )


@pytest.mark.ltm(
    generate=needles, skills="R", version="1", reset=RESET, languages=CODES
)
def test_needles(ltm: Ltm) -> None:
    """Gives each of many codes, and no other with it."""
    expected = list(ltm.definition.expected)
    answers = ltm.play(ltm.definition, answers=expected)
    known = [*expected, *ltm.definition.parameters["other_codes"]]
    for code, answer in zip(expected, answers, strict=True):
        others = tuple(other for other in known if other != code)
        said = parse_languages(ltm.definition.parameters)
        rule = RecallsValue(code, others, scoring=ltm.scoring)
        ltm.check(f"gives {code}", rule([said.meaning(answer)]).value > 0)
