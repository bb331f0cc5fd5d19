"""Events: what a journal says, one frozen class for each kind of line, with the only code that encodes or decodes them.

A line is a JSON object: "event", which names its kind, then the fields of the class in their order. A field
that has a default is left out where it has it; times are ISO 8601. A header says "format" first.
What differs between equal runs (latencies, the time on the wall) is not an event: see `timings.jsonl`.
"""

# Annotations are evaluated here, because they say how each field is read.

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, get_args

from pytest_ltm._engine.agent import Usage
from pytest_ltm._engine.transcript import Kind
from pytest_ltm._record.codec import UnknownFieldError, from_json, from_line, to_json, to_line, whole_lines
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.schema import shown

FORMAT = 2

# --- what is said


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What a header says of the agent: what decides what may be sent to it, and what it may remember."""

    spec: str
    configuration: object
    """JSON values, without secrets; None where it reports none."""
    capabilities: tuple[str, ...]
    """Sorted."""
    max_message_tokens: int
    """0 if the agent could not be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first event: what the conversation was begun with."""

    plan: Mapping[str, Any]
    plan_fingerprint: str
    agent_fingerprint: str
    now: datetime | None = None
    """The conversation's time at its beginning; None in an imported conversation."""
    agent: AgentFacts | None = None
    """None in an imported conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """An example begins."""

    example: str
    position: int
    """Tokens of the conversation before it."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message, written down before it is sent."""

    exchange: int
    by: str
    """The example that speaks, or "" for opening, filler and history."""
    kind: Kind
    text: str
    tokens: int
    position: int
    """Tokens of the conversation before it."""
    now: datetime
    about: tuple[int, ...] = ()
    """The numbers of the exchanges that a question depends on."""
    images: tuple[str, ...] = ()
    """Names of the files that an AcceptsImages agent sees beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The agent's reply to the message of that number."""

    exchange: int
    text: str
    tokens: int
    usage: Usage | None = None
    cost_usd: float | None = None
    hypothetical: bool = False
    """Nothing is spent: usage and cost are what they would be."""
    retrieved: tuple[str, ...] | None = None
    """What the agent says that it retrieved, best first; None where it does not report it."""
    now: datetime | None = None
    """When it came, where the clock is the one on the wall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """An exchange that the agent was told and generated nothing for."""

    exchange: int
    message: str
    message_tokens: int
    reply: str
    reply_tokens: int
    history: str = ""
    """Its id in the conversation's history, if it is part of that."""
    now: datetime | None = None
    """When it had been told, where the clock is the one on the wall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """An example waits until all three are over."""

    example: str
    tokens: int
    """What must have been said, of what counts towards spans."""
    time: datetime
    history: int = 0
    """How many exchanges of the history must have been told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """Time jumps, because no example could speak."""

    to: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """An example begins to watch."""

    example: str
    replies: int | None
    """How many replies it counts; None: it lasts to the end of the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """An example asked the judge: it replied or it failed."""

    example: str
    name: str
    """Of the prompt."""
    version: int
    """Of the prompt."""
    prompt: str
    """The hash of the whole question."""
    vote: int
    reply: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    fault: str | None = None
    """Why there is no reply."""

    def __post_init__(self) -> None:
        if (self.reply is None) == (self.fault is None):
            raise ValueError("a judge either replies or has a fault")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of an example."""

    example: str
    score: float | None
    """None: unscored."""
    reason: str
    rule: str
    evidence: str
    checks: tuple[tuple[str, bool], ...]
    """Label and whether it passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The agent did not take a message or what it was told, or did not reply."""

    exchange: int
    text: str
    fatal: bool = False
    """The conversation cannot go on after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An example has ended, or the conversation has."""

    example: str | None = None
    reason: str | None = None
    """Why the conversation ended: `complete`, `interrupted` or a sentence."""

    def __post_init__(self) -> None:
        if (self.example is None) == (self.reason is None):
            raise ValueError("an end has either an example or, for the conversation, a reason")


Event: TypeAlias = (
    Header | Begin | Message | Reply | Filler | Wait | Jump | Watcher | Judge | Verdict | Fault | End
)  # fmt: skip
KINDS: Mapping[str, type[Event]] = {kind.__name__.lower(): kind for kind in get_args(Event)}
"""By what "event" says."""
_CLEAN = frozenset({Begin, Wait, Jump, Watcher, Reply})
"""Events of names and numbers, and what an agent said, which is redacted on arrival and not again."""

# --- from and to a line


def encode(event: Event) -> str:
    """Return an event as its line, without secrets."""
    own = to_json(event)
    fields = {"format": FORMAT, **own} if isinstance(event, Header) else own
    return to_line(_NAMES[type(event)], fields, clean=type(event) in _CLEAN)


def decode(line: bytes | str, where: str) -> Event:
    """Return the event of a line; LtmError that begins with `where` if it is not one of this format."""
    name, found = from_line(line, where)
    if name == "header":
        _check_format(found.pop("format", None), where)
    kind = KINDS.get(name)
    if kind is None:
        raise _later(where, f"an event {shown(name)}")
    try:
        event: Event = from_json(kind, found)
    except UnknownFieldError as error:
        raise _later(where, f"a field {error} in {name!r}") from error
    except ValueError as error:
        raise LtmError(f"{where}: a damaged {name!r} event: {error}") from error
    return event


def without_texts(event: Event) -> Event:
    """Return an event with its names and numbers only."""
    match event:
        case Message():
            return replace(event, text="")
        case Reply():
            return replace(event, text="", retrieved=None)
        case Filler():
            return replace(event, message="", reply="")
        case Judge(reply=str()):
            return replace(event, prompt="", reply="")
        case Judge():
            return replace(event, prompt="", fault="")
        case _:
            return event


def read(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, header first; a torn last line is dropped.

    Raises LtmError, with file and line, for anything else that is not a journal of this format.
    """
    for _, event in lines(path):
        yield event


def lines(path: Path) -> Iterator[tuple[int, Event]]:
    """Yield the events of a journal as `read` does, each with the bytes of the file up to its end."""
    end = 0
    for number, line in whole_lines(path):
        event = decode(line, f"{path}, line {number}")
        if (number == 1) != isinstance(event, Header):
            raise LtmError(f"{path}, line {number}: {'not the' if number == 1 else 'a second'} header of a journal")
        end += len(line)
        yield end, event


_NAMES: Mapping[type[Event], str] = {kind: name for name, kind in KINDS.items()}


def _check_format(number: object, where: str) -> None:
    if type(number) is int and number > FORMAT:
        raise LtmError(
            f"{where}: a later version of pytest-ltm wrote this journal (format {number}; this version reads format "
            f"{FORMAT}). Read it with that version"
        )
    if number != FORMAT:
        raise LtmError(f"{where}: not the header of a journal: its format is {shown(number)}, not {FORMAT}")


def _later(where: str, what: str) -> LtmError:
    return LtmError(
        f"{where}: {what} is not part of journal format {FORMAT}: a later version of pytest-ltm wrote it, or the file "
        "was edited"
    )
