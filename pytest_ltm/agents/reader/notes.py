"""Turn, Note, Notebook, Ability: the reader's notes on a conversation, and how an ability uses them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from pytest_ltm.api.model import TextFile
from pytest_ltm.api.storage import lazy_pattern, load_packaged_yaml, made_later
from pytest_ltm.language.numbers import NUMBERS, ONES

T = TypeVar("T")

UNDERSTOOD = "understood"
"""Notes of messages that stay statements although a topic understands them; never forgotten."""
WORDS: Mapping[str, Any] = load_packaged_yaml(__file__, "words.yml")
"""Words and wordings, by purpose."""
COMMON = {who: frozenset(words.split()) for who, words in WORDS["common"].items()}
"""Words without meaning, by the ability that skips them."""

_PATTERNS: Mapping[str, Mapping[str, Any]] = load_packaged_yaml(
    __file__, "patterns.yml"
)

SMALL_NUMBERS = {word: NUMBERS[word] for word in (*ONES[1:13], "a", "an")}
"""Small numbers by their words."""

MAX_CLOSELY_READ = 1200
"""Maximum characters of a message that abilities for single sentences look at."""


class IncomingTurn(Struct, frozen=True, kw_only=True):
    """One incoming message and its circumstances."""

    text: str
    position: int
    """Its exchange's number in the conversation, from 0."""
    now: float | None
    """The conversation's time in POSIX seconds; None if the reader is not told the time."""
    told: bool = False
    """Whether the exchange is history: it is read, and needs no reply."""
    reply: str = ""
    """The reply to it, if it is history."""
    said: str = ""
    """The original message, if `text` is its translation into English."""

    @property
    def is_brief(self) -> bool:
        """Whether the message is a few sentences, not pages or filler."""
        return len(self.text) <= MAX_CLOSELY_READ

    @property
    def asks(self) -> bool:
        """Whether the message ends with a question mark."""
        return self.text.rstrip().endswith("?")


class ReaderNote(Struct, frozen=True):
    """A fact from one message."""

    kind: str
    """Its kind; each ability has its own kinds."""
    position: int
    """The number of the exchange that told it, by which the memory decides whether it is visible."""
    time: float | None
    """When it was told, in POSIX seconds."""
    stored: Callable[[], str] | None
    """Reads the line of a long note from disk: a history may have millions of tokens."""
    _content: Any
    _line: str

    @property
    def content(self) -> Any:
        """JSON values."""
        if self.stored is None:
            return self._content
        return json.loads(self.stored())[-1]

    @property
    def line(self) -> str:
        """The note as one line of JSON, encoded once: saving the reader just joins lines."""
        return self._line if self.stored is None else self.stored()


