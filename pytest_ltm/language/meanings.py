"""Words by meaning: one key for all words with the same meaning, and words that mean little."""

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
# An answer may leave these out without becoming another one.
LIGHT = frozenset(map(word_stem, LEXICON.words("light meanings")))
# Words that introduce an answer.
FRAME = frozenset(map(word_stem, LEXICON.words("frame meanings")))
_ROOT = 5


def meaning_key(word: str) -> str:
    """Return the key that a word, in plain form, shares with its synonyms."""
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
    """Return the keys of each pair of neighbouring words, joined into one."""
    return frozenset(
        meaning_key(first + second) for first, second in pairwise(plain_words(text))
    )


def found_in(wanted: Sequence[str], texts: Iterable[str]) -> frozenset[str]:
    """Return the wanted keys among a text's, also in another form or joined in pairs."""
    keys = frozenset(texts)
    joined = {key for pair in pairwise(wanted) if "".join(pair) in keys for key in pair}
    return frozenset(
        key
        for key in wanted
        if key in joined or key in keys or any(is_of_root(key, k) for k in keys)
    )


def misspelled_in(wanted: Sequence[str], texts: Sequence[str]) -> frozenset[str]:
    """Return the wanted words among a text's; if only one long word is missing, it may have a wrong letter."""
    same = frozenset(wanted).intersection(texts)
    left = [word for word in wanted if word not in same]
    # a shorter word with a wrong letter is another word
    if (
        same
        and len(left) == 1
        and len(left[0]) >= 7
        and any(OSA.distance(left[0], text) == 1 for text in texts)
    ):
        return frozenset(wanted)
    return same


def is_of_root(key: str, other: str) -> bool:
    """Return whether two words have the same root: they share most of the longer one's letters, from the first."""
    shared = Prefix.similarity(key, other)
    return key.isalpha() and shared >= max(_ROOT, 0.7 * max(len(key), len(other)))


def is_like(key: str, other: str) -> bool:
    """Return whether two words may mean the same: they begin alike, or one may be a misspelling of the other."""
    if Prefix.similarity(key, other) >= 4:
        return True
    return len(key) > _ROOT and Indel.normalized_similarity(key, other) >= 0.65
