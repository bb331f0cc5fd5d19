"""Filler in other languages: quizzes of what `filler.yml` of a language has, and of numbers."""

from __future__ import annotations

from functools import cache
from operator import add, mod, mul
from typing import TYPE_CHECKING

from pytest_ltm.fillers._quiz import QuizFact
from pytest_ltm.fillers._trivia import Pool, TriviaFiller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from random import Random

    from pytest_ltm._model.filler import FillerExchange
    from pytest_ltm._model.tokens import TokenCounter
    from pytest_ltm.locales import Language

_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "sum": add,
    "product": mul,
    "difference": lambda a, b: abs(a - b),
    "remainder": mod,
}
_FROM, _TO = 111, 171
"""Numbers that questions are about: no question has two answers, and none is asked twice."""


class QuizFiller(TriviaFiller):
    """Quizzes in one language, each introduced in one of its ways."""

    def __init__(self, rng: Random, counter: TokenCounter, language: Language) -> None:
        super().__init__(rng, counter, _language_pool(language), closing=language.filler["closing"])
        self._rng, self._instructions = rng, language.filler["instructions"]

    def make(self, tokens: int, max_message_tokens: int, instruction: str = "") -> FillerExchange:
        """Return a quiz and its list of answers that just reach `tokens` tokens; see TriviaFiller."""
        return super().make(tokens, max_message_tokens, instruction or self._rng.choice(self._instructions))


@cache
def _language_pool(language: Language) -> Pool:
    return Pool(_language_facts(language), f"{language.code} {language.filler['version']}")


def _language_facts(language: Language) -> Iterator[QuizFact]:
    yield from (QuizFact(question, answer) for question, answer in language.filler["facts"].items())
    for kind, forms in language.filler["computed"].items():
        for form in forms:
            for a in range(_FROM, _TO):
                for b in range(_FROM, _TO):
                    if a != b:
                        yield QuizFact(form.format(a=a, b=b), str(_COMPUTED[kind](a, b)))
