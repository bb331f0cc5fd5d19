"""One form for values that are written in several: numbers, units, times, names; a sign that distinguishes stays."""

from __future__ import annotations

import re

from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.numbers import NUMBERS, ONES, TENS, words_with_digits, write_digits
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.quantities import same_amounts
from pytest_ltm._language.words import casefold_plain, plain_words

_INSTANT = lazy_pattern(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?!\d)")
_COMMA = LEXICON.expression(r"{values comma}", re.IGNORECASE)
_FRACTIONS = {"\u00bd": ".5", "\u00bc": ".25", "\u00be": ".75", "\u2153": ".33", "\u2154": ".67", "\u215b": ".125"}
_FRACTION = lazy_pattern(rf"(\d*)\s?([{''.join(_FRACTIONS)}])")
_RATIO = lazy_pattern(r"(?<![\d/.:-])(?:(\d{1,2})[ -])?([1-7])/([234568])(?![\d/])(?=\s*[a-z]|\W*$)", re.IGNORECASE)
_TIMES = LEXICON.expression(r"\b(\d{1,3})\s?[x\u00d7](?=\s*(?:/|\b{values times}\b))", re.IGNORECASE)
_HOUR = lazy_pattern(
    rf"\b({'|'.join(ONES[1:13])})(?= (?:o'?clock )?(?:in the (?:morning|afternoon|evening)|"
    rf"at night)\b)",
    re.IGNORECASE,
)
_COMPOUND = lazy_pattern(
    rf"\b({'|'.join(TENS)})(?:[- ]({'|'.join(ONES[1:10])}))?(?= (?:seconds?|minutes?|"
    rf"hours?)\b)",
    re.IGNORECASE,
)
_SHORT_KILOMETERS = lazy_pattern(r"\b(\d{1,3})\s?k\b", re.IGNORECASE)
_LONG_TIME = LEXICON.expression(r"{values long time}", re.IGNORECASE)
_LAP = lazy_pattern(r"\s*\d{1,2}:\d\d\s*")


def canonical_values(text: str, *, like: str = "") -> str:
    """Return a text with its numbers, units and times in one form; `like`: a text whose units settle short ones."""
    text = _INSTANT.sub(r"\1" if ":" not in like else r"\1 \2", text)
    text = _COMMA.sub(lambda match: f"{(match[1] or match[3]).replace('.', '')}.{match[2] or match[4]}", text)
    text = _FRACTION.sub(lambda match: f"{match[1] or 0}{_FRACTIONS[match[2]]}", text)
    text = _RATIO.sub(
        lambda match: f"{int(match[1] or 0) + int(match[2]) / int(match[3]):g}" if match[2] < match[3] else match[0],
        text,
    )
    text = _TIMES.sub(r"\1 times", text)
    text = _HOUR.sub(lambda match: str(ONES.index(match[0].lower())), text)
    text = _COMPOUND.sub(lambda match: str(NUMBERS[match[1].lower()] + NUMBERS.get((match[2] or "").lower(), 0)), text)
    if re.search(r"\bk(?:m|ilomet)", like):
        text = _SHORT_KILOMETERS.sub(r"\1 km", text)
    if _LAP.fullmatch(like):
        text = _LONG_TIME.sub(_lap_time, text)
    return text


def _lap_time(match: re.Match[str]) -> str:
    minutes, seconds = ("".join(words_with_digits(plain_words(part.replace("-", " ")))) for part in match.groups())
    return f"{minutes}:{int(seconds):02}" if minutes.isdecimal() and seconds.isdecimal() else match[0]


# --- Signs that distinguish.

_SIGNED = lazy_pattern(r"(?<![^\W_])([^\W_]{1,4})(\+{1,2}|#|[-\u2212](?!\w))|(?<![\d.])(\d+\.\d*0)(?![\d.])")


def distinguishing_signs(text: str) -> frozenset[str]:
    """Return the words of a text whose last sign distinguishes them, as they are: `c++`, `ab-`, `3.10`."""
    matches = _SIGNED.findall(casefold_plain(text))
    return frozenset(number or word + sign.replace("\u2212", "-") for word, sign, number in matches)


def differs_in_sign(text: str, expected: str) -> bool:
    """Return whether an answer has a word of the expected one with another sign: C# for C++."""
    mine, theirs = distinguishing_signs(expected), distinguishing_signs(text)
    if not mine or mine & theirs:
        return False
    return all(
        re.sub(r"[+#-]+$", "", one) in {*plain_words(text), *(re.sub(r"[+#-]+$", "", other) for other in theirs)}
        for one in mine
    )


# --- Whether two short texts are one value.

_UMLAUTS = lazy_pattern(r"(?<=[aou])e")
_MOST_INITIALS = 6


def is_same_value(reply: str, expected: str) -> bool:
    """Return whether an answer is the expected value and nothing else, in whatever form."""
    if distinguishing_signs(reply) != distinguishing_signs(expected) or not same_amounts(
        canonical_values(reply, like=expected), canonical_values(expected)
    ):
        return False
    mine, theirs = (_core_words(text) for text in (expected, reply))
    if not mine or not theirs:
        return False
    joined = "".join(mine), "".join(theirs)
    return (
        joined[0] == joined[1]
        or _UMLAUTS.sub("", joined[0]) == _UMLAUTS.sub("", joined[1])
        or _is_short_for(reply, expected)
    )


def _core_words(text: str) -> list[str]:
    every = list(words_with_digits(plain_words(write_digits(canonical_values(text)))))
    return [word for word in every if word not in LEXICON.words("light words")] or every


def _is_short_for(text: str, expected: str) -> bool:
    """Return whether one of two texts is the initials of the other: NYC."""
    one, other = sorted((text.strip(" ."), expected.strip(" .")), key=len)
    initials = "".join(word[0] for word in re.findall(r"\w+", other))
    return one.isupper() and 1 < len(one) <= _MOST_INITIALS and one == initials and initials.isupper()
