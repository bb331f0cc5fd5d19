"""TalkFiller: texts that other people tell and ask, and small talk from templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import exp, log
from random import Random

from pytest_ltm.api.model import FillerExchange, TokenCounter
from pytest_ltm.api.scenarios import built_in_names
from pytest_ltm.api.storage import FillerError, did_you_mean
from pytest_ltm.fillers._relays import entries_of_suite, iter_relayed_texts
from pytest_ltm.fillers.deck import (
    Deck,
    Room,
    built_in,
    built_in_identity,
    shuffled_range,
)
from pytest_ltm.fillers.quiz import FactTokens
from pytest_ltm.language.small_talk import PARAGRAPHS, read_templates
from pytest_ltm.locales import filled

# The version of sentences, shares and lengths; increase with every change, because it
# is part of the plan's fingerprint.
VERSION = 6
# Target distribution: share of the exchanges, minimum and maximum tokens. Short ones
# have the length of scenario messages, and are so many that an agent which skips long
# ones still hears far more talk than scenarios; pages have most of the tokens.
BANDS = ((0.05, 8, 13), (0.84, 14, 45), (0.06, 45, 180), (0.05, 500, 2500))
# The distribution for a suite's own texts, whose messages are so short that pages would
# have most of the tokens, and an agent which skips pages would hear little else.
SUITE_BANDS = ((0.05, 8, 13), (0.893, 14, 45), (0.05, 45, 180), (0.007, 500, 2500))
# The bands of `letters`: a gap takes as few messages as the agent's limit allows.
LETTERS = ((1.0, 10**6, 10**6),)
# The share of messages with texts of scenarios: most, so that knowing their wordings
# does not reveal the user's messages. The rest is small talk without a frame, so that
# the frames do not reveal them either.
RELAYED = 0.85
_PAGE = 500
# Separators of a page's sentences: mostly prose.
_JOINS = (" ", " ", " ", "\n", "\n\n")
# Minimum tokens for one more exchange.
_LEAST_LEFT = 14
_SLOT = re.compile(r"\{(\w+)\}")


def _sentence(rng: Random, template: str, **slots: str) -> str:
    """Return a template with one alternative per bracket and a word per slot, capitalized."""
    words = read_templates()["slots"]
    sentence = _SLOT.sub(
        lambda result: slots.get(result[1]) or rng.choice(words[result[1]]),
        filled(rng, template),
    )
    start = 1 + sentence.startswith('"')
    return sentence[:start].upper() + sentence[start:]


class TalkFiller:
    """Relays sentences of scenarios from other people, and small talk; a gap is just reached.

    `letters`: small talk only, in messages as long as the gap and the agent allow.
    `suite`: the built-in suite that most relayed texts come from.
    """

    def __init__(
        self,
        rng: Random,
        counter: TokenCounter,
        *,
        letters: bool = False,
        suite: str = "",
    ) -> None:
        self._rng = rng
        self._counter = counter
        self._name = "letters" if letters else "varied"
        self._suite = suite
        self._bands: tuple[tuple[float, int, int], ...] = LETTERS if letters else BANDS
        if suite:
            self._bands = SUITE_BANDS
        self._shares = [share for share, *_ in self._bands]
        self._deck = Deck(self._sentences())
        self._relayed = iter_relayed_texts(rng.getrandbits(128), suite)

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange of random length, or one that just reaches `tokens` if little remains.

        The message stays within `max_message_tokens`; FillerError if a single sentence
        is too long.
        """
        [(_, shortest, longest)] = self._rng.choices(self._bands, self._shares)
        size = round(exp(self._rng.uniform(log(shortest), log(longest))))
        if self._bands is not LETTERS and self._rng.random() < RELAYED:
            limit = min(tokens - _LEAST_LEFT, max_message_tokens)
            texts, sizes = self._relay_texts(size if shortest >= _PAGE else 1, limit)
            if texts:
                return self._relayed_exchange(texts, sizes)
        # too little would remain for another exchange, so this one takes the rest
        if size > tokens - _LEAST_LEFT:
            size = tokens
        reply = self._rng.choice(read_templates()["remarks"])
        cost = self._counter.count(reply)
        sentences, _ = self._deck.take_facts(
            Room(size, max_message_tokens).reduce_by(FactTokens(0, cost))
        )
        while sentences:
            length = sum(map(len, sentences))
            # a long message gets paragraphs depending on its length: the generator is
            # only used for sentences
            message = (_JOINS[length % len(_JOINS)] if length >= 220 else " ").join(
                sentences
            )
            size = self._counter.count(message)
            if size <= max_message_tokens:
                break
            sentences.pop()  # if counts do not add up
        else:
            raise FillerError(
                f"{self._name} filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        if message[-1] == "?":
            reply = self._rng.choice(read_templates()["questions"])
        return FillerExchange(message, reply, size)

    def _relay_texts(self, size: int, limit: int) -> tuple[list[str], list[int]]:
        """Return relayed texts, and the tokens of each.

        One text, or several up to `size` tokens; none if the first is too long.
        """
        texts = list[str]()
        sizes = list[int]()
        tokens = 0
        while tokens < size:
            text = self._relay_text()
            text_size = self._counter.count(text)
            tokens += text_size + 1
            if tokens > limit:
                break
            texts.append(text)
            sizes.append(text_size)
        return texts, sizes

    def _relay_text(self) -> str:
        """Return a text in which somebody else tells or asks what a scenario might."""
        templates = read_templates()
        name, friend = self._rng.sample(templates["names"], 2)
        frame = self._rng.choice(templates["relays"])
        text, is_framed = next(self._relayed)
        if not is_framed:
            return text
        return _sentence(self._rng, frame, name=name, friend=friend, text=text)

    def _relayed_exchange(
        self, texts: Sequence[str], sizes: Sequence[int]
    ) -> FillerExchange:
        message = PARAGRAPHS.join(texts)
        asks = message.rstrip("”").endswith("?")
        replies = read_templates()["questions" if asks else "remarks"]
        # tokens of several texts do not add up
        size = sizes[0] if len(texts) == 1 else self._counter.count(message)
        return FillerExchange(message, self._rng.choice(replies), size)

    def configuration(self) -> object:
        """Return what determines its texts besides the seed: the sentences' version, and the facts among them."""
        name = f"{self._name}:{self._suite}" if self._suite else self._name
        return {"filler": name, "facts": built_in_identity(), "version": VERSION}

    def _sentences(self) -> Iterator[tuple[str, FactTokens]]:
        facts = self._facts()
        while True:
            # facts are rare in talk: one sentence in sixteen
            trivia = self._rng.random() < 0.06
            template = self._rng.choice(
                read_templates()["trivia" if trivia else "sentences"]
            )
            sentence = _sentence(
                self._rng, template, **({"fact": next(facts)} if trivia else {})
            )
            cost = max(1, self._counter.count(f" {sentence}"))
            yield sentence, FactTokens(cost, cost)

    def _facts(self) -> Iterator[str]:
        """Yield facts in one random order after another, endlessly, each drawn when it is needed."""
        while True:
            for number in shuffled_range(len(built_in().facts), self._rng):
                fact = built_in().facts[number]
                yield f"{fact.question} {fact.answer}."


def talk_of_suite(suite: str, rng: Random, counter: TokenCounter) -> TalkFiller:
    """Return the filler that mostly relays texts of a built-in suite.

    Raises FillerError if there is no such suite.
    """
    return TalkFiller(rng, counter, suite=_known_suite(suite))


def _known_suite(name: str) -> str:
    """Return the name of a built-in suite whose texts may be relayed; FillerError for any other."""
    if name in built_in_names() and entries_of_suite(name):
        return name
    names = list(filter(entries_of_suite, built_in_names()))
    raise FillerError(
        f"filler 'varied:{name}': {name!r} is not a suite whose texts other people can tell."
        f"{did_you_mean(name, names)} Choose from {', '.join(names)}"
    )
