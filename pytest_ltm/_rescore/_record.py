"""Record: what a journal holds, taken one event after the other; RetoldJournal: where it is written down again."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, cast

from pytest_ltm._errors import ConversationOver, LtmError
from pytest_ltm._journal import FORMAT, Journal, line, read
from pytest_ltm._plan import Plan
from pytest_ltm._recording import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_ltm._disk import Appender

SPOKEN = frozenset({"say", "ask"})
_TAKEN = frozenset({"message", "reply", "filler", "fault"})
_SCRIPT = frozenset({"wait", "watcher"})
_TEXTS = {
    "begin": ("example",), "message": ("by", "kind", "text"), "reply": ("text",), "filler": ("message", "reply"),
    "wait": ("example",), "watcher": ("example",), "jump": ("to",), "fault": ("text",), "judge": ("example", "prompt"),
    "verdict": ("example", "reason"), "end": (),
}  # fmt: skip
"""The events that a record may hold, and the fields that are texts in each."""


class ScriptChanged(ConversationOver):
    """A body does not say what it said when it was recorded; only its own example is over."""


class Record:
    """A recorded conversation, from its header to where it ends; what it is asked for is at `next`.

    Judge calls and verdicts are set apart: they are made again.
    """

    def __init__(self, header: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> None:
        self.header = header
        self.reason = ""
        """Why the conversation ended before its end through no interruption; "": it did not."""
        self.complete = False
        self.judged: dict[tuple[str, str, int], deque[Mapping[str, Any]]] = {}
        """Judge calls by example, hash of the prompt, and vote."""
        self.verdicts: dict[str, Mapping[str, Any]] = {}
        """By example."""
        self._events: deque[Mapping[str, Any]] = deque()
        for event in events:
            self._sort(event)
        if self._events and self._events[-1]["event"] == "message":
            self._events.pop()  # nobody replied any more
        self.begun = {event["example"] for event in self._events if event["event"] == "begin"}
        self._left = Counter(speaker for event in self._events if (speaker := _speaker(event)))

    @classmethod
    def of(cls, path: Path) -> Record | None:
        """Return what a journal holds, None if there is none or it has no header; LtmError for what is no journal."""
        return cls._of(path, whole=True)

    @classmethod
    def of_header(cls, path: Path) -> Record | None:
        """Return the same without any event: only the first line is read."""
        return cls._of(path, whole=False)

    @classmethod
    def _of(cls, path: Path, *, whole: bool) -> Record | None:
        if not path.is_file():
            return None
        try:
            events = read(path)
            header = next(events, None)
            if header is None:
                return None
            known = header if isinstance(cast("object", header), dict) else {}
            if (known.get("event"), known.get("format")) != ("header", FORMAT):
                raise LtmError(f"{path}, line 1: not the header of a journal of this version")
            lines = enumerate(events, 2) if whole else ()
            return cls(header, (_checked(event, f"{path}, line {number}") for number, event in lines))
        except OSError as error:
            raise LtmError(f"{path}: cannot be read: {error.strerror}") from error

    @property
    def plan(self) -> Plan:
        """The recorded plan; DefinitionError if this version cannot read it."""
        return Plan.from_json(self.header.get("plan"), where="the recorded plan")

    @property
    def next(self) -> Mapping[str, Any] | None:
        """The event that comes next, None at the end."""
        return self._events[0] if self._events else None

    def skip(self) -> None:
        """Go on to the event after it."""
        speaker = _speaker(self._events.popleft())
        if speaker:
            self._left[speaker] -= 1

    def left(self, example: str) -> int:
        """Return how many messages, waits and watchers of an example are still to come."""
        return self._left[example]

    def judgement(self, example: str, prompt: str, vote: int) -> Mapping[str, Any] | None:
        """Return what the judge was heard to say to that very question, None if it was not asked."""
        said = self.judged.get((example, prompt, vote))
        if not said:
            return None
        return said.popleft() if len(said) > 1 else said[0]

    def _sort(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        if kind == "judge":
            key = event["example"], event["prompt"], event.get("vote", 0)
            self.judged.setdefault(key, deque()).append(event)
        elif kind == "verdict":
            self.verdicts[event["example"]] = event
        elif kind == "end" and "example" not in event:
            self.complete = event.get("reason") == "complete"
            if event.get("reason") not in {"complete", "interrupted"}:
                self.reason = str(event.get("reason"))
        else:
            self._events.append(event)


class RetoldJournal(Journal):
    """The journal of the new run: replies are those of the record, and all else is written as it comes.

    Waits and watchers must be those of the record; ScriptChanged if one is not.
    """

    replaying = True
    """Nobody outside is ever asked."""

    def __init__(self, file: Appender, record: Record) -> None:
        super().__init__(file)
        self._record = record

    def upcoming(self, event: str) -> dict[str, Any] | None:
        """Return the recorded event if the next one is of that kind, else None."""
        if self.over is not None:
            raise self.over
        found = self._record.next
        return dict(found) if found is not None and found["event"] == event else None

    def write(self, event: str, **fields: Any) -> None:
        """Append one event; what came from outside, waits and watchers are taken from the record by that."""
        recorded = self._record.next
        same_kind = recorded is not None and recorded["event"] == event
        if event in _SCRIPT and recorded != json.loads(line(event, **fields)):
            raise ScriptChanged(_contrast(event, fields, recorded))
        super().write(event, **fields)
        if same_kind and event in _TAKEN | _SCRIPT:
            self._record.skip()


def recorded_plan(path: Path) -> Plan | None:
    """Return the plan in a journal's first line, None if there is no whole one; LtmError if it cannot be read."""
    record = Record.of_header(path)
    return None if record is None else record.plan


def recorded_settings(run: Path, label: str) -> Mapping[str, Any] | None:
    """Return what stood in the YAML file of an agent, None where it had none or nothing is recorded of it."""
    for path in sorted(run.glob(f"{label}~*/{JOURNAL}")):
        try:
            record = Record.of_header(path)
        except LtmError:
            continue
        agent = None if record is None else record.header.get("agent")
        told = agent.get("configuration") if isinstance(agent, dict) else None
        found = told.get("file", told) if isinstance(told, dict) else None
        if isinstance(found, dict) and isinstance(found.get("agent"), str):
            return found
    return None


def as_recorded(text: str) -> str:
    """Return a text as a journal holds it: without secrets."""
    recorded: str = json.loads(line("message", text=text))["text"]
    return recorded


def _checked(event: Any, where: str) -> Mapping[str, Any]:
    kind = event.get("event") if isinstance(event, dict) else None
    names = _TEXTS.get(kind) if isinstance(kind, str) else None
    if names is None:
        raise LtmError(f"{where}: {str(kind)[:80]!r} is no event of a journal of this version")
    wrong = next((name for name in names if not isinstance(event.get(name), str)), None)
    if wrong is not None:
        raise LtmError(f"{where}: the {wrong!r} of a {kind!r} is no text")
    return cast("Mapping[str, Any]", event)


def _speaker(event: Mapping[str, Any]) -> str:
    """Return the example whose body made an event, "" where none did."""
    if event["event"] == "message":
        return str(event["by"]) if event["kind"] in SPOKEN else ""
    return str(event["example"]) if event["event"] in _SCRIPT else ""


def _contrast(event: str, fields: Mapping[str, Any], recorded: Mapping[str, Any] | None) -> str:
    if recorded is None or recorded["event"] != event or recorded.get("example") != fields.get("example"):
        return "it waits or watches where it did not"
    return "it waits or watches for something else than it did"
