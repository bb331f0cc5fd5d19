from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from _examples import share
from pytest_ltm.scenarios import conflicting_personal_information as scenario
from scenario_runs import generated, scores

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait
from pytest_ltm.evaluators import KnowsCurrentFacts
from pytest_ltm.locales import capital, variants

BODY = scenario.test_conflicting_personal_information
GENERATE = scenario.conflicting_personal_information
FULL = make_reader("full")


def evaluator(definition: Definition, **options: Any) -> KnowsCurrentFacts:
    mentioned = tuple(tuple(values) for values in definition.parameters["mentioned"])
    return KnowsCurrentFacts(tuple(definition.expected), mentioned, **options)


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(4))
def test_full_knows_what_is_so(span: int | None, seed: int) -> None:
    assert scores(BODY, generated(GENERATE, seed=seed), FULL, span=span) == [1.0] * 3


@pytest.mark.slow
@pytest.mark.parametrize("statements", [1, 9])
def test_full_knows_every_topic(statements: int) -> None:
    for seed in range(share(60)):
        (definition,) = generated(
            GENERATE, 1, seed, topics=len(scenario.TOPICS), statements=statements
        )
        reader = FULL()
        replies = [
            reader.reply(step.text)
            for step in definition.steps
            if not isinstance(step, Wait)
        ]
        score = evaluator(definition)(replies[-len(scenario.TOPICS) :])
        assert (seed, score.value) == (seed, 1)


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert scores(BODY, generated(GENERATE), agent, span=span) == [0.0] * 3


@pytest.mark.slow
def test_a_window_loses_what_has_left_it() -> None:
    definitions = [one for seed in range(6) for one in generated(GENERATE, seed=seed)]
    lost = scores(BODY, definitions, make_reader("window", "8k"), span=120_000)
    assert sum(lost) / len(lost) < 0.2


def test_believing_the_last_value_heard_is_often_wrong() -> None:
    values = []
    for definition in generated(GENERATE, 60, topics=1):
        last = [
            value
            for value in (*definition.parameters["mentioned"][0], *definition.expected)
            if value
        ]
        said = [step.text for step in definition.steps if isinstance(step, Say)]
        heard = max(
            last,
            key=lambda value: max(
                (n for n, text in enumerate(said) if value in text), default=-1
            ),
        )
        values.append(evaluator(definition)([heard]).value)
    assert 0.3 < sum(values) / len(values) < 0.9


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("harp", True),
        ("You play the harp.", True),
        ("You play the harp now; you used to play the tuba.", True),
        ("The harp, not the tuba.", True),
        ("Not the tuba but the harp.", True),
        ("You went from the tuba to the harp.", True),
        ("The harp (the tuba before that)", True),
        ("Your neighbour thinks it is the oboe, but it is the harp.", True),
        ("You play the tuba.", False),
        ("You play the harp and the tuba.", False),
        ("harp or tuba or oboe", False),
        ("You used to play the harp, and now you play the tuba.", False),
        ("You no longer play the harp.", False),
        ("I do not have access to that. A common example would be the harp.", False),
        ("", False),
    ],
)
def test_an_answer_says_what_is_so_and_only_that(answer: str, *, right: bool) -> None:
    assert KnowsCurrentFacts(("harp",), (("tuba", "oboe"),))([answer]).value == float(
        right
    )


def test_numbers_may_be_spelled_out() -> None:
    rule = KnowsCurrentFacts(("42",), (("41", "38"),))
    assert rule(["forty-two"]).value == 1
    assert rule(["forty-one"]).value == 0


def test_missing_answers_count_as_wrong() -> None:
    assert KnowsCurrentFacts(("harp", "tram"), ())(["harp"]).value == 0.5


def test_the_published_rules_ask_a_model_so_ours_stands_in() -> None:
    score = KnowsCurrentFacts(("harp",), (), scoring="v3.5")(["harp"])
    assert (score.value, score.rule) == (1.0, "current-facts/v3.5+current-facts/1")


def test_statements_are_mixed_and_questions_come_last_each_about_its_own_topic() -> (
    None
):
    definition = generated(GENERATE, 1, topics=3, statements=4)[0]
    messages = [step for step in definition.steps if not isinstance(step, Wait)]
    assert [type(message) for message in messages] == [Say] * 12 + [Ask] * 3
    assert sorted(text for ask in definition.questions for text in ask.about) == sorted(
        m.text for m in messages[:12]
    )


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("topics", 0), ("topics", 13), ("statements", "4"), ("statements", 10)],
)
def test_a_wrong_parameter_is_named(name: str, wrong: object) -> None:
    with pytest.raises(
        ValueError, match=f"{name} is a whole number from . to .*, not {wrong!r}"
    ):
        GENERATE(random.Random(0), {name: wrong})


@pytest.mark.slow
def test_full_tells_a_habit_from_its_exception() -> None:
    for seed in range(share(60)):
        definitions = generated(
            GENERATE, 1, seed, conflict="exception", topics=len(scenario.HABITS)
        )
        assert (seed, scores(BODY, definitions, FULL, span=None)) == (seed, [1.0])


def test_a_habit_and_its_exception_are_both_asked_for_and_either_is_wrong_for_the_other() -> (
    None
):
    (definition,) = generated(GENERATE, 1, conflict="exception", topics=1)
    told = [step.text for step in definition.steps if type(step) is Say]
    assert len(told) == len(definition.expected) == 2
    assert [
        values[0] for values in definition.parameters["mentioned"]
    ] == definition.expected[::-1]
    assert all(
        sum(value in text for text in told) == 1 for value in definition.expected
    )
    assert evaluator(definition)(definition.expected).value == 1
    assert evaluator(definition)(definition.expected[::-1]).value == 0
    assert evaluator(definition)([definition.expected[0]] * 2).value == 0.5


@pytest.mark.parametrize("agent", [Echo, Silent])
def test_echo_and_silent_know_no_habits(agent: type) -> None:
    assert (
        scores(BODY, generated(GENERATE, 6, conflict="exception"), agent, span=None)
        == [0.0] * 6
    )


@pytest.mark.slow
@pytest.mark.parametrize("wordings", [scenario.RULES, scenario.EXCEPTIONS])
@pytest.mark.parametrize("habit", scenario.HABITS)
def test_full_reads_every_wording_of_a_habit(
    habit: scenario.Habit, wordings: Sequence[str]
) -> None:
    when = "when it snows" if wordings is scenario.EXCEPTIONS else "as a rule"
    rng = random.Random(0)
    for variant in variants(wordings):
        reader = FULL()
        (clause,) = rng.sample(list(variants([habit.clause])), 1)
        reader.reply(
            capital(variant.format(clause=clause.format(v=habit.values[0]), when=when))
        )
        question = rng.choice(list(variants([scenario.LEADS + habit.question])))
        assert (
            reader.reply(capital(question.format(when=when))) == f"{habit.values[0]}."
        ), variant


def test_an_unknown_kind_of_conflict_is_named() -> None:
    with pytest.raises(
        ValueError, match="conflict is 'changes', 'sessions' or 'exception', not 'none'"
    ):
        generated(GENERATE, 1, conflict="none")
