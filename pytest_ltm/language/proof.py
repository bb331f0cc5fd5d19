"""Proofs: whether an answer asserts one of several values, refuses, hedges, recites, or is unclear.

A proof never knows which value is expected. If it cannot decide, it is unclear and has
the values that may be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.clauses import normalize_text, sentence_start
from pytest_ltm.language.commitment import (
    DENIES,
    OTHERS,
    UNKNOWN,
    Mention,
    committed_values,
    doubt_about,
    find_mentions,
    is_alternative,
    is_misspelt,
    last_word,
    trim_flood,
)
from pytest_ltm.language.english import is_english
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import words_with_digits
from pytest_ltm.language.recital import (
    ends_in_a_list,
    enumerates_everything,
    is_told,
    only_offers_example,
    recites_messages,
    repeats_told,
    short_items,
    tells_nothing,
)

if TYPE_CHECKING:
    Finder = Callable[[str], Sequence[Mention]]

# The maximum number of mentions examined: the last ones.
_MOST = 60
State = Literal["asserts", "refuses", "hedges", "recites", "unclear"]


class Proof(Struct, frozen=True):
    """The proof of an answer about some values."""

    state: State
    reason: str
    value: str = ""
    """The asserted value; "": something that is none of the values."""
    possible: frozenset[str] = frozenset()
    """The values that an unclear answer may mean; empty: any of them."""

    def answers(self, expected: Collection[str] | str) -> bool | None:
        """Return whether the answer asserts an expected value; None if neither is proven."""
        wanted = {expected} if isinstance(expected, str) else set(expected)
        if self.state == "unclear":
            if not self.possible or self.possible & wanted:
                return None
            return False
        return self.state == "asserts" and self.value in wanted


def prove(  # noqa: PLR0911 - one kind of answer, one line
    answer: str, values: Sequence[str] | Finder, *, question: str = ""
) -> Proof:
    """Return the proof of an answer in normal form.

    Args:
        answer: The answer.
        values: The values that it may assert, or a finder of them in normalized text.
        question: The question, whose words are neither doubts nor answers.
    """
    if not plain_words(answer):
        return Proof("refuses", "says nothing")
    find = values if callable(values) else _value_finder(answer, values)
    said = last_word(answer, lambda part: bool(find(normalize_text(part))))
    text = trim_flood(normalize_text(said), find)
    named = list(find(text))[-_MOST:]
    # checked first: a recital names the right value, too
    if idle := _prove_idle(answer, find):
        return idle
    if not named:
        return _without_mention(answer, text, values)
    settled = committed_values(answer, find)
    if recites_messages(answer):
        return Proof("unclear", "repeats messages", possible=frozenset(settled))
    if all(
        RE.offers.search(text[sentence_start(text, mention.start) : mention.start])
        for mention in named
    ):
        return Proof("refuses", "only offers an example")
    if usual := _usual_value(text, named):
        sure = settled in ({usual}, set())
        return Proof(
            "asserts" if sure else "unclear",
            "says what is usual",
            usual,
            frozenset((usual, *settled)),
        )
    shape = _by_shape(text, named, question)
    if len(settled) != 1:
        return shape
    (value,) = settled
    if _is_choice(text, named, value):
        return Proof("hedges", "leaves a choice")
    if shape.state == "asserts" and shape.value != value:
        return Proof(
            "unclear", "says two things", possible=frozenset((value, shape.value))
        )
    return Proof("asserts", f"settles on {value!r}", value)


def _prove_idle(answer: str, find: Finder) -> Proof | None:
    """Return the proof of a non-answer: a recital, a list or an example; None if it has its own conclusion."""
    text = normalize_text(answer)
    named = find(text)
    several = len({mention.value for mention in named}) > 1
    told_again = (
        several
        and repeats_told(answer)
        and not _prove_conclusion(text, named[-_MOST:], answer)
    )
    if told_again or (several and recites_messages(answer)):
        return Proof("recites", "repeats messages instead of answering")
    if enumerates_everything(answer) or ends_in_a_list(answer):
        return Proof("recites", "lists everything instead of answering")
    if only_offers_example(answer):
        return Proof("refuses", "only offers an example")
    return None


# --- Nothing named.

UNREAD = "is in a script or language that rules do not read"
RE = LEXICON.expressions("proof")


def is_readable(text: str) -> bool:
    """Return whether the rules can read a text's script."""
    return text.isascii() or RE.unread.search(text) is None


