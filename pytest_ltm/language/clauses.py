"""What a text says of something that it names: that it is so, or that it is not, no longer, or only intended."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise

from pytest_ltm.api.model import casefold_plain, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON

RE = LEXICON.expressions("clauses")
# A reason for doubt that is none where somebody only says when it was told: "you told
# me earlier that it is teal".
EARLIER = "says that it was so earlier"
CHANGED = LEXICON.expression("clauses changed")
# Characters before and after a place that are near it in its sentence.
_SENTENCE = 300
_NEAR, _AGO = 40, 200
"""So many characters before something may say what it is."""


def clause_around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands before and after a place, in its clause."""
    before = text[max(0, start - _AGO) : start]
    cut = max((match.end() for match in RE.end.finditer(before)), default=0)
    after = text[end : end + _AGO]
    stop = RE.end.search(after)
    return before[cut:], after[: stop.start()] if stop else after


def sentence_around(text: str, start: int, end: int) -> str:
    """Return the sentence in which a place is."""
    stop = RE.sentence_end.search(text, end)
    return text[sentence_start(text, start) : stop.start() if stop else len(text)]


def text_nearby(text: str, start: int, end: int) -> str:
    """Return what stands near a place in its sentence: in a text of one long sentence, all places take linear time."""
    first = max(0, start - _SENTENCE)
    return sentence_around(text[first : end + _SENTENCE], start - first, end - first)


def blank_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with blanks in some places: all else stays where it is."""
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def sentence_start(text: str, place: int) -> int:
    """Return where the sentence begins that a place is in."""
    ends = _sentence_ends(text)
    before = bisect_right(ends, place)
    return ends[before - 1] if before else 0


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text that are not blank, with the marks at their ends."""
    return [part for _, part in iter_sentences(text)]


def iter_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text that are not blank, with the marks at their ends, and where they begin."""
    for start, end in pairwise([0, *_sentence_ends(text), len(text)]):
        if text[start:end].strip():
            yield start, text[start:end]


@lru_cache(maxsize=2)
def _sentence_ends(text: str) -> list[int]:
    return [match.end() for match in RE.sentence_end.finditer(text)]


def phrase_positions(
    text: str, phrase: str, *, plural: bool = False
) -> list[tuple[int, int]]:
    """Return where the words of a phrase stand in a row, in a text as `level` returns it; `plural`: also with an s."""
    first, row = _phrase_pattern(phrase, plural)
    if first and first in text:
        return [match.span() for match in row.finditer(text)]
    return []


def wording_positions(text: str, wordings: Iterable[str]) -> list[tuple[int, int]]:
    """Return where any of several wordings stands in a levelled text, also with an s."""
    found = (phrase_positions(text, wording, plural=True) for wording in wordings)
    return list(chain.from_iterable(found))


@lru_cache(maxsize=1 << 12)
def _phrase_pattern(phrase: str, plural: bool) -> tuple[str, re.Pattern[str]]:
    """Return the first word of a phrase, "" if it has none, and how its words in a row are found."""
    named = plain_words(phrase)
    between = r"[\W_]+"
    end = "s?" if plural else ""
    row = re.compile(
        rf"(?<![^\W_]){between.join(map(re.escape, named))}{end}(?![^\W_])"
    )
    return "".join(named[:1]), row


def normalize_text(text: str) -> str:
    """Return the text without case, accents, apostrophes and marks of bold."""
    return casefold_plain(text).replace("'", "").replace("*", "")


def why_not_standing(text: str, start: int, end: int, *, known: str) -> str:
    """Return why what stands at a place of a levelled text may not be what holds: "" if it holds.

    `known`: question and expected answer; a word of doubt that stands there, too, makes
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
    """Return whether each word of a few is in a text, in whatever form."""
    stems = set(map(word_stem, plain_words(text)))
    return stems.issuperset(map(word_stem, plain_words(words)))
