"""Tape: what one of our journals holds of its agent, and what is nearest to a message that it does not hold."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import AgentError, AgentFault, LtmError
from pytest_ltm._journal import read
from pytest_ltm.agents._protocols import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_AROUND, _MIDDLE = 40, 200
"""Characters that a diff shows on either side of the difference, and of it."""
_WORDS = 2_000
"""Characters of a message by whose words the nearest is found."""


class Tape:
    """The exchanges of a recorded conversation by who spoke, each to be had once."""

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.powers: frozenset[str] = frozenset()
        """What the recorded agent could do."""
        self.max_message_tokens: int | None = None
        self.fingerprint = ""
        """Of the recorded agent."""
        self.messages: list[tuple[str, str]] = []
        """Speaker and text of each message, in their order."""
        self.fillers: set[str] = set()
        """The texts of those that were filler."""
        self._given: list[Mapping[str, Any] | None] = []
        self._places: dict[tuple[str, str], list[int]] = {}
        numbers: dict[object, int] = {}
        for event in events:
            self._take_in(event, numbers)

    def place(self, speaker: str, message: str, taken: int) -> int | None:
        """Return the place of the first such message that is not `taken` (a bit for each place), None if none is."""
        places = deque(self._places.get((speaker, message), ()))
        return next((place for place in places if not taken >> place & 1), None)

    def knows(self, speaker: str, message: str) -> bool:
        """Whether it was said at all."""
        return (speaker, message) in self._places

    def reply(self, place: int) -> tuple[Reply, tuple[str, ...]]:
        """Return a recorded reply, and what was retrieved for it; AgentFault where a fault is recorded, or nothing."""
        given = self._given[place]
        if given is None:
            raise AgentFault("the recording ends with this message: nobody replied any more")
        if given["event"] == "fault":
            raise AgentFault(str(given.get("text")), fatal=given.get("fatal") is True)
        retrieved = given.get("retrieved")
        shown = tuple(map(str, retrieved)) if isinstance(retrieved, list) else ()
        return _reply(given), shown

    def _take_in(self, event: Mapping[str, Any], numbers: dict[object, int]) -> None:
        kind, number = event.get("event"), event.get("exchange")
        if kind == "header":
            self._read_header(event)
        elif kind == "filler":
            self.powers |= {"AcceptsHistory"}
        elif kind == "message" and isinstance(event.get("text"), str):
            numbers[number] = len(self.messages)
            said = str(event.get("by") or ""), event["text"]
            self._places.setdefault(said, []).append(len(self.messages))
            self.messages.append(said)
            self.fillers |= {event["text"]} if event.get("kind") == "filler" else set()
            self._given.append(None)
        elif kind in {"reply", "fault"} and number in numbers and isinstance(event.get("text"), str):
            self._given[numbers[number]] = event

    def _read_header(self, event: Mapping[str, Any]) -> None:
        agent = event.get("agent")
        known = agent if isinstance(agent, dict) else {}
        powers, most = known.get("powers"), known.get("max_message_tokens")
        self.powers |= frozenset(map(str, powers)) if isinstance(powers, list) else frozenset()
        self.max_message_tokens = most if type(most) is int and most > 0 else None
        self.fingerprint = str(event.get("agent_fingerprint") or "")


def read_tape(path: Path) -> tuple[Tape, str]:
    """Return a journal's tape, and the hash of the file; AgentError if it cannot be read."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else _digest(file)
        return Tape(filter(_is_event, read(path))), f"sha256:{digest.hexdigest()}"
    except OSError as error:
        raise AgentError(f"{path}: cannot be read: {error.strerror}") from error
    except (LtmError, TypeError) as error:
        raise AgentError(f"not a journal: {error}") from error


def unrecorded(messages: Sequence[tuple[str, str]], speaker: str, message: str) -> str:
    """Return the nearest recorded message and this one, below each other; time and size are bounded."""
    near = nearest(messages, speaker, message)
    if near is None:
        return "Nothing is recorded"
    return "Nearest recorded (-) and this one (+):\n" + contrast(near, message)


def nearest(messages: Sequence[tuple[str, str]], speaker: str, message: str) -> str | None:
    """Return the recorded message that shares most words with this one, of the same speaker if it said anything."""
    own = [text for by, text in messages if by == speaker]
    texts = own or [text for _, text in messages]
    wanted = _words(message)
    return max(texts, key=lambda text: _likeness(_words(text), wanted), default=None)


def contrast(recorded: str, now: str) -> str:
    """Return the places at which two texts differ, with a little of what surrounds them, on two lines."""
    before = 0
    least = min(len(recorded), len(now))
    while before < least and recorded[before] == now[before]:
        before += 1
    after = 0
    while after < least - before and recorded[-1 - after] == now[-1 - after]:
        after += 1
    return "\n".join(f"{sign} {_part(text, before, after)}" for sign, text in (("-", recorded), ("+", now)))


def _part(text: str, before: int, after: int) -> str:
    start, end = max(0, before - _AROUND), min(len(text), len(text) - after + _AROUND)
    shown = text[start:end]
    if len(shown) > 2 * _AROUND + _MIDDLE:
        shown = f"{shown[: _AROUND + _MIDDLE]} … {shown[-_AROUND:]}"
    shown = f"{'…' * (start > 0)}{shown}{'…' * (end < len(text))}"
    return shown.replace("\n", "\\n")


def _words(text: str) -> frozenset[str]:
    return frozenset(text[:_WORDS].split())


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _reply(given: Mapping[str, Any]) -> Reply:
    """Return a reply with what it cost then: nothing is spent now."""
    usage, cost = given.get("usage"), given.get("cost_usd")
    used = None
    if isinstance(usage, dict):
        names = [name for name in Usage.__slots__ if type(usage.get(name)) is int]
        used = Usage(**{name: usage[name] for name in names})
    dollars = float(cost) if isinstance(cost, (int, float)) else None
    return Reply(given["text"], used, dollars, hypothetical=used is not None or dollars is not None)


def _is_event(found: object) -> bool:
    return isinstance(found, dict)


def _digest(file: Any) -> Any:
    digest = hashlib.sha256()
    for part in iter(lambda: file.read(1 << 20), b""):
        digest.update(part)
    return digest
