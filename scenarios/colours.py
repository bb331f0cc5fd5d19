"""Colours: a favourite that changes several times; only the colour told last counts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import NamesColour

from ._parameters import whole

COLOURS = (
    "amber", "beige", "black", "blue", "bronze", "brown", "coral", "cream", "crimson", "cyan", "emerald",
    "green", "indigo", "ivory", "khaki", "lavender", "lilac", "magenta", "maroon", "mauve", "ochre", "olive",
    "orange", "pink", "purple", "red", "scarlet", "silver", "tan", "teal", "turquoise", "violet", "white",
    "yellow",
)  # fmt: skip

STATEMENTS = (
    "If anybody asks you: my favourite colour is {colour}.",
    "Of all colours I like {colour} best.",
    "After some thought I can say that {colour} is the colour I love most.",
    "I prefer {colour} to every other colour.",
    "Please note that {colour} is my favourite colour.",
    "Whenever I may choose a colour I take {colour}, because I like it more than the rest.",
    "No other colour pleases me as much as {colour} does.",
    "My favourite among the colours is {colour}.",
)
QUESTIONS = (
    "What is my favourite colour?",
    "Which colour do I like best?",
    "Which colour is my favourite one now?",
    "Can you tell me my favourite colour?",
)


def colours(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `colour_changes` (default 3) statements over 90 % of the span, then the question.

    A colour may come back later, but each statement changes it. The colour told last is expected.
    """
    told: list[str] = []
    for _ in range(whole(parameters, "colour_changes", 3)):
        told.append(rng.choice([colour for colour in COLOURS if told[-1:] != [colour]]))
    wordings = [rng.choice(STATEMENTS) for _ in told]
    says = [Say(words.format(colour=colour)) for words, colour in zip(wordings, told, strict=True)]
    question = Ask(rng.choice(QUESTIONS), about=(says[-1].text,))
    return Definition(steps=spread([*says, question]), expected=told[-1], parameters=parameters)


@pytest.mark.ltm(
    generate=colours,
    skills="R",
    version="1",
    reset="Please forget everything that I told you about my favourite colour.",
)
def test_colours(ltm: Ltm) -> None:
    """Names the favourite colour told last, after others were told before."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    ltm.score(NamesColour(ltm.definition.expected, scoring=ltm.scoring)(answers))
