"""The questions of the probe, which tests whether an agent knows in one conversation facts told in another."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from msgspec import Struct

from pytest_ltm.api.model import STOP_WORDS, casefold_plain, plain_words, word_stem
from pytest_ltm.api.scenarios import Definition, Say

# The plan's own questions: with the secret and its question, five messages for each
# agent.
QUESTIONS = 3
# The maximum length of a question, in characters: longer ones contain what they ask
# about.
LONGEST = 1_200
# The minimum length of a telling word, in letters.
SHORTEST = 3
# The share of an answer's telling words that must occur: no agent says so many by
# chance.
SHARE = 0.6
# An agent without the facts leaks if it answers this many questions: one may be a lucky
# guess,
KNOWN_ANSWERS = 2
# and so may be two with answers as short as a colour and a first name.
KNOWN_LETTERS = 12
# The words of an agent that knows nothing, and of correct answers to questions about
# things never told.
_REFUSALS = (
    "access answer available chat conversation context detail discussed earlier enough find given information know "
    "knowledge memory mention mentioned message none nothing previous provide provided question recall record remember "
    "share shared sorry specify stated tell told unable unknown yes"
)
_SAYS_NOTHING = frozenset(map(word_stem, [*STOP_WORDS, *_REFUSALS.split()]))
_CONSONANTS = "bdfgklmnprtvz"
_VOWELS = "aeiou"


class ProbeQuestion(Struct, frozen=True):
    """A question of the plan, with the words of its answer that cannot be known without being told."""

    text: str
    telling: frozenset[str]
    """As stems."""

    @property
    def letters(self) -> int:
        """The total length of the telling words, as a measure of what the answer reveals."""
        return sum(map(len, self.telling))

    def found_in(self, reply: str) -> frozenset[str]:
        """Return the telling words of a reply if it contains enough of them; otherwise none."""
        result = self.telling & _probe_stems(reply)
        if len(result) >= ceil(SHARE * len(self.telling)):
            return result
        return frozenset()


def probe_questions(definitions: Mapping[str, Definition]) -> tuple[ProbeQuestion, ...]:
    """Return the most telling questions of a plan, at most one of each scenario; `definitions`: by scenario.

    >>> from pytest_ltm import Ask, Definition, Say
    >>> said = Say("My sister's boat is called Marquardt Kestrel.")
    >>> boat = Definition(steps=(said, Ask("What is my sister's boat called?")), expected="Marquardt Kestrel")
    >>> [sorted(question.telling) for question in probe_questions({"boats": boat})]
    [['kestrel', 'marquardt']]
    """
    best = []
    for definition in definitions.values():
        questions = list(_definition_questions(definition))
        if questions:
            best.append(max(questions, key=lambda question: question.letters))
    chosen = sorted(best, key=lambda question: -question.letters)[:QUESTIONS]
    stems_asked = _probe_stems(" ".join(question.text for question in chosen))
    probe = []
    for question in chosen:
        telling = question.telling - stems_asked
        if telling:
            probe.append(ProbeQuestion(question.text, telling))
    return tuple(probe)


def is_known(answers: Sequence[tuple[ProbeQuestion, str]]) -> bool:
    """Return whether the replies of an agent that was told nothing answer questions of the plan."""
    matches = []
    for question, reply in answers:
        if match := question.found_in(reply):
            matches.append(match)
    return (
        len(matches) >= KNOWN_ANSWERS
        and sum(map(len, frozenset().union(*matches))) >= KNOWN_LETTERS
    )


class Secret(Struct, frozen=True):
    """An invented word that is told in one conversation and asked for in the next."""

    word: str

    @classmethod
    def secret_word(cls, seed: int, agent: str) -> Secret:
        """Return the word for an agent: the same in each run with this seed."""
        rng = random.Random(f"probe {seed} {agent}")
        word = ""
        for _ in range(5):
            word += rng.choice(_CONSONANTS) + rng.choice(_VOWELS)
        return cls(word.capitalize())

    @property
    def telling(self) -> str:
        """The message that tells it."""
        return f"Please remember this: my grandmother's boat is called {self.word}."

    @property
    def question(self) -> str:
        """The message that asks for it."""
        return "What is my grandmother's boat called?"

    def is_in(self, reply: str) -> bool:
        """Return whether a reply contains the word."""
        return casefold_plain(self.word) in casefold_plain(reply)


def _definition_questions(definition: Definition) -> Iterator[ProbeQuestion]:
    """Yield the questions of a definition with known answers, which must be among its texts if it has any."""
    asks = definition.questions
    expected: list[Any] = []
    if isinstance(definition.expected, (list, tuple)):
        expected = list(definition.expected)
    texts = _probe_stems(
        " ".join(step.text for step in definition.steps if isinstance(step, Say))
    )
    in_questions = _probe_stems(" ".join(step.text for step in asks))
    for number, ask in enumerate(asks):
        right_answer = definition.expected
        if len(expected) == len(asks) > 1:
            right_answer = expected[number]
        answers = [*_iter_texts(right_answer), ask.answer]
        answers += definition.replies[number : number + 1]
        stems = _probe_stems(" ".join(filter(None, answers)))
        telling = stems - in_questions - _SAYS_NOTHING
        if texts:
            telling &= texts
        if telling and len(ask.text) <= LONGEST:
            yield ProbeQuestion(ask.text, telling)


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _iter_texts(part)


def _probe_stems(text: str) -> frozenset[str]:
    stems = map(word_stem, plain_words(text))
    return frozenset(stem for stem in stems if len(stem) >= SHORTEST)
