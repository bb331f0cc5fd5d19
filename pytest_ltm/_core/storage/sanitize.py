"""The boundary: what reaches a screen or a text file passes here, so that it shows no secret and drives no terminal.

JSON has the same door in `schema.json_text` and `codec.encode`: there secrets are taken
out and control characters are escapes anyway. What commands print passes a Screen, and
what pytest shows `reports/safe_output.py`.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from pytest_ltm._core.storage.secrets import HIDDEN, map_json_texts, redact_secrets

_CODE = r"0?[0-79]|2\d|[349][0-7]|[34]9|10[0-7]|[34]8;5;\d{1,3}|[34]8;2;\d{1,3};\d{1,3};\d{1,3}"
# What sets colours and styles, and hides nothing.
COLOR = re.compile(rf"(\x1b\[(?:(?:{_CODE});?){{0,5}}m)")
# A line of a private key in PEM between the first and the last.
_OF_A_KEY = re.compile(r"\s*(?:[A-Za-z0-9+/=]*|[A-Za-z-]{1,20}: .*)\s*")
# Format characters that Persian and emoji need and that move nothing.
_JOINERS = "\u200c\u200d"
_HARMFUL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = tuple("=+-@\t\r＝＋－＠")


def escape_unprintable(text: str) -> str:
    r"""Return the text with what could drive a terminal as escapes: `\x1b`, bidi overrides, half surrogates.

    Line feeds stay; tabs become blanks.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return text.translate(_SHOWN)


def for_screen(text: str) -> str:
    """Return a text that a screen may show: printable, and without secrets."""
    return escape_unprintable(redact_secrets(text))


def for_file(text: str) -> bytes:
    """Return what a file may hold of a text: without secrets; UTF-8, whatever the text holds."""
    return redact_secrets(text).encode("utf-8", "backslashreplace")


def for_library(value: Any) -> Any:
    """Return JSON values as another library may take them, which writes them itself: without secrets, valid UTF-8."""
    return map_json_texts(value, lambda text: for_file(text).decode())


def csv_cell(value: object) -> object:
    """Return what a table in CSV may hold of a value: an apostrophe keeps spreadsheets from taking it for a formula."""
    if not isinstance(value, str):
        return value
    text = escape_unprintable(value)
    if value.lstrip(" \n").startswith(_FORMULA):
        return f"'{text}"
    return text


# The signs that tables and shortened texts are drawn with, and how a plain terminal
# shows them.
_SIGNS = str.maketrans({"…": "...", "─": "-", "≤": "<", "≥": ">"})


def is_plain(file: Any) -> bool:
    """Return whether a terminal, or a file, shows these signs as ASCII: a dumb one, or one whose encoding lacks any."""
    try:
        "".join(map(chr, _SIGNS)).encode(getattr(file, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return True
    return os.environ.get("TERM") == "dumb"


def fit_for(file: Any, text: str) -> str:
    """Return a text as a file can show it: in a plain one our signs in ASCII, and as escapes what it cannot encode."""
    if text.isascii() or not is_plain(file):
        return text
    encoding = getattr(file, "encoding", None) or "utf-8"
    return text.translate(_SIGNS).encode(encoding, "backslashreplace").decode(encoding)


class Screen:
    """A file in the place of another: what is written comes out without secrets, and with escapes as visible text.

    Where the file is plain, it comes out like that.

    `kept`: what stays as it is, as a group; by default colours. `before` is called
    before anything is written.
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
        # Colours go where they may stand within a key.
        if plain != text and plain == redact_secrets(plain):
            parts = self._pattern.split(text)
        plain_text = "".join(
            part if number % 2 else for_screen(part)
            for number, part in enumerate(parts)
        )
        self.beneath.write(fit_for(self.beneath, plain_text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


class LineSanitizer:
    """Makes lines fit to be shown one after the other: a private key has many."""

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
    """Each character as a screen may show it."""

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
