"""Clauses and sentences, and whether one says that a thing is so, is not, is over, or is only intended."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from pytest_ltm.api.model import casefold_plain, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import ORDINALS

RE = LEXICON.expressions("clauses")
# A reason for doubt, except where somebody only says when it was told: "you told me
# earlier that it is teal".
EARLIER = "says that it was so earlier"
CHANGED = LEXICON.expression("clauses changed")
# Characters around a position that are near it in its sentence.
_SENTENCE = 300
_NEAR, _AGO = 40, 200
"""Characters that may describe a mention: close to it, and before it."""


def clause_around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the text before and after a span within its clause."""
    before = text[max(0, start - _AGO) : start]
    cut = max((match.end() for match in RE.end.finditer(before)), default=0)
    after = text[end : end + _AGO]
    stop = RE.end.search(after)
    return before[cut:], after[: stop.start()] if stop else after


def sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentence of a span."""
    stop = RE.sentence_end.search(text, end)
    return text[sentence_start(text, start) : stop.start() if stop else len(text)]


def text_nearby(text: str, start: int, end: int) -> str:
    """Return the nearby part of a span's sentence: bounded, so that one long sentence takes linear time."""
    first = max(0, start - _SENTENCE)
    return sentence_around(text[first : end + _SENTENCE], start - first, end - first)


def blank_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with spans replaced by spaces, so that positions stay the same."""
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def sentence_start(text: str, place: int) -> int:
    """Return the start of the sentence at a position."""
    ends = _sentence_ends(text)
    before = bisect_right(ends, place)
    return ends[before - 1] if before else 0


def split_sentences(text: str) -> list[str]:
    """Return the non-blank sentences of a text, with their final punctuation."""
    return [part for _, part in iter_sentences(text)]


def iter_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start and text of each non-blank sentence, with its final punctuation."""
    for start, end in pairwise([0, *_sentence_ends(text), len(text)]):
        if text[start:end].strip():
            yield start, text[start:end]


@lru_cache(maxsize=2)
def _sentence_ends(text: str) -> list[int]:
    return [match.end() for match in RE.sentence_end.finditer(text)]


def phrase_positions(
    text: str, phrase: str, *, plural: bool = False
) -> list[tuple[int, int]]:
    """Return the spans of a phrase's words in a row in normalized text; `plural`: also with an s."""
    first, row = _phrase_pattern(phrase, plural)
    if first and first in text:
        return [match.span() for match in row.finditer(text)]
    return []


def wording_positions(text: str, wordings: Iterable[str]) -> list[tuple[int, int]]:
    """Return the spans of any of several wordings in a normalized text, also with an s."""
    found = []
    for wording in wordings:
        # two thirds are not a third
        is_ordinal = not ORDINALS.keys().isdisjoint(plain_words(wording)[-1:])
        found += phrase_positions(text, wording, plural=not is_ordinal)
    return found


@lru_cache(maxsize=1 << 12)
def _phrase_pattern(phrase: str, plural: bool) -> tuple[str, re.Pattern[str]]:
    """Return the first word of a phrase, "" if it has none, and the pattern of its words in a row."""
    named = plain_words(phrase)
    between = r"[\W_]+"
    end = "s?" if plural else ""
    row = re.compile(
        rf"(?<![^\W_]){between.join(map(re.escape, named))}{end}(?![^\W_])"
    )
    return "".join(named[:1]), row


def normalize_text(text: str) -> str:
    """Return a text without case, accents, apostrophes and asterisks."""
    return casefold_plain(text).replace("'", "").replace("*", "")


def why_not_standing(text: str, start: int, end: int, *, known: str) -> str:
    """Return why a span of a normalized text may not hold: "" if it does.

    `known`: question and expected answer; a word of doubt that is also in there causes
    no doubt.
    """
    before, after = clause_around(text, start, end)
    before = RE.not_until.sub(" ", before)
    allowed = normalize_text(known)
    for doubt, pattern, where in (
        ("denies it", RE.denied, before),
        ("denies it", RE.undone, after[:_NEAR]),
        ("says that it is over", RE.until, after[:_NEAR]),
        ("says that it is over", RE.over, before),
        ("says that it is over", CHANGED, before),
        (EARLIER, RE.before, before),
        (EARLIER, RE.at_last, after),
        ("says that it may come", RE.intended, before[-_NEAR:]),
    ):
        match = pattern.search(where)
        if not match or (pattern is RE.denied and RE.compared.search(where)):
            continue
        if not pattern.search(allowed) and not _has_stems(match[0], allowed):
            return doubt
    return ""


def _has_stems(words: str, text: str) -> bool:
    """Return whether a text has each of the words, in any form."""
    stems = set(map(word_stem, plain_words(text)))
    return stems.issuperset(map(word_stem, plain_words(words)))
