"""MixedFiller: questions and remarks about a quiz, with lengths like those of scenario messages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import exp, log
from random import Random
from typing import NamedTuple

from pytest_ltm.api.model import FillerExchange, TokenCounter
from pytest_ltm.api.storage import FillerError, load_packaged_yaml
from pytest_ltm.fillers.deck import (
    Deck,
    Room,
    built_in,
    built_in_identity,
    shuffled_range,
)
from pytest_ltm.fillers.quiz import FactTokens, QuizFact

# The version of wordings and lengths; increase with every change, because it is part of
# the plan's fingerprint.
VERSION = 1
# Target distribution: share of the messages, minimum and maximum tokens. Many short
# ones and some pages, as in scenarios; more short ones than there, because an agent
# that keeps the shortest messages keeps very many of them.
BANDS = ((0.40, 7, 12), (0.50, 13, 32), (0.06, 33, 220), (0.04, 300, 1000))
REPLIES = ("Noted.", "I see.", "All right.", "Thank you.", "Good to know.")
# Up to the first number of tokens a message is a question, from the second on never.
_ASKED = (12, 22)
# Tokens of a usual answer.
_ANSWER = 1


class Frame(NamedTuple):
    """The text around the facts of a remark."""

    head: str
    tail: str = ""


FRAMES = [Frame(*parts) for parts in load_packaged_yaml(__file__, "frames.yml")]


class MixedFiller:
    """Asks a question or remarks on some.

    Messages have random lengths; the last one of a gap fits exactly.

    No question occurs twice in a conversation.
    """

    def __init__(self, rng: Random, counter: TokenCounter) -> None:
        from pytest_ltm.fillers.knowledge import arithmetic_facts

        self._rng = rng
        self._counter = counter
        sums = (fact for fact, _ in arithmetic_facts(rng, counter))
        quiz_facts = built_in().facts
        facts = chain(
            (quiz_facts[i] for i in shuffled_range(len(quiz_facts), rng)), sums
        )
        priced_facts = ((fact, max(1, counter.count(fact.question))) for fact in facts)
        # questions and remarks share one iterator, so that no fact occurs twice in a
        # conversation
        self._questions = Deck(
            (
                question_fact,
                FactTokens(cost, cost + counter.count(question_fact.answer)),
            )
            for question_fact, cost in priced_facts
        )
        self._remarks = Deck((fact, _told_cost(fact, counter)) for fact in facts)
        self._pages = Deck((fact, _told_cost(fact, counter)) for fact in sums)
        self._reply = max(map(counter.count, REPLIES))
        self._frames = {}
        for frame in FRAMES:
            self._frames[frame] = sum(counter.count(part.strip()) for part in frame)

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange of random length, or one that just reaches `tokens` if little remains.

        The message stays within `max_message_tokens`; FillerError if a single question
        is too long.
        """
        [(_, shortest, longest)] = self._rng.choices(
            BANDS, [share for share, *_ in BANDS]
        )
        # log-uniform: within a band every doubling of the length is equally likely
        length = round(exp(self._rng.uniform(log(shortest), log(longest))))
        short = self._rng.randint(*_ASKED)
        size = length + (_ANSWER if length <= short else self._reply)
        # too little would remain for another exchange, so this one takes the rest
        if size > tokens - 12:
            size = tokens
        if size > short + _ANSWER:
            exchange = self.make_remark(size, max_message_tokens)
        else:
            exchange = None
        if exchange:
            fact = None
        else:
            fact = self._questions.take_fact(Room(size, max_message_tokens))
        exchange = FillerExchange(fact.question, fact.answer) if fact else exchange
        if exchange is None:
            raise FillerError(
                f"mixed filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        return exchange

    def configuration(self) -> object:
        """Return what determines its texts besides the seed: the facts, and the version of the wordings."""
        return {"filler": "mixed", "facts": built_in_identity(), "version": VERSION}

    def make_remark(self, size: int, allowed: int) -> FillerExchange | None:
        """Return a message and its reply of about `size` tokens; None if there is no room.

        It has at least one fact.
        """
        # there must be room for the frame, the reply and one fact
        fitting = []
        for frame, cost in self._frames.items():
            if cost + self._reply + 16 <= size:
                fitting.append(frame)
        if not fitting:
            return None
        frame = self._rng.choice(fitting)
        cost = self._frames[frame]
        reply = self._rng.choice(REPLIES)
        room = Room(size, allowed).reduce_by(
            FactTokens(cost, cost + self._counter.count(reply))
        )
        # pages consist of sums, to save the facts, which are fewer
        facts, _ = (self._pages if size > 100 else self._remarks).take_facts(room)
        while facts and self._counter.count(_compose_remark(frame, facts)) > allowed:
            # if counts do not add up
            facts.pop()
        if facts:
            return FillerExchange(_compose_remark(frame, facts), reply)
        return None


def _compose_remark(frame: Frame, facts: Sequence[QuizFact]) -> str:
    return frame.head + "\n".join(map(_remark_line, facts)) + frame.tail


def _remark_line(fact: QuizFact) -> str:
    return f"{fact.question} {fact.answer}."


def _told_cost(fact: QuizFact, counter: TokenCounter) -> FactTokens:
    message = max(1, counter.count(f"{_remark_line(fact)}\n"))
    return FactTokens(message, message)
