"""Redaction of logs: replaces e-mail addresses, phone numbers, listed names and keys by placeholders.

Equal inputs get equal placeholders, so that questions and gold answers still fit the sessions. Placeholders are made by
HMAC with a salt: without it, no one can test guesses.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_ltm.api.storage import (
    HIDDEN,
    DatasetError,
    read_regular,
    without_credentials,
)

SHORTEST_SALT = 16
"""In characters."""
_MAIL_HOST, _PHONE_CODE = "redacted.example", "+999"
"""The form of placeholders, which are recognized when a file is redacted twice."""

_MAIL = re.compile(
    r"(?<![^\W_])(?P<box>[\w!#$%&'*+/=?^`{|}~-]{1,64}(?:\.[\w!#$%&'*+/=?^`{|}~-]{1,64}){0,8})@"
    r"(?P<host>(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24})(?![^\W_])"
)
# After `git@host`: the path of a repository.
_REMOTE = re.compile(r":[^\s/]+/")

_KEPT = {
    "date",
    "role",
    "kind",
    "never_told",
    "format",
    "version",
    "match",
    "asks",
    "file",
    "image",
}
"""Fields without personal data; file names must be kept, or the files would not be found."""
_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_SYLLABLES = 4
# The fewest characters of a key that is searched for without the words around it.
_SHORTEST_KEY = 6


class Redactor:
    """Replaces identifying data by placeholders, and counts the replacements.

    A file is read twice: a phone number or key that surrounding words identify in one place is replaced everywhere,
    even in a gold answer that consists only of the number.

    `names` match as written, in capitals, and in the other normal form of accents; a name in lower case matches any
    case. Each part of a name matches by itself, except for particles in lower case.
    """

    def __init__(self, salt: bytes, names: Iterable[str] = ()) -> None:
        self._salt = salt
        patterns: list[str] = []
        for name in names:
            patterns += _name_patterns(name)
        # the longest first: if one name begins another, the longer is replaced
        forms = sorted(dict.fromkeys(patterns), key=len, reverse=True)
        self._names = re.compile("|".join(forms)) if forms else None
        self._keys: re.Pattern[str] | None = None
        self._phones: set[str] = set()
        self._numbers: set[str] = set()
        """Digits that surrounding words identify as other numbers."""
        self.counts: Counter[str] = Counter()
        """The number of replacements by kind."""

    def learn_keys(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Collect the numbers and keys in the lines of a file, before the first of them is redacted."""
        keys: set[str] = set()

        def learn(value: str) -> str:
            keys.add(_bare_key(value))
            return HIDDEN

        for row in rows:
            for text in _texts_around_data(row):
                for match in _PHONE.finditer(
                    _MAIL.sub(" ", without_credentials(text, learn))
                ):
                    (self._phones if is_phone(match) else self._numbers).add(
                        _comparable_digits(match.group())
                    )
        long_keys = sorted(
            (key for key in keys if len(key) >= _SHORTEST_KEY), key=len, reverse=True
        )
        if long_keys:
            self._keys = re.compile(
                rf"(?<![^\W_])(?:{'|'.join(map(re.escape, long_keys))})(?![^\W_])"
            )

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a line of a file redacted; dates, roles and kinds are kept, `meta` is dropped."""
        result: dict[str, Any] = {}
        for name, value in row.items():
            match name:
                case "meta":  # may contain anything, in any form
                    continue
                case _ if name in _KEPT:
                    result[name] = value
                case "turns" | "images" | "calls":
                    result[name] = [self.row(part) for part in value]
                case "session" | "id" | "evidence" | "after" | "user":
                    result[name] = _replace_values(value, self.id)
                case "gold":
                    result[name] = _replace_values(
                        value, lambda text: self.text(text, gold=True)
                    )
                case _:
                    result[name] = _replace_values(value, self.text)
        return result

    def text(self, text: str, *, gold: bool = False) -> str:
        """Return a text redacted; `gold`: there are no words around a number that identify it."""
        text = without_credentials(text, self._key)
        if self._keys:
            text = self._keys.sub(lambda result: self._key(result.group()), text)
        text = _PHONE.sub(
            lambda result: self._phone(result, gold=gold), _MAIL.sub(self._mail, text)
        )
        if self._names:
            return self._names.sub(self._name, text)
        return text

    def id(self, text: str) -> str:
        """Return an id redacted, except for numbers, which are not phone numbers."""
        text = _MAIL.sub(self._mail, without_credentials(text, self._key))
        if self._names:
            return self._names.sub(self._name, text)
        return text

    def _digest(self, kind: str, value: str) -> bytes:
        folded = unicodedata.normalize("NFC", value).casefold()
        return hmac.new(
            self._salt, f"{kind}\0{folded}".encode(), hashlib.sha256
        ).digest()

    def _word(self, kind: str, value: str) -> str:
        """Return a pronounceable word, one of 24 million."""
        digest = self._digest(kind, value)
        pairs = zip(digest[::2], digest[1::2], strict=True)
        parts = []
        for first, second in pairs:
            consonant = _CONSONANTS[first % len(_CONSONANTS)]
            parts.append(consonant + _VOWELS[second % len(_VOWELS)])
        return "".join(parts[:_SYLLABLES])

    def _key(self, value: str) -> str:
        if value.startswith(HIDDEN[:-1]):
            return value
        self.counts["keys"] += 1
        return f"{HIDDEN[:-1]}-{self._digest('key', _bare_key(value)).hex()[:12]}]"

    def _mail(self, match: re.Match[str]) -> str:
        remote = match["box"] == "git" and _REMOTE.match(match.string, match.end())
        if remote or match["host"].lower() == _MAIL_HOST:
            return match.group()
        self.counts["e-mail addresses"] += 1
        return f"{self._word('mail', match.group())}@{_MAIL_HOST}"

    def _phone(self, match: re.Match[str], *, gold: bool) -> str:
        digits = _comparable_digits(match.group())
        seems = is_phone(match) and not (gold and digits in self._numbers)
        if match.group().startswith(_PHONE_CODE) or not (
            seems or digits in self._phones
        ):
            return match.group()
        self.counts["phone numbers"] += 1
        number = int.from_bytes(self._digest("phone", digits)[:8], "big") % 10**9
        return f"{_PHONE_CODE}{number:09}"

    def _name(self, match: re.Match[str]) -> str:
        self.counts["names"] += 1
        return self._word("name", match.group()).capitalize()


_SCHEME = re.compile(
    r"^(?:bearer|basic|digest|token|apikey|negotiate)\s+", re.IGNORECASE
)


def _bare_key(key: str) -> str:
    """Return a key without a preceding header scheme and trailing punctuation."""
    return _SCHEME.sub("", key).rstrip(".!?:,)")


def _comparable_digits(number: str) -> str:
    """Return the digits common to spellings of a phone number; with and without country code they differ."""
    digits = re.sub(r"\D", "", number.replace("(0)", ""))
    if number.startswith("+"):
        return digits
    return digits.removeprefix("00")


def _texts_around_data(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a line with words around the data: ids and gold answers have none."""
    for turn in row.get("turns", ()):
        for name in ("content", "state", "action", "calls", "images"):
            if name in turn:
                yield str(turn[name])
    yield str(row.get("question", ""))


