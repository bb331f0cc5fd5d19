"""A question, the world it is about, and the sessions in which that world is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_ltm.datasets.longmemeval.generate._sessions import Aside

How = Literal[
    "value", "latest", "before", "count", "sum", "days", "weeks", "months", "first", "order", "entry", "taste"
]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is true in the world from a moment on."""

    at: datetime
    about: str
    value: str


@dataclass(frozen=True, slots=True)
class Query:
    """What a question asks of the world."""

    how: How
    about: tuple[str, ...]
    """Names of facts; all of them are needed."""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One session of evidence."""

    at: datetime
    theme: str
    aside: Aside


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """One question with its evidence."""

    type: str
    """Of the data set's question types."""
    abstains: bool = False
    question: str
    answer: str | int
    asked: datetime
    told: tuple[Told, ...]
    """In the order of their dates."""
    world: tuple[Fact, ...]
    query: Query
    field: str = ""
    """What the attribute is about, one of FIELDS; "" where that makes no difference."""