def _without_mention(answer: str, text: str, values: Sequence[str] | Finder) -> Proof:
    if tells_nothing(text):
        return Proof("refuses", "tells nothing")
    if not is_readable(answer) or not is_english(answer):
        return Proof("unclear", UNREAD)
    # a value of more than two distinctive words may be rephrased
    if callable(values):
        long = []
    else:
        long = [value for value in values if len(telling_words(value)) > 2]
    if long:
        return Proof("unclear", "may say it in other words", possible=frozenset(long))
    return Proof("asserts", "names none of what could be meant")


# --- The shape of the text around the mentions.


def _usual_value(text: str, named: Sequence[Mention]) -> str:
    """Return the one of several values that a normalized text calls usual, "" if none or several."""
    if len({mention.value for mention in named}) == 1:
        return ""
    usual = set()
    for mention in named:
        before = text[max(0, mention.start - 2 * _NEAR) : mention.start]
        after = text[mention.end :][:_NEAR]
        if RE.usual_before.search(before) or RE.usual_after.match(after):
            usual.add(mention.value)
    return usual.pop() if len(usual) == 1 else ""


SEVERAL = "names several"
_FEW_WORDS = 3
_FEW_VALUES = 4
_NEAR = 40
_MOSTLY_IDLE = (
    "town",
    "called",
    "named",
    "step",
    "name",
    "sure",
    "currently",
    "present",
)
_PLAIN = frozenset(map(word_stem, (*STOP_WORDS, *_MOSTLY_IDLE)))


def _by_shape(  # noqa: C901, PLR0911 - as above
    text: str, named: Sequence[Mention], question: str
) -> Proof:
    """Return the proof by the positions of the values in a normalized text."""
    named = [
        mention for mention in named if not RE.given_up.match(text, mention.end)
    ] or named
    values = dict.fromkeys(mention.value for mention in named)
    doubts = [doubt_about(text, mention, known=question) for mention in named]
    if all(reason in (DENIES, UNKNOWN) for reason in doubts):
        return Proof("refuses", "denies it, or does not know")
    if len(values) == 1:
        return _prove_single(text, named, doubts, question)
    if _is_choice(text, named):
        return Proof("hedges", "leaves a choice")
    if opening := _opening(text, named):
        return Proof("asserts", "begins with it", opening)
    spots = sorted((mention.start, mention.end) for mention in named)
    links = [text[first[1] : second[0]] for first, second in pairwise(spots)]
    if not any(map(str.strip, links)):
        return Proof("unclear", "names two in one", possible=frozenset(values))
    if len(short_items(text)) > 3 or all(
        len(link) < _NEAR and RE.row.fullmatch(link) for link in links
    ):
        return Proof("hedges", SEVERAL)
    if RE.hedges.search(text):
        return Proof("hedges", "hedges between several")
    if concluded := _prove_conclusion(text, named):
        return concluded
    if len(values) <= _FEW_VALUES and (kept := _kept_value(text, named)):
        return Proof("asserts", "sets the others aside", kept)
    if len(values) > _FEW_VALUES or len(plain_words(text)) > 120:
        return Proof("hedges", SEVERAL)
    first = min(named, key=lambda mention: mention.start)
    last = max(named, key=lambda mention: mention.end)
    return Proof("unclear", SEVERAL, possible=frozenset((first.value, last.value)))


