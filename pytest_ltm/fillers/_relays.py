"""What other people tell and ask: the scenarios' own sentences, which no question of the user is about.

An agent that knows the words of scenarios, from other runs, finds them in filler, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from random import Random
from typing import Any, NamedTuple

from pytest_ltm.api.scenarios import (
    Ask,
    Definition,
    Say,
    SuiteEntry,
    built_in,
    built_in_names,
    import_scenario,
)
from pytest_ltm.language.small_talk import (
    LONGEST_RELAYED,
    PARAGRAPHS,
    read_templates,
    tell_of_stranger,
)

# What a model might obey, whoever said it: orders that hold for later messages, parts
# to play, books to be listened to. `paper` says what `standard` does.
_ORDERS = frozenset(
    [
        "acting",
        "chapter_break",
        "long_work",
        "prospective_memory",
        "restaurant",
        "standing_orders",
        "time_of_need",
        "trigger_response",
    ]
)
_FROZEN = "paper"
# Relayed only where their suite is named: they are younger than what is recorded.
_ON_DEMAND = frozenset(["poison", "poison_with_tools", "restraint"])
# Filler asks for no form of a reply.
_FORMS = ("json", "one word", "as a list", "answer with", "reply with")
_DIGIT = re.compile(r"\bdigit\b")
_CAPITALISED = re.compile(r"\b[A-Z]\w*")
# Characters that a frame adds at most.
_FRAME = 80
# Messages taken of one generated example: fewer would cost time, more would dwell on it.
_TAKEN = 8
# Generated examples that conversations of one seed share: enough for about 160,000 tokens.
_SHARED = 2_048
# Of what is relayed, the share in the forms of a suite that is named.
_OWN = 0.75
# What the user tells of their own in them can be told of a stranger, and then answers
# no question; elsewhere it might: a town has one map.
_OF_STRANGERS = frozenset(
    [
        "colours",
        "conflicting_personal_information",
        "forget_on_request",
        "name_list",
        "names",
        "never_told",
        "other_world",
        "shopping_list",
        "stale_facts",
    ]
)
# The share of generated examples that are told of strangers. They need no frame that
# says whose they are, and so have the form of scenarios' messages.
_STRANGERS = 0.6


class RelayedText(NamedTuple):
    """What somebody else tells or asks, or what is told of a stranger, which needs no frame."""

    text: str
    is_framed: bool = True


class ScenarioGenerator(NamedTuple):
    """What makes the definitions of one entry of a suite."""

    generate: Callable[[Random, Mapping[str, Any]], Definition]
    parameters: Mapping[str, Any]


@cache
def _suite_entries() -> tuple[tuple[str, SuiteEntry], ...]:
    """Return the entries of all built-in suites, each with the suite's name."""
    return tuple(
        (suite, entry)
        for suite in built_in_names()
        for entry in built_in(suite).entries
    )


@cache
def scenario_generators() -> tuple[ScenarioGenerator, ...]:
    """Return the generators of all built-in suites whose messages may be relayed, each once."""
    return _unique_generators(
        entry
        for suite, entry in _suite_entries()
        if suite != _FROZEN and entry.scenario not in _ON_DEMAND
    )


@cache
def suite_generators(suite: str) -> tuple[ScenarioGenerator, ...]:
    """Return the generators of a built-in suite whose messages may be relayed, each once; none for all orders."""
    return _unique_generators(built_in(suite).entries)


@cache
def _stranger_generators() -> tuple[ScenarioGenerator, ...]:
    """Return the generators whose messages may be told of strangers."""
    return _unique_generators(
        entry for _, entry in _suite_entries() if entry.scenario in _OF_STRANGERS
    )


def _unique_generators(entries: Iterable[SuiteEntry]) -> tuple[ScenarioGenerator, ...]:
    unique = {
        (entry.scenario, repr(sorted(entry.parameters.items()))): entry
        for entry in entries
        if entry.scenario not in _ORDERS
    }
    return tuple(
        ScenarioGenerator(_find_generator(entry.scenario), entry.parameters)
        for entry in unique.values()
    )


