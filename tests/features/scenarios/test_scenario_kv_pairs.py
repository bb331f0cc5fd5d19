from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from pytest_ltm.scenarios import colours, kv_pairs

from pytest_ltm.agents import Echo, Silent
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.model import Score, plain_words
from pytest_ltm.api.scenarios import Ask, Definition, PlannedExample, Say, Wait
from pytest_ltm.api.storage import ConfigurationError, Field
from pytest_ltm.datasets.published import from_published
from pytest_ltm.evaluators import RecallsValue
from pytest_ltm.locales import capital, variants
from pytest_ltm.testing import run_conversation


def definition(seed: int, **parameters: Any) -> Definition:
    made: Definition = kv_pairs.kv_pairs(random.Random(seed), parameters)
    return made


def scores(
    agent: object, definitions: list[Definition], *, span: int | None
) -> list[float]:
    examples = [
        PlannedExample(
            scenario="kv_pairs",
            example=str(i),
            definition=made,
            reset=kv_pairs.test_kv_pairs.pytestmark[0].kwargs["reset"],
        )
        for i, made in enumerate(definitions)
    ]
    played = run_conversation(
        {"kv_pairs": kv_pairs.test_kv_pairs}, agent, examples=examples, span=span
    )
    verdicts = [ending.verdict for ending in played.endings.values()]
    assert all(isinstance(verdict, Score) for verdict in verdicts), played.endings
    return [verdict.value for verdict in verdicts if isinstance(verdict, Score)]


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
def test_full_follows_the_register_at_any_depth(span: int | None) -> None:
    made = [definition(i, levels=1 + i % 4) for i in range(10)]
    assert scores(make_reader("full")(), made, span=span) == [1.0] * 10


@pytest.mark.parametrize("agent", [Echo(), Silent()])
def test_echo_and_silent_earn_nothing(agent: object) -> None:
    made = [definition(i, levels=1 + i % 2) for i in range(10)]
    assert set(scores(agent, made, span=2_000)) == {0.0}


@pytest.mark.slow
def test_a_window_loses_most_of_the_register() -> None:
    values = scores(
        make_reader("window", "8k")(), [definition(i) for i in range(10)], span=32_000
    )
    assert sum(values) <= 2


def test_entries_are_spread_over_90_percent_of_the_span() -> None:
    made = definition(0, pairs=5, last_wait=0.9)
    assert [type(step) for step in made.steps] == [Say, Wait] * 5 + [Ask]
    waits = [step.span for step in made.steps if isinstance(step, Wait)]
    assert waits == pytest.approx([0.18, 0.36, 0.54, 0.72, 0.9])


def test_with_one_level_no_value_is_a_key_and_the_question_says_nothing_of_going_on() -> (
    None
):
    made = definition(4, levels=1)
    pairs = [
        re.findall(r"[a-z]{4}\d\d", step.text)
        for step in made.steps
        if isinstance(step, Say)
    ]
    assert not {key for key, _ in pairs} & {value for _, value in pairs}
    assert "and so on" not in made.questions[0].text


@pytest.mark.slow
@pytest.mark.parametrize("levels", [1, 3])
def test_all_entries_may_be_told_together_with_long_random_codes(levels: int) -> None:
    made = [
        definition(seed, told="together", pairs=60, levels=levels, last_wait=0.9)
        for seed in range(3)
    ]
    (told,) = [step.text for step in made[0].steps if type(step) is Say]
    register = json.loads(told[told.index("{") :])
    assert len(register) == 60
    assert all(
        re.fullmatch("[0-9a-f]{32}", code) for pair in register.items() for code in pair
    )
    assert made[0].questions[0].about == (told,)
    assert [
        wait.span for wait in made[0].steps if isinstance(wait, Wait)
    ] == pytest.approx([0.9])
    assert scores(make_reader("full")(), made, span=None) == [1.0] * 3
    assert scores(make_reader("window", "8k")(), made, span=32_000) == [0.0] * 3


