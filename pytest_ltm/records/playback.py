"""A recorded journal, read event by event as a conversation goes on."""

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
    """A recorded conversation, from its header to where it ends; what it is asked for is at `next`.

    What judges and users' models said is set apart, to be asked for again; so are
    verdicts, which are made again.
    """

    replaying = True
    """No agent, judge or user's model is ever called."""

    def __init__(
        self, record: ConversationRecord, recorded_events: Iterable[events.Event]
    ) -> None:
        self.record = record
        self.wanted = ""
        """Who was needed that is not here: the agent itself, or a user's model that is asked something else."""
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
            self._events.pop()  # never replied to
        self._remaining = Counter(map(example_of_event, self._events))

    @classmethod
    def open_playback(cls, path: Path) -> Playback | None:
        """Return what a journal holds, None if there is none or it has no header; LtmError for any other file."""
        if not path.is_file():
            return None
        record = ConversationRecord()
        recorded_events = [event for _, event in record.follow_journal(path)]
        if recorded_events:
            return cls(record, recorded_events)
        return None

    @property
    def header(self) -> events.Header:
        """What the conversation was begun with."""
        if self.record.header is None:
            raise LtmError("the record has no header")
        return self.record.header

    @property
    def next(self) -> events.Event | None:
        """The event that comes next, None at the end."""
        return self._events[0] if self._events else None

    def upcoming(self, kind: type[E]) -> E | None:
        """Return the event that comes next, if it is of that kind."""
        result = self.next
        return result if isinstance(result, kind) else None

    def no_agent(self) -> NoReturn:
        """Stand in for the agent, which is not made."""
        self.wanted = "it uses the agent itself, and there is none"
        raise AgentError("no agent exists while a run is scored again")

    def skip(self) -> None:
        """Go on to the event after it."""
        self._remaining[example_of_event(self._events.popleft())] -= 1

    def count_remaining(self, example: str) -> int:
        """Return how many messages, waits and watchers of an example are still to come."""
        return self._remaining[example]

    def reply(self, kind: type[A], example: str, prompt: str, vote: int) -> A | None:
        """Return what a judge or a user's model was heard to say to that very question, None if it was not asked."""
        replies = self._model_replies.get((kind, example, prompt, vote))
        if not replies:
            return None
        # The last one stands for all further ones: a test may ask its judge more often
        # than it did.
        result: A = replies.popleft() if len(replies) > 1 else replies[0]
        return result


def header_of(path: Path) -> events.Header | None:
    """Return a journal's first line, None if it is incomplete; LtmError if it is not a header."""
    result = next(events.read_events(path), None) if path.is_file() else None
    return result if isinstance(result, events.Header) else None


def recorded_plan(path: Path) -> Plan | None:
    """Return the plan in a journal's first line, None if there is no whole one; LtmError if it cannot be read."""
    header = header_of(path)
    return None if header is None else plan_of(header)


def plan_of(header: events.Header) -> Plan:
    """Return the recorded plan; DefinitionError if this version cannot read it."""
    return Plan.from_json(header.plan, where="the recorded plan")


def recorded_settings(run: Path, label: str) -> Mapping[str, Any] | None:
    """Return what stood in the YAML file of an agent, None where it had none or nothing is recorded of it."""
    for agent in _recorded_agents(run, label):
        fields = agent.configuration
        if isinstance(fields, dict):
            fields = fields.get("file", fields)
        if isinstance(fields, dict) and isinstance(fields.get("agent"), str):
            return fields
    return None


def recorded_spec(run: Path, label: str) -> str:
    """Return the spec of a recorded agent; "" where nothing is recorded of it."""
    return next((agent.spec for agent in _recorded_agents(run, label)), "")


def _recorded_agents(run: Path, label: str) -> Iterator[AgentFacts]:
    """Yield what the journals of an agent's conversations say of it."""
    for name, path in conversations_in(run, JOURNAL).items():
        if name.agent != label:
            continue
        with suppress(LtmError):
            header = header_of(path)
            if header is not None and header.agent is not None:
                yield header.agent


def as_recorded(text: str) -> str:
    """Return a text as a journal holds it: without secrets."""
    fault = events.Fault(exchange=0, text=text)
    recorded = events.decode_event(events.encode_event(fault), "a text")
    if isinstance(recorded, events.Fault):
        return recorded.text
    return text


def example_of_event(event: events.Event | None) -> str:
    """Return the example whose body made an event, "" where none did."""
    if isinstance(event, events.MessageSent):
        return event.by if event.kind in SPOKEN else ""
    if isinstance(event, (events.WaitBegan, events.SessionBegan, events.Watcher)):
        return event.example
    return ""