def _find_generator(scenario: str) -> Callable[..., Definition]:
    body = getattr(import_scenario(scenario), f"test_{scenario}")
    markers = (mark.kwargs for mark in body.pytestmark if mark.name == "ltm")
    generate: Callable[..., Definition] = next(markers)["generate"]
    return generate


def iter_relayed_texts(
    seed: int, suite: str = "", *, shared: int = _SHARED
) -> Iterator[RelayedText]:
    """Yield what scenarios would say and ask, with chances of its own, without end.

    `suite`: of whose entries most of it is, with its people's names changed: some have
    something of their own, and are asked about by name. `shared`: the generated examples
    that are made once for all of one seed.
    """
    beginning = _find_beginning(seed, suite)
    for number in range(shared):
        yield from beginning.examples(number)
    rng = beginning.copy_rng()
    while True:
        yield from _relay_example(rng, suite)


class _Beginning:
    """The first texts of one seed: conversations that are compared hear the same, so they are made once."""

    def __init__(self, seed: int, suite: str) -> None:
        self._rng = Random(seed)
        self._suite = suite
        self._examples: list[Sequence[RelayedText]] = []

    def examples(self, number: int) -> Sequence[RelayedText]:
        """Return the texts of one generated example."""
        while len(self._examples) <= number:
            self._examples.append(_relay_example(self._rng, self._suite))
        return self._examples[number]

    def copy_rng(self) -> Random:
        """Return a generator that goes on where the beginning ends."""
        rng = Random()
        rng.setstate(self._rng.getstate())
        return rng


_find_beginning = lru_cache(maxsize=8)(_Beginning)


def _relay_example(rng: Random, suite: str) -> Sequence[RelayedText]:
    if suite and rng.random() < _OWN:
        texts = _generate_texts(rng, suite_generators(suite))
        return [RelayedText(_rename_people(rng, text)) for text in _draw(rng, texts)]
    if rng.random() < _STRANGERS:
        return _tell_of_strangers(rng)
    texts = _generate_texts(rng, scenario_generators())
    return [RelayedText(text) for text in _draw(rng, texts)]


def _tell_of_strangers(rng: Random) -> Sequence[RelayedText]:
    """Return what a generated example tells and asks of the user alone, told of a stranger."""
    stranger = import_scenario("_inventions").Inventions(rng).person()
    texts = _generate_texts(rng, _stranger_generators())
    told = [
        tell_of_stranger(text, stranger) for text in texts if not _names_people(text)
    ]
    texts = _draw(rng, list(filter(None, told)))
    return [RelayedText(text, is_framed=False) for text in texts]


def _generate_texts(
    rng: Random, generators: Sequence[ScenarioGenerator]
) -> Sequence[str]:
    generator = rng.choice(generators)
    definition = generator.generate(rng, dict(generator.parameters))
    return [
        step.text
        for step in definition.steps
        if isinstance(step, (Say, Ask)) and _can_be_relayed(step.text)
    ]


def _draw(rng: Random, texts: Sequence[str]) -> Sequence[str]:
    return rng.sample(texts, min(_TAKEN, len(texts)))


@cache
def _people() -> frozenset[str]:
    """Return the first names of the people whom scenarios know."""
    return frozenset(import_scenario("_first_names").GIVEN_NAMES)


def _names_people(text: str) -> bool:
    return not _people().isdisjoint(_CAPITALISED.findall(text))


def _rename_people(rng: Random, text: str) -> str:
    """Return a text about people whom no scenario knows, the same person everywhere under the same name."""
    found = dict.fromkeys(filter(_people().__contains__, _CAPITALISED.findall(text)))
    names = rng.sample(read_templates()["names"], len(found))
    renamed = dict(zip(found, names, strict=True))
    return _CAPITALISED.sub(lambda result: renamed.get(result[0], result[0]), text)


def _can_be_relayed(text: str) -> bool:
    is_short = len(text) <= LONGEST_RELAYED - _FRAME and PARAGRAPHS not in text
    return is_short and not _asks_for_form(text)


def _asks_for_form(text: str) -> bool:
    lowered = text.lower()
    for form in _FORMS:
        if form in lowered:
            return True
    return "digit" in lowered and _DIGIT.search(lowered) is not None
