"""Labels (names, grades, versions, models): the same, different by a sign or a number, or open."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product, starmap

from rapidfuzz.distance import OSA

from pytest_ltm.language.values import cldr
from pytest_ltm.language.values.sameness import Sameness
from pytest_ltm.language.values.writing import LEXICON

_SILENT = LEXICON.words("titles") | LEXICON.words("articles") | LEXICON.words("frames")
_SIGN_WORDS = LEXICON.keys_by_word("signs in words")
# Reads O-negative as O negative.
_JOINED = re.compile(
    rf"(?<=[^\W\d_])-(?=(?:{'|'.join(map(re.escape, _SIGN_WORDS))})\b)", re.IGNORECASE
)
_SIGNS = frozenset("+-#*@.")
_SIGNED = re.compile(r"[^\W_]+(?:[.'][^\W_]+)*|[+#*@&$/-]|\.(?=[^\W\d_])")


def _letters(section: str) -> dict[str, str]:
    return {letters[0]: letters[1:] for letters in LEXICON.words(section)}


_LATIN = _letters("latin letters")
_LONG = _letters("long letters")
_BARE = _letters("short letters")
_VOWELS = frozenset("aeiouy")
# A word of this length with one slip is still that word.
_LONG_WORD = 6
_SHORT_SIGNED = 3


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a label."""

    forms: frozenset[str]
    """Its possible spellings in plain Latin letters."""
    text: str
    sign: str = ""
    """The signs attached to it that distinguish it: C++, A- and .NET."""
    dotted: bool = False
    """Whether it is an abbreviation with a full stop."""

    @property
    def bare(self) -> str:
        """The word in lower case without accents; Latin letters only if it had only those."""
        return _without_marks(self.text.casefold())

    @property
    def has_figures(self) -> bool:
        """Whether the word has digits."""
        return any(map(str.isdecimal, self.text))


@dataclass(frozen=True, slots=True)
class Label:
    """A name, as its distinctive words."""

    words: tuple[Word, ...]
    text: str

    @property
    def plain(self) -> frozenset[str]:
        """Its words joined without spaces, in each spelling."""
        spellings = set()
        most = max((len(word.forms) for word in self.words), default=0)
        for number in range(most):
            joined = ""
            for word in self.words:
                forms = sorted(word.forms)
                joined += forms[min(number, len(forms) - 1)] + word.sign
            spellings.add(joined)
        return frozenset(spellings)


# --- Reading.


@lru_cache(maxsize=256)
def read_label(text: str, known: frozenset[str] = frozenset()) -> Label:
    """Parse a label: a text without articles, titles and words of the question.

    `known`: words of the question, which do not distinguish.
    """
    words = list(_words_of(text))
    telling = [word for word in words if not _is_silent(word, known)]
    return Label(tuple(telling or words), text)


def _is_silent(word: Word, known: frozenset[str]) -> bool:
    name = word.text.casefold()
    # a capital A may be a grade, a lower-case one is an article
    if word.sign or (word.text.isupper() and word.text.isascii()):
        return False
    return name in _SILENT or name in known


def _words_of(text: str) -> Iterator[Word]:
    """Yield the words of a text with the signs attached to them, whether as signs or in words."""
    text = _JOINED.sub(" ", text)
    matches = list(_SIGNED.finditer(text))
    place = 0
    prefix = ""
    while place < len(matches):
        part = matches[place][0]
        end = matches[place].end()
        place += 1
        if part in _SIGNS and not part[0].isalnum():
            if end < len(text) and text[end].isalnum() and part in ".-#":
                prefix = part
            else:
                prefix = ""
            if (
                prefix == "-"
                and place >= 2
                and matches[place - 2].end() == matches[place - 1].start()
            ):
                prefix = ""
            continue
        if not part[0].isalnum():
            continue
        sign = prefix
        prefix = ""
        if part.casefold() == "dot" and place < len(matches) and not sign:
            prefix = "."
            continue
        while place < len(matches) and (mark := _sign_at(text, matches, place, part)):
            sign += mark
            place += 1
        dotted = text[end : end + 1] == "." and part[0].isalpha()
        yield Word(spellings(part), part, sign, dotted)


