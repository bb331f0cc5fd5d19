"""Said, Note, Reading: which notes a reply is read from, in which order and form, within a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.api.storage import Field, describe_duration

Role: TypeAlias = Literal["user", "assistant", ""]
"""Who said something; "": neither did, as with a summary."""


class Utterance(Struct, frozen=True):
    """What one side said at a time, whole or a part of it."""

    role: Role
    text: str
    at: datetime | None = None
    """The conversation's time, aware; None where it is not known."""


class MemoryHit(Struct, frozen=True):
    """What a memory found: one saying, or several that belong together."""

    id: str
    said: tuple[Utterance, ...]
    session: str = ""
    """Of the dated sub-dialogue that it is from; "" where there is only one."""

    @property
    def text(self) -> str:
        """All that it says, without who said it."""
        return "\n".join(saying.text for saying in self.said)

    @property
    def begin_time(self) -> datetime | None:
        """When it began; None where that is not known."""
        return self.said[0].at if self.said else None


class Reading(Struct, frozen=True, kw_only=True):
    """How notes are shown for a reply."""

    format: Literal["text", "json"] = "text"
    k: int = 10
    """How many notes at most."""
    budget: int = 8000
    """How many tokens they may take at most, as they are shown."""
    order: Literal["time", "relevance"] = "time"
    age: bool | Literal["date"] = True
    """Whether it is shown how long ago something was said, or at which date."""
    notes: Literal["none", "per-item", "con"] = "none"
    """Whether each is first read by itself, and what it says to the question written down; or all of them in the prompt
    of the reply, notes first (`con`: chain of note)."""

    def choose_notes(
        self, memory_hits: Iterable[MemoryHit], now: datetime | None
    ) -> tuple[MemoryHit, ...]:
        """Return what is shown of the notes found, best first, at a time: as many of the best as fit, in their order.

        One that does not fit is passed over. Those whose time is not known stand first
        in the order of time.
        """
        chosen: list[MemoryHit] = []
        # What stands around the notes takes room, too: the brackets of a list in JSON.
        room = self.budget - count_tokens(self.shown((), now))
        for note in memory_hits:
            if len(chosen) == self.k:
                break
            size = count_tokens(self._line(note, now)) + _BREAK
            if size <= room:
                chosen.append(note)
                room -= size
        if self.order == "time":
            chosen.sort(
                key=lambda note: (
                    0.0 if note.begin_time is None else note.begin_time.timestamp()
                )
            )
        return tuple(chosen)

    def shown(self, notes: Sequence[MemoryHit], now: datetime | None) -> str:
        """Return the notes as text: a line or more for each, or a list in JSON."""
        lines = [self._line(note, now) for note in notes]
        if self.format == "json":
            return "[\n" + ",\n".join(lines) + "\n]"
        return "\n".join(lines)

    def _line(self, note: MemoryHit, now: datetime | None) -> str:
        sayings = [self._told(saying, now) for saying in note.said]
        if self.format == "json":
            return json.dumps(sayings, ensure_ascii=False)
        return "\n".join(
            "".join(
                _TOLD[field].format(saying_fields[field])
                for field in _TOLD
                if field in saying_fields
            )
            for saying_fields in sayings
        )

    def _told(self, saying: Utterance, now: datetime | None) -> dict[str, str]:
        if self.age:
            when = time_since(saying, None if self.age == "date" else now)
        else:
            when = ""
        fields = {"when": when, "who": saying.role, "text": saying.text}
        return {name: text for name, text in fields.items() if text or name == "text"}


_TOLD = {"when": "[{}] ", "who": "{}: ", "text": "{}"}
# Tokens between one note and the next, at most.
_BREAK = 2


def time_since(saying: Utterance, now: datetime | None) -> str:
    """Return how long ago something was said, its day and time where the present is not known; "" if neither is."""
    if saying.at is None:
        return ""
    if now is None:
        return saying.at.isoformat(" ", "minutes")
    return f"{describe_duration(now - saying.at)} ago"


def format_moment(moment: datetime | None) -> str | None:
    """Return a moment as it is saved."""
    return None if moment is None else moment.isoformat()


def read_moment(text: str | None) -> datetime | None:
    """Return the moment that `format_moment` returned as a text."""
    return None if text is None else datetime.fromisoformat(text)


def shorten_to_tokens(text: str, tokens: int) -> str:
    """Return the beginning of a text, of at most that many tokens."""
    # By proportion, again and again: encoding is the slow part, and a token has no
    # fixed length.
    while (size := count_tokens(text)) > tokens:
        text = text[: len(text) * tokens // size]
    return text


_FORMATS: Mapping[str, Any] = {
    "format": ("text", "json"),
    "order": ("time", "relevance"),
    "notes": ("none", "per-item", "con"),
}
PARAMETERS = ("format", "k", "budget", "order", "age", "notes")
"""What may be said of how notes are read."""


def parse_reading(
    fields: Mapping[str, Field], default: Reading | None = None
) -> Reading:
    """Return how notes are read as fields say, as `default` where they do not; DefinitionError for a wrong value."""
    base = default or Reading()
    values: dict[str, Any] = {name: getattr(base, name) for name in PARAMETERS}
    for name in fields.keys() & values.keys():
        field = fields[name]
        if name == "k":
            values[name] = field.whole(least=1)
        elif name == "budget":
            values[name] = field.tokens()
        elif name == "age":
            values[name] = "date" if field.value == "date" else field.boolean()
        else:
            if field.value not in _FORMATS[name]:
                raise field.error(" or ".join(map(repr, _FORMATS[name])))
            values[name] = field.value
    return Reading(**values)
