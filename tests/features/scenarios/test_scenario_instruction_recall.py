from __future__ import annotations

import random
from typing import Any

import pytest
from _examples import share
from pytest_ltm.scenarios import instruction_recall
from scenario_runs import generated, published, scores

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import Definition, Say, Wait
from pytest_ltm.evaluators import RecallsSteps

BODY = instruction_recall.test_instruction_recall
FULL = make_reader("full")
STEPS = (
    "Turn the crank three times.",
    "Pull the silk cord.",
    "Light the wick with a torch.",
    "Open the rear valve.",
)


def scored(verdict: object) -> Score:
    assert isinstance(verdict, Score)
    return verdict


def evaluator(definition: Definition, **options: Any) -> RecallsSteps:
    questions = tuple(ask.text for ask in definition.questions)
    return RecallsSteps(
        tuple(definition.expected),
        questions,
        tuple(definition.parameters.get("instructions", ())),
        **options,
    )


def replies(definition: Definition) -> list[str]:
    reader = FULL()
    return [
        reader.reply(step.text)
        for step in definition.steps
        if not isinstance(step, Wait)
    ][1:]


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("seed", range(4))
def test_full_answers_all_questions(span: int | None, seed: int) -> None:
    assert (
        scores(
            BODY,
            generated(instruction_recall.instruction_recall, seed=seed),
            FULL,
            span=span,
        )
        == [1.0] * 3
    )


@pytest.mark.slow
@pytest.mark.parametrize("steps", [3, 24])
def test_full_knows_every_kind_of_step_and_question(steps: int) -> None:
    for seed in range(share(60)):
        (definition,) = generated(
            instruction_recall.instruction_recall, 1, seed, steps=steps, questions=20
        )
        score = scored(evaluator(definition)(replies(definition)))
        assert (seed, score.value) == (seed, 1)


@pytest.mark.parametrize("agent", [Echo, Silent])
@pytest.mark.parametrize("span", [2_000, None])
def test_echo_and_silent_earn_nothing(agent: type, span: int | None) -> None:
    assert (
        scores(BODY, generated(instruction_recall.instruction_recall), agent, span=span)
        == [0.0] * 3
    )


def test_a_window_loses_the_instructions_once_they_have_left_it() -> None:
    lost = scores(
        BODY,
        generated(instruction_recall.instruction_recall),
        make_reader("window", "8k"),
        span=32_000,
    )
    assert all(score <= 0.2 for score in lost)


@pytest.mark.slow
def test_reading_out_all_steps_each_time_earns_nothing() -> None:
    for definition in generated(
        instruction_recall.instruction_recall, 30, questions=10
    ):
        manual = definition.steps[0]
        assert isinstance(manual, Say)
        assert scored(evaluator(definition)([manual.text] * 10)).value == 0


@pytest.mark.parametrize(
    ("expected", "question", "answer", "right"),
    [
        (
            "Pull the silk cord.",
            "What does step 2 say?",
            "Step 2: pull the silken... the silk cord.",
            True,
        ),
        (
            "Pull the silk cord.",
            "What does step 2 say?",
            "Step 2 is where you open the rear valve.",
            False,
        ),
        ("three", "How often do you turn the crank?", "3 times", True),
        (
            "three",
            "How often do you turn the crank?",
            "Step 3: you turn it twice.",
            False,
        ),
        ("3", "What is the number of the step?", "It is the third step.", True),
        ("3", "What is the number of the step?", "Step 3: knock 7 times", True),
        ("3", "What is the number of the step?", "Three.", True),
        ("3", "What is the number of the step?", "Step 3 or step 4", False),
        ("3", "What is the number of the step?", "1, 2, 3, 4", False),
        ("3", "What is the number of the step?", "", False),
    ],
)
def test_an_answer_needs_the_step_its_detail_or_its_number(
    expected: str, question: str, answer: str, *, right: bool
) -> None:
    assert scored(
        RecallsSteps((expected,), (question,), STEPS)([answer])
    ).value == float(right)


def test_missing_answers_count_as_wrong() -> None:
    assert (
        scored(
            RecallsSteps(("Pull the silk cord.", "torch"), (), STEPS)(
                ["Pull the silk cord."]
            )
        ).value
        == 0.5
    )


def test_the_published_rules_ask_a_model_so_ours_stands_in() -> None:
    score = scored(RecallsSteps(("torch",), (), STEPS, scoring="paper")(["A torch."]))
    assert (score.value, score.rule) == (
        1.0,
        "instruction-recall/paper+instruction-recall/1",
    )


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("steps", 2),
        ("steps", 25),
        ("steps", "9"),
        ("questions", 0),
        ("questions", True),
    ],
)
def test_a_wrong_parameter_is_named(name: str, wrong: object) -> None:
    with pytest.raises(
        ValueError, match=f"{name} is a whole number from . to .., not {wrong!r}"
    ):
        instruction_recall.instruction_recall(random.Random(0), {name: wrong})


@pytest.mark.published
def test_full_answers_most_questions_of_the_published_definitions() -> None:
    values = [
        scored(evaluator(one)(replies(one))).value
        for one in published("Instruction Recall", "instruction_recall")
    ]
    assert len(values) == 6
    assert min(values) >= 0.8
