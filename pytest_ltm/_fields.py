"""Field: a cursor over data from a file, whose errors name file, line, field, what was expected and got."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DefinitionError, ScenarioError, did_you_mean
from pytest_ltm._scenario import duration

if TYPE_CHECKING:
    from datetime import timedelta

DEPTH = 100
"""How deeply a file's values may be nested."""
_SHOWN = 60
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_THOUSANDS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)k")


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a file, with the way to it. Every method raises DefinitionError for a wrong value."""

    value: Any
    where: str
    """The file, as errors name it."""
    path: str = ""
    """The way to the value, such as `steps[3].wait.span`; "" is the file's whole content."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line numbers by path, from 1, where the format knows them."""

    @property
    def line(self) -> int | None:
        """The value's line in its file, if known."""
        return self.lines.get(self.path)

    def error(self, expected: str, cure: str = "") -> DefinitionError:
        """Return the error that says what was expected here and what stands here."""
        return self.fault(f"expected {expected}, got {shown(self.value)}.{cure}")

    def fault(self, message: str) -> DefinitionError:
        """Return an error with a message of its own, at this place."""
        where = self.where if self.line is None else f"{self.where}:{self.line}"
        return DefinitionError(": ".join(part for part in (where, self.path, message) if part))

    def child(self, key: str | int) -> Field:
        """Return the field below this one; the key must exist."""
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if self.path else key
        return Field(self.value[key], self.where, self.path + step, self.lines)

    def mapping(self, known: Iterable[str] | None = None, required: Iterable[str] = ()) -> dict[str, Field]:
        """Return the fields of a mapping; `known` None accepts any names."""
        if not isinstance(self.value, Mapping):
            raise self.error(f"a mapping{_naming(known)}")
        for key in self.value:
            if not isinstance(key, str):
                raise self.fault(f"expected names that are texts, got {shown(key)}.{_quote(key)}")
        children = {key: self.child(key) for key in self.value}
        self._check_names(children, None if known is None else list(known), required)
        return children

    def _check_names(self, given: Mapping[str, Field], known: list[str] | None, required: Iterable[str]) -> None:
        for key, child in given.items():
            if known is not None and key not in known:
                raise child.fault(f"unknown field, known here are {', '.join(known)}.{did_you_mean(key, known)}")
        for key in required:
            if key not in given:
                raise self.fault(f"the field {key!r} is missing.")

    def items(self, of: str = "values") -> list[Field]:
        """Return the fields of a list of whatever `of` says."""
        if not isinstance(self.value, list | tuple):
            raise self.error(f"a list of {of}")
        return [self.child(i) for i in range(len(self.value))]

    def text(self, what: str = "a text that is not empty") -> str:
        """Return a text with at least one character that is not white space."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(what, _quote(self.value) if self.lines else "")
        self._check_encodable(self.value)
        return self.value

    def name(self) -> str:
        """Return a name that may stand in test ids and file names."""
        if not isinstance(self.value, str) or not _NAME.fullmatch(self.value):
            raise self.error("a name of letters, digits and _ that does not begin with a digit")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        return (self.text(),) if isinstance(self.value, str) else tuple(x.text() for x in self.items("texts"))

    def whole(self, least: int = 0) -> int:
        """Return a whole number of at least `least`."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < least:
            raise self.error(f"a whole number of at least {least}")
        return self.value

    def tokens(self) -> int:
        """Return a number of tokens of at least 1, from `120000` or `"120k"` (k = 1,000)."""
        if isinstance(self.value, str) and (match := _THOUSANDS.fullmatch(self.value.strip())):
            tokens = round(float(match[1]) * 1000)
            if tokens >= 1:
                return tokens
        if isinstance(self.value, str):
            raise self.error("a number of tokens, such as 2000 or 2k")
        return self.whole(least=1)

    def number(self, least: float, most: float, what: str = "a number") -> float:
        """Return a number between `least` and `most`."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.error(f"{what} from {least:g} to {most:g}")
        return float(value)

    def boolean(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def duration(self) -> timedelta:
        """Return a duration, from seconds or a text such as `"3h 5m"`."""
        expected = "a duration of at least 0: seconds, or a text such as '45m', '3h 5m' or '2d'"
        if isinstance(self.value, bool) or not isinstance(self.value, int | float | str):
            raise self.error(expected)
        try:
            return duration(self.value)
        except (ScenarioError, OverflowError, ValueError):
            raise self.error(expected) from None

    def json(self, depth: int = DEPTH) -> Any:
        """Return a JSON value made of dict, list, str, int, finite float, bool and None only."""
        value = self.value
        if depth <= 0:
            raise self.fault(f"nested more than {DEPTH} levels deep.")
        if isinstance(value, str):
            self._check_encodable(value)
        if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, Mapping):
            return {self._encodable(key): child.json(depth - 1) for key, child in self.mapping().items()}
        if isinstance(value, list | tuple):
            return [child.json(depth - 1) for child in self.items()]
        raise self.error("a JSON value (text, finite number, true, false, null, list or mapping)")

    def _encodable(self, text: str) -> str:
        self._check_encodable(text)
        return text

    def _check_encodable(self, text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self.fault(f"half of a surrogate pair is no character: {shown(text)}.") from None


def shown(value: object) -> str:
    """Return a value as errors show it: its repr, cut if long, and never an exception."""
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except Exception:  # noqa: BLE001 - an error message must not fail on what it reports
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _naming(known: Iterable[str] | None) -> str:
    return f" with the fields {', '.join(known)}" if known is not None else ""


def _quote(value: object) -> str:
    return "" if value is None or isinstance(value, str | list | dict) else " In YAML, write it in quotes."
