"""The default filler: quizzes, remarks on a quiz, and short requests for long lists."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._engine.filler import FillerExchange
from pytest_ltm.fillers._knowledge import ordinal, roman
from pytest_ltm.fillers._quiz import INSTRUCTIONS
from pytest_ltm.fillers._trivia import MixedFiller, TriviaFiller, built_in_identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pytest_ltm._engine.tokens import TokenCounter


VERSION = 1
"""Of kinds, shares and wordings; another number for every change, because it is part of the plan's fingerprint."""
_SAME = 2
"""After so many lists, one more exchange that is long enough passes before the next. Who keeps short messages keeps,
with the request, its long reply, and soon has no room left; where it must be asked, a list is one exchange more."""
_REMARKS = 0.15
"""The share of remarks among others that are long enough, but fit into one message."""
_LEAST, _MOST = 300, 6000
"""Tokens of a list: shorter ones would displace little; longer than a quiz, so that there are no more exchanges."""
_OVER = 3
"""Tokens by which a list or remark may go beyond what is wanted, because counts of parts do not quite add up."""
_PAGE = 120
"""Tokens from which there are remarks: those of sums only, so that they repeat nothing that a quiz asks."""


class Series(NamedTuple):
    """A request for a list, with `{first}` and `{last}`, and what the list has for each number."""

    request: str
    entry: Callable[[int], str]


SERIES = (
    Series("Squares of {first} to {last}?", lambda n: str(n * n)),
    Series("Cubes of {first} to {last}?", lambda n: str(n**3)),
    Series("Count from {first} to {last}.", str),
    Series("{first} to {last} times seven?", lambda n: str(7 * n)),
    Series("{first} to {last} in binary?", lambda n: f"{n:b}"),
    Series("{first} to {last} in hex?", lambda n: f"{n:x}"),
    Series("One over {first} to {last}?", lambda n: f"1/{n}"),
    Series("{first} to {last}, Roman?", roman),
    Series("Ordinals {first} to {last}?", ordinal),
    Series("Halves of {first} to {last}?", lambda n: f"{n // 2}.{5 * (n % 2)}"),
)


class VariedFiller:
    """Says one of three kinds of exchange; each reaches what is wanted, as far as a message may be that long.

    No question of a quiz is repeated in a conversation.
    """

    def __init__(self, rng: Random, counter: TokenCounter) -> None:
        self._rng, self._counter = rng, counter
        self._quizzes, self._remarks = TriviaFiller(rng, counter), MixedFiller(rng, counter)
        self._until_list = self._lists = 0

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange that just reaches `tokens`, as a rule; FillerError where no message is short enough."""
        instruction = self._rng.choice(INSTRUCTIONS)
        remarks = self._rng.random() < _REMARKS
        made = None
        if tokens >= _LEAST and self._is_due():
            made = self._list(tokens, max_message_tokens)
        elif remarks and _PAGE < tokens <= max_message_tokens:
            made = self._remarks.remark(tokens + _OVER, max_message_tokens)
        return made or self._quizzes.make(tokens, max_message_tokens, instruction)

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the facts, and what is made of them."""
        return {"filler": "varied", "facts": built_in_identity(), "version": VERSION}

    def _is_due(self) -> bool:
        """Return whether an exchange that is long enough shall be a list."""
        self._until_list -= 1
        if self._until_list >= 0:
            return False
        self._until_list = self._lists // _SAME
        self._lists += 1
        return True

    def _list(self, tokens: int, allowed: int) -> FillerExchange | None:
        """Return a short request and its long reply; None where not even that may be said."""
        series = self._rng.choice(SERIES)
        first = self._rng.randint(11, 500)
        room = min(tokens, _MOST) + _OVER - self._counter.count(series.request)
        entries: list[str] = []
        for n in count(first):
            entries.append(series.entry(n))
            room -= self._counter.count(f" {entries[-1]},")
            if room <= 0:
                break
        request = series.request.format(first=first, last=n)
        if self._counter.count(request) > allowed:
            return None
        return FillerExchange(request, f"{', '.join(entries)}.")
