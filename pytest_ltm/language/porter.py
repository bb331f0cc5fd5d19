"""The stemmer with which ROUGE and LoCoMo's F1 were published: Porter's, as extended by NLTK.

M. F. Porter, "An algorithm for suffix stripping", Program 14 (3), 1980. NLTK adds a
pool of irregular words and three endings of step 2, and keeps short words readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from pytest_ltm.language.lexicon import LEXICON

_IRREGULAR = LEXICON.keys_by_word("porter irregular")
# Endings of three steps, in the order of trial; for two of them with their
# replacements.
_STEP_2 = LEXICON.table("porter step two")
_STEP_3 = LEXICON.table("porter step three")
(_STEP_4,) = LEXICON.table("porter step four").values()


@lru_cache(maxsize=50_000)
def porter_stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    for step in (_cut_plural, _cut_past, _turn_y, _step_2, _step_3, _step_4, _step_5):
        word = step(word)
    return word


def _cut_plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _cut_past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        stem = word.removesuffix(ending)
        if stem != word and _has_vowel(stem):
            return _complete_stem(stem)
    return word


def _complete_stem(stem: str) -> str:
    """Complete a stem after `ed` or `ing` is cut: hop(p), fil(e)."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double_consonant(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    if _measure(stem) == 1 and _ends_short(stem):
        return stem + "e"
    return stem


def _turn_y(word: str) -> str:
    stem = word[:-1]
    if word.endswith("y") and len(stem) > 1 and _consonants(stem)[-1]:
        return stem + "i"
    return word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-4] + "al")
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replace_ending(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replace_ending(word, _STEP_3)


def _replace_ending(word: str, endings: Mapping[str, tuple[str, ...]]) -> str:
    """Replace the first matching ending, unless too little of the word would remain."""
    for ending, (replacement,) in endings.items():
        if word.endswith(ending):
            stem = word[: -len(ending)]
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _step_4(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            stem = word[: -len(ending)]
            is_cut = _measure(stem) > 1 and (ending != "ion" or stem[-1] in "st")
            return stem if is_cut else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        if measure > 1 or (measure == 1 and not _ends_short(stem)):
            word = stem
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        return word[:-1]
    return word


def _consonants(word: str) -> list[bool]:
    """Return whether each letter is a consonant; `y` is one unless it follows one."""
    consonants: list[bool] = []
    for letter in word:
        if letter == "y":
            consonants.append(not consonants or not consonants[-1])
        else:
            consonants.append(letter not in "aeiou")
    return consonants


def _has_vowel(stem: str) -> bool:
    return not all(_consonants(stem))


def _measure(stem: str) -> int:
    """Return how often a consonant follows a vowel: the `m` of the paper."""
    consonants = _consonants(stem)
    return sum(after and not before for before, after in pairwise(consonants))


def _ends_double_consonant(word: str) -> bool:
    return word[-2:-1] == word[-1:] and _consonants(word)[-1:] == [True]


def _ends_short(word: str) -> bool:
    """Return whether a word ends in consonant, vowel, consonant: the paper's `*o`."""
    consonants = _consonants(word)
    if len(word) == 2:
        return consonants == [False, True]
    return consonants[-3:] == [True, False, True] and word[-1] not in "wxy"
