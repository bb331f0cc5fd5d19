from __future__ import annotations

import random
import re
from typing import Any

import pytest
from _examples import share
from pytest_ltm.scenarios import how_to_think
from scenario_runs import generated, scores

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait
from pytest_ltm.evaluators import AppliesRule
from pytest_ltm.locales import capital, variants

BODY = how_to_think.test_how_to_think
FULL = make_reader("full")
OFFERED = ("Velamere", "Ormofell", "Quenika")


def evaluator(definition: Definition, **options: Any) -> AppliesRule:
    offered = tuple(tuple(towns) for towns in definition.parameters["offered"])
    return AppliesRule(tuple(definition.expected), offered, **options)


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(4))
def test_full_decides_all_cases(span: int | None, seed: int) -> None:
    assert (
        scores(BODY, generated(how_to_think.how_to_think, seed=seed), FULL, span=span)
        == [1.0] * 3
    )


@pytest.mark.slow
@pytest.mark.parametrize("options", [3, 15])
def test_full_applies_every_kind_of_rule(options: int) -> None:
    for seed in range(share(40)):
        (definition,) = generated(
            how_to_think.how_to_think, 1, seed, rules=10, cases=20, options=options
        )
        reader = FULL()
        replies = [
            reader.reply(step.text)
            for step in definition.steps
            if not isinstance(step, Wait)
        ]
        assert (seed, evaluator(definition)(replies[10:]).value) == (seed, 1)


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert (
        scores(BODY, generated(how_to_think.how_to_think), agent, span=span)
        == [0.0] * 3
    )


def test_a_window_loses_the_rules_once_they_have_left_it() -> None:
    lost = scores(
        BODY,
        generated(how_to_think.how_to_think),
        make_reader("window", "8k"),
        span=32_000,
    )
    assert all(score <= 0.25 for score in lost)


def test_always_naming_the_first_earns_about_a_fifth() -> None:
    values = [
        evaluator(definition)(
            [towns[0] for towns in definition.parameters["offered"]]
        ).value
        for definition in generated(how_to_think.how_to_think, 60)
    ]
    assert 0.1 < sum(values) / len(values) < 0.3


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Velamere", True),
        ("VELAMERE.", True),
        ("**Velamere**. Ormofell is heavier, and Quenika is too far away.", True),
        (
            "Ormofell is out, since it costs more than 40 crowns. Of Velamere and Quenika, you take Velamere.",
            True,
        ),
        (
            "Ormofell costs 70. Quenika costs 50. So the answer is Velamere, instead of them.",
            True,
        ),
        ("Ormofell costs 70. Quenika costs 50. So the answer is Velamere.", True),
        ("I would take Ormofell.", False),
        ("Velamere, Ormofell or Quenika", False),
        ("Not Velamere. Take Ormofell.", False),
        ("Velamere: 3 crowns\nOrmofell: 4 crowns\nQuenika: 5 crowns", False),
        ("", False),
    ],
)
def test_an_answer_names_or_decides_on_one_thing(answer: str, *, right: bool) -> None:
    assert AppliesRule(("Velamere",), (OFFERED,))([answer]).value == float(right)


def test_missing_answers_count_as_wrong() -> None:
    assert (
        AppliesRule(("Velamere", "Quenika"), (OFFERED, OFFERED))(["Velamere"]).value
        == 0.5
    )


def test_the_published_rules_ask_a_model_so_ours_stands_in() -> None:
    score = AppliesRule(("Velamere",), (OFFERED,), scoring="v3.5")(["Velamere"])
    assert (score.value, score.rule) == (1.0, "how-to-think/v3.5+how-to-think/1")


def test_each_case_depends_on_the_rule_that_it_names() -> None:
    definition = generated(how_to_think.how_to_think, 1, rules=3, cases=6)[0]
    rules = [step.text for step in definition.steps if isinstance(step, Say)]
    cases = [step for step in definition.steps if isinstance(step, Ask)]
    assert [case.about for case in cases] == [
        (rules[number % 3],) for number in range(6)
    ]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("rules", 0), ("rules", 19), ("cases", "4"), ("options", 2), ("options", True)],
)
def test_a_wrong_parameter_is_named(name: str, wrong: object) -> None:
    with pytest.raises(
        ValueError, match=f"{name} is a whole number from . to .., not {wrong!r}"
    ):
        how_to_think.how_to_think(random.Random(0), {name: wrong})


def dilemmas(number: int = 3, **parameters: Any) -> list[Definition]:
    return generated(how_to_think.how_to_think, number, principle="maxim", **parameters)


def test_a_maxim_is_told_once_and_decides_dilemmas_that_do_not_name_it() -> None:
    for definition in dilemmas(20):
        (told,) = [step.text for step in definition.steps if type(step) is Say]
        questions = definition.questions
        assert len(questions) == len(definition.expected) == 5
        assert all(question.about == (told,) for question in questions)
        assert any(maxim.words in told for maxim in how_to_think.MAXIMS)
        for question, offered in zip(
            questions, definition.parameters["offered"], strict=True
        ):
            assert all(
                re.search(rf"\b{thing}\b", question.text, re.IGNORECASE)
                for thing in offered
            )
            assert told not in question.text
        assert evaluator(definition)(definition.expected).value == 1
        assert (
            evaluator(definition)(
                [wrong for _, wrong in definition.parameters["offered"]]
            ).value
            == 0
        )


def test_the_oracle_decides_all_dilemmas_and_silence_none() -> None:
    assert scores(BODY, dilemmas(), find_agent("oracle").make, span=2_000) == [1.0] * 3
    assert scores(BODY, dilemmas(), Silent, span=None) == [0.0] * 3
    assert scores(BODY, dilemmas(), Echo, span=None) == [0.0] * 3


@pytest.mark.parametrize("maxim", how_to_think.MAXIMS)
def test_full_takes_no_maxim_for_a_joke(maxim: how_to_think.Maxim) -> None:
    for variant in variants(how_to_think.PRINCIPLES):
        assert (
            FULL().reply(capital(variant.format(maxim=maxim.words)))
            == "I will think like that."
        ), variant


def test_dilemmas_are_as_many_as_asked_for() -> None:
    assert [len(dilemma.expected) for dilemma in dilemmas(2, cases=2)] == [2, 2]
    with pytest.raises(ValueError, match="cases is a whole number from 1 to 5, not 6"):
        dilemmas(1, cases=6)
    with pytest.raises(ValueError, match="principle is 'rules' or 'maxim', not 'none'"):
        generated(how_to_think.how_to_think, 1, principle="none")