class ReaderNotebook:
    """All notes of one conversation; shows only those whose messages the memory still shows."""

    def __init__(
        self, sees: Callable[[int], bool], overlook: Callable[[], None] = lambda: None
    ) -> None:
        self.sees = sees
        """Returns whether an exchange is still visible."""
        self.overlook = overlook
        """To be called for a message that only asks, so that it is never retrieved."""
        self.uses = 0
        """The number of times that notes were looked for, added or dropped."""
        self._notes: dict[str, list[ReaderNote]] = {}
        self._long = TextFile()
        self._derived: dict[str, Any] = {}

    def add(
        self, turn: IncomingTurn, kind: str, content: Any, reply: str = "Noted."
    ) -> str:
        """Add a note on a message; return the reply to the message."""
        self.uses += 1
        # As JSON at once, so that saved and current notes are the same.
        self._append(json.dumps([kind, turn.position, turn.now, content]))
        return reply

    def visible(self, kind: str) -> Iterator[ReaderNote]:
        """Yield the visible notes of one kind, newest first."""
        self.uses += 1
        # Lazily: asking the memory may rank all exchanges, and most callers need only
        # the newest.
        for note in reversed(self._notes.get(kind, ())):
            if self.sees(note.position):
                yield note

    def contents(self, kind: str) -> list[Any]:
        """Return the contents of the visible notes of one kind, newest first."""
        return [note.content for note in self.visible(kind)]

    def values_of(self, kind: str, *key: object) -> Iterator[Any]:
        """Yield the last part of each visible note whose other parts are `key`, newest first."""
        for note in self.visible(kind):
            *parts, value = note.content
            if parts == [*key]:
                yield value

    def newest_values(self, kind: str) -> dict[str, str]:
        """Return the newest value for each name, from the visible notes that are pairs of them."""
        return dict(reversed(self.contents(kind)))

    def newest(self, kind: str) -> ReaderNote | None:
        """Return the newest visible note of one kind."""
        return next(self.visible(kind), None)

    def notes_of_kind(self, kind: str) -> Sequence[ReaderNote]:
        """Return all notes of one kind in order, for an index, whose results must be checked for visibility."""
        self.uses += 1
        return self._notes.get(kind, ())

    def derived(self, kind: str, make: Callable[[], T]) -> T:
        """Return the object derived from the notes of one kind; recreated after they were dropped or restored."""
        self.uses += 1
        if kind not in self._derived:
            self._derived[kind] = make()
        result: T = self._derived[kind]
        return result

    def drop(self, *kinds: str) -> str:
        """Forget all notes of these kinds on request; return the reply to the message."""
        self.uses += 1
        for kind in kinds:
            self._notes.pop(kind, None)
            self._derived.pop(kind, None)
        return "Forgotten."

    def held(self) -> dict[str, list[ReaderNote]]:
        """Return all notes, for `put_back`."""
        return {kind: [*notes] for kind, notes in self._notes.items()}

    def put_back(self, notes_by_kind: dict[str, list[ReaderNote]]) -> None:
        """Restore the notes that `held` returned; objects derived from other notes are recreated."""
        for kind in self._notes.keys() | notes_by_kind.keys():
            if self._notes.get(kind) != notes_by_kind.get(kind):
                self._derived.pop(kind, None)
        self._notes = notes_by_kind

    def lines(self) -> list[str]:
        """Return all notes, one line of JSON each, for `restore`."""
        lines = []
        for notes in self._notes.values():
            for note in notes:
                lines.append(note.line)
        return lines

    def restore(self, lines: list[str]) -> None:
        """Replace all notes by those of `lines`."""
        self._notes = {}
        self._derived = {}
        for line in lines:
            self._append(line)

    def _append(self, line: str) -> None:
        kind, position, time, content = json.loads(line)
        if len(line) <= MAX_CLOSELY_READ:
            note = ReaderNote(kind, position, time, None, content, line)
        else:
            # Read from disk on demand: a history may have millions of tokens.
            note = ReaderNote(
                kind,
                position,
                time,
                partial(self._long.__getitem__, len(self._long)),
                None,
                "",
            )
            self._long.append(line)
        self._notes.setdefault(kind, []).append(note)


class Ability(Protocol):
    """One subject that the reader understands: its statements, questions about them, and its end."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the reply to a message that this ability handles, noting what it tells; None: not handled.

        It sees only the message and the visible notes, and takes time linear in the
        message. If `turn.told` is true any text will do, because it is never read.
        """
        ...


class Patterns:
    """The patterns of a section of `patterns.yml`, compiled on first use.

    Attributes are patterns, items are groups of them.
    """

    def __init__(self, section: str, **parts: str | Iterable[str]) -> None:
        """`parts`: replacements for words in capitals, besides the section's own; alternatives unless a text."""
        self._section = _PATTERNS[section]
        self._parts = dict(self._section)
        for name, part in parts.items():
            self._parts[name] = part if isinstance(part, str) else "|".join(part)
        self._groups: dict[str, Any] = {}
        """The groups compiled so far, by name."""

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pattern: re.Pattern[str] = self[name]
        setattr(self, name, pattern)
        return pattern

    def __getitem__(self, name: str) -> Any:
        if name not in self._groups:
            self._groups[name] = self.compile_group(self._section[name])
        return self._groups[name]

    def compile_group(self, group: Any, flags: str = "") -> Any:
        """Return a pattern, or lists and mappings of patterns, for texts; `flags` such as "(?i)" precede each."""
        if isinstance(group, str):
            # Compiled lazily: a conversation needs the patterns of few scenarios.
            return made_later(lambda: re.compile(flags + self._fill_parts(group)))
        if isinstance(group, list):
            return [self.compile_group(member, flags) for member in group]
        patterns = {}
        for name, member in group.items():
            patterns[name] = self.compile_group(member, flags)
        return patterns

    def _fill_parts(self, text: str) -> str:

        def part(name: re.Match[str]) -> str:
            if name[0] in self._parts:
                return self._fill_parts(self._parts[name[0]])
            return name[0]

        return re.sub("[A-Z][A-Z_]+", part, text.replace("\n", ""))


