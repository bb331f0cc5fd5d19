"""MixedFiller: questions and remarks about a quiz, with lengths like those of what scenarios say."""

from __future__ import annotations

from itertools import chain
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._errors import FillerError
from pytest_ltm._filler import FillerExchange
from pytest_ltm.fillers._arithmetic import arithmetic
from pytest_ltm.fillers._deck import Deck, Room
from pytest_ltm.fillers._pool import built_in, built_in_identity
from pytest_ltm.fillers._quiz import Cost, Fact
from pytest_ltm.fillers._trivia import shuffled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from pytest_ltm._tokens import TokenCounter

VERSION = 1
"""Of wordings and lengths; another number for every change, because it is part of the plan's fingerprint."""
BANDS = ((0.40, 7, 12), (0.50, 13, 32), (0.06, 33, 220), (0.04, 300, 1000))
"""What is aimed at: share of the messages, fewest and most tokens. Many short ones and some pages, as scenarios have
them, and more short ones than there, because whoever keeps the shortest messages keeps very many of them."""
REPLIES = ("Noted.", "I see.", "All right.", "Thank you.", "Good to know.")
_ASKED = (12, 22)
"""Up to the first number of tokens a message is a question, from the second on never."""
_ANSWER = 1
"""Tokens of a usual answer."""
_LEAST = 12
"""So few tokens are not left for another exchange."""
_ROOM = 16
"""Tokens that the first fact of a remark may take."""
_PAGE = 100
"""Tokens from which remarks are made of sums, so that shorter facts last longer."""


class Frame(NamedTuple):
    """What stands around the facts of a remark."""

    head: str
    tail: str = ""


FRAMES = (
    Frame("Quiz: "),
    Frame("From the quiz: "),
    Frame("Next in the quiz: "),
    Frame("One more from the quiz on the radio: "),
    Frame("Nobody in the quiz knew this: ", "\nThey were given a minute."),
    Frame("The last thing in the quiz yesterday evening: ", "\nThen they played music."),
    Frame("They were asked something easy in the quiz: ", "\nI would have known it at once, for a change."),
    Frame("This was in the quiz on the radio, with the answers that they gave:\n", "\nThat was the whole quiz."),
)


class MixedFiller:
    """Asks a question or remarks on some; each message as long as chance has it, the last one of a gap as it fits.

    No question comes twice in a conversation.
    """

    def __init__(self, rng: Random, counter: TokenCounter) -> None:
        self._rng, self._counter = rng, counter
        sums = (fact for fact, _ in arithmetic(rng, counter))
        facts = chain(_known(rng), sums)
        self._questions = Deck((fact, _asked(fact, counter)) for fact in facts)
        self._remarks = Deck((fact, _told(fact, counter)) for fact in facts)
        self._pages = Deck((fact, _told(fact, counter)) for fact in sums)
        self._reply = max(counter.count(reply) for reply in REPLIES)
        self._frames = {frame: sum(counter.count(part.strip()) for part in frame) for frame in FRAMES}

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange of a length by chance, or one that just reaches `tokens` where they are nearly reached.

        The message keeps within `max_message_tokens`; FillerError if one question alone does not.
        """
        length, short = self._length(), self._rng.randint(*_ASKED)
        size = length + (_ANSWER if length <= short else self._reply)
        if size > tokens - _LEAST:
            size = tokens
        made = self._remark(size, max_message_tokens) if size > short + _ANSWER else None
        made = made or self._question(size, max_message_tokens)
        if made is None:
            raise FillerError(
                f"mixed filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        return made

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the facts, and what is made of them."""
        return {"filler": "mixed", "facts": built_in_identity(), "version": VERSION}

    def _length(self) -> int:
        """Return the tokens of a message: within a band, short ones are as likely as ones twice as long."""
        [(_, least, most)] = self._rng.choices(BANDS, [share for share, *_ in BANDS])
        return round(exp(self._rng.uniform(log(least), log(most))))

    def _question(self, size: int, allowed: int) -> FillerExchange | None:
        fact = self._questions.one(Room(size, allowed))
        return fact and FillerExchange(fact.question, fact.answer)

    def _remark(self, size: int, allowed: int) -> FillerExchange | None:
        """Return a message and its reply of about `size` tokens, with one fact at least; None if there is no room."""
        fitting = [frame for frame, cost in self._frames.items() if cost + self._reply + _ROOM <= size]
        if not fitting:
            return None
        frame = self._rng.choice(fitting)
        cost, reply = self._frames[frame], self._rng.choice(REPLIES)
        room = Room(size, allowed).less(Cost(cost, cost + self._counter.count(reply)))
        facts, _ = (self._pages if size > _PAGE else self._remarks).several(room)
        while facts and self._counter.count(_remark(frame, facts)) > allowed:  # where counts do not add up
            facts.pop()
        return FillerExchange(_remark(frame, facts), reply) if facts else None


def _known(rng: Random) -> Iterator[Fact]:
    facts = built_in().facts
    return (facts[i] for i in shuffled(len(facts), rng))


def _remark(frame: Frame, facts: Sequence[Fact]) -> str:
    return frame.head + "\n".join(map(_line, facts)) + frame.tail


def _line(fact: Fact) -> str:
    return f"{fact.question} {fact.answer}."


def _asked(fact: Fact, counter: TokenCounter) -> Cost:
    message = max(1, counter.count(fact.question))
    return Cost(message, message + counter.count(fact.answer))


def _told(fact: Fact, counter: TokenCounter) -> Cost:
    message = max(1, counter.count(f"{_line(fact)}\n"))
    return Cost(message, message)
