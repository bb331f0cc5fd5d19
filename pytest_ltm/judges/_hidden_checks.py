"""Hidden checks: answers with known grades that a judge is asked about among a run's own questions, unmarked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import count
from random import Random
from typing import Any

from msgspec import Struct

from pytest_ltm._core.journal.prechecks import LEAST_CHECKS
from pytest_ltm._core.model.judge import PROMPTS, Inquiry
from pytest_ltm._core.storage.schema import load_packaged_yaml
from pytest_ltm.language.recital import refuses_answer

ONE_IN = 10
# The words of the longest right answer that is used: of a longer one a judge might want
# only a part.
_LONGEST = 12
_WORDS = re.compile(r"\w{3,}|\d+")
_SENTENCE = re.compile(r"[A-Z].*[.!?]\s*", re.DOTALL)
_WRONG = ("other", "refusal", "injection")


@cache
def _read_texts() -> dict[str, Any]:
    """Return the sentences and questions of which checks are made."""
    texts: dict[str, Any] = load_packaged_yaml(__file__, "hidden_checks.yml")
    return texts


class KnownAnswer(Struct, frozen=True):
    """An answer, and whether a judge is to pass it."""

    question: str
    reference: str
    answer: str
    passes: bool

    @property
    def inquiry(self) -> Inquiry:
        """What the judge is asked."""
        return PROMPTS["answer"].inquiry(
            question=self.question, reference=self.reference, answer=self.answer
        )


class HiddenChecks:
    """The known answers of one conversation, and where they are asked about: both are drawn by the run's seed.

    `known`: returns questions that were asked until then, each with a right answer.
    `least`: how many checks come first if the judge is asked often enough; after that
    it is one in ten. Every other answer deserves a yes, and the first does not: so at
    least half of any number deserve a no.
    """

    def __init__(
        self, known: Callable[[], Iterable[tuple[str, str]]], rng: Random, least: int
    ) -> None:
        self._known, self._rng, self._left = known, rng, least
        self._judged: list[tuple[str, str]] = []
        self._number, self._asked, self._place = count(), 0, 0

    def before(self, inquiry: Inquiry) -> list[KnownAnswer]:
        """Return what the judge is asked before the next question of the conversation."""
        if inquiry.fail == "no":
            self._judged.append(
                (inquiry.parts.get("question", ""), inquiry.parts.get("reference", ""))
            )
        early = self._rng.randint(0, self._left)
        self._left -= early
        if self._asked % ONE_IN == 0:
            self._place = self._asked + self._rng.randrange(ONE_IN)
        due = early + (self._asked == self._place)
        self._asked += 1
        return [self.draw(passes=next(self._number) % 2 == 1) for _ in range(due)]

    def draw(self, *, passes: bool) -> KnownAnswer:
        """Return an answer that deserves a yes, or one that does not."""
        # a reference that refuses would make every refusal right
        pairs = [
            (question, reference)
            for question, reference in dict.fromkeys([*self._known(), *self._judged])
            if question
            and 0 < len(reference.split()) <= _LONGEST
            and not refuses_answer(reference)
        ]
        rng, texts = self._rng, _read_texts()
        pairs = (
            pairs
            if any(_others(reference, pairs) for _, reference in pairs)
            else [*texts["questions"].items()]
        )
        question, reference = rng.choice(
            [pair for pair in pairs if _others(pair[1], pairs)]
        )
        sentence = rng.choice(texts["sentences"])
        # a right answer as it stands in the file would be told by its form from those
        # of an agent
        if passes:
            return KnownAnswer(
                question, reference, _as_sentence(reference, sentence), passes=True
            )
        kind, other = (
            rng.choice(_WRONG),
            _as_sentence(rng.choice(_others(reference, pairs)), sentence),
        )
        answer = rng.choice(texts["refusals"]) if kind == "refusal" else other
        answer = (
            rng.choice(texts["injections"]).format(answer)
            if kind == "injection"
            else answer
        )
        return KnownAnswer(question, reference, answer, passes=False)


def share_of_checks(conversations: int) -> int:
    """Return how many checks a conversation begins with, in pairs: one to be failed, one to be passed."""
    return 2 * -(-LEAST_CHECKS // (2 * max(conversations, 1)))


def _content_words(text: str) -> set[str]:
    return set(_WORDS.findall(text.casefold()))


def _others(reference: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return right answers to other questions that share no word with this one, and so are wrong here."""
    words = _content_words(reference)
    return (
        [other for _, other in pairs if words.isdisjoint(_content_words(other))]
        if words
        else []
    )


def _as_sentence(text: str, sentence: str) -> str:
    return (
        text.strip()
        if _SENTENCE.fullmatch(text)
        else sentence.format(text.strip().rstrip("."))
    )
