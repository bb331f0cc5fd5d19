"""The facts that the messages of built-in scenarios declare, so that memories can be measured on each of them."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from pytest_ltm import Ask, Definition, Say
from pytest_ltm.api.model import has_value
from pytest_ltm.api.scenarios import scenario_names, to_json

# Told in sentences that a memory may reword, so the fact cannot be matched by one or
# two words.
SENTENCES = {"how_to_think", "jokes"}
LANGUAGES = {"en": {}, "de": {"language": "de"}, "zh": {"language": "zh"}}
PAGE = Path(__file__).parents[3] / "docs" / "memory-operations.md"


def made(name: str, number: int = 8, **parameters: object) -> list[Definition]:
    generate = getattr(importlib.import_module(f"pytest_ltm.scenarios.{name}"), name)
    return [
        generate(random.Random(f"{name} {seed}"), parameters) for seed in range(number)
    ]


def told(definition: Definition) -> Iterator[tuple[str, str, str | None]]:
    """Yield each message with the facts it declares."""
    for step in definition.steps:
        if isinstance(step, Say):
            yield from (
                (step.text, about, value) for about, value in step.tells.items()
            )
        elif isinstance(step, Ask):
            yield from (
                (step.text, about, value)
                for about, values in step.tells.items()
                for value in values
            )


def before(definition: Definition, text: str) -> str:
    """Return all messages up to this one."""
    texts = [step.text for step in definition.steps if isinstance(step, (Say, Ask))]
    return "\n".join(texts[: texts.index(text) + 1])


@pytest.mark.parametrize("name", scenario_names())
def test_each_scenario_says_what_it_tells_unless_it_tells_sentences(name: str) -> None:
    tells = [bool(list(told(definition))) for definition in made(name, 3)]

    assert tells == [name not in SENTENCES] * 3, (
        "say by `tells=` what each message tells"
    )


@pytest.mark.parametrize("name", sorted(set(scenario_names()) - SENTENCES))
def test_a_value_stands_in_the_message_that_tells_it_or_in_an_earlier_one_that_holds_again(
    name: str,
) -> None:
    rows = [(one, *each) for one in made(name) for each in told(one)]
    values = {value for *_, value in rows if value is not None}

    missing = [
        (about, value, text)
        for one, text, about, value in rows
        if value and not has_value(before(one, text), value)
    ]
    elsewhere = [
        text for _, text, _, value in rows if value and not has_value(text, value)
    ]
    assert missing == [], "`tells=` names a value that no message has told"
    assert values
    assert all("what I" in text or "before" in text for text in elsewhere), elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
@pytest.mark.parametrize(
    "name",
    [
        "colours",
        "locations",
        "needle_chain",
        "sally_anne",
        "shopping_list",
        "spy_meeting",
        "trigger_response",
    ],
)
def test_a_value_stands_in_the_message_in_other_languages_too(
    name: str, language: str
) -> None:
    rows = [each for one in made(name, 4, language=language) for each in told(one)]

    assert rows
    missing = [row for row in rows if row[2] and not has_value(row[0], row[2])]
    assert missing == [], "`tells=` names a value that the message does not hold"


def test_the_page_names_the_scenarios_that_tell_sentences() -> None:
    line = next(
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if "tell sentences" in line
    )

    assert {name for name in scenario_names() if f"`{name}`" in line} == SENTENCES


@pytest.mark.parametrize("language", ["de", "es", "fr", "zh"])
def test_what_is_told_in_another_language_is_written_as_json(language: str) -> None:
    for name in ("colours", "shopping_list"):
        [definition] = made(name, 1, language=language)
        [*steps] = msgspec.json.decode(msgspec.json.encode(to_json(definition)))[
            "steps"
        ]
        assert [step["tells"] for step in steps if "tells" in step] == [
            step.tells
            for step in definition.steps
            if isinstance(step, Say) and step.tells
        ]
