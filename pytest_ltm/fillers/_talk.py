"""Small talk made of sentences from many templates: the default filler, in messages short and long, and letters."""

from __future__ import annotations

import re
from math import exp, log
from typing import TYPE_CHECKING

from pytest_ltm._language.small_talk import read_templates
from pytest_ltm._model.filler import FillerExchange
from pytest_ltm._storage.errors import FillerError
from pytest_ltm.fillers._quiz import FactTokens
from pytest_ltm.fillers._trivia import Deck, Room, built_in, built_in_identity, shuffled_range

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from pytest_ltm._model.tokens import TokenCounter


# Of sentences, shares and lengths; another number for every change, because it is part of the plan's fingerprint.
VERSION = 4
# What is aimed at: share of the exchanges, fewest and most tokens. Short ones are as long as scenarios' messages, so
# many that an agent which skips long ones still hears far more talk than scenarios; pages are most of the tokens.
BANDS = ((0.12, 8, 11), (0.76, 14, 45), (0.07, 45, 180), (0.05, 500, 2500))
# The bands of `letters`: a gap takes as few messages as the agent's limit allows.
LETTERS = ((1.0, 10**6, 10**6),)
# The share of sentences that are a fact.
_TRIVIA = 0.06
# So few tokens are not left for another exchange.
_LEAST = 14
# What stands between the sentences of a page: prose, mostly.
_JOINS = (" ", " ", " ", "\n", "\n\n")
_PAGE = 220
_CHOICE = re.compile(r"\[([^][]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


def _sentence(rng: Random, template: str, **slots: str) -> str:
    """Return a template with an alternative for each bracket and a word for each slot, a capital at its beginning."""
    words = read_templates()["slots"]
    chosen = _CHOICE.sub(lambda result: rng.choice(result[1].split("|")), template)
    filled = _SLOT.sub(lambda result: slots.get(result[1]) or rng.choice(words[result[1]]), chosen)
    start = 1 + filled.startswith('"')
    return filled[:start].upper() + filled[start:]


class TalkFiller:
    """Says small talk, each message as long as chance has it; the last one of a gap just reaches what is wanted.

    `letters`: as long as the gap and the agent allow.
    """

    def __init__(self, rng: Random, counter: TokenCounter, *, letters: bool = False) -> None:
        self._rng, self._counter = rng, counter
        self._name = "letters" if letters else "varied"
        self._bands: tuple[tuple[float, int, int], ...] = LETTERS if letters else BANDS
        self._deck = Deck(self._sentences())

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange of a length by chance, or one that just reaches `tokens` where they are nearly reached.

        The message keeps within `max_message_tokens`; FillerError if one sentence alone does not.
        """
        [(_, least, most)] = self._rng.choices(self._bands, [share for share, *_ in self._bands])
        size = round(exp(self._rng.uniform(log(least), log(most))))
        if size > tokens - _LEAST:
            size = tokens
        reply = self._rng.choice(read_templates()["remarks"])
        cost = self._counter.count(reply)
        sentences, _ = self._deck.take_facts(Room(size, max_message_tokens).reduce_by(FactTokens(0, cost)))
        while sentences and (size := self._counter.count(message := self._message(sentences))) > max_message_tokens:
            sentences.pop()  # where counts do not add up
        if not sentences:
            raise FillerError(
                f"{self._name} filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        reply = self._rng.choice(read_templates()["questions"]) if message[-1] == "?" else reply
        return FillerExchange(message, reply, size)

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the sentences, and the facts among them."""
        return {"filler": self._name, "facts": built_in_identity(), "version": VERSION}

    def _message(self, sentences: list[str]) -> str:
        if sum(map(len, sentences)) < _PAGE:
            return " ".join(sentences)
        join = _JOINS[len("".join(sentences)) % len(_JOINS)]
        return join.join(sentences)

    def _sentences(self) -> Iterator[tuple[str, FactTokens]]:
        facts = self._facts()
        while True:
            trivia = self._rng.random() < _TRIVIA
            template = self._rng.choice(read_templates()["trivia" if trivia else "sentences"])
            sentence = _sentence(self._rng, template, **({"fact": next(facts)} if trivia else {}))
            cost = max(1, self._counter.count(f" {sentence}"))
            yield sentence, FactTokens(cost, cost)

    def _facts(self) -> Iterator[str]:
        while True:
            for i in shuffled_range(len(built_in().facts), self._rng):
                fact = built_in().facts[i]
                yield f"{fact.question} {fact.answer}."
