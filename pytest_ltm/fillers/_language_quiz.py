"""QuizFiller: quizzes in languages other than English."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import permutations
from operator import add, mod, mul
from random import Random

from pytest_ltm.api.model import FillerExchange, TokenCounter
from pytest_ltm.fillers.deck import Pool
from pytest_ltm.fillers.quiz import QuizFact
from pytest_ltm.fillers.trivia import TriviaFiller
from pytest_ltm.locales import Language

_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "sum": add,
    "product": mul,
    "difference": lambda a, b: abs(a - b),
    "remainder": mod,
}


class QuizFiller(TriviaFiller):
    """Quizzes in one language, each with one of its introductions."""

    def __init__(self, rng: Random, counter: TokenCounter, language: Language) -> None:
        super().__init__(
            rng, counter, _language_pool(language), closing=language.filler["closing"]
        )
        self._rng = rng
        self._instructions = language.filler["instructions"]

    def make(
        self, tokens: int, max_message_tokens: int, instruction: str = ""
    ) -> FillerExchange:
        """Return a quiz and its list of answers that just reach `tokens` tokens; see TriviaFiller."""
        return super().make(
            tokens,
            max_message_tokens,
            instruction or self._rng.choice(self._instructions),
        )


@cache
def _language_pool(language: Language) -> Pool:
    facts = []
    for question, answer in language.filler["facts"].items():
        facts.append(QuizFact(question, answer))
    for kind, forms in language.filler["computed"].items():
        compute = _COMPUTED[kind]
        for form in forms:
            # pairs of different three-digit numbers: for equal ones, differences and
            # remainders would all be 0
            for a, b in permutations(range(111, 171), 2):
                facts.append(QuizFact(form.format(a=a, b=b), str(compute(a, b))))
    return Pool(facts, f"{language.code} {language.filler['version']}")
