"""The interchange: what a data set is made of, and how it stands in a file, an object a line (`logs.jsonl`)."""

from __future__ import annotations

import re
from collections.abc import Iterable  # noqa: TC003 - documentation tools resolve the fields of History
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT: Literal["ltm-logs"] = "ltm-logs"
SCHEMA = Path(__file__).with_name("logs.schema.json")
"""The published schema of a line."""
VERSION = 2
"""Of the format; files of version 1 have no header, and no field that came with 2."""
MATCHES = ("answer", "exact", "contains", "set", "sequence", "order")
"""What decides on an answer, beside `recall@K`: the first by rules and a judge, the others by rules alone."""
RECALL_AT = re.compile(r"recall@([1-9]\d{0,3})")


class Picture(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An image in a turn; one with neither file nor caption is none."""

    file: str = ""
    """Where it is, relative to the data; sent to agents that take images."""
    caption: str = ""
    """What it shows, told to all others."""


class ToolCall(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an assistant called, and what came back."""

    name: str
    arguments: Any = None
    result: Any = None


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one party says or does at a time."""

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    name: str = ""
    """Whose it is, where several people talk."""
    date: str = ""
    """When, if the session's own date does not say enough."""
    images: tuple[Picture, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    state: str = ""
    """What an acting agent saw, such as a page,"""
    action: str = ""
    """and what it did there."""


class Session(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A sub-dialogue."""

    id: str = field(name="session")
    turns: tuple[Turn, ...]
    date: str = ""
    """`2026-03-02 09:15+01:00`; UTC without a zone. Where no session has one they are told in their order."""
    user: str = ""
    """Whose history it belongs to."""
    room: str = ""
    """The group or channel in which it was said."""
    meta: Any = None


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A question about a history."""

    text: str = field(name="question")
    id: str = ""
    date: str = ""
    """When it is asked; "": after all sessions."""
    gold: str | float | tuple[str | float, ...] | None = None
    """The right answer, or several each of which is right: as a set or an order, all of them are wanted."""
    choices: tuple[str, ...] | dict[str, str] = ()
    """What to choose from, by letter; `gold` is a letter, or the text of a choice."""
    claims: tuple[str, ...] = ()
    """What an answer should say, a sentence each, for a judge that gives 0, ½ or 1."""
    match: str = "answer"
    """What decides: one of `MATCHES`, or `recall@K`."""
    tolerance: float = 0.0
    """How far a number may be from the gold one."""
    never_told: bool = False
    """Whether the right answer is that nobody said it."""
    after: str = ""
    """Asked when this session or turn has been told, and nothing behind it; in the place of a date."""
    evidence: tuple[str, ...] = ()
    """Ids of sessions, or of turns: `ID_1` is the first turn of `ID`."""
    kind: str = "question"
    """Letters, digits and `_`."""
    user: str = ""
    image: str = ""
    """A file shown with it to agents that take images."""
    asks: Literal["", "alone", "together"] = ""
    """Whether the state after the history is put back behind it; "": as the run says."""
    meta: Any = None


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The first line of a file, if it has one."""

    format: Literal["ltm-logs"]
    version: int
    source: str = ""
    """Which data set it was made of."""
    opening: str = ""
    """The message that begins a conversation, in the place of ours."""
    notes: tuple[str, ...] = ()
    """What was cut, left out or guessed, a sentence each."""


class History(Struct, frozen=True):
    """What happened to one user, and what is asked about it."""

    sessions: Iterable[Session]
    """Taken once, so that a generator may read them from a file of any size."""
    questions: Iterable[Question] = ()
    """Taken after the sessions."""
    user: str = ""
    """Needed where a data set has several."""


def history_lines(histories: Iterable[History], header: Header | None = None) -> Iterator[bytes]:
    """Yield the lines of a file, one at a time."""
    encode = msgspec.json.Encoder().encode
    if header:
        yield encode(header) + b"\n"
    for history in histories:
        for rows in (history.sessions, history.questions):
            for row in rows:
                yield encode(msgspec.structs.replace(row, user=history.user or row.user)) + b"\n"


def interchange_schema() -> dict[str, Any]:
    """Return the JSON schema of a line."""
    rows, parts = msgspec.json.schema_components([Header, Session, Question])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "anyOf": list(rows), "$defs": parts}