_ANYTHING = lazy_pattern("")
_NOTHING = lazy_pattern(r"(?!)")


class Topic:
    """An ability that reads brief messages about one subject, and may drop its notes on request."""

    kinds: ClassVar[tuple[str, ...]]
    """The kinds of its notes that it drops."""
    forgets: ClassVar[re.Pattern[str]]
    """Matches a message that ends or restarts the topic; by default none does."""
    about: ClassVar[re.Pattern[str]]
    """Matches every message that may be about the topic; most topics decide while reading."""
    forgotten: ClassVar[str]
    """The reply when the topic ends."""

    def __init_subclass__(
        cls,
        *,
        kinds: tuple[str, ...] = (),
        forgets: re.Pattern[str] = _NOTHING,
        about: re.Pattern[str] = _ANYTHING,
        forgotten: str = "Forgotten.",
    ) -> None:
        cls.kinds = kinds
        cls.forgets = forgets
        cls.about = about
        cls.forgotten = forgotten

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the reply to a message that this ability handles; None: not handled."""
        if not turn.is_brief or not self.claims(turn.text):
            return None
        if self.forgets.search(turn.text):
            notes.drop(*self.kinds)
            return self.forgotten
        return self.read(turn, notes)

    def claims(self, text: str) -> bool:
        """Return whether a message may be about this topic at all."""
        return self.about.search(text) is not None

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a message tells, or answer its question; None: not handled."""
        raise NotImplementedError


def first_match(patterns: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    """Return the match of the first pattern that matches a text."""
    for pattern in patterns:
        if match := pattern.search(text):
            return match
    return None


def first_kind(
    patterns_by_kind: Mapping[str, Any], text: str
) -> tuple[str, re.Match[str] | None]:
    """Return the first kind with a pattern, or one in its list, that matches a text, and the match.

    ("", None) if none matches.
    """
    for kind, patterns in patterns_by_kind.items():
        listed = patterns if isinstance(patterns, list) else [patterns]
        if match := first_match(listed, text):
            return kind, match
    return "", None


@runtime_checkable
class Appends(Protocol):
    """An ability that may add something to any reply."""

    def appendix(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return what to add to the reply to `turn`; None: nothing."""
        ...


# --- The line of a text that a question is about: it shares the rarest words with the
# question.

_WORD = lazy_pattern(r"[^\W_]+")
_STEM = 6


def nearest_line(question: str, lines: Sequence[str]) -> str:
    """Return the line with the most words in common; rarer words count more.

    Of equals the first; "" if there are no lines.
    """
    line_stems = [note_stems(line) for line in lines]
    spread = Counter[str]()
    for stems in line_stems:
        spread.update(stems)
    question_stems = note_stems(question)
    likeness = []
    for stems in line_stems:
        likeness.append(sum(1 / spread[stem] for stem in stems & question_stems))
    return lines[likeness.index(max(likeness))] if lines else ""


def note_stems(text: str) -> frozenset[str]:
    """Return the beginnings of a text's content words, in lower case: a rough key without endings."""
    stems = set()
    for word in _WORD.findall(text):
        if word.lower() not in COMMON["line"]:
            stems.add(word.lower()[:_STEM].removesuffix("s"))
    return frozenset(stems)
