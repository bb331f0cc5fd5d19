"""The suite `learning`: combining the lessons earns full marks, repeating them nothing."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from _examples import share
from pytest_ltm.scenarios import _languages, gradual, transfer
from scenario_runs import conversation, generated, scores

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.evaluators import SpeaksLanguage
from pytest_ltm.lab.commands.verdict_check import evaluator_of
from pytest_ltm.locales import variants

NAMES = tuple(entry.scenario for entry in built_in("learning").entries)
LABELLED = Path(__file__).parents[2] / "labelled"
ENOUGH = 30
MESSAGES = {
    name: getattr(_languages, name)
    for name in ("FIRST_LESSONS", "LESSONS", "QUESTIONS", "RIGHT", "WRONG")
}
ALLOWED = {"first": 0, "second": 1}
"""Number of replies on which the rules may differ from the label; these may never grow."""


def body(name: str) -> Any:
    return getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{name}"), f"test_{name}"
    )


def made(name: str, number: int, **parameters: Any) -> list[Any]:
    return generated(body(name).pytestmark[0].kwargs["generate"], number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [8_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_who_sees_everything_earns_full_marks(
    name: str, agent: str, span: int | None
) -> None:
    assert (
        scores(body(name), made(name, 4), find_agent(agent).make, span=span)
        == [1.0] * 4
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", ["echo", "silent", "dump", "recite:2k", "candidates", "hedge", "keywords"]
)
@pytest.mark.parametrize("name", NAMES)
def test_who_only_repeats_earns_nothing(name: str, spec: str) -> None:
    assert body(name).pytestmark[0].kwargs.get("floor", 0) == 0
    definitions = made(name, share(10))
    earned = scores(body(name), definitions, find_agent(spec).make, span=None)
    assert earned == [0.0] * len(definitions)


def test_who_sees_the_last_lesson_alone_knows_no_earlier_one() -> None:
    (found,) = scores(
        body("gradual"), made("gradual", 1), find_agent("window:2k").make, span=32_000
    )
    assert found < 0.2


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


class Once:
    """Knows only the first form that it is asked for."""

    def __init__(self, form: str) -> None:
        self._form = form

    def reply(self, message: str) -> str:  # noqa: ARG002 - it never looks
        return self._form


def test_a_wrong_answer_is_corrected_and_a_right_one_is_confirmed() -> None:
    (definition,) = made("gradual", 1)
    first, *others = definition.expected
    played = conversation(
        {"it": body("gradual")}, {"it": [definition]}, Once(first), span=None
    )
    said = [exchange.message for exchange in played.transcript.exchanges_of("it/0")]
    told = [
        text
        for text in said
        if not any(text == getattr(step, "text", "") for step in definition.steps)
    ]
    (ending,) = played.endings.values()

    assert told[0] == definition.parameters["right"][0]
    assert first not in told[0]
    assert told[1:] == definition.parameters["wrong"][1:]
    assert all(
        form in correction for form, correction in zip(others, told[1:], strict=True)
    )
    assert [check.ok for check in ending.verdict.checks] == [  # type: ignore[union-attr]
        True,
        *[False] * len(others),
    ]


def test_the_curve_is_how_many_forms_of_each_lesson_are_right() -> None:
    (definition,) = made("gradual", 1, lessons=4, probes=2)
    answers = list(definition.expected)
    answers[2] = answers[4] = answers[5] = "no idea"
    shares = {
        name: sum(answers[place] in definition.expected for place in places)
        / len(places)
        for name, places in gradual.curve(definition.parameters)
    }
    assert [shares[f"lesson_{lesson}"] for lesson in (1, 2, 3, 4)] == [
        1.0,
        0.5,
        0.0,
        1.0,
    ]
    assert set(shares) == {
        "lesson_1",
        "lesson_2",
        "lesson_3",
        "lesson_4",
        "new",
        "mixed",
    }


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("gradual", "lessons", 2),
        ("gradual", "lessons", 8),
        ("gradual", "probes", 0),
        ("gradual", "probes", 5),
        ("transfer", "questions", 0),
        ("transfer", "questions", 4),
    ],
)
def test_sizes_that_make_no_test_are_refused(
    name: str, parameter: str, value: int
) -> None:
    with pytest.raises(ValueError, match=parameter):
        made(name, 1, **{parameter: value})


LEARNERS = {
    "of both": lambda form, own, alike: form if own or alike else transfer.UNTOLD,
    "of nothing but lessons": lambda form, own, alike: form if own else transfer.UNTOLD,  # noqa: ARG005
    "who takes all for alike": lambda form, own, alike: form,  # noqa: ARG005
    "of nothing": lambda form, own, alike: transfer.UNTOLD,  # noqa: ARG005
}


@pytest.mark.parametrize(
    ("learner", "score", "related", "control"),
    [
        ("of both", 1.0, 1.0, 0.0),
        ("of nothing but lessons", 2 / 3, 0.0, 0.0),
        ("who takes all for alike", 0.0, 1.0, 1.0),
        ("of nothing", 0.0, 0.0, 0.0),
    ],
)
def test_only_who_tells_the_pairs_apart_transfers(
    learner: str, score: float, related: float, control: float
) -> None:
    for definition in made("transfer", 4):
        rows = zip(
            *(definition.parameters[name] for name in ("forms", "kinds", "alike")),
            strict=True,
        )
        answers = [
            LEARNERS[learner](form, kind == transfer.OWN, alike)
            for form, kind, alike in rows
        ]
        found = transfer.shares(definition, answers)
        assert transfer.rule_of(definition)(answers).value == pytest.approx(score)
        assert {found["forward"], found["backward"]} == {related}
        assert {found["forward_control"], found["backward_control"]} == {control}
        assert found["own"] == found["own_control"]


ANSWERS = (
    "In Heslefell, '{gloss}' is 'zubuvezro'.",
    "{gloss}: zubuvezro",
    "I think {gloss} is zubuvezro.",
    'The word for "{gloss}" is **zubuvezro**.',
    "zubuvezro ({gloss})",
    "{gloss} = zubuvezro",
    "{gloss} -> zubuvezro",
    "zuvezro is the wet anchor and bu- is {word}, so '{gloss}' is zubuvezro.",
    "- bu: {word}\n- vezro: anchor\n\nzubuvezro",
)
PHRASES = {
    "plural": "the anchors",
    "owner": "{} wet anchor",
    "quality": "the {} anchor",
    "place": "{} the wet anchor",
}


@pytest.mark.parametrize("kind", PHRASES)
def test_no_word_of_a_phrase_makes_a_right_answer_doubtful(kind: str) -> None:
    rule = SpeaksLanguage(("zubuvezro",), ("vezro",))
    said = [
        answer.format(gloss=PHRASES[kind].format(word), word=word)
        for word in _languages.WORDS[kind]
        for answer in ANSWERS
    ]
    assert [one for one in said if not rule.settles_on(one, "zubuvezro")] == []


@pytest.mark.parametrize(
    "answer",
    [
        "zuvezro or zubuvezro",
        "buzuvezro, zubuvezro",
        "zuvezro",
        "vezrozubu",
        "It is not zubuvezro.",
    ],
)
def test_another_form_earns_nothing(answer: str) -> None:
    assert not SpeaksLanguage(("zubuvezro",), ("vezro",)).settles_on(
        answer, "zubuvezro"
    )


@pytest.mark.parametrize("half", ALLOWED)
def test_rules_agree_with_replies_labelled_by_hand(half: str) -> None:
    rows = [
        json.loads(line)
        for line in (LABELLED / f"learning.{half}.jsonl")
        .read_text("utf-8")
        .splitlines()
    ]
    assert len(rows) >= 40
    earned = [
        evaluator_of(row["evaluator"], row["args"])(row["answers"]).value
        for row in rows
    ]
    wrong = [
        row["id"]
        for row, value in zip(rows, earned, strict=True)
        if abs(value - row["credit"]) > 1e-5
    ]
    assert len(wrong) <= ALLOWED[half], wrong
