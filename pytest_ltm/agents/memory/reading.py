"""Utterances, memory notes, and how notes are shown for a reply within a token budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.api.storage import Field, describe_duration

Role: TypeAlias = Literal["user", "assistant", ""]
"""The speaker; "": neither side, as with a summary."""


class Utterance(Struct, frozen=True):
    """The text of one side in one turn, or a part of it."""

    role: Role
    text: str
    at: datetime | None = None
    """The conversation's time, aware; None if unknown."""


class MemoryHit(Struct, frozen=True):
    """A search result of a memory: one utterance, or several that belong together."""

    id: str
    utterances: tuple[Utterance, ...]
    session: str = ""
    """The dated sub-dialogue that it comes from; "" if there is only one."""

    @property
    def text(self) -> str:
        """Its utterances, one per line, without speakers."""
        return "\n".join(utterance.text for utterance in self.utterances)

    @property
    def begin_time(self) -> datetime | None:
        """The time of its first utterance; None if unknown."""
        return self.utterances[0].at if self.utterances else None


class NoteReading(Struct, frozen=True, kw_only=True):
    """How notes are shown for a reply."""

    format: Literal["text", "json"] = "text"
    k: int = 10
    """The maximum number of notes."""
    budget: int = 8000
    """The maximum tokens of the notes, in their shown form."""
    order: Literal["time", "relevance"] = "time"
    age: bool | Literal["date"] = True
    """Whether to show the age of an utterance, or its date."""
    notes: Literal["none", "per-item", "con"] = "none"
    """Whether a model first notes what each memory says about the question, in a call each (`per-item`), or
    reads all of them in the prompt of the reply and writes its notes first (`con`:
    chain of note).
    """

    def choose_notes(
        self, memory_hits: Iterable[MemoryHit], now: datetime | None
    ) -> tuple[MemoryHit, ...]:
        """Return as many notes as fit, in `order`; `memory_hits` must be sorted best first.

        A note that does not fit is skipped. In order of time, notes without a time come
        first.
        """
        chosen: list[MemoryHit] = []
        # The brackets of a JSON list use tokens, too.
        room = self.budget - count_tokens(self.format_notes((), now))
        for note in memory_hits:
            if len(chosen) == self.k:
                break
            size = count_tokens(self._format_note(note, now)) + _BREAK
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

    def format_notes(self, notes: Sequence[MemoryHit], now: datetime | None) -> str:
        """Return the notes as text: one or more lines each, or a JSON list."""
        texts = [self._format_note(note, now) for note in notes]
        if self.format == "json":
            return "[\n" + ",\n".join(texts) + "\n]"
        return "\n".join(texts)

    def _format_note(self, note: MemoryHit, now: datetime | None) -> str:
        utterances = []
        for utterance in note.utterances:
            utterances.append(self._shown_fields(utterance, now))
        if self.format == "json":
            return json.dumps(utterances, ensure_ascii=False)
        return "\n".join(map(_format_utterance, utterances))

    def _shown_fields(
        self, utterance: Utterance, now: datetime | None
    ) -> dict[str, str]:
        """Return the time, speaker and text of an utterance; unknown or hidden fields are left out."""
        if self.age:
            when = time_since(utterance, None if self.age == "date" else now)
        else:
            when = ""
        fields = {"when": when, "who": utterance.role, "text": utterance.text}
        return {name: text for name, text in fields.items() if text or name == "text"}


def _format_utterance(fields: Mapping[str, str]) -> str:
    when = f"[{fields['when']}] " if "when" in fields else ""
    who = f"{fields['who']}: " if "who" in fields else ""
    return f"{when}{who}{fields['text']}"


# Maximum tokens between two notes.
_BREAK = 2


def time_since(utterance: Utterance, now: datetime | None) -> str:
    """Return the age of an utterance, or its date and time if `now` is unknown; "" if it has no time."""
    if utterance.at is None:
        return ""
    if now is None:
        return utterance.at.isoformat(" ", "minutes")
    return f"{describe_duration(now - utterance.at)} ago"


def format_moment(moment: datetime | None) -> str | None:
    """Return a moment in the form in which it is saved."""
    return None if moment is None else moment.isoformat()


def read_moment(text: str | None) -> datetime | None:
    """Return the moment that `format_moment` turned into a text."""
    return None if text is None else datetime.fromisoformat(text)


def shorten_to_tokens(text: str, tokens: int) -> str:
    """Return the beginning of a text, at most `tokens` tokens long."""
    # Cut in proportion until it fits: encoding is slow, and tokens differ in length.
    while (size := count_tokens(text)) > tokens:
        text = text[: len(text) * tokens // size]
    return text


_READERS: Mapping[str, Callable[[Field], Any]] = {
    "format": lambda field: field.choice(("text", "json")),
    "k": lambda field: field.whole(least=1),
    "budget": Field.tokens,
    "order": lambda field: field.choice(("time", "relevance")),
    "age": lambda field: "date" if field.value == "date" else field.boolean(),
    "notes": lambda field: field.choice(("none", "per-item", "con")),
}
PARAMETERS = tuple(_READERS)
"""The names of the parameters of `reading`."""


def parse_reading(
    fields: Mapping[str, Field], default: NoteReading | None = None
) -> NoteReading:
    """Return the reading in the fields, with `default` for missing ones.

    Raises DefinitionError for a wrong value.
    """
    values = {}
    for name, read in _READERS.items():
        if name in fields:
            values[name] = read(fields[name])
    return structs.replace(default or NoteReading(), **values)
