"""Words by what they mean: one key for words that mean the same, and which words say little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rapidfuzz.distance import OSA, Indel, Prefix

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import words_with_digits

_SAME = {
    word_stem(word): word_stem(first)
    for first, others in LEXICON.table("same meaning").items()
    for word in (first, *others)
}
# An answer may leave these out, and does not become another one by them.
LIGHT = frozenset(map(word_stem, LEXICON.words("light meanings")))
# Words with which an answer says that it is one.
FRAME = frozenset(map(word_stem, LEXICON.words("frame meanings")))
_ROOT = 5


def meaning_key(word: str) -> str:
    """Return what a word, in plain form, has in common with all that mean the same."""
    stem = word_stem(word)
    return _SAME.get(stem, stem)


STOPS = frozenset(map(meaning_key, STOP_WORDS))


def meaning_keys(text: str) -> list[str]:
    """Return the keys of a text's words, its numbers in digits."""
    return [meaning_key(word) for word in words_with_digits(plain_words(text))]


def telling_keys(text: str) -> list[str]:
    """Return the keys of a text's words that carry meaning."""
    return [key for key in meaning_keys(text) if key not in STOPS]


def compound_keys(text: str) -> frozenset[str]:
    """Return the keys of each two neighbours of a text, written as one word."""
    return frozenset(
        meaning_key(first + second) for first, second in pairwise(plain_words(text))
    )


def found_in(wanted: Sequence[str], texts: Iterable[str]) -> frozenset[str]:
    """Return which of the wanted keys are among those of a text, in another form or two of them as one word, too."""
    keys = frozenset(texts)
    joined = {key for pair in pairwise(wanted) if "".join(pair) in keys for key in pair}
    return frozenset(
        key
        for key in wanted
        if key in joined or key in keys or any(is_of_root(key, k) for k in keys)
    )


def misspelled_in(wanted: Sequence[str], texts: Sequence[str]) -> frozenset[str]:
    """Return which of the wanted words are among those of a text; a long one with a wrong letter if all others are."""
    same = frozenset(wanted).intersection(texts)
    left = [word for word in wanted if word not in same]
    # with a letter wrong, a shorter word is another one
    if (
        same
        and len(left) == 1
        and len(left[0]) >= 7
        and any(OSA.distance(left[0], text) == 1 for text in texts)
    ):
        return frozenset(wanted)
    return same


def is_of_root(key: str, other: str) -> bool:
    """Return whether two words are of one root: they begin with the same letters, that are most of the longer one."""
    shared = Prefix.similarity(key, other)
    return key.isalpha() and shared >= max(_ROOT, 0.7 * max(len(key), len(other)))


def is_like(key: str, other: str) -> bool:
    """Return whether two words may be meant alike: they begin alike, or one may be the other misspelled."""
    if Prefix.similarity(key, other) >= 4:
        return True
    return len(key) > _ROOT and Indel.normalized_similarity(key, other) >= 0.65