def _replace_values(value: Any, replace_text: Callable[[str], str]) -> Any:
    """Return a JSON value with its texts and numbers replaced; a number stays one unless it was replaced."""
    if isinstance(value, list):
        return [_replace_values(part, replace_text) for part in value]
    if isinstance(value, dict):
        fields = {}
        for name, part in value.items():
            fields[name] = _replace_values(part, replace_text)
        return fields
    if value is None or isinstance(value, bool):
        return value
    text = replace_text(str(value))
    return value if text == str(value) else text


# --- Phone numbers

_BETWEEN = r"(?! / )[-./() \u00a0\u2010\u2011\u2013]{0,3}"
# From 7 to 15 digits, the international maximum.
_PHONE = re.compile(
    rf"(?:(?<=wa\.me/)|(?<![\w.,/#+-]))(?:\+|\()?\d(?:{_BETWEEN}\d){{6,14}}(?![\w@])"
)
# Digits of a number that begins with 0.
_TRUNK = range(9, 13)
# Digits of a number without any separators, as in North America.
_BARE = range(10, 12)
_NORTH_AMERICAN = re.compile(r"(?:1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}")
_DATES = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?:\D.*)?|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2})(?:\D.*)?"
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_AMOUNT = re.compile(r"\d{1,3}(?:[ \u00a0.]\d{3})+")
_CALLING = (
    "call|calls|called|phone|phones|telephone|tel|mobile|cell|cellphone|whatsapp|signal|text|sms|ring|fax|dial|reach|"
    "number|handy|telefon|handynummer|telefonnummer|nummer|anrufen|tél|téléphone|teléfono|móvil|portable"
)
_NUMBERING = (
    "order|orders|invoice|ticket|tracking|account|isbn|issn|ref|reference|booking|reservation|confirmation|serial|"
    "case|part|sku|item|customer|member|membership|policy|contract|licence|license|timestamp|id|po|"
    "bestellung|bestellnummer|rechnung|kundennummer|auftrag|vertrag|commande|facture|pedido|factura"
)
_ABOUT = re.compile(
    rf"\b(?:(?P<calling>{_CALLING})\b|(?P<numbering>(?:{_NUMBERING})\b|n[or]\.))",
    re.IGNORECASE,
)
# Words that may come between an identifying word and the number.
_NEUTRAL = {"number", "nummer", "no.", "nr."}
_SENTENCE = re.compile(r"(?<!\bno)(?<!\bnr)(?<!\btel)[.;!?]\s", re.IGNORECASE)
# The number of characters examined before a number.
_BEFORE = 40


