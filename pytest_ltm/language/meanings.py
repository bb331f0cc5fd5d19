"""Words by meaning: one key for all words with the same meaning, and words that mean little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rapidfuzz.distance import OSA, Indel, Prefix

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.numbers import words_with_digits

_FIRST_SYNONYMS: dict[str, str] = {}
"""The stem of the first word with the same meaning, by stem."""
for _first, _others in LEXICON.table("same meaning").items():
    for _word in (_first, *_others):
        _FIRST_SYNONYMS[word_stem(_word)] = word_stem(_first)
# An answer may leave these out without becoming another one.
LIGHT = frozenset(map(word_stem, LEXICON.words("light meanings")))
# Words that introduce an answer.
FRAME = frozenset(map(word_stem, LEXICON.words("frame meanings")))
# Shorter beginnings are shared by words of different roots.
_SHORTEST_ROOT = 5
# The pot of a flowerpot.
_SHORTEST_PART = 3


def meaning_key(word: str) -> str:
    """Return the key that a word, in plain form, shares with its synonyms."""
    stem = word_stem(word)
    return _FIRST_SYNONYMS.get(stem, stem)


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


def found_in(wanted: Sequence[str], keys: Iterable[str]) -> frozenset[str]:
    """Return the wanted keys among a text's, also in another form or joined in pairs."""
    text_keys = frozenset(keys)
    found = text_keys.intersection(wanted)
    for pair in pairwise(wanted):
        if "".join(pair) in text_keys:
            found = found.union(pair)
    similar = []
    for key in wanted:
        if key not in found and any(is_of_root(key, other) for other in text_keys):
            similar.append(key)
    return found.union(similar)


def misspelled_in(wanted: Sequence[str], words: Sequence[str]) -> frozenset[str]:
    """Return the wanted words among a text's; if only one long word is missing, it may have a wrong letter."""
    found = frozenset(wanted).intersection(words)
    missing = [word for word in wanted if word not in found]
    if not found or len(missing) != 1:
        return found
    # a shorter word with a wrong letter is another word
    is_long = len(missing[0]) >= 7
    if is_long and any(OSA.distance(missing[0], word) == 1 for word in words):
        return frozenset(wanted)
    return found


def is_of_root(key: str, other: str) -> bool:
    """Return whether two words have the same root: they share most of the longer one's letters, from the first."""
    shared = Prefix.similarity(key, other)
    shortest = max(_SHORTEST_ROOT, 0.7 * max(len(key), len(other)))
    return key.isalpha() and shared >= shortest


def is_like(key: str, other: str) -> bool:
    """Return whether two words may mean the same: one is in the other, they begin alike, or one is a misspelling."""
    shorter, longer = sorted((key, other), key=len)
    shortest_part = min(len(shorter), len(longer) - len(shorter))
    is_compound = shortest_part >= _SHORTEST_PART and longer.endswith(shorter)
    if is_compound or Prefix.similarity(key, other) >= 4:
        return True
    return len(key) > _SHORTEST_ROOT and Indel.normalized_similarity(key, other) >= 0.65
