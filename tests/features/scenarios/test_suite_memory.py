"""The suite `memory`: seeing everything earns full marks, a constant answer nothing, and its golds are known."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from pytest_ltm.scenarios import forget_on_request
from scenario_runs import conversation, generated, scores, values

from pytest_ltm import Ask, Definition, Say
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import STOP_WORDS, plain_words
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.lab.commands.verdict_check import check_verdicts, count_outcomes
from pytest_ltm.locales import CODES, load_language

ENTRIES = {entry.name: entry for entry in built_in("memory").entries}
CARELESS = ("echo", "silent", "dump", "recite:2k", "agree", "candidates", "hedge")
OTHERS = [code for code in CODES if code not in ("en", "zh")]
"""Languages with spaces between words."""
LABELLED = Path(__file__).parents[2] / "labelled" / "memory.jsonl"


def body(name: str) -> Any:
    scenario = ENTRIES[name].scenario
    return getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{scenario}"), f"test_{scenario}"
    )


def made(name: str, number: int) -> list[Definition]:
    return generated(
        body(name).pytestmark[0].kwargs["generate"], number, **ENTRIES[name].parameters
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["oracle", "full"])
@pytest.mark.parametrize("name", ENTRIES)
def test_who_sees_everything_earns_full_marks(name: str, agent: str) -> None:
    for span in (8_000, None):
        assert (
            scores(body(name), made(name, 8), find_agent(agent).make, span=span)
            == [1.0] * 8
        )


@pytest.mark.slow
@pytest.mark.parametrize("language", [code for code in CODES if code != "en"])
@pytest.mark.parametrize("name", ENTRIES)
def test_what_agents_earn_in_another_language_is_what_they_earn_in_english(
    name: str, language: str
) -> None:
    generate = body(name).pytestmark[0].kwargs["generate"]
    parameters = {**ENTRIES[name].parameters, "language": language}
    definitions = generated(generate, 4, **parameters)
    for agent, earned in {"oracle": 1.0, "full": 1.0, "echo": 0.0, "dump": 0.0}.items():
        made_agent = find_agent(agent).make
        assert scores(body(name), definitions, made_agent, span=None) == [earned] * 4


@pytest.mark.slow
def test_full_earns_full_marks_in_one_conversation() -> None:
    parts = [name for name in ENTRIES if name not in ("later_sessions", "duplicates")]
    played = conversation(
        {name: body(name) for name in parts},
        {name: made(name, 2) for name in parts},
        find_agent("full").make(),
        span=8_000,
    )

    assert set(values(played).values()) == {1.0}


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
@pytest.mark.parametrize("name", ENTRIES)
def test_one_answer_for_all_earns_nothing(name: str, agent: str) -> None:
    assert (
        scores(body(name), made(name, 6), find_agent(agent).make, span=None)
        == [0.0] * 6
    )


@pytest.mark.slow
def test_rules_agree_with_replies_labelled_by_hand() -> None:
    report = check_verdicts(LABELLED)

    assert report.breaches() == []
    # one is left undecided
    counts = count_outcomes(report.verdicts)
    assert counts["rows"] == counts["right"] + 1


def test_a_request_by_meaning_has_no_word_of_what_was_told() -> None:
    for topic in forget_on_request.TOPICS:
        told = {*plain_words(topic.clause), *plain_words(topic.label)} - set(STOP_WORDS)

        assert told.isdisjoint(plain_words(forget_on_request.MEANINGS[topic.label])), (
            topic.label
        )


@pytest.mark.parametrize("code", OTHERS)
def test_nor_has_one_in_another_language(code: str) -> None:
    language = load_language(code)
    nothing: dict[str, Any] = {}
    clauses = language.find_text("forget_on_request.clause", nothing)
    labels = language.find_text("forget_on_request.label", nothing)
    for topic, (label, meaning) in labels.items():
        told = {*plain_words(clauses[topic][0]), *plain_words(label)}
        # articles and similar words are in every sentence
        common = {word for word in told if len(word) < 5}

        assert (told - common).isdisjoint(plain_words(meaning)), topic


def test_namesakes_come_in_pairs_with_a_thing_of_one_kind() -> None:
    for definition in made("namesakes", 20):
        told = [
            about.split("'s ")
            for step in definition.steps
            if isinstance(step, Say)
            for about in step.tells
        ]
        pairs = [
            (owner.rpartition(" ")[2], thing.partition(",")[0]) for owner, thing in told
        ]

        assert len({owner for owner, _ in told}) == 6
        assert sorted(pairs.count(pair) for pair in set(pairs)) == [2, 2, 2]


def test_what_is_told_again_is_told_in_other_words() -> None:
    for definition in made("duplicates", 20):
        says = [step for step in definition.steps if isinstance(step, Say)]

        assert len({say.text for say in says}) == len(says) == 9
        assert len({str(say.tells) for say in says}) == 6


def test_a_later_session_contradicts_without_saying_so() -> None:
    words = {
        "changed",
        "news",
        "now",
        "correction",
        "mistake",
        "wrong",
        "sorry",
        "misspoke",
    }
    for definition in made("later_sessions", 20):
        says = [step for step in definition.steps if isinstance(step, Say)]

        assert words.isdisjoint(word for say in says for word in plain_words(say.text))
        assert [say.tells for say in says if not say.tells] == []


def test_what_is_relevant_was_told_before_all_that_is_near_to_it() -> None:
    for definition in made("relevant_not_recent", 20):
        first, *later = [
            step for step in definition.steps if isinstance(step, (Say, Ask))
        ]

        assert isinstance(first, Say)
        assert list(first.tells.values()) == [definition.expected]
        assert len(later) == 10


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("namesakes", {"owners": "strangers"}),
        ("duplicates", {"again": 13}),
        ("deletion_by_meaning", {"requests": "loudly"}),
        ("later_sessions", {"conflict": "war"}),
    ],
)
def test_parameters_that_make_no_test_are_refused(
    name: str, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        generated(body(name).pytestmark[0].kwargs["generate"], 1, **wrong)
