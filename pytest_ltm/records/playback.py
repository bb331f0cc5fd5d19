"""Playback: a recorded journal, read event by event as a conversation proceeds."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pytest_ltm.api.journal import (
    JOURNAL,
    AgentFacts,
    ConversationRecord,
    conversations_in,
    events,
)
from pytest_ltm.api.scenarios import Plan
from pytest_ltm.api.storage import AgentError, LtmError

SPOKEN = frozenset({"say", "ask", "compact"})
_APART = (events.Header, events.ModelAsked, events.VerdictRecorded)

E = TypeVar("E", bound=events.Event)


A = TypeVar("A", events.JudgeAsked, events.JudgeChecked, events.UserModelAsked)


class Playback:
    """A recorded conversation, from its header to its end; `next` is the current event.

    Replies of judges and users' models are stored separately, to be looked up; so are
    verdicts, which are made again.
    """

    replaying = True
    """No agent, judge or user's model is ever called."""

    def __init__(
        self, record: ConversationRecord, recorded_events: Iterable[events.Event]
    ) -> None:
        self.record = record
        self.wanted = ""
        """What was needed but is unavailable: the agent itself, or a user's model with a different question."""
        self._model_replies: defaultdict[
            tuple[type[events.ModelAsked], str, str, int], deque[Any]
        ] = defaultdict(deque)
        self._events: deque[events.Event] = deque()
        for event in recorded_events:
            has_ended = getattr(event, "reason", None) is not None
            if isinstance(event, events.ModelAsked):
                key = type(event), event.example, event.prompt, event.vote
                self._model_replies[key].append(event)
            elif not isinstance(event, _APART) and not has_ended:
                self._events.append(event)
        if self._events and isinstance(self._events[-1], events.MessageSent):
            self._events.pop()  # it never got a reply
        self._remaining = Counter(map(example_of_event, self._events))

    @classmethod
    def open_playback(cls, path: Path) -> Playback | None:
        """Open a journal; None if there is none or it has no header, LtmError for any other file."""
        if not path.is_file():
            return None
        record = ConversationRecord()
        recorded_events = [event for _, event in record.follow_journal(path)]
        if recorded_events:
            return cls(record, recorded_events)
        return None

    @property
    def header(self) -> events.Header:
        """The header of the conversation."""
        if self.record.header is None:
            raise LtmError("the record has no header")
        return self.record.header

    @property
    def next(self) -> events.Event | None:
        """The next event; None at the end."""
        return self._events[0] if self._events else None

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the next event if it is of this kind."""
        result = self.next
        return result if isinstance(result, kind) else None

    def no_agent(self) -> NoReturn:
        """Stand in for the agent, which is not created."""
        self.wanted = "it uses the agent itself, and there is none"
        raise AgentError("no agent exists while a run is scored again")

    def skip(self) -> None:
        """Advance to the following event."""
        self._remaining[example_of_event(self._events.popleft())] -= 1

    def count_remaining(self, example: str) -> int:
        """Return the number of an example's remaining messages, waits and watchers."""
        return self._remaining[example]

    def reply(self, kind: type[A], example: str, prompt: str, vote: int) -> A | None:
        """Return the recorded reply of a judge or a user's model to the same question; None if it was not asked."""
        replies = self._model_replies.get((kind, example, prompt, vote))
        if not replies:
            return None
        # The last one is reused: a test may ask its judge more often than it did.
        result: A = replies.popleft() if len(replies) > 1 else replies[0]
        return result


def header_of(path: Path) -> events.Header | None:
    """Return the header of a journal; None if it is incomplete, LtmError if the first line is not a header."""
    result = next(events.read_events(path), None) if path.is_file() else None
    return result if isinstance(result, events.Header) else None


def recorded_plan(path: Path) -> Plan | None:
    """Return the plan in a journal's header; None if the header is incomplete, LtmError if it cannot be read."""
    header = header_of(path)
    return None if header is None else plan_of(header)


def plan_of(header: events.Header) -> Plan:
    """Return the recorded plan; DefinitionError if this version cannot read it."""
    return Plan.from_json(header.plan, where="the recorded plan")


def recorded_settings(run: Path, label: str) -> Mapping[str, Any] | None:
    """Return the recorded content of an agent's YAML file; None if it had none or nothing is recorded."""
    for agent in _recorded_agents(run, label):
        fields = agent.configuration
        if isinstance(fields, dict):
            fields = fields.get("file", fields)
        if isinstance(fields, dict) and isinstance(fields.get("agent"), str):
            return fields
    return None


def recorded_spec(run: Path, label: str) -> str:
    """Return the spec of a recorded agent; "" if nothing is recorded."""
    return next((agent.spec for agent in _recorded_agents(run, label)), "")


def _recorded_agents(run: Path, label: str) -> Iterator[AgentFacts]:
    """Yield the data about an agent in its conversations' journals."""
    for name, path in conversations_in(run, JOURNAL).items():
        if name.agent != label:
            continue
        with suppress(LtmError):
            header = header_of(path)
            if header is not None and header.agent is not None:
                yield header.agent


def as_recorded(text: str) -> str:
    """Return a text as recorded in a journal: without secrets."""
    fault = events.Fault(exchange=0, text=text)
    recorded = events.decode_event(events.encode_event(fault), "a text")
    if isinstance(recorded, events.Fault):
        return recorded.text
    return text


def example_of_event(event: events.Event | None) -> str:
    """Return the example whose body caused an event; "" if there is none."""
    if isinstance(event, events.MessageSent):
        return event.by if event.kind in SPOKEN else ""
    if isinstance(event, (events.WaitBegan, events.SessionBegan, events.Watcher)):
        return event.example
    return ""