def test_half_of_the_entries_do_not_speak_of_the_register() -> None:
    texts = [
        step.text
        for seed in range(100)
        for step in definition(seed).steps
        if type(step) is Say
    ]
    assert 0.4 < sum("register" not in text for text in texts) / len(texts) < 0.6


@pytest.mark.nightly("every wording, which only the scenario and the reader change")
@pytest.mark.slow
@pytest.mark.parametrize("wordings", [kv_pairs.ENTRIES, kv_pairs.UNNAMED])
def test_full_reads_every_wording_of_an_entry_and_every_question(
    wordings: Sequence[str],
) -> None:
    for variant in variants(wordings):
        reader = make_reader("full")()
        reader.reply(capital(variant.format(key="dima12", value="tivo42")))
        for question in (*variants(kv_pairs.PLAIN), *variants(kv_pairs.NESTED)):
            assert reader.reply(capital(question.format(key="dima12"))) == "tivo42", (
                variant,
                question,
            )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pairs": 0}, "pairs is a whole number from 1 to 1000, not 0"),
        ({"levels": "2"}, "levels is a whole number from 1 to 20, not '2'"),
        ({"levels": True}, "levels is a whole number from 1 to 20, not True"),
        ({"told": "at once"}, "told is 'apart' or 'together', not 'at once'"),
        ({"pairs": 2, "levels": 3}, "3 levels need as many pairs; there are only 2"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        definition(0, **parameters)


def test_no_word_of_our_texts_looks_like_a_code_or_is_a_colour() -> None:
    reset = kv_pairs.test_kv_pairs.pytestmark[0].kwargs["reset"]
    texts = (
        *kv_pairs.ENTRIES,
        *kv_pairs.UNNAMED,
        *kv_pairs.TOGETHER,
        *kv_pairs.PLAIN,
        *kv_pairs.NESTED,
    )
    said = {word for text in (reset, *variants(texts)) for word in plain_words(text)}
    assert not any(character.isdigit() for word in said for character in word)
    assert not said & set(colours.COLOURS)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("tivo42", 1.0),
        ("It is **Tivo42**.", 1.0),
        ('{"code": "tivo42"}', 1.0),
        ("pamo10 holds sure77, and that holds tivo42, where it ends.", 1.0),
        ("sure77", 0.0),
        ("tivo421", 0.0),
        ("tivo42 or lale33", 0.0),
        ("", 0.0),
    ],
)
def test_the_value_counts_as_a_word_and_alone(answer: str, value: float) -> None:
    assert RecallsValue("tivo42", ("lale33",))([answer]).value == value


def test_the_last_answer_counts() -> None:
    assert RecallsValue("tivo42")(["tivo42", "no idea"]).value == 0.0
    assert RecallsValue("tivo42")([]).value == 0.0


def test_a_verdict_says_why() -> None:
    evaluate = RecallsValue("tivo42", ("lale33",))
    assert evaluate(["no"]).reason == "tells nothing, not 'tivo42'"
    assert evaluate(["tivo42, lale33"]).reason == "names several, not 'tivo42'"
    assert (evaluate(["tivo42"]).rule, evaluate(["tivo42"]).evidence) == (
        "kv-pairs/3",
        "tivo42",
    )


def test_an_unknown_scoring_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="scoring 'v9' is unknown"):
        RecallsValue("tivo42", scoring="v9")  # type: ignore[arg-type]


def test_a_definition_in_the_published_form_is_played() -> None:
    fields = {
        "script": [
            "New entry in the register: pamo10 holds tivo42.",
            "What does pamo10 hold in the register?",
        ],
        "is_question": [False, True],
        "waits": [{"percentage_finished": 90.0}, {}],
        "expected_responses": ["tivo42"],
    }
    made = from_published(Field(fields, "here"), "kv_pairs")
    assert made.expected == "tivo42"
    assert scores(make_reader("full")(), [made], span=2_000) == [1.0]