def _sign_at(text: str, matches: Sequence[re.Match[str]], place: int, part: str) -> str:
    """Return the sign that a match adds to the word before it: one of `+#-*`, or its name after a short word."""
    match = matches[place]
    touches = matches[place - 1].end() == match.start()
    at_end = match.end() == len(text) or not text[match.end()].isalnum()
    if match[0] in "+#*-@":
        return match[0] if touches and at_end else ""
    word = match[0].casefold()
    is_grade = len(part) <= _SHORT_SIGNED and part.isupper()
    behind_sign = matches[place - 1][0].casefold() in _SIGN_WORDS
    if word in _SIGN_WORDS and word not in ("dot", "at") and (is_grade or behind_sign):
        return _SIGN_WORDS[word]
    return ""


def spellings(word: str) -> frozenset[str]:
    """Return a word's spellings in plain Latin letters: Müller as mueller and as muller."""
    folded = unicodedata.normalize("NFC", word.casefold())
    if folded.isascii():
        return frozenset((folded,))
    folded = "".join(_LATIN.get(letter, letter) for letter in folded)
    long = "".join(_LONG.get(letter, letter) for letter in folded)
    short = "".join(_BARE.get(letter, letter) for letter in folded)
    return frozenset(map(_without_marks, (folded, long, short)))


def _without_marks(word: str) -> str:
    marked = unicodedata.normalize("NFD", word)
    return "".join(
        _BARE.get(letter, letter)
        for letter in marked
        if not unicodedata.combining(letter)
    )


# --- Comparing.


def compare_labels(first: Label, second: Label, *, named: bool = False) -> Sameness:
    """Compare two labels.

    They are OTHER if a sign, a number or a word of a closed set differs; anything else
    may be another name for the same thing. `named`: a name is asked for, so names
    without anything in common are OTHER.
    """
    if not first.words or not second.words:
        return Sameness.UNKNOWN
    same_ways = (_is_same_text, _is_same_closed, _is_acronym_of_other)
    if any(is_same(first, second) for is_same in same_ways):
        return Sameness.SAME
    other_ways = (
        _are_addresses,
        _are_other_closed,
        _differs_in_mark,
        _differs_in_contrary,
    )
    if any(is_other(first, second) for is_other in other_ways):
        return Sameness.OTHER
    if _match_in_order(first.words, second.words):
        return Sameness.SAME
    is_named = named or _is_one_word_exchanged(first, second)
    is_other = is_named and _are_unlike_names(first, second)
    return Sameness.OTHER if is_other else Sameness.UNKNOWN


def _is_one_word_exchanged(first: Label, second: Label) -> bool:
    """Return whether names of several words differ in some word but share another: Lake Bled and Lake Como."""
    return len(first.words) == len(second.words) > 1 and any(
        word.forms & other.forms
        for word, other in zip(first.words, second.words, strict=True)
    )


def _are_unlike_names(first: Label, second: Label) -> bool:
    """Return whether no differing word may be short for another: Bob and Robert share two letters."""
    words = (*first.words, *second.words)
    if not all(
        word.text[0].isupper() and word.bare.isascii() and word.text.isalpha()
        for word in words
    ):
        return False
    if any(word.text.isupper() for word in words):
        return False
    pairs = list(_differing_pairs(first, second))
    return bool(pairs) and not any(
        _are_alike(word.bare, other.bare) for word, other in pairs
    )


def _differing_pairs(first: Label, second: Label) -> Iterator[tuple[Word, Word]]:
    for word in first.words:
        for other in second.words:
            is_shared = any(word.forms & third.forms for third in second.words)
            is_shared |= any(other.forms & third.forms for third in first.words)
            if not is_shared:
                yield word, other


def _are_alike(word: str, other: str) -> bool:
    pairs = {word[place : place + 2] for place in range(len(word) - 1)}
    return word[0] == other[0] or any(pair in other for pair in pairs)


def differing_words(first: str, second: str) -> tuple[int, int]:
    """Return the number of distinctive words in each text that the other lacks."""
    mine = read_label(first).words
    theirs = read_label(second).words
    return _count_missing(mine, theirs), _count_missing(theirs, mine)