def is_phone(match: re.Match[str]) -> bool:
    """Return whether a run of digits is a phone number, by its form and by the words just before it."""
    digits_text = match.group().strip()
    digits = re.sub(r"\D", "", digits_text.replace("(0)", ""))
    context = match.string[max(0, match.start() - _BEFORE) : match.start()]
    if digits_text.startswith("+") or context.endswith(("@", "wa.me/")):
        # mentions, in WhatsApp's form
        return True
    if context.rstrip().endswith(("$", "€", "£")):
        return False
    if (
        _DATES.fullmatch(digits_text)
        or _ADDRESS.fullmatch(digits_text)
        or _AMOUNT.fullmatch(digits_text)
    ):
        return False
    last = _SENTENCE.split(context)[-1]
    kinds = []
    for mention in _ABOUT.finditer(last):
        kinds.append((mention.lastgroup or "", mention.group().lower()))
    while len(kinds) > 1 and kinds[-1][1] in _NEUTRAL:
        kinds.pop()
    word = kinds[-1][0] if kinds else ""
    if word:
        return word == "calling"
    return (
        _NORTH_AMERICAN.fullmatch(digits_text) is not None
        or (digits.startswith("00") and len(digits) > _BARE.stop)
        or (
            digits.startswith("0") and digits_text[1:2] != "." and len(digits) in _TRUNK
        )
        or (digits_text.isdecimal() and len(digits) in _BARE)
    )


# --- Names

# The most letters of a particle such as `de` or `von`.
_PARTICLE = 3


def names_in(path: Path) -> list[str]:
    """Read a list of names: one per line, comments begin with `#`; DatasetError if it is unreadable."""
    try:
        text = read_regular(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{path}: cannot be read as a text in UTF-8: {error}"
        ) from error
    texts = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [name for name in texts if name]


def _name_patterns(name: str) -> Iterator[str]:
    """Yield patterns for the forms of each part of a name that matches by itself.

    Initials do not, and particles only if there are no other parts.
    """
    words = re.split(r"[\W_]+", unicodedata.normalize("NFC", name))
    parts = [part for part in words if any(map(str.isalpha, part))]
    long_parts = []
    for part in parts:
        if not (part.islower() and len(part) <= _PARTICLE):
            long_parts.append(part)
    bounded = r"(?<![^\W\d_]){}(?![^\W\d_]|[\u0300-\u036f])"
    for part in long_parts or parts:
        normal = {unicodedata.normalize(form, part) for form in ("NFC", "NFD")}
        if part.upper() == part.lower():
            # a script without capitals, which does not separate words either
            yield re.escape(part)
        elif len(part) > 1 and part.islower():
            for form in normal:
                yield bounded.format(f"(?i:{re.escape(form)})")
        elif len(part) > 1:
            for normal_form in normal:
                for form in (normal_form, normal_form.upper()):
                    yield bounded.format(re.escape(form))
