"""Names: the user's name changes; only the one told last counts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from pytest_ltm.scenarios._first_names import (
    RESET,
    first_names,
    locale,
    number_of_names,
    told,
)
from pytest_ltm.scenarios._parameters import last_wait

from pytest_ltm import Ask, Definition, Ltm, spread
from pytest_ltm.evaluators import NamesUser
from pytest_ltm.locales import CODES, parse_languages, worded

QUESTIONS = (
    "[so, |tell me, |quick question: |]what[ is|'s] my name [now|these days|at the moment|at present]?",
    "[which|what] name do I go by [now|these days|at the moment|at present]?",
    "what am I called [now|these days|at the moment|at present|by now]?",
    "[by which name|by what name] should [you|people] call me [now|these days|at the moment]?",
    "[can|could] you [tell me|remind me of] my name[, please|]?",
    "do you [know|remember] [my name|what I am called|what my name is][ now| by now| at the moment|]?",
)


def names(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `name_changes` (default 3) different names, one after the other over the span, and the question.

    The name told last is expected.
    """
    telling, asking = parse_languages(parameters)
    drawn = first_names(
        rng, number_of_names(parameters, 3), locale(parameters), telling
    )
    statements = told(rng, drawn, telling)
    question = Ask(
        worded(rng, asking.find_text("names.questions", QUESTIONS)),
        about=(statements[-1].text,),
    )
    return Definition(
        steps=spread([*statements, question], last_wait(rng, parameters)),
        expected=drawn[-1],
        parameters={**parameters, "former": drawn[:-1]},
    )


@pytest.mark.ltm(
    generate=names,
    skills="R",
    version="1",
    reset=RESET,
    incompatible=["name_list"],
    languages=CODES,
)
def test_names(ltm: Ltm) -> None:
    """Knows the name that the user goes by now, after others were told before."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    former = tuple(ltm.definition.parameters.get("former", ()))
    rule = NamesUser(ltm.definition.expected, former, ltm.scoring)
    ltm.score(
        parse_languages(ltm.definition.parameters).judged(
            rule, answers, (rule.expected, *former)
        )
    )
