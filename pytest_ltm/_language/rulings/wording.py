"""What an answer says of each thing that a gold answer names, in its own words and order: all, some, or others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._language.clauses import normalize_text, phrase_positions, sentence_start
from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.meanings import (
    FRAME,
    LIGHT,
    STOPS,
    compound_keys,
    found_in,
    is_like,
    meaning_key,
    meaning_keys,
    misspelled_in,
    telling_keys,
)
from pytest_ltm._language.refusal import refuses_answer
from pytest_ltm._language.rulings.amounts import is_turned
from pytest_ltm._language.rulings.gold import CANNOT_TELL, Ruling
from pytest_ltm._language.rulings.stance import FINAL, LISTED, MANY, SEVERAL, SHORT, doubt_of, lists_more
from pytest_ltm._language.words import STOP_WORDS, is_english, plain_words, word_stem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet


# --- The things that a gold answer names.

TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof"})
RE = LEXICON.expressions("wording")
_MARKS = " .,\"'*\u201c\u201d"
_FEW, _SMALL, _PAIR = 3, 4, 2


@dataclass(frozen=True, slots=True)
class _Thing:
    """One thing that a gold answer names, or one of its names."""

    text: str
    wanted: tuple[str, ...]
    """The words that an answer needs: their keys, of a name their stems."""
    is_name: bool

    def found(self, text: str) -> frozenset[str]:
        """Return which of its words an answer has; those of a name must be spelled alike."""
        if self.is_name:
            return misspelled_in(self.wanted, list(map(word_stem, plain_words(text))))
        return found_in(self.wanted, (*meaning_keys(text), *compound_keys(text)))

    def as_said(self, text: str) -> str:
        """Return its words as an answer has them."""
        return " ".join(word for word in plain_words(text) if found_in(self.wanted, (meaning_key(word),)))

    def missing_words(self, said: str) -> frozenset[str]:
        """Return which of its words an answer has not."""
        return frozenset(self.wanted) - self.found(said)


def _gold_things(gold: str, question: str) -> list[list[_Thing]]:
    """Return the things that a gold answer names, each with its alternatives: "law or history" is one of two."""
    main = gold if RE.why.search(question) else RE.reason.sub("", gold) or gold
    asked, bare = frozenset(meaning_keys(question)), RE.remark.sub("", main).strip(_MARKS)
    if both := RE.also.match(bare):
        return [[_gold_thing(way, asked, named=True) for way in both.groups()]]
    parts = [RE.or_word.split(part.strip(_MARKS)) for part in RE.between.split(bare)]
    if len(parts) == 1:
        parts[0] += [remark for remark in RE.remark.findall(main) if len(telling_keys(remark)) <= _FEW]
    named = _is_name(bare)
    ways = ([way for way in part if telling_keys(way)] for part in parts)
    return [
        [_gold_thing(way, asked, named=named or n > 0) for way in several] for n, several in enumerate(ways) if several
    ]


def _gold_thing(part: str, asked: AbstractSet[str], *, named: bool) -> _Thing:
    """Return one thing; `named`: whether a single word with a capital is a name, not only a beginning."""
    match = RE.whose.match(part) or RE.title.match(part)
    text = match["name"].strip(_MARKS) if match else part
    is_name = _is_name(text) and (named or match is not None or " " in text)
    stems = [one for one in map(word_stem, plain_words(text)) if one not in STOPS | TITLES]
    every = stems if is_name else telling_keys(text)
    heavy = [one for one in every if one not in LIGHT] or every
    return _Thing(text, tuple([one for one in heavy if one not in asked] or heavy), is_name)


def _is_name(text: str) -> bool:
    """Return whether each word that carries meaning has a capital."""
    named = [word for word in re.findall(r"[^\W\d_][\w'-]*", text) if word.lower() not in STOP_WORDS and len(word) > 2]
    return bool(named) and all(word[0].isupper() for word in named)


# --- What an answer says of them.

# A brief answer has at most twice the telling words of the expected one, and so many more.
_BRIEFLY = 4
_SENTENCE = 30


def in_other_words(gold: str, question: str, text: str, *, full: bool) -> Ruling | None:
    """Return the ruling on an answer that does not repeat the expected one; None if it cannot be told.

    Args:
        gold: The expected answer's main wording.
        question: The question.
        said: What the answer concludes.
        full: Whether an answer that has only some of the words is wrong, not perhaps good enough.
    """
    if RE.either.search(text) and not RE.or_word.search(gold):
        return Ruling("no", SEVERAL)
    several = _gold_things(gold, question)
    things = [min(ways, key=lambda one: len(one.missing_words(text)) / len(one.wanted)) for ways in several]
    if not things or (not is_english(text) and len(things) == 1):
        return None
    if refuses_answer(text):
        return None if any(one.found(text) for one in things) else CANNOT_TELL
    if any(one.missing_words(text) for one in things):
        return _partial_ruling(gold, things, question, text, full=full)
    return _whole_ruling(gold, things, question, text)


def _whole_ruling(gold: str, things: Sequence[_Thing], question: str, text: str) -> Ruling | None:
    """Return the ruling on an answer that has all words of all things."""
    if any(one.is_name for one in things) and _people_keys(text) - _people_keys(f"{gold} {question}"):
        return None
    for one in things:
        parts = [part for part in LISTED.split(text) if one.found(part)]
        strange = (one.missing_words(part) and _unknown_keys(telling_keys(part), gold, question) for part in parts)
        # its words are only there as words of others: "linen napkins, a paper tablecloth"
        if len(parts) > 1 and all(strange):
            return None
    if doubts := list(filter(None, (doubt_of([one.as_said(text), one.text, gold], question, text) for one in things))):
        return Ruling("no", doubts[0]) if doubts[0] in FINAL and not RE.or_word.search(gold) else None
    further = [telling_keys(part) for part in RE.further.findall(text)] if len(things) > 1 else []
    # behind an "and" something is named that is not expected
    goes_on = any(part and part == _unknown_keys(part, gold, question) for part in further)
    if lists_more(gold, question, text) or goes_on:
        names = all(one.is_name for one in things) and not RE.remarks.search(text)
        return Ruling("no", MANY) if names else None
    return Ruling("yes", "names all of it in other words")


def is_left_behind(gold: str, question: str, text: str) -> bool:
    """Return whether an answer that says of the expected one that it is over names something else in its place."""
    spots = phrase_positions(normalize_text(text), gold, plural=True)
    before = [normalize_text(text)[sentence_start(normalize_text(text), start) : start] for start, _ in spots]
    if any(map(RE.since.search, before)) or RE.past.search(question) or len(text) > SHORT:
        return False
    return bool(_unknown_keys(telling_keys(text), gold, question))


def _people_keys(text: str) -> frozenset[str]:
    return frozenset(map(meaning_key, RE.person.findall(normalize_text(text))))


def _unknown_keys(some: Sequence[str], gold: str, question: str) -> list[str]:
    """Return the keys that neither the expected answer nor the question has, in whatever form."""
    known = frozenset(meaning_keys(f"{gold} {question}"))
    return [one for one in some if one not in known | LIGHT | FRAME and not any(is_like(one, other) for other in known)]


def _partial_ruling(gold: str, things: Sequence[_Thing], question: str, text: str, *, full: bool) -> Ruling | None:
    """Return the ruling on an answer that has not all words: wrong if it is brief, and what is asked for has a name."""
    names, size = all(one.is_name for one in things), max(len(one.wanted) for one in things)
    left = frozenset[str]().union(*(one.missing_words(text) for one in things))
    if size > _SMALL or (not names and RE.subjective.search(RE.talked.sub("", question))):
        return None
    alike = any(is_like(one, other) for one in left for other in meaning_keys(text))
    if alike or _is_abbreviated(gold, text) or is_turned(gold, text):
        return None
    strange = frozenset(_unknown_keys(telling_keys(text), gold, question))
    absent = [one for one in things if not one.found(text)]
    nothing = len(absent) == len(things)
    brief = len(telling_keys(text)) <= 2 * len(telling_keys(gold)) + _BRIEFLY
    brief |= nothing and size < _FEW and len(plain_words(text)) <= _SENTENCE
    one_word = names and things[0].wanted[0] not in left  # of a name of several: some people say no more
    wrong = (
        ("names something else", nothing and strange),
        ("leaves one of several out", absent and (full or (names and strange))),
        ("names another of the kind", len(things) == 1 and _is_replaced(things[0], text, strange)),
        ("names only a part of it", full and len(strange) <= len(left) + 1 and (strange or not one_word)),
    )
    which = wrong[:1] if nothing else wrong[1:]
    return next((Ruling("no", why) for why, holds in which if holds and brief), None)


def _is_abbreviated(gold: str, reply: str) -> bool:
    """Return whether a word of one text may be made of letters of the other: UK, MSc."""
    return any(
        RE.mixed.match(word)
        or (len(word) > (not word.isupper()) + 1 and word.lower() in "".join(one[0] for one in plain_words(other)))
        for text, other in ((gold, reply), (reply, gold))
        for word in re.findall(r"\w+", text)
    )


def _is_replaced(thing: _Thing, text: str, strange: AbstractSet[str]) -> bool:
    """Return whether an answer has another word beside one of a thing's two: semi-finals for quarter-finals."""
    mine, theirs = telling_keys(thing.text), meaning_keys(text)
    for place, word in enumerate(mine):
        if word in theirs and len(mine) == _PAIR:
            beside = theirs.index(word) + (1 if place == 0 else -1)
            if 0 <= beside < len(theirs) and theirs[beside] in strange:
                return True
    return False
