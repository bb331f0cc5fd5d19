"""The default filler: quizzes, remarks on a quiz, and short requests for long lists."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._model.filler import FillerExchange
from pytest_ltm.fillers._knowledge import ordinal, roman
from pytest_ltm.fillers._quiz import INSTRUCTIONS
from pytest_ltm.fillers._trivia import MixedFiller, TriviaFiller, built_in_identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_ltm._model.tokens import TokenCounter


VERSION = 2
"""Of kinds, shares and wordings; another number for every change, because it is part of the plan's fingerprint."""
_EACH = 2
"""Lists of each length, from one power of two to the next. Who keeps short messages keeps the requests, and with them
the lists: what a long one leaves free is filled by a shorter one, down to the length of a needle. One of each would not
do, because lengths are uneven; more would only cost exchanges, where lists have to be asked for."""
_LEAST, _MOST = 64, 6000
"""Tokens of a list: shorter ones leave no less room than needles need; longer than a quiz, so that there are no more
exchanges."""
_REMARKS = 0.15
"""The share of remarks among others that are long enough, but fit into one message."""
_OVER = 3
"""Tokens by which a list or remark may go beyond what is wanted, because counts of parts do not quite add up."""
_PAGE = 120
"""Tokens from which there are remarks: those of sums only, so that they repeat nothing that a quiz asks."""


class CountingTask(NamedTuple):
    """A request for a list up to `{last}`, shorter than most needles, and what the list has for each number."""

    request: str
    entry: Callable[[int], str]


SERIES = (
    CountingTask("First {last} squares?", lambda n: str(n * n)),
    CountingTask("First {last} cubes?", lambda n: str(n**3)),
    CountingTask("First {last} even numbers?", lambda n: str(2 * n)),
    CountingTask("First {last} odd numbers?", lambda n: str(2 * n - 1)),
    CountingTask("First {last} triangular numbers?", lambda n: str(n * (n + 1) // 2)),
    CountingTask("First {last} ordinals?", ordinal),
    CountingTask("First {last} Roman numerals?", roman),
    CountingTask("Binary up to {last}?", lambda n: f"{n:b}"),
    CountingTask("Hex up to {last}?", lambda n: f"{n:x}"),
)


class VariedFiller:
    """Says one of three kinds of exchange; each reaches what is wanted, as far as a message may be that long.

    No question of a quiz is repeated in a conversation.
    """

    def __init__(self, rng: Random, counter: TokenCounter) -> None:
        self._rng, self._counter = rng, counter
        self._quizzes, self._remarks = TriviaFiller(rng, counter), MixedFiller(rng, counter)
        self._lists: Counter[int] = Counter()
        """How many there were, by the number of bits of their length."""

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange that just reaches `tokens`, as a rule; FillerError where no message is short enough."""
        instruction = self._rng.choice(INSTRUCTIONS)
        remarks = self._rng.random() < _REMARKS
        made, length = None, min(tokens, _MOST)
        if length >= _LEAST and self._lists[length.bit_length()] < _EACH:
            made = self._list(length, max_message_tokens)
        elif remarks and _PAGE < tokens <= max_message_tokens:
            made = self._remarks.remark(tokens + _OVER, max_message_tokens)
        return made or self._quizzes.make(tokens, max_message_tokens, instruction)

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the facts, and what is made of them."""
        return {"filler": "varied", "facts": built_in_identity(), "version": VERSION}

    def _list(self, length: int, allowed: int) -> FillerExchange | None:
        """Return a short request and its long reply; None where not even that may be said."""
        series = self._rng.choice(SERIES)
        room = length + _OVER - self._counter.count(series.request)
        entries: list[str] = []
        for n in count(1):
            entries.append(series.entry(n))
            room -= self._counter.count(f" {entries[-1]},")
            if room <= 0:
                break
        request = series.request.format(last=n)
        if self._counter.count(request) > allowed:
            return None
        self._lists[length.bit_length()] += 1
        return FillerExchange(request, f"{', '.join(entries)}.")