def _count_missing(words: Sequence[Word], others: Sequence[Word]) -> int:
    return sum(
        not any(_is_same_word(word, other) for other in others) for word in words
    )


def _is_acronym_of_other(first: Label, second: Label) -> bool:
    return _is_acronym(first, second) or _is_acronym(second, first)


def _are_addresses(first: Label, second: Label) -> bool:
    return _is_address(first.text) and _is_address(second.text)


def _is_same_text(first: Label, second: Label) -> bool:
    return not first.plain.isdisjoint(second.plain)


def _is_same_closed(first: Label, second: Label) -> bool:
    names = [_closed_name(label.text) for label in (first, second)]
    return names[0] is not None and names[0] == names[1]


def _are_other_closed(first: Label, second: Label) -> bool:
    """Return whether labels are two countries, cities or languages, neither being part of the other."""
    mine = _closed_name(first.text)
    theirs = _closed_name(second.text)
    if mine is None or theirs is None or mine.kind != theirs.kind:
        return False
    if any(name.code in _UNIONS or name.code.isdecimal() for name in (mine, theirs)):
        return False
    return mine.code[:2] != theirs.code[:2] or mine.kind == "city"


# Codes of territories that contain others.
_UNIONS = frozenset(("EU", "EZ", "UN", "QO"))


def _is_address(text: str) -> bool:
    """Return whether a text is an address, a handle or a path, where every letter counts."""
    return " " not in text and any(mark in text for mark in ("@", "://", "/", "\\"))


def _closed_name(text: str) -> cldr.ClosedName | None:
    name = text.strip(" .,!").removeprefix("in ").removeprefix("In ")
    name = name.removeprefix("the ").removeprefix("The ")
    names = cldr.closed_names()
    return names.get(name.replace(".", "")) or names.get(cldr.name_key(name))


_LONGEST_NAME = 3


def find_closed_name(text: str, name: str) -> tuple[int, int] | None:
    """Return the span of a country, city or language under any of its names: the USA; None if absent."""
    wanted = _closed_name(name)
    if wanted is None:
        return None
    return next((span for span, found in _closed_names(text) if found == wanted), None)


def is_closed_name(text: str) -> bool:
    """Return whether a text is a country, city or language."""
    return _closed_name(text) is not None


def names_other_closed(text: str, name: str) -> bool:
    """Return whether a text names another country, city or language, and not this one: the USA for Canada."""
    wanted = _closed_name(name)
    if wanted is None:
        return False
    found = [other for _, other in _closed_names(text) if other.kind == wanted.kind]
    return bool(found) and wanted not in found


def _closed_names(text: str) -> Iterator[tuple[tuple[int, int], cldr.ClosedName]]:
    """Yield the spans and identities of countries, cities and languages, the longest names first."""
    words = list(_NAME_WORD.finditer(text))
    for size in range(_LONGEST_NAME, 0, -1):
        for first, last in zip(words, words[size - 1 :], strict=False):
            span = (first.start(), last.end())
            found = _closed_name(text[slice(*span)])
            # in lower case it may be an ordinary word: turkey
            if found is not None and first[0][0].isupper():
                yield span, found


_NAME_WORD = re.compile(r"[^\W\d_]+(?:[.'-][^\W\d_]+)*")


def _differs_in_mark(first: Label, second: Label) -> bool:
    """Return whether labels with the same words differ in a sign, or labels of one kind in a number."""
    mine = _letters_of(first)
    theirs = _letters_of(second)
    signs = [tuple(word.sign for word in label.words) for label in (first, second)]
    if (
        mine == theirs
        and mine
        and signs[0] != signs[1]
        and _figures_of(first) == _figures_of(second)
    ):
        return True
    # two different grades: B- and C-
    if mine != theirs and all(map(_is_signed_letter, (first, second))):
        return True
    figures = _figures_of(first), _figures_of(second)
    if not all(figures):
        return False
    if figures[0] != figures[1]:
        are_alike = mine == theirs and len(figures[0]) == len(figures[1])
        return are_alike and not _are_lettered(*figures)
    return _has_qualifier(first, second)


