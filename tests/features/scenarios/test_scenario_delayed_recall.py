from __future__ import annotations

import random
from typing import Any

import pytest
from _examples import share
from benchmark_data import GOODAI, lines_of
from pytest_ltm.scenarios import delayed_recall
from scenario_runs import generated, published, scores

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait
from pytest_ltm.evaluators import RecallsFacts

BODY = delayed_recall.test_delayed_recall
FULL = make_reader("full")


def scored(verdict: object) -> Score:
    assert isinstance(verdict, Score)
    return verdict


def evaluator(definition: Definition, **options: Any) -> RecallsFacts:
    return RecallsFacts(
        tuple(definition.expected),
        tuple(ask.text for ask in definition.questions),
        **options,
    )


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(4))
def test_full_recalls_all_facts(span: int | None, seed: int) -> None:
    assert (
        scores(
            BODY, generated(delayed_recall.delayed_recall, seed=seed), FULL, span=span
        )
        == [1.0] * 3
    )


@pytest.mark.slow
def test_full_recalls_every_kind_of_fact() -> None:
    for seed in range(share(100)):
        (definition,) = generated(
            delayed_recall.delayed_recall, 1, seed, facts=len(delayed_recall.KINDS)
        )
        reader = FULL()
        replies = [
            reader.reply(step.text)
            for step in definition.steps
            if not isinstance(step, Wait)
        ]
        score = scored(evaluator(definition)(replies[1:]))
        assert (seed, score.value) == (seed, 1)


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert (
        scores(BODY, generated(delayed_recall.delayed_recall), agent, span=span)
        == [0.0] * 3
    )


@pytest.mark.slow
def test_a_window_loses_the_facts_once_they_have_left_it() -> None:
    lost = scores(
        BODY,
        generated(delayed_recall.delayed_recall),
        make_reader("window", "8k"),
        span=32_000,
    )
    assert all(score <= 0.3 for score in lost)


@pytest.mark.slow
def test_repeating_all_facts_each_time_earns_nothing() -> None:
    for definition in generated(delayed_recall.delayed_recall, 30):
        facts = definition.steps[0]
        assert isinstance(facts, Say)
        assert scored(evaluator(definition)([facts.text] * 10)).value == 0


@pytest.mark.parametrize(
    ("expected", "answer", "right"),
    [
        ("Velarmere", "It is velarmere.", True),
        ("Velarmere", "It is Velar.", False),
        ("a lobster", "Lobsters, I think.", True),
        ("23", "A day there has twenty-three hours.", True),
        ("312", "three hundred and twelve days", True),
        ("312", "It has 31 or 32 days.", False),
        ("twelve", "There are 12.", True),
        ("Tavaholt Ormenka", "Ormenka founded it, if I recall", False),
        ("eel pudding", "A pudding of eels.", True),
        ("eel pudding", "", False),
        (
            "eel pudding",
            "I do not have that information. A popular example would be eel pudding.",
            False,
        ),
    ],
)
def test_an_answer_needs_the_words_of_the_fact(
    expected: str, answer: str, *, right: bool
) -> None:
    assert scored(RecallsFacts((expected,), ("What is it?",))([answer])).value == float(
        right
    )


def test_words_of_the_question_earn_nothing() -> None:
    rule = RecallsFacts(
        ("The capital of Orm is Vel.",), ("What is the capital of Orm?",)
    )
    assert scored(rule(["The capital of Orm"])).value == 0


def test_missing_answers_count_as_wrong_and_more_do_not_help() -> None:
    score = scored(RecallsFacts(("honey", "wool"), ())(["honey"]))
    assert (score.value, [check.ok for check in score.checks]) == (0.5, [True, False])
    assert scored(RecallsFacts(("honey",), ())(["no", "honey"])).value == 0


def test_the_published_rules_ask_a_model_so_ours_stands_in() -> None:
    score = scored(RecallsFacts(("honey",), (), scoring="v3.5")(["Honey."]))
    assert score.value == 1
    assert score.rule == "delayed-recall/v3.5+delayed-recall/1"
    assert "the current rule stands in" in score.reason


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("twenty three", "23", "20 3"),
        ("two hundred and five sheep", "205 sheep", "200 5 sheep"),
        ("three, four", "3 4", "34"),
        ("the 4th of five", "4 5", "45"),
        ("sixty", "60", "6"),
    ],
)
def test_numbers_are_read_in_any_form(text: str, same: str, other: str) -> None:
    for expected, answer in ((text, same), (same, text)):
        assert scored(RecallsFacts((expected,), ())([answer])).value == 1
        assert scored(RecallsFacts((expected,), ())([other])).value == 0


@pytest.mark.parametrize("facts", [0, 21, "10", True])
def test_a_wrong_number_of_facts_is_named(facts: object) -> None:
    with pytest.raises(ValueError, match="facts is a whole number from 1 to 20, not"):
        delayed_recall.delayed_recall(random.Random(0), {"facts": facts})


def test_the_questions_are_spread_over_90_percent_of_the_span_and_depend_on_the_facts() -> (
    None
):
    definition = delayed_recall.delayed_recall(random.Random(0), {"last_wait": 0.9})
    waits = [step.span for step in definition.steps if isinstance(step, Wait)]
    assert waits == pytest.approx([0.09 * n for n in range(1, 11)])
    facts = definition.steps[0]
    assert isinstance(facts, Say)
    assert all(
        step.about == (facts.text,)
        for step in definition.steps
        if isinstance(step, Ask)
    )


@pytest.mark.published
def test_full_recalls_most_facts_of_the_published_definitions() -> None:
    values = []
    for definition in published("Delayed Recall", "delayed_recall"):
        reader = FULL()
        replies = [
            reader.reply(step.text)
            for step in definition.steps
            if not isinstance(step, Wait)
        ]
        values.append(scored(evaluator(definition)(replies[1:])).value)
    assert len(values) == 6
    assert min(values) >= 0.9


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("folder", ["Delayed Recall", "Instruction Recall"])
def test_the_rule_agrees_with_the_published_verdicts_on_single_answers(
    folder: str,
) -> None:
    agree, undecided = list[bool](), 0
    for row in lines_of(GOODAI / "results_dev.jsonl.gz"):
        if row["dataset"] != folder:
            continue
        expected = tuple(row["expected_responses"])
        checks = scored(
            RecallsFacts(expected, tuple(row["questions"]))(
                row["responses"][: len(expected)]
            )
        ).checks
        said = [reason.lower() for reason in map(str, row["reasoning"])]
        right = ["incorrect" not in text and "does not" not in text for text in said]
        agree += [
            check.ok == ok
            for check, ok in zip(checks, right, strict=True)
            if not check.open
        ]
        undecided += sum(check.open for check in checks)
    assert len(agree) >= 130
    assert sum(agree) / len(agree) >= 0.95
    assert undecided / len(agree) <= 0.18
