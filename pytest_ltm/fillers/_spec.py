"""Which filler a value of `--ltm-filler` names; small talk from templates, and quizzes in other languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import permutations, repeat
from math import exp, log
from operator import add, mod, mul
from random import Random
from typing import cast

from pytest_ltm._core.model.filler import Filler, FillerExchange
from pytest_ltm._core.model.suite import built_in_names
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.storage.dotted import DottedPath
from pytest_ltm._core.storage.errors import FillerError, describe_error, did_you_mean
from pytest_ltm.fillers._quiz import FactTokens, QuizFact
from pytest_ltm.fillers._relays import iter_relayed_texts, suite_generators
from pytest_ltm.fillers._trivia import (
    Deck,
    MixedFiller,
    Pool,
    Room,
    TriviaFiller,
    built_in,
    built_in_identity,
    pool_of_file,
    shuffled_range,
)
from pytest_ltm.language.small_talk import PARAGRAPHS, read_templates
from pytest_ltm.locales import ENGLISH, Language

# Of sentences, shares and lengths; another number for every change, because it is part
# of the plan's fingerprint.
VERSION = 5
# What is aimed at: share of the exchanges, fewest and most tokens. Short ones are as
# long as scenarios' messages, so many that an agent which skips long ones still hears
# far more talk than scenarios; pages are most of the tokens.
BANDS = ((0.05, 8, 13), (0.84, 14, 45), (0.06, 45, 180), (0.05, 500, 2500))
# The same where a suite's own forms are relayed: its messages are so short that pages
# would pass most of the tokens, and an agent which skips pages would hear little else.
SUITE_BANDS = (
    (0.05, 8, 13),
    (0.893, 14, 45),
    (0.05, 45, 180),
    (0.007, 500, 2500),
)
# The bands of `letters`: a gap takes as few messages as the agent's limit allows.
LETTERS = ((1.0, 10**6, 10**6),)
# The share of messages in which other people tell and ask what scenarios do: nearly all,
# so that nobody who knows those words finds the user's messages by them.
RELAYED = 0.97
_PAGE = 500
# What stands between the sentences of a page: prose, mostly.
_JOINS = (" ", " ", " ", "\n", "\n\n")
# Tokens that are enough for one more exchange.
_LEAST_LEFT = 14
_CHOICE = re.compile(r"\[([^][]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


def _sentence(rng: Random, template: str, **slots: str) -> str:
    """Return a template with an alternative for each bracket and a word for each slot, a capital at its beginning."""
    words = read_templates()["slots"]
    chosen = _CHOICE.sub(lambda result: rng.choice(result[1].split("|")), template)
    filled = _SLOT.sub(
        lambda result: slots.get(result[1]) or rng.choice(words[result[1]]), chosen
    )
    start = 1 + filled.startswith('"')
    return filled[:start].upper() + filled[start:]


class TalkFiller:
    """Says what other people tell and ask, in the scenarios' own sentences, and small talk; a gap is just reached.

    `letters`: small talk alone, as long as the gap and the agent allow. `suite`: the
    built-in one in whose forms people talk most.
    """

    def __init__(
        self,
        rng: Random,
        counter: TokenCounter,
        *,
        letters: bool = False,
        suite: str = "",
    ) -> None:
        self._rng, self._counter = rng, counter
        self._name = "letters" if letters else "varied"
        self._suite = suite
        self._bands: tuple[tuple[float, int, int], ...] = LETTERS if letters else BANDS
        if suite:
            self._bands = SUITE_BANDS
        self._deck = Deck(self._sentences())
        self._relayed = iter_relayed_texts(Random(rng.getrandbits(128)), suite)

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return an exchange of a length by chance, or one that just reaches `tokens` where they are nearly reached.

        The message keeps within `max_message_tokens`; FillerError if one sentence alone
        does not.
        """
        [(_, least, most)] = self._rng.choices(
            self._bands, [share for share, *_ in self._bands]
        )
        size = round(exp(self._rng.uniform(log(least), log(most))))
        if self._bands is not LETTERS and self._rng.random() < RELAYED:
            limit = min(tokens - _LEAST_LEFT, max_message_tokens)
            texts = self._relay_texts(size if least >= _PAGE else 1, limit)
            if texts:
                return self._relayed_exchange(texts)
        # too few would be left for another exchange: this one takes them all
        if size > tokens - _LEAST_LEFT:
            size = tokens
        reply = self._rng.choice(read_templates()["remarks"])
        cost = self._counter.count(reply)
        sentences, _ = self._deck.take_facts(
            Room(size, max_message_tokens).reduce_by(FactTokens(0, cost))
        )
        while sentences:
            length = sum(map(len, sentences))
            # what is as long as a page has paragraphs, by its length: chance is drawn
            # for its sentences alone
            message = (_JOINS[length % len(_JOINS)] if length >= 220 else " ").join(
                sentences
            )
            size = self._counter.count(message)
            if size <= max_message_tokens:
                break
            sentences.pop()  # where counts do not add up
        else:
            raise FillerError(
                f"{self._name} filler does not fit into messages of {max_message_tokens!r} tokens. "
                "Let the agent take longer ones, or use a --ltm-filler of your own"
            )
        reply = (
            self._rng.choice(read_templates()["questions"])
            if message[-1] == "?"
            else reply
        )
        return FillerExchange(message, reply, size)

    def _relay_texts(self, size: int, limit: int) -> list[str]:
        """Return what other people tell and ask: one text, more below `size` tokens; none where one is too long."""
        texts, tokens = list[str](), 0
        while tokens < size:
            text = self._relay_text()
            tokens += self._counter.count(text) + 1
            if tokens > limit:
                break
            texts.append(text)
        return texts

    def _relay_text(self) -> str:
        """Return a text in which somebody else tells or asks what a scenario might."""
        templates = read_templates()
        name, friend = self._rng.sample(templates["names"], 2)
        frame = self._rng.choice(templates["relays"])
        text = next(self._relayed)
        return _sentence(self._rng, frame, name=name, friend=friend, text=text)

    def _relayed_exchange(self, texts: Sequence[str]) -> FillerExchange:
        message = PARAGRAPHS.join(texts)
        asks = message.rstrip("”").endswith("?")
        replies = read_templates()["questions" if asks else "remarks"]
        size = self._counter.count(message)
        return FillerExchange(message, self._rng.choice(replies), size)

    def configuration(self) -> object:
        """Return what decides its texts, beside the seed: the sentences, and the facts among them."""
        name = f"{self._name}:{self._suite}" if self._suite else self._name
        return {"filler": name, "facts": built_in_identity(), "version": VERSION}

    def _sentences(self) -> Iterator[tuple[str, FactTokens]]:
        # one order after another, without end; a fact is drawn only when a sentence
        # wants it
        orders = (
            shuffled_range(len(built_in().facts), self._rng) for _ in repeat(None)
        )
        facts = (
            f"{fact.question} {fact.answer}."
            for order in orders
            for fact in map(built_in().facts.__getitem__, order)
        )
        while True:
            # in talk a fact is rare: one sentence in sixteen
            trivia = self._rng.random() < 0.06
            template = self._rng.choice(
                read_templates()["trivia" if trivia else "sentences"]
            )
            sentence = _sentence(
                self._rng, template, **({"fact": next(facts)} if trivia else {})
            )
            cost = max(1, self._counter.count(f" {sentence}"))
            yield sentence, FactTokens(cost, cost)


