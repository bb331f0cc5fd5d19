"""The texts that questions and sessions are made of, read from the YAML files beside this module."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

FIELDS = ("person", "habits", "circumstances", "events", "things")
"""What attributes are about: who users are, how they live, what they are in, what befell them, what they own."""
_FOLDER = Path(__file__).parent / "texts"
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks an assistant for."""

    text: str
    topic: str
    """A noun phrase for it."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """One side of a theme: any of the things to do goes with any of the reasons."""

    name: str
    do: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Theme:
    """A field of everyday advice."""

    name: str
    requests: tuple[Request, ...]
    aspects: tuple[Aspect, ...]


@dataclass(frozen=True, slots=True)
class Never:
    """A question about something similar that was never said."""

    ask: str
    lacks: str
    has: str
    """What was said instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """Something about the user that does not change."""

    key: str
    theme: str
    field: str
    """One of FIELDS."""
    words: tuple[str, ...]
    """What no other session of the history may be about."""
    say: tuple[str, ...]
    """Sentences that mention `{v}` in passing."""
    ask: tuple[str, ...]
    values: tuple[str, ...]
    never: Never
    shown: str = "{v}"
    """How the value is written in an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Something about the user that changes; values in the order in which they may follow each other."""

    key: str
    theme: str
    field: str
    words: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    ask: str
    values: tuple[str, ...]
    never: Never
    before: str = ""
    """The question for the old value, where there is a clear one."""
    shown: str = "{v}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Items mentioned one by one, to be counted or summed up."""

    key: str
    theme: str
    field: str
    words: tuple[str, ...]
    how: str
    """`count` or `sum`."""
    say: tuple[str, ...]
    items: tuple[str, ...]
    ask: str
    never: Never
    values: tuple[int, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """A dated event."""

    theme: str
    thing: str
    past: str
    did: str
    say: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A list or table that an assistant makes up."""

    key: str
    theme: str
    how: str
    """`nth`, `pairs` or `amount`."""
    words: tuple[str, ...]
    title: str
    request: str
    entries: tuple[str, ...]
    ask: str
    never: Never
    slots: tuple[str, ...] = ()
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """What advice to the user should respect."""

    theme: str
    said: str
    ask: str
    likes: str
    dislikes: str


@cache
def themes() -> dict[str, Theme]:
    """Return all themes by name."""
    found = {**_read("themes_home"), **_read("themes_active"), **_read("themes_mind")}
    return {name: _theme(name, content) for name, content in found.items()}


def _theme(name: str, content: dict[str, Any]) -> Theme:
    requests = (ask.partition(" | ") for ask in content["asks"])
    return Theme(
        name,
        tuple(Request(text, topic) for text, _, topic in requests),
        tuple(Aspect(side, tuple(part["do"]), tuple(part["for"])) for side, part in content["aspects"].items()),
    )


@cache
def frames() -> dict[str, tuple[str, ...]]:
    """Return the sentences around the advice, by purpose."""
    return {name: tuple(lines) for name, lines in _read("frames").items()}


@cache
def attributes() -> tuple[Attribute, ...]:
    """Return what does not change."""
    return _rows("facts", Attribute)


@cache
def updates() -> tuple[Update, ...]:
    """Return what changes."""
    return _rows("updates", Update)


@cache
def series() -> tuple[Series, ...]:
    """Return what is counted and summed up."""
    return _rows("several", Series)


@cache
def happenings() -> tuple[Happening, ...]:
    """Return the dated events."""
    return _rows("events", Happening)


@cache
def lists() -> tuple[Made, ...]:
    """Return what assistants make up."""
    return _rows("assistant", Made)


@cache
def tastes() -> tuple[Taste, ...]:
    """Return what advice should respect."""
    return _rows("preferences", Taste)


def _rows(name: str, kind: type[_Row]) -> tuple[_Row, ...]:
    return tuple(kind(**{key: _frozen(value) for key, value in row.items()}) for row in _read(name))


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Never(**value)
    return tuple(value) if isinstance(value, list) else value


def _read(name: str) -> Any:
    from pytest_ltm._yaml import load  # noqa: PLC0415 - only generating pays for it

    return load(_FOLDER / f"{name}.yml").value
