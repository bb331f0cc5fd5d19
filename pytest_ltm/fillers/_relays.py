"""What other people tell and ask: sentences of scenarios, about which the user never asks.

An agent that knows the wordings of scenarios from other runs also finds them in filler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from random import Random
from typing import NamedTuple

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

# Texts that a model might obey, no matter who said them: orders for later messages,
# roles to play, books to listen to. `paper` repeats `standard`.
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
# Relayed only for their own suite: they are newer than recorded runs.
_ON_DEMAND = frozenset(["poison", "poison_with_tools", "restraint"])
# Filler requests no form of a reply.
_FORMS = ("json", "one word", "as a list", "answer with", "reply with")
_DIGIT = re.compile(r"\bdigit\b")
_CAPITALISED = re.compile(r"\b[A-Z]\w*")
# Maximum characters that a frame adds.
_FRAME = 80
# Messages taken from one generated example: fewer would cost time, more would dwell on
# it.
_TAKEN = 8
# Generated examples shared by conversations of one seed: enough for about 200,000
# tokens.
_SHARED = 4_096
# The share of relayed texts from the suite, if one is named.
_OWN = 0.75
# The user's own facts in these scenarios can be told of a stranger without answering
# any question; in others they might: a town has one map.
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
# The share of generated examples told of strangers, which look like scenario messages
# because they need no frame with a name.
_STRANGERS = 0.6


class RelayedText(NamedTuple):
    """A text that somebody else tells or asks, or one about a stranger, which needs no frame."""

    text: str
    is_framed: bool = True


@cache
def _suite_entries() -> tuple[tuple[str, SuiteEntry], ...]:
    """Return the entries of all built-in suites, each with the suite's name."""
    entries: list[tuple[str, SuiteEntry]] = []
    for suite in built_in_names():
        entries += [(suite, entry) for entry in built_in(suite).entries]
    return tuple(entries)


@cache
def _entries_of_all_suites() -> Sequence[SuiteEntry]:
    """Return the entries of all built-in suites whose messages may be relayed, without duplicates."""
    entries = []
    for suite, entry in _suite_entries():
        if suite != _FROZEN and entry.scenario not in _ON_DEMAND:
            entries.append(entry)
    return _unique_entries(entries)


@cache
def entries_of_suite(suite: str) -> Sequence[SuiteEntry]:
    """Return the entries of a built-in suite whose messages may be relayed; none if all are orders."""
    return _unique_entries(built_in(suite).entries)


@cache
def _entries_on_strangers() -> Sequence[SuiteEntry]:
    """Return the entries whose messages may be told of strangers."""
    entries = []
    for _, entry in _suite_entries():
        if entry.scenario in _OF_STRANGERS:
            entries.append(entry)
    return _unique_entries(entries)


def _unique_entries(entries: Iterable[SuiteEntry]) -> Sequence[SuiteEntry]:
    unique = {}
    for entry in entries:
        if entry.scenario not in _ORDERS:
            key = (entry.scenario, repr(sorted(entry.parameters.items())))
            unique[key] = entry
    return list(unique.values())


# Called for drawn entries only: importing all scenarios would take longer than a short
# conversation.
@cache
def _find_generator(scenario: str) -> Callable[..., Definition]:
    body = getattr(import_scenario(scenario), f"test_{scenario}")
    markers = (mark.kwargs for mark in body.pytestmark if mark.name == "ltm")
    generate: Callable[..., Definition] = next(markers)["generate"]
    return generate


def iter_relayed_texts(
    seed: int, suite: str = "", *, shared: int = _SHARED
) -> Iterator[RelayedText]:
    """Yield texts that scenarios would say and ask, endlessly, from a generator of its own.

    `suite`: most texts come from its entries, with the people renamed, because some of
    its questions name people. `shared`: the number of generated examples that are
    created once for all conversations of a seed.
    """
    beginning = _find_beginning(seed, suite)
    for number in range(shared):
        yield from beginning.examples(number)
    rng = beginning.copy_rng()
    while True:
        yield from _relay_example(rng, suite)


class _Beginning:
    """The first texts of one seed, generated once because compared conversations share them."""

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
        """Return a generator in the state at the end of the beginning."""
        rng = Random()
        rng.setstate(self._rng.getstate())
        return rng


_find_beginning = lru_cache(maxsize=8)(_Beginning)


def _relay_example(rng: Random, suite: str) -> Sequence[RelayedText]:
    if suite and rng.random() < _OWN:
        texts = _generate_texts(rng, entries_of_suite(suite))
        return [RelayedText(_rename_people(rng, text)) for text in _draw(rng, texts)]
    if rng.random() < _STRANGERS:
        return _tell_of_strangers(rng)
    texts = _generate_texts(rng, _entries_of_all_suites())
    return [RelayedText(text) for text in _draw(rng, texts)]


def _tell_of_strangers(rng: Random) -> Sequence[RelayedText]:
    """Return the statements and questions of a generated example on the user alone, told of a stranger."""
    stranger = import_scenario("_inventions").Inventions(rng).person()
    texts = _generate_texts(rng, _entries_on_strangers())
    told = []
    for text in texts:
        if not _names_people(text):
            told.append(tell_of_stranger(text, stranger))
    texts = _draw(rng, list(filter(None, told)))
    return [RelayedText(text, is_framed=False) for text in texts]


def _generate_texts(rng: Random, entries: Sequence[SuiteEntry]) -> Sequence[str]:
    entry = rng.choice(entries)
    generate = _find_generator(entry.scenario)
    definition = generate(rng, dict(entry.parameters))
    texts = []
    for step in definition.steps:
        if isinstance(step, (Say, Ask)) and _can_be_relayed(step.text):
            texts.append(step.text)
    return texts


def _draw(rng: Random, texts: Sequence[str]) -> Sequence[str]:
    return rng.sample(texts, min(_TAKEN, len(texts)))


@cache
def _people() -> frozenset[str]:
    """Return the first names of people in scenarios."""
    return frozenset(import_scenario("_first_names").GIVEN_NAMES)


def _names_people(text: str) -> bool:
    return not _people().isdisjoint(_CAPITALISED.findall(text))


def _rename_people(rng: Random, text: str) -> str:
    """Return a text with its people renamed to names that no scenario uses, consistently."""
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
