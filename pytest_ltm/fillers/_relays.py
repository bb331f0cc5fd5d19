"""What other people tell and ask: the scenarios' own sentences, which no question of the user is about.

An agent that knows the words of scenarios, from other runs, finds them in filler, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, NamedTuple

from pytest_ltm._core.model.scenario import Ask, Definition, Say
from pytest_ltm._core.model.suite import built_in, built_in_names, import_scenario
from pytest_ltm.language.small_talk import LONGEST_RELAYED, PARAGRAPHS

# What a model might obey, whoever said it: orders that hold for later messages, parts
# to play, books to be listened to. `paper` says what `standard` does.
_ORDERS = frozenset(
    [
        "acting",
        "chapter_break",
        "long_work",
        "poison",
        "poison_with_tools",
        "prospective_memory",
        "restaurant",
        "restraint",
        "standing_orders",
        "time_of_need",
        "trigger_response",
    ]
)
_FROZEN = "paper"
# Filler asks for no form of a reply.
_FORM = re.compile(
    r"json|in one word|one word|as a list|(?:answer|reply) with|\bdigit\b",
    re.IGNORECASE,
)
# Characters that a frame adds at most.
_FRAME = 80
# Messages taken of one generated example: fewer would cost time, more would dwell on it.
_TAKEN = 8


class ScenarioGenerator(NamedTuple):
    """What makes the definitions of one entry of a suite."""

    generate: Callable[[Random, Mapping[str, Any]], Definition]
    parameters: Mapping[str, Any]


@cache
def scenario_generators() -> tuple[ScenarioGenerator, ...]:
    """Return the generators of all built-in suites whose messages may be relayed, each once."""
    entries = {
        (entry.scenario, repr(sorted(entry.parameters.items()))): entry
        for suite in built_in_names()
        if suite != _FROZEN
        for entry in built_in(suite).entries
        if entry.scenario not in _ORDERS
    }
    return tuple(
        ScenarioGenerator(_find_generator(entry.scenario), entry.parameters)
        for entry in entries.values()
    )


def _find_generator(scenario: str) -> Callable[..., Definition]:
    body = getattr(import_scenario(scenario), f"test_{scenario}")
    markers = (mark.kwargs for mark in body.pytestmark if mark.name == "ltm")
    generate: Callable[..., Definition] = next(markers)["generate"]
    return generate


def iter_relayed_texts(rng: Random) -> Iterator[str]:
    """Yield what scenarios would say and ask, with chances of its own, without end."""
    while True:
        generator = rng.choice(scenario_generators())
        definition = generator.generate(rng, dict(generator.parameters))
        texts = [
            step.text
            for step in definition.steps
            if isinstance(step, (Say, Ask)) and _can_be_relayed(step.text)
        ]
        yield from rng.sample(texts, min(_TAKEN, len(texts)))


def _can_be_relayed(text: str) -> bool:
    is_short = len(text) <= LONGEST_RELAYED - _FRAME and PARAGRAPHS not in text
    return is_short and _FORM.search(text) is None
