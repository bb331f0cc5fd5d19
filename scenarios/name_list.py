"""Name List: the user changes names several times; all of them are asked for."""

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
from pytest_ltm.evaluators import ListsNames
from pytest_ltm.locales import CODES, parse_languages, worded

QUESTIONS = (
    "[so, |]which names have I [gone by|used|had][ so far| up to now|]? {form}",
    "what [are|were] all [of |]the names [that |]I have [given you|gone by|told you][ so far| up to now|]? {form}",
    "[please |]list [all the names|every name] [that |]I have [gone by|used|had][ since we met|]. {form}",
    "[who have I been so far? |]give me every name [that |]you have known me by. {form}",
)
FORM = "Answer with a JSON list[ of strings| of strings, the oldest first|]."


def name_list(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `name_changes` (default 5) different names, one after the other over the span, and the question.

    All of them are expected.
    """
    telling, asking = parse_languages(parameters)
    names = first_names(
        rng, number_of_names(parameters, 5), locale(parameters), telling
    )
    statements = told(rng, names, telling, lasting=True)
    form = worded(rng, (asking.find_text("names.form", FORM),))
    question = Ask(
        worded(rng, asking.find_text("names.all", QUESTIONS), form=form),
        about=tuple(statement.text for statement in statements),
    )
    return Definition(
        steps=spread([*statements, question], last_wait(rng, parameters)),
        expected=names,
        parameters=parameters,
    )


@pytest.mark.ltm(
    generate=name_list,
    skills="R,C",
    version="1",
    reset=RESET,
    incompatible=["names"],
    languages=CODES,
)
def test_name_list(ltm: Ltm) -> None:
    """Lists all names that the user has gone by, and no others."""
    answers = ltm.play(ltm.definition, answers=[", ".join(ltm.definition.expected)])
    rule = ListsNames(tuple(ltm.definition.expected), scoring=ltm.scoring)
    ltm.score(
        parse_languages(ltm.definition.parameters).judged(rule, answers, rule.expected)
    )