def _prove_single(
    text: str, named: Sequence[Mention], doubts: Sequence[str], question: str
) -> Proof:
    value = named[0].value
    if all(is_alternative(text, mention) for mention in named):
        return Proof("hedges", "leaves a choice")
    outside = text[: named[0].start] + " " + text[named[-1].end :]
    asked = set(plain_words(question))
    rest = [
        word
        for word in plain_words(outside)
        if word_stem(word) not in _PLAIN and word not in asked
    ]
    sure = (
        not any(doubts)
        and not RE.negates.search(text)
        and not RE.choice.search(text)
        and not tells_nothing(text)
    )
    if len(rest) <= _FEW_WORDS and sure:
        return Proof("asserts", "says it alone", value)
    doubted = all(doubts) and OTHERS not in doubts
    if doubted and doubts[0] == DENIES:
        return Proof("refuses", DENIES)
    return Proof(
        "unclear", doubts[0] if doubted else "names it", possible=frozenset((value,))
    )


def _is_choice(text: str, named: Sequence[Mention], value: str = "") -> bool:
    """Return whether a normalized text leaves a choice of two values; one must be `value` unless that is ""."""
    ordered = sorted(named, key=lambda mention: mention.start)
    for first, second in pairwise(ordered):
        if second.start - first.end >= _NEAR or first.value == second.value:
            continue
        is_asked = value in ("", first.value, second.value)
        if is_asked and RE.choice.search(text[first.end : second.start]):
            return True
    return False


_FRAME = frozenset(("the", "a", "an", "it", "its", "is", "option", "number"))


def _opening(text: str, named: Sequence[Mention]) -> str:
    """Return the value that alone makes up the first sentence, if later mentions are in longer sentences; else "".

    A name may be followed by its kind: "the Velmere foundry".
    """
    first = RE.stop.split(text, maxsplit=1)[0]
    inside = {mention.value for mention in named if mention.end <= len(first)}
    rest = {*plain_words(first)} - _FRAME - {*plain_words(" ".join(inside))}
    if next(iter(inside), "")[:1].isupper():
        kind = {*plain_words(first)[-1:]} - set(STOP_WORDS)
    else:
        kind = set()
    if len(inside) != 1 or rest - kind:
        return ""
    later = [mention for mention in named if mention.end > len(first)]
    around = (
        RE.stop.split(text[: mention.start])[-1]
        + RE.stop.split(text[mention.start :], maxsplit=1)[0]
        for mention in later
    )
    if all(len(plain_words(part)) > _FEW_WORDS for part in around):
        return inside.pop()
    return ""


def _prove_conclusion(
    text: str, named: Sequence[Mention], answer: str = ""
) -> Proof | None:
    """Return the proof by the last concluding sentence with a single value; None if there is none.

    `answer`: the original text; a sentence told to the agent before is not a
    conclusion.
    """
    for match in (
        *reversed(list(RE.concludes.finditer(text))),
        *reversed(list(RE.takes.finditer(text))),
    ):
        inside = {
            mention.value
            for mention in named
            if match.start() <= mention.start and mention.end <= match.end()
        }
        if (
            len(inside) == 1
            and not RE.negates.search(match[0])
            and not is_told(answer, match[0])
        ):
            (value,) = inside
            last = max(named, key=lambda mention: mention.end)
            if match.end() >= last.end:
                return Proof("asserts", "concludes with it", value)
            return Proof("unclear", SEVERAL, possible=frozenset((value, last.value)))
    return None


def _kept_value(text: str, named: Sequence[Mention]) -> str:
    """Return the only value that a normalized text does not set aside, "" if none or several."""
    spans = [match.span() for match in RE.aside.finditer(text)]
    ordered = sorted(named, key=lambda mention: mention.start)
    left = set()
    for mention in ordered:
        before = text[max(0, mention.start - _NEAR) : mention.start]
        is_left_from = mention is not ordered[-1] and RE.from_word.search(before)
        is_aside = any(
            start <= mention.start and mention.end <= end for start, end in spans
        )
        if not is_aside and not is_left_from:
            left.add(mention.value)
    return left.pop() if len(left) == 1 else ""


# --- Values in other forms: joined or split, in words or digits, without articles,
# misspelt.


def telling_words(value: str) -> list[str]:
    """Return the distinctive words of a value."""
    every = plain_words(value)
    return [word for word in every if word_stem(word) not in _PLAIN] or every