def _are_lettered(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether figures are the others with letters: W32 L34 and 32/34."""
    digits = [
        sorted(re.findall(r"\d+", " ".join(figures))) for figures in (first, second)
    ]
    are_bare = all(map(str.isdecimal, first)) or all(map(str.isdecimal, second))
    return are_bare and digits[0] == digits[1]


def _is_signed_letter(label: Label) -> bool:
    return len(label.words) == 1 == len(label.words[0].text) and label.words[
        0
    ].sign in ("+", "-", "#")


_ORDINAL_END = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_CLOSED_SETS = tuple(map(frozenset, LEXICON.table("closed sets").values()))


def _differs_in_contrary(first: Label, second: Label) -> bool:
    """Return whether labels differ only in a word of a closed set, whose members exclude each other."""
    if len(first.words) != len(second.words):
        return False
    pairs = zip(first.words, second.words, strict=True)
    differing = [
        word.forms | other.forms
        for word, other in pairs
        if word.forms.isdisjoint(other.forms)
    ]
    return len(differing) == 1 and any(map(differing[0].issubset, _CLOSED_SETS))


def differs_in_sign(text: str, expected: str) -> bool:
    """Return whether a text has the expected word only with another sign: C# for C++."""
    label = read_label(expected)
    if len(label.words) != 1 or not label.words[0].sign:
        return False
    wanted = label.words[0]
    # what is joined to it may be the sign in words: "A-star"
    if re.search(rf"\b{re.escape(wanted.text)}-[^\W\d_]", text):
        return False
    named = [word for word in _words_of(text) if word.text == wanted.text]
    return bool(named) and all(word.sign != wanted.sign for word in named)


def _letters_of(label: Label) -> tuple[frozenset[str], ...]:
    return tuple(word.forms for word in label.words if not word.has_figures)


def _figures_of(label: Label) -> tuple[str, ...]:
    figures = (word.text.casefold() for word in label.words if word.has_figures)
    return tuple(sorted(_ORDINAL_END.sub("", figure) for figure in figures))


def _has_qualifier(first: Label, second: Label) -> bool:
    """Return whether one label ends with a number and the other continues after it: 13 and 13 Pro."""
    short, long = sorted((first.words, second.words), key=len)
    begins = all(
        word.forms & other.forms for word, other in zip(short, long, strict=False)
    )
    # all words of a designation are capitalised, unlike "when she was 10"
    is_designation = any(_has_capital(word) and not word.has_figures for word in short)
    is_designation &= all(map(_has_capital, long[len(short) :]))
    return (
        begins and is_designation and len(short) < len(long) and short[-1].has_figures
    )


def _has_capital(word: Word) -> bool:
    return any(map(str.isupper, word.text))


def _match_in_order(mine: Sequence[Word], theirs: Sequence[Word]) -> bool:
    """Return whether the words of two names agree pairwise."""
    if len(mine) != len(theirs):
        return _match_initials(mine, theirs)
    is_spelled_out = False
    for word, other in zip(mine, theirs, strict=True):
        if not _is_same_word(word, other):
            return False
        is_spelled_out |= bool(word.forms & other.forms) or len(word.text) > 1
    return is_spelled_out


def _match_initials(mine: Sequence[Word], theirs: Sequence[Word]) -> bool:
    """Return whether joined initials stand for the other's first names: JRR Tolkien."""
    short, long = sorted((mine, theirs), key=len)
    if len(short) != 2 or not short[0].text.isupper() or len(long) < 3:
        return False
    initials = "".join(min(word.forms)[0] for word in long[:-1])
    return initials in short[0].forms and bool(short[1].forms & long[-1].forms)


def _is_same_word(word: Word, other: Word) -> bool:
    if word.sign != other.sign:
        return False
    if word.forms & other.forms or _is_inflected(word, other):
        return True
    if _is_abbreviation(word, other) or _is_abbreviation(other, word):
        return True
    return any(_is_slip(form, theirs) for form in word.forms for theirs in other.forms)


_ENDINGS = ("s", "es")
_CASE_ENDINGS = LEXICON.words("slavic endings")


def _is_inflected(word: Word, other: Word) -> bool:
    """Return whether one word is the other's plural, or another case of a Slavic name."""
    for mine in word.forms:
        for theirs in other.forms:
            short, long = sorted((mine, theirs), key=len)
            if long in [short + ending for ending in _ENDINGS]:
                return len(short) > 2
            if _plural_of_f(mine) == theirs or _plural_of_f(theirs) == mine:
                return True
    if not (_is_cyrillic(word) and _is_cyrillic(other)):
        return False
    return any(starmap(_share_stem, product(word.forms, other.forms)))


def _is_cyrillic(word: Word) -> bool:
    letters = set(word.text.casefold())
    return not word.text.isascii() and not letters.isdisjoint(_LATIN)


def _plural_of_f(word: str) -> str:
    if word.endswith("fe"):
        return f"{word[:-2]}ves"
    if word.endswith("f"):
        return f"{word[:-1]}ves"
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return ""


def _share_stem(mine: str, theirs: str) -> bool:
    shared = 0
    while shared < min(len(mine), len(theirs)) and mine[shared] == theirs[shared]:
        shared += 1
    rests = mine[shared:], theirs[shared:]
    return shared >= 3 and all(not rest or rest in _CASE_ENDINGS for rest in rests)


def _is_abbreviation(short: Word, long: Word) -> bool:
    """Return whether a word abbreviates another: its beginning with a full stop, or its first and last letter: St, Mt.

    An initial abbreviates a name.
    """
    for mine in short.forms:
        for theirs in long.forms:
            if len(mine) >= len(theirs) or mine[0] != theirs[0]:
                continue
            if len(mine) == 1:
                return short.text.isupper() and long.text[0].isupper()
            begins = short.dotted and theirs.startswith(mine)
            contracted = (
                len(mine) == 2
                and mine[-1] == theirs[-1]
                and short.text[0].isupper()
                # XL is not short for XXL
                and not long.text.isupper()
            )
            if begins or contracted:
                return True
    return False


def _is_slip(mine: str, theirs: str) -> bool:
    """Return whether two long words differ by a typo: two letters swapped, one doubled, an inner vowel."""
    if (
        min(len(mine), len(theirs)) < _LONG_WORD - 1
        or OSA.distance(mine, theirs, score_cutoff=1) != 1
    ):
        return False
    if sorted(mine) == sorted(theirs):
        return True
    start = 0
    while start < min(len(mine), len(theirs)) and mine[start] == theirs[start]:
        start += 1
    if len(mine) != len(theirs):
        long = max(mine, theirs, key=len)
        # the common prefix ends after a doubled letter
        return (start > 0 and long[start] == long[start - 1]) or long[
            start : start + 1
        ] == long[start + 1 : start + 2]
    inside = 0 < start < len(mine) - 1
    return (
        inside and {mine[start], theirs[start]} <= _VOWELS and len(mine) >= _LONG_WORD
    )


# --- Acronyms.


_SHORTEST_ACRONYM = 2


def _is_acronym(short: Label, long: Label) -> bool:
    """Return whether a label consists of the first letters of another's words: UCLA, WWII, U.S."""
    if len(short.words) != 1 or len(long.words) < 2:
        return False
    text = short.words[0].text.replace(".", "")
    if len(text) < _SHORTEST_ACRONYM or short.words[0].sign:
        return False
    if (
        not text[0].isalpha()
        or not text.isalnum()
        or not (text.isupper() or short.words[0].text != text)
    ):
        return False
    words = [word.text.casefold() for word in _words_of(long.text)]
    return _spells(text.casefold(), words)


_LITTLE_WORDS = LEXICON.words("little words")


def _spells(letters: str, words: Sequence[str]) -> bool:
    """Return whether letters spell words, each by its first letter or in full."""
    places = {0}
    for word in words:
        following = set(places) if word in _LITTLE_WORDS else set()
        for place in places:
            if letters.startswith(word[0], place):
                following.add(place + 1)
            if letters.startswith(word, place):
                following.add(place + len(word))
        places = following
    return len(letters) in places
