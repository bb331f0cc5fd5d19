"""Turn, Note, Notebook, Ability: what the reader keeps of a conversation, and how an ability works with it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

BRIEF = 1200
"""Characters up to which a message is looked at closely by abilities that deal in single sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One incoming message and its circumstances."""

    text: str
    position: int
    """Its exchange's number in the conversation, from 0."""
    now: float | None
    """The conversation's time in POSIX seconds; None where nobody tells the time."""
    told: bool = False
    """The exchange is history: it is read, and no reply is wanted."""
    reply: str = ""
    """The reply to it, where it was told."""

    @property
    def brief(self) -> bool:
        """True for a message of a few sentences, false for pages and filler."""
        return len(self.text) <= BRIEF


@dataclass(frozen=True, slots=True)
class Note:
    """Something that one message told."""

    kind: str
    """What it is about; each ability has kinds of its own."""
    position: int
    """The number of the exchange that told it: whether it can still be seen is asked of the memory."""
    time: float | None
    """When it was told, in POSIX seconds."""
    content: Any
    """JSON values."""
    line: str
    """The note as one line of JSON, made once: saving the reader only joins lines."""


class Notebook:
    """All notes of one conversation; shows only those whose messages the memory still shows."""

    def __init__(self, sees: Callable[[int], bool], overlook: Callable[[], None] = lambda: None) -> None:
        self.sees = sees
        """Whether the exchange of a number can still be seen."""
        self.overlook = overlook
        """To be called for a message that only asks: nobody will look for anything in it."""
        self._notes: dict[str, list[Note]] = {}
        self._derived: dict[str, Any] = {}

    def add(self, turn: Turn, kind: str, content: Any) -> None:
        """Note down what a message told."""
        self._append(json.dumps([kind, turn.position, turn.now, content]))

    def visible(self, kind: str) -> Iterator[Note]:
        """Yield the notes of one kind that can still be seen, the newest first."""
        return (note for note in reversed(self._notes.get(kind, ())) if self.sees(note.position))

    def newest(self, kind: str) -> Note | None:
        """Return the newest note of one kind that can still be seen."""
        return next(self.visible(kind), None)

    def every(self, kind: str) -> Sequence[Note]:
        """Return all notes of one kind in order, for an index: what it finds counts only if it can be seen."""
        return self._notes.get(kind, ())

    def derived(self, kind: str, make: Callable[[], T]) -> T:
        """Return what was made of the notes of one kind; made anew after they were dropped or restored."""
        if kind not in self._derived:
            self._derived[kind] = make()
        found: T = self._derived[kind]
        return found

    def drop(self, *kinds: str) -> None:
        """Forget all notes of these kinds, because a message asked for it."""
        for kind in kinds:
            self._notes.pop(kind, None)
            self._derived.pop(kind, None)

    def lines(self) -> list[str]:
        """Return all notes, one line of JSON each; `restore` takes them back."""
        return [note.line for notes in self._notes.values() for note in notes]

    def restore(self, lines: list[str]) -> None:
        """Hold the notes of `lines` and no others."""
        self._notes, self._derived = {}, {}
        for line in lines:
            self._append(line)

    def _append(self, line: str) -> None:
        kind, position, time, content = json.loads(line)
        self._notes.setdefault(kind, []).append(Note(kind, position, time, content, line))


class Ability(Protocol):
    """One thing that the reader understands: a kind of statement, the questions about it, its end."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Return the reply to a message that this ability is about, noting what it tells; None: not mine.

        Sees nothing but the message and the visible notes. Costs time linear in the message. When
        `turn.told` is true any text will do, since nobody gets to read it.
        """
        ...


@runtime_checkable
class Appends(Protocol):
    """An ability that may have something to add to a reply, whatever the reply is about."""

    def appendix(self, turn: Turn, notes: Notebook) -> str | None:
        """Return what to add to the reply to `turn`; None: nothing."""
        ...
