"""Floors by search: what the best reply earns that depends on the message alone, not on what was said before."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.words import BULLET
from pytest_ltm._model.plan import PlannedExample, definition_rng
from pytest_ltm._model.score import Score
from pytest_ltm.agents._registry import find_agent
from pytest_ltm.testing import run_conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ltm._model.suite import SuiteEntry
    from pytest_ltm.testing import Played


# By how much the best guess may beat a declared floor.
MARGIN = 0.05
LEARNED, HELD = 20, 60
"""Seeds on which a guess is chosen, and further ones on which it is measured."""
_KINDS, _GOLDS = 3, 3
"""Kinds of questions that get a reply of their own, and frequent right answers that are tried for each."""
_INTERROGATIVE = lazy_pattern(r"\b(?:who|whose|where|when|which|what|why|how(?: many| much| long| far)?)\b")
_QUESTION = lazy_pattern(r"[^.!?\n]*\?")
_ALTERNATIVES = lazy_pattern(r",\s*(?:or\s+)?|\s+or\s+")


class Guess(NamedTuple):
    """A way to reply without memory."""

    name: str
    reply: Callable[[str], str]


def kind_of_question(message: str) -> str:
    """Return what a message asks with: `who`, `how many`, `or`, `yes or no`, `list` …; "" where it asks nothing."""
    questions = _QUESTION.findall(message)
    if not questions:
        return "list" if len(options_in(message)) > 1 else ""
    asked = questions[-1].lower()
    if word := _INTERROGATIVE.search(asked):
        return word[0]
    return "or" if " or " in asked else "yes or no"


def options_in(message: str) -> list[str]:
    """Return what a message offers: the lines of a list, else what stands on both sides of "or"."""
    lines = message.splitlines()
    items = [BULLET.sub("", line).strip() for line in lines if BULLET.match(line)] or lines[1:]
    if len(items) > 1:
        return items
    clauses = [clause for clause in re.split(r"(?<=[.!?:;])\s", message) if " or " in clause]
    return [part.strip(" ?.!") for part in _ALTERNATIVES.split(clauses[-1])] if clauses else []


def _take_option(place: int | None, message: str) -> str:
    """Return an option of a message, None for the middle one; nothing where there is none."""
    options = options_in(message)
    return options[len(options) // 2 if place is None else place] if options else ""


def _constant(reply: str) -> Guess:
    return Guess(repr(reply), lambda _: reply)


_GUESSES = (
    *map(_constant, ("", "Yes.", "No.", "I don't know.", "1")),
    Guess("the question", str),
    Guess("the first option", partial(_take_option, 0)),
    Guess("the middle option", partial(_take_option, None)),
    Guess("the last option", partial(_take_option, -1)),
)


@dataclass(frozen=True, slots=True)
class Policy:
    """A guess for each kind of question, and one for all others."""

    otherwise: Guess
    by_kind: Mapping[str, Guess]

    def reply(self, message: str) -> str:
        """Return the guess for a message."""
        return self.by_kind.get(kind_of_question(message), self.otherwise).reply(message)

    def __str__(self) -> str:
        kinds = [f"{guess.name} to {kind or 'statements'!r}" for kind, guess in self.by_kind.items()]
        return ", ".join([*kinds, f"else {self.otherwise.name}" if kinds else self.otherwise.name])


class FloorSearch:
    """Looks for the policy that earns most in a built-in scenario."""

    def __init__(self, entry: SuiteEntry) -> None:
        self._entry = entry
        self._body = getattr(import_module(f"pytest_ltm.scenarios.{entry.scenario}"), f"test_{entry.scenario}")
        self._marker = next(mark.kwargs for mark in self._body.pytestmark if mark.name == "ltm")
        self._examples = [self._planned(seed) for seed in range(LEARNED + HELD)]

    @property
    def declared(self) -> float:
        """The floor that the suite or the scenario declares."""
        floor = self._marker.get("floor", 0.0) if self._entry.floor is None else self._entry.floor
        return float(floor)

    def best(self) -> tuple[float, Policy]:
        """Return what the best policy earns, chosen on some examples and measured on others."""
        golds = self._right_answers()
        every = [text for replies in golds.values() for text in replies]
        policies = [Policy(guess, {}) for guess in (*_GUESSES, *_frequent_guesses(every))]
        points, policy = max(((self._points(policy), policy) for policy in policies), key=lambda pair: pair[0])
        for kind in sorted(golds, key=lambda kind: -len(golds[kind]))[:_KINDS]:
            for guess in (*_GUESSES, *_frequent_guesses(golds[kind])):
                changed = Policy(policy.otherwise, {**policy.by_kind, kind: guess})
                if (earned := self._points(changed)) > points:
                    points, policy = earned, changed
        return self._points(policy, held=True), policy

    def _right_answers(self) -> dict[str, list[str]]:
        """Return what an agent that is right replies, by the kind of question."""
        golds = defaultdict[str, list[str]](list)
        for example in self._examples[:LEARNED]:
            for exchange in self._play(example, find_agent("oracle").make()).transcript:
                if exchange.by and exchange.kind in {"say", "ask"}:
                    golds[kind_of_question(exchange.message)].append(exchange.reply)
        return golds

    def _points(self, policy: Policy, *, held: bool = False) -> float:
        examples = self._examples[LEARNED:] if held else self._examples[:LEARNED]
        verdicts = [self._play(example, policy.reply).endings[example.key].verdict for example in examples]
        return sum(verdict.value for verdict in verdicts if isinstance(verdict, Score)) / len(verdicts)

    def _planned(self, seed: int) -> PlannedExample:
        rng = definition_rng(seed, 0, self._entry.name, "0")
        definition = self._marker["generate"](rng, dict(self._entry.parameters))
        return PlannedExample(scenario=self._entry.name, example="0", definition=definition)

    def _play(self, example: PlannedExample, agent: object) -> Played:
        return run_conversation({self._entry.name: self._body}, agent, examples=[example], span=None)


def _frequent_guesses(replies: Sequence[str]) -> list[Guess]:
    return [_constant(reply) for reply, _ in Counter(replies).most_common(_GOLDS)]
