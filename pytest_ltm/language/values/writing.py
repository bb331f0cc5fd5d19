"""Plain writing: digits, dashes, quotes and spaces of all scripts in one form, and the tokens of a text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from pytest_ltm.language.lexicon import Lexicon

LEXICON = Lexicon(__package__)

# Primes, quotes, an ordinal sign used as a degree sign, dashes, Arabic separators.
_SIGNS = str.maketrans(
    "\u2032\u2033\u2018\u2019\u201c\u201d\u00ba\u2212\u2010\u2011\u2012\u2013\u2014\u066b\u066c",
    "'\"''\"\"\u00b0------.,",
)
_VULGAR = re.compile("(?<=\\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_VERSION_SIGN = re.compile(r"\b[vV]\.? ?(?=\d+\.\d)")
_TOKEN = re.compile(
    r"\d+(?:(?:[.,]\d+)|(?:['\u0020]\d{3}(?!\d)))*"
    r"|(?:[^\W\d_]\.)+[^\W\d_]\b\.?"
    r"|[^\W\d_](?:[^\W\d_]|[\u0300-\u036f])*(?:'[^\W\d_]+)*"
    r"|\S"
)


def plain_writing(text: str) -> str:
    """Return a text with plain digits, dashes, quotes and spaces, in its original case."""
    spaced = _VULGAR.sub(" ", text.translate(_SIGNS))
    plain = unicodedata.normalize("NFKC", spaced).translate(_SIGNS)
    if not plain.isascii():
        plain = "".join(map(_plain_digit, plain)).replace("\u2044", "/")
    plain = _VERSION_SIGN.sub("version ", plain)
    return " ".join(plain.split())


def _plain_digit(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


@dataclass(frozen=True, slots=True)
class Token:
    """A number, a word or a sign of a text."""

    text: str
    start: int
    end: int
    key: str
    """The text without case; abbreviations also without full stops."""

    @property
    def is_number(self) -> bool:
        """Whether the token is written in digits."""
        return self.text[0].isdecimal()

    @property
    def is_word(self) -> bool:
        """Whether the token consists of letters."""
        return self.text[0].isalpha()


def split_tokens(text: str) -> list[Token]:
    """Split a text in plain writing into tokens."""
    return [
        Token(
            match[0],
            *match.span(),
            match[0].casefold().replace(".", "") if match[0][0].isalpha() else match[0],
        )
        for match in _TOKEN.finditer(text)
    ]