def _value_finder(answer: str, values: Sequence[str]) -> Finder:
    """Return a finder of values as written, or in other forms if the answer has none as written."""
    # searching for other forms takes time proportional to the words of the answer and
    # the values
    literal = len(answer) > 3_000 or bool(find_mentions(normalize_text(answer), values))

    def find(text: str) -> list[Mention]:
        kept = _number_mentions(text, values)
        for mention in (find_mentions if literal else loose_mentions)(text, values):
            # a value's final sign distinguishes it: C++, A-
            wanted = (RE.sign.findall(mention.value[-2:]) or [""])[-1]
            match = RE.sign.match(text, mention.end)
            sign = match[0] if match else ""
            # after anything longer than a grade, a minus is a dash
            if sign == wanted or (
                not wanted and sign == "-" and len(mention.value) > 2
            ):
                kept.append(mention)
        return sorted(kept, key=lambda mention: mention.start)

    return find


def loose_mentions(text: str, values: Sequence[str]) -> list[Mention]:
    """Return the mentions of values in other forms in a normalized text."""
    tokens = list(RE.token.finditer(text))
    known = {"".join(plain_words(value)) for value in values}
    mentions: list[Mention] = []
    for value in values:
        every = plain_words(value)
        bare = telling_words(value)
        glued = "".join(every)
        apart = {len(every), 1, 2}
        # a code may be split in three parts, or letter by letter: "B 12 c"
        if any(map(str.isdigit, glued)):
            apart |= {len(bare), 3, len(glued)}
        sizes = {len(bare), 3, *apart} if glued else ()
        for part in (
            tokens[place : place + size]
            for size in sizes
            for place in range(len(tokens) - size + 1)
        ):
            spelled = [token[0] for token in part]
            joined = "".join(spelled)
            size = len(part)
            alike = (
                size == len(bare)
                and joined not in known
                and all(map(partial(_is_alike, value), spelled, bare))
            )
            # a code may be spoken in parts: "forty-eight seventeen"
            number = glued.isdecimal() and "".join(words_with_digits(spelled)) == glued
            if (joined == glued and size in apart) or alike or number:
                mentions.append(Mention(part[0].start(), part[-1].end(), value))
    return sorted(mentions, key=lambda mention: mention.start)


def _number_mentions(text: str, values: Sequence[str]) -> list[Mention]:
    """Return the mentions of numeric values in another notation: 21 for twenty-one."""
    words_of = {value: RE.token.findall(normalize_text(value)) for value in values}
    by_figures = {_figures_of(words): value for value, words in words_of.items()}
    by_figures.pop("", None)
    if not by_figures:
        return []
    tokens = list(RE.token.finditer(text))
    words = [token[0] for token in tokens]
    mentions = []
    place = 0
    while place < len(tokens):
        # twenty-one is not twenty
        spelled = words[place : place + 2]
        if not _figures_of(spelled):
            spelled = spelled[:1]
        size = len(spelled)
        value = by_figures.get(_figures_of(spelled), "")
        if value and spelled != words_of[value]:
            end = tokens[place + size - 1].end()
            mentions.append(Mention(tokens[place].start(), end, value))
        place += size
    return mentions


def _figures_of(words: Sequence[str]) -> str:
    """Return the digits of the single number that the words form, "" if they form none."""
    figures = list(words_with_digits(words))
    if len(figures) == 1 and figures[0].isdecimal():
        return figures[0]
    return ""


def _is_alike(value: str, word: str, meant: str) -> bool:
    """Return whether a word may be a form of a value's word; codes have no misspellings, names no plural."""
    if word == meant or any(map(str.isdigit, word + meant)):
        return word == meant
    if value[:1].isupper():
        return word != meant + "s" and is_misspelt(word, meant)
    return word_stem(word) == word_stem(meant) or is_misspelt(word, meant)


# --- Where no fact is expected.


def tells_nothing_new(answer: str) -> bool | None:
    """Return whether an answer tells nothing; None if it may refuse in words that no rule knows."""
    text = normalize_text(answer)
    if tells_nothing(text):
        return True
    may_refuse = (
        RE.limits.search(text) or not is_readable(answer) or not is_english(answer)
    )
    return None if plain_words(text) and may_refuse else False
