"""Words of free text as evaluators compare them: case-folded, without marks, in linear time."""

# ruff: noqa: SIM905 - long lists of words read best as text
from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from pytest_ltm._core.storage.patterns import lazy_pattern

_WORD = lazy_pattern(r"[^\W_]+(?:'[^\W_]+)*")
# Letters of scripts without spaces between words: each counts as a word.
_UNSPACED = lazy_pattern("[\u3040-\u9fff]")
# The beginning of a list item.
BULLET = lazy_pattern(r"^\s*(?:[-*•+]|\d{1,3}[.)])\s+")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
STOP_WORDS: Sequence[str] = (
    "a about above after again all also am an and any are as ask asked at be because been before being but by can "
    "cant could couldnt did didnt do does doesnt doing dont down each even few for from further get got had "
    "has have having he her here hers him his how i if id ill im ive in into is isnt it its itself just "
    "let like made make many me more most much my no nor not now of off on once one only or other our out over own "
    "said same say says she should so some such than that thats the their them then there these they this those "
    "through to too under until up us very was wasnt way we well were what when where which while who why will "
    "with wont would you your youre"
).split()

# Letters commonly replaced by plain ones although they are not accented forms.
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th"}
)


class _Plain(dict[int, str]):
    """Maps each character to its case-folded compatibility form without accents; per character, so in linear time."""

    def __missing__(self, code: int) -> str:
        if code in (0x2019, 0x02BC, 0x60):
            return "'"
        parts = unicodedata.normalize("NFKD", chr(code).casefold()).translate(_LETTERS)
        self[code] = "".join(part for part in parts if not unicodedata.combining(part))
        return self[code]


_PLAIN = _Plain()


def casefold_plain(text: str) -> str:
    """Return the text case-folded, without accents, with straight apostrophes."""
    return text.lower() if text.isascii() else text.translate(_PLAIN)


def plain_words(text: str) -> list[str]:
    """Return the words of a text in plain form, apostrophes dropped."""
    return [word.replace("'", "") for word in _WORD.findall(casefold_plain(text))]


def space_delimited(text: str) -> str:
    """Return the words of a text with one space before, between and after, for `has_phrase`."""
    return f" {' '.join(plain_words(text))} "


def has_phrase(joined_text: str, phrase: str) -> bool:
    """Return whether a text, in the form of `space_delimited`, contains all words of the phrase in a row."""
    needle = space_delimited(phrase)
    return needle.strip() != "" and needle in joined_text


def has_value(text: str, value: str) -> bool:
    """Return whether a text has all words of a value in a row, even after an elision (`l'urne`) or without spaces."""
    return has_phrase(space_delimited(_separate(text)), _separate(value))


def _separate(text: str) -> str:
    """Return the text in plain letters, with spaces around what is written without them."""
    return _UNSPACED.sub(r" \g<0> ", casefold_plain(text).replace("'", " "))


def strip_punctuation(text: str) -> str:
    """Return the text in lower case without ASCII punctuation (the published comparison of sentences)."""
    return text.lower().translate(_NO_PUNCTUATION)


@lru_cache(maxsize=1 << 15)
def word_stem(word: str) -> str:
    """Return the word without its commonest English endings; a rough key, not a dictionary form.

    Not Porter's algorithm, which removes more: verdicts would change.
    """
    word = _BRITISH.sub("or", word)
    for ending in _ENDINGS:
        if (
            word.endswith(ending)
            and len(word) - len(ending) >= _SHORTEST_STEM
            and not word.endswith("ss")
        ):
            cut = word[: -len(ending)]
            if ending in ("ied", "ies"):
                return cut + "y"
            doubled = (
                ending in ("ing", "ed")
                and len(cut) > _SHORTEST_STEM
                and cut[-1] == cut[-2]
            )
            return cut[:-1] if doubled else cut
    return word


# In these, British and American spelling differ: harbour, favourite.
_BRITISH = lazy_pattern(r"(?<=[a-z]{3})our(?=s?$|ed$|ing$|ite|ful|hood|ly$)")
_ENDINGS = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s", "e")
_SHORTEST_STEM = 3

_STOP_STEMS = frozenset(map(word_stem, STOP_WORDS))


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of the words with a meaning of their own; all stems if there are none."""
    return content_of(plain_words(text))


def content_of(some_words: Iterable[str]) -> frozenset[str]:
    """Return the stems of those words with a meaning of their own; all stems if there are none."""
    stems = frozenset(map(word_stem, some_words))
    return (stems - _STOP_STEMS) or stems


def upper_first(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def evidence_snippet(text: str, limit: int = 300) -> str:
    """Return the text as evidence: whole if short, else its beginning and end."""
    if len(text) <= limit:
        return str(text)  # a subclass of str cannot be written to journals
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"