_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "sum": add,
    "product": mul,
    "difference": lambda a, b: abs(a - b),
    "remainder": mod,
}


class QuizFiller(TriviaFiller):
    """Quizzes in one language, each introduced in one of its ways."""

    def __init__(self, rng: Random, counter: TokenCounter, language: Language) -> None:
        super().__init__(
            rng, counter, _language_pool(language), closing=language.filler["closing"]
        )
        self._rng, self._instructions = rng, language.filler["instructions"]

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
    facts = [
        QuizFact(question, answer)
        for question, answer in language.filler["facts"].items()
    ]
    for kind, forms in language.filler["computed"].items():
        # of two different numbers of three digits: with the same twice, differences and
        # remainders would all be 0
        pairs = (
            (form, a, b) for form in forms for a, b in permutations(range(111, 171), 2)
        )
        facts += (
            QuizFact(form.format(a=a, b=b), str(_COMPUTED[kind](a, b)))
            for form, a, b in pairs
        )
    return Pool(facts, f"{language.code} {language.filler['version']}")


_OWN: dict[str, Callable[[Random, TokenCounter], Filler]] = {
    "varied": TalkFiller,
    "letters": partial(TalkFiller, letters=True),
    "mixed": MixedFiller,
}


def _known_suite(name: str) -> str:
    """Return the name of a built-in suite whose texts filler may have; FillerError for any other."""
    if name in built_in_names() and suite_generators(name):
        return name
    names = list(filter(suite_generators, built_in_names()))
    raise FillerError(
        f"filler 'varied:{name}': {name!r} is not a suite whose texts other people can tell."
        f"{did_you_mean(name, names)} There are {', '.join(names)}"
    )


def _make_own_filler(spec: str, rng: Random, counter: TokenCounter) -> Filler:
    kind, colon, rest = spec.partition(":")
    if colon and kind == "varied":
        return TalkFiller(rng, counter, suite=_known_suite(rest))
    if colon:
        raise FillerError(
            f"filler {spec!r}: {kind!r} has texts of its own and takes no more. Write {kind!r}"
        )
    return _OWN[kind](rng, counter)


def filler_from_spec(
    spec: str, rng: Random, counter: TokenCounter, language: Language = ENGLISH
) -> Filler:
    """Return a new filler for one conversation.

    `spec`: `varied`, `varied:SUITE`, `letters`, `trivia`, `trivia:PATH`, `mixed` or
    `package.module:factory`. A factory is called as `factory(rng, counter)`. Of texts
    of our own, those in the `language` are taken: other ones than English are quizzes,
    whatever the kind. Raises FillerError.
    """
    kind, colon, rest = spec.partition(":")
    if language is not ENGLISH and (spec in {"trivia", *_OWN} or kind == "varied"):
        return QuizFiller(rng, counter, language)
    if kind == "trivia":
        if colon and not rest:
            raise FillerError(
                "filler 'trivia:' names no file; write 'trivia' or 'trivia:PATH'"
            )
        return TriviaFiller(rng, counter, pool_of_file(rest) if rest else None)
    if kind in _OWN:
        return _make_own_filler(spec, rng, counter)
    if not colon:
        raise FillerError(
            f"unknown filler {spec!r}.{did_you_mean(spec, [*_OWN, 'trivia'])} "
            "Known: varied, letters, trivia, trivia:PATH, mixed, varied:SUITE, or 'package.module:factory'"
        )
    factory = DottedPath(spec, what="filler", error=FillerError).resolve()
    if not callable(factory):
        raise FillerError(
            f"filler {spec!r} must be a factory that takes (rng, counter), not {factory!r}"
        )
    try:
        made = factory(rng, counter)
    except Exception as exc:
        raise FillerError(
            f"filler {spec!r} could not be made: {describe_error(exc)}"
        ) from exc
    missing = [
        name
        for name in ("make", "configuration")
        if not callable(getattr(made, name, None))
    ]
    if missing:
        raise FillerError(
            f"filler {spec!r} returned {made!r}, which has no method {' and no '.join(missing)!r}"
        )
    return cast("Filler", made)
