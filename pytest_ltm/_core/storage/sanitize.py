"""Sanitizing: all text for a screen or text file passes here, to remove secrets and terminal control characters.

JSON has the same functions in `schema.json_text` and `codec.encode_record`, where
secrets are removed and control characters are escaped. The output of commands passes a
Screen, and pytest's output `reports/safe_output.py`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from pytest_ltm._core.storage.secrets import HIDDEN, map_json_texts, redact_secrets

_CODE = r"0?[0-79]|2\d|[349][0-7]|[34]9|10[0-7]|[34]8;5;\d{1,3}|[34]8;2;\d{1,3};\d{1,3};\d{1,3}"
# Sequences that set colours and styles, and hide nothing.
COLOR = re.compile(rf"(\x1b\[(?:(?:{_CODE});?){{0,5}}m)")
# A line inside a private key in PEM.
_OF_A_KEY = re.compile(r"\s*(?:[A-Za-z0-9+/=]*|[A-Za-z-]{1,20}: .*)\s*")
# Format characters required by Persian and emoji, which do not move the cursor.
_JOINERS = "\u200c\u200d"
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Characters that a spreadsheet accepts as the beginning of a formula.
_FORMULA = tuple("=+-@\t\r＝＋－＠")


def escape_unprintable(text: str) -> str:
    r"""Return the text with terminal control characters escaped: `\x1b`, bidi overrides, half surrogates.

    Line feeds are kept; tabs become blanks.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return text.translate(_SHOWN)


def for_screen(text: str) -> str:
    """Return a text for the screen: printable, and without secrets."""
    return escape_unprintable(redact_secrets(text))


def for_file(text: str) -> bytes:
    """Return a text for a file: without secrets, in UTF-8, whatever its characters."""
    return redact_secrets(text).encode("utf-8", "backslashreplace")


def for_library(value: Any) -> Any:
    """Return JSON values for a library that writes them itself: without secrets, valid UTF-8."""
    return map_json_texts(value, lambda text: for_file(text).decode())


def csv_cell(value: object) -> object:
    """Return a value for a table in CSV: an apostrophe prevents spreadsheets from taking it as a formula."""
    if not isinstance(value, str):
        return value
    text = escape_unprintable(value)
    if value.lstrip(" \n").startswith(_FORMULA):
        return f"'{text}"
    return text


# The signs used in tables and shortened texts, and their forms on a plain terminal.
_SIGNS = str.maketrans({"…": "...", "─": "-", "≤": "<", "≥": ">"})


def is_plain(file: Any) -> bool:
    """Return whether a terminal or file needs these signs as ASCII: it is dumb, or its encoding lacks one of them."""
    try:
        "".join(map(chr, _SIGNS)).encode(getattr(file, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return os.environ.get("TERM") == "dumb"


def fit_for(file: Any, text: str) -> str:
    """Return a text as a file can show it: if plain, with our signs in ASCII and unencodable characters escaped."""
    if text.isascii() or not is_plain(file):
        return text
    encoding = getattr(file, "encoding", None) or "utf-8"
    return text.translate(_SIGNS).encode(encoding, "backslashreplace").decode(encoding)


class Screen:
    """A wrapper of a file that writes text without secrets and with control characters visible.

    If the file is plain, signs are written in ASCII. `kept`: the pattern, with one
    group, of parts left unchanged; by default colours. `before` is called before each
    write.
    """

    def __init__(
        self,
        beneath: Any,
        kept: re.Pattern[str] = COLOR,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self.beneath = beneath
        self._pattern = kept
        self._prepare = before

    def write(self, text: str) -> int:
        """Write a text."""
        self._prepare()
        plain = text if text.isprintable() else self._pattern.sub("", text)
        parts = [plain]
        # Colours are removed where they might interrupt a key.
        if plain != text and plain == redact_secrets(plain):
            parts = self._pattern.split(text)
        plain_text = "".join(
            part if number % 2 else for_screen(part)
            for number, part in enumerate(parts)
        )
        self.beneath.write(fit_for(self.beneath, plain_text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


class LineSanitizer:
    """Sanitizes consecutive lines, because a private key spans many."""

    def __init__(self) -> None:
        self._in_key = False

    def shown(self, line: str) -> str:
        """Return a line without colours and secrets, printable."""
        begins = "-----BEGIN" in line and "PRIVATE KEY" in line
        self._in_key = (
            begins or (self._in_key and _OF_A_KEY.fullmatch(line) is not None)
        ) and "-----END" not in line
        if begins or self._in_key:
            return HIDDEN
        return for_screen(COLOR.sub("", line))


class _Shown(dict[int, str]):
    """Maps each character to its form on the screen."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        harmful = (
            character != "\n"
            and character not in _JOINERS
            and unicodedata.category(character) in _HARMFUL
        )
        if harmful:
            self[code] = character.encode("unicode_escape").decode("ascii")
        else:
            self[code] = character
        return self[code]


_SHOWN = _Shown()
