"""TriviaFiller: messages that ask for the answers of a quiz, sized to the token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import FillerError
from pytest_ltm._filler import FillerExchange
from pytest_ltm.fillers._arithmetic import arithmetic
from pytest_ltm.fillers._deck import Deck, Room
from pytest_ltm.fillers._pool import Pool, built_in, built_in_identity
from pytest_ltm.fillers._quiz import CLOSING, INSTRUCTION, Cost, Fact, item, message_of, reply_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from pytest_ltm._tokens import TokenCounter


class TriviaFiller:
    """Asks for the answers of facts in an order of its own, none twice until all were asked.

    After the last fact of the built-in pool comes arithmetic without end; a pool given begins again.
    """

    def __init__(self, rng: Random, counter: TokenCounter, pool: Pool | None = None) -> None:
        self._counter = counter
        self._pool = pool
        self._deck = Deck(_facts(rng, counter, pool))
        message = counter.count(f"{INSTRUCTION}\n{CLOSING}")
        self._frame = Cost(message, message + counter.count(reply_of(["x"])) - counter.count(item("x")))

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return a quiz and its list of answers that just reach `tokens` tokens: as a rule exactly.

        The message keeps within `max_message_tokens`, even if the target is then not reached; FillerError if
        one question alone does not.
        """
        facts, room = self._deck.several(Room(tokens, max_message_tokens).less(self._frame))
        if not facts:
            raise FillerError(
                f"trivia filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        facts = _plain_at_the_ends(facts)
        if not self._counter.additive:
            facts = self._shortened(facts, tokens, max_message_tokens)
        if self._pool is None and self._counter.additive:
            return _exchange(facts, max_message_tokens - room.allowed)
        return _exchange(facts)

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the facts."""
        return {"filler": "trivia", "facts": self._pool.identity if self._pool else built_in_identity()}

    def _shortened(self, facts: list[Fact], tokens: int, max_message_tokens: int) -> list[Fact]:
        """Return fewer facts where the counts of lines add up to less than the count of the whole."""
        while len(facts) > 1:
            exchange = _exchange(facts)
            message = max(1, self._counter.count(exchange.message))
            both = message + self._counter.count(exchange.expected_reply)
            beyond = (message - max_message_tokens) * len(facts) / message
            surplus = (both - tokens) * len(facts) / both
            too_many = max(-int(-beyond // 1), int(surplus))
            if too_many <= 0:
                break
            del facts[max(1, len(facts) - too_many) :]
        return facts


def shuffled(n: int, rng: Random) -> Iterator[int]:
    """Yield 0 to n - 1 in random order, at the cost of those that are taken (Fisher-Yates on a sparse list)."""
    moved: dict[int, int] = {}
    for last in range(n - 1, -1, -1):
        i = rng.randrange(last + 1)
        yield moved.get(i, i)
        moved[i] = moved.pop(last, last)


def _facts(rng: Random, counter: TokenCounter, given: Pool | None) -> Iterator[tuple[Fact, Cost]]:
    pool = given or built_in()
    while True:
        for i in shuffled(len(pool.facts), rng):
            yield pool.facts[i], pool.cost(i, counter)
        if given is None:
            yield from arithmetic(rng, counter)


def _plain_at_the_ends(facts: list[Fact]) -> list[Fact]:
    """Let the list of answers begin and end with a letter or digit where it can.

    Other signs may melt with a bracket into one token, and then counts do not add up.
    """
    for end in (0, -1):
        for i in range(len(facts)):
            place = i if end == 0 else -1 - i
            if facts[place].answer[end].isalnum():
                facts[end], facts[place] = facts[place], facts[end]
                break
    return facts


def _exchange(facts: Sequence[Fact], message_tokens: int | None = None) -> FillerExchange:
    return FillerExchange(message_of(facts), reply_of([fact.answer for fact in facts]), message_tokens)
