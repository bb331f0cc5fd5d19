"""JSON as agents write it: inside prose, in fences, with commas or quotes missing; parsed in one bounded pass.

json_repair is not used: for 60,000 characters with an open quote in each word it takes
minutes, deep nesting ends it with a RecursionError, and it reads 15 of 3,800 published
answers differently (single quotes, times in brackets, several lists).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pytest_ltm.api.storage import lazy_pattern

MAX_DEPTH = 40
MAX_STARTS = 24

_FENCE = lazy_pattern(r"```[ \t]*\w*[ \t]*\n?")
_SPACE = lazy_pattern(r"(?:[\s,;]+|\.{3}|…|//[^\n]*|#[^\n]*)*")
_STRING = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SINGLE = lazy_pattern(r"'[^'\\\n]*(?:(?:\\.|'(?=\w))[^'\\\n]*)*'(?!\w)")
_BARE = lazy_pattern(r"[^\s,:;\[\]{}\"][^,:;\[\]{}\"\n]*")
_COLON = lazy_pattern(r"\s*:")
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


class NoJSON(ValueError):
    """The text has no JSON object or list, or it is nested too deeply."""


def published_json(text: str) -> Any:
    """Return the value that the published evaluators read from a text.

    They parse the whole text; else the last fenced block; else from the first `{` or
    `[`, ignoring what follows. Trailing and missing commas, missing quotes, `...` and
    `//` comments are repaired. Raises NoJSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    blocks = fenced_blocks(text)
    source = blocks[-1] if blocks else text
    start = _first_bracket(source)
    if start < 0:
        raise NoJSON("no { or [ in the text")
    return _JsonReader(source, single_quotes=False).value(start, 0)[0]


def json_values(text: str) -> Iterator[Any]:
    """Yield the objects and lists of a text: those in fenced blocks, last block first, then those in prose."""
    for source in (*reversed(fenced_blocks(text)[-MAX_STARTS:]), text):
        reader = _JsonReader(source)
        at = 0
        for _ in range(MAX_STARTS):
            at = _first_bracket(source, at)
            if at < 0:
                break
            try:
                value, at = reader.value(at, 0)
            except NoJSON:
                at += 1
            else:
                yield value


def fenced_blocks(text: str) -> list[str]:
    """Return the contents of a text's fenced blocks, in order; an unclosed fence lasts until the end."""
    return _FENCE.split(text)[1::2]


def _first_bracket(text: str, start: int = 0) -> int:
    result = [at for at in (text.find("{", start), text.find("[", start)) if at >= 0]
    return min(result, default=-1)


class _JsonReader:
    """Reads values from one text; every method takes a position and returns a value and the position after it."""

    def __init__(self, text: str, *, single_quotes: bool = True) -> None:
        self.text = text
        self.single_quotes = single_quotes
        self.closing = True
        """False after an unclosed single quote: searching again for each would take quadratic time."""

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """Read an object, a list, a string or a bare word."""
        if depth > MAX_DEPTH:
            raise NoJSON(f"nested deeper than {MAX_DEPTH}")
        in_object = self.text[at] == "{"
        if not in_object and self.text[at] != "[":
            return self._scalar(at)
        pairs: list[tuple[str, Any]] = []
        at = self._skip(at + 1)
        while at < len(self.text) and self.text[at] != ("}" if in_object else "]"):
            key: Any = ""
            if self.text[at] in ("{[]:" if in_object else ":}"):
                raise NoJSON(
                    "a key was expected"
                    if in_object
                    else "a colon or brace that belongs to no object"
                )
            if in_object:
                key, at = self._scalar(at)
                colon = _COLON.match(self.text, at)
                at = self._skip(colon.end()) if colon else len(self.text)
                if at >= len(self.text) or self.text[at] in "]}:":
                    raise NoJSON("a key without a value")
            item, at = self.value(at, depth + 1)
            pairs.append((str(key), item))
            at = self._skip(at)
        # a truncated answer does not count as a list of the part received
        if at >= len(self.text):
            raise NoJSON(f"{'an object' if in_object else 'a list'} is never closed")
        return dict(pairs) if in_object else [item for _, item in pairs], at + 1

    def _skip(self, at: int) -> int:
        space = _SPACE.match(self.text, at)
        return space.end() if space else at

    def _scalar(self, at: int) -> tuple[Any, int]:
        quote = self.text[at]
        if quote == "'" and not self.single_quotes:
            raise NoJSON("a text in single quotes")
        if quote == '"' and (quoted := _STRING.match(self.text, at)):
            return _unescape_text(quoted.group()), quoted.end()
        if quote == "'" and self.closing:
            if quoted := _SINGLE.match(self.text, at):
                return _unescape_text(quoted.group()), quoted.end()
            self.closing = False
        bare = _BARE.match(self.text, at)
        if bare is None:
            raise NoJSON("a value was expected")
        word = bare.group().strip()
        if word.lower() in _LITERALS:
            return _LITERALS[word.lower()], bare.end()
        try:
            # a long run of digits is not parsed as a number, which would take quadratic
            # time
            value = json.loads(word) if len(word) < MAX_DEPTH else word.strip("\"'")
        except ValueError:
            value = word.strip("\"'")
        return value, bare.end()


def _unescape_text(quoted: str) -> str:
    try:
        return str(json.loads(f'"{quoted[1:-1]}"', strict=False))
    except ValueError:
        return quoted[1:-1]
