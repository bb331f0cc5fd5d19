"""What an agent is: one required method; extra capabilities are extra protocols, found by `isinstance`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from msgspec import Struct, field

from pytest_ltm._core.model.tools import Call, Tools
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import ReportedCount
from pytest_ltm._core.storage.secrets import redact_secrets


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens as the provider bills them, by its own tokenizer, and the requests that took them."""

    # The counts have factories: unlike defaults they are always written.
    input_tokens: ReportedCount = field(default_factory=int)
    """Tokens sent, the cached ones included."""
    output_tokens: ReportedCount = field(default_factory=int)
    """Tokens generated."""
    cached_tokens: ReportedCount = field(default_factory=int)
    """Those of the input tokens that came from the provider's cache."""
    calls: ReportedCount = 0
    """Requests to models that this took; 0: nobody says."""
    estimated: bool = False
    """Some of it was not reported, and is an estimate from what was sent and said."""

    def __add__(self, other: Usage | None) -> Usage:
        return self if other is None else self._with(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        return self._with(other, -1)

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def _with(self, other: Usage, sign: int) -> Usage:
        counts = ("input_tokens", "output_tokens", "cached_tokens", "calls")
        sums = {
            name: getattr(self, name) + sign * getattr(other, name) for name in counts
        }
        return Usage(**sums, estimated=self.estimated or other.estimated)


class TokenCounts(Protocol):
    """What a provider's answer says of tokens; None where it does not."""

    @property
    def input(self) -> int | None:
        """Tokens sent."""

    @property
    def output(self) -> int | None:
        """Tokens generated."""

    @property
    def cached(self) -> int:
        """Those that came from the provider's cache."""


def usage_of(used: TokenCounts, *, prompt: int, reply: int) -> Usage:
    """Return what one request used; `prompt` and `reply` are estimates for what the server does not report."""
    # A server that reports 0 for a reply that is there has not counted it.
    silent = used.output is None or (not used.output and reply > 0)
    return Usage(
        input_tokens=prompt if used.input is None else used.input,
        output_tokens=reply if used.output is None or silent else used.output,
        cached_tokens=used.cached if used.input is not None else 0,
        calls=1,
        estimated=used.input is None or silent,
    )


class Mishap(Struct, frozen=True):
    """Something that went wrong within an agent, and that it got over: not a fault, but nothing to keep quiet about."""

    what: str
    """In a few words, the same each time: `notebook unreadable: rules took over`."""
    times: int = 1
    of: int = 0
    """How often it could have happened; 0: nobody counts that."""


def add_mishaps(total: dict[str, Mishap], more: Iterable[Mishap]) -> dict[str, Mishap]:
    """Add mishaps to a total, by what happened, and return it."""
    for mishap in more:
        counted = total.get(mishap.what, Mishap(mishap.what, 0))
        total[mishap.what] = Mishap(
            mishap.what, counted.times + mishap.times, counted.of + mishap.of
        )
    return total


# How a Mishap begins that says that a reply reached its limit, or that nobody knows how it ended.
CUT_OFF = "reply cut off at "
ENDED_SOMEHOW = "it is not known how replies ended: finish_reason "


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with its usage and cost; return a plain `str` where neither is known.

    >>> Reply("Ochre.", usage=Usage(input_tokens=120, output_tokens=3), cost_usd=0.0004).usage.output_tokens
    3
    """

    text: str
    """What the agent says."""
    usage: Usage | None = None
    """The tokens of this reply; None if unknown."""
    cost_usd: float | None = None
    """Its cost in dollars; None if unknown."""
    hypothetical: bool = False
    """Nothing is spent: usage and cost are estimates, which count towards no budget."""
    finish_reason: str = ""
    """How it ended, in its provider's word: `stop`, `length`; "" if unknown."""
    thoughts: str = ""
    """What was thought for it, apart from the text: kept in the record, never sent again, never scored."""
    mishaps: tuple[Mishap, ...] = ()
    """What went wrong on the way."""
    calls: Sequence[Call] = ()
    """Tools that it calls before it replies: it is asked again, with the results."""


@runtime_checkable
class Agent(Protocol):
    """The conversational system under test: any object with this method."""

    def reply(self, message: str) -> str | Reply:
        """Return the agent's reply to one message; may also be an `async def`.

        Args:
            message: The message, at most `max_message_tokens` long if the agent is a
                LimitsMessages.

        Returns:
            The reply, possibly empty.

        Raises:
            TransientFault: If sending the message again may work. Any other exception
                counts as a fault, too.
        """


@runtime_checkable
class Resettable(Protocol):
    """Can forget everything and begin a new conversation."""

    def reset(self) -> None:
        """Forget everything."""


@runtime_checkable
class Stateless(Protocol):
    """A promise: no reply depends on anything but its message."""

    stateless: Literal[True]
    """Always true; any other value breaks the promise."""


@runtime_checkable
class Checkpointable(Protocol):
    """Can be saved between two messages and restored, also in another process."""

    def save(self) -> bytes:
        """Return the agent's whole state."""

    def load(self, state: bytes) -> None:
        """Restore a state.

        Args:
            state: What `save` returned, perhaps in another process.
        """


@runtime_checkable
class KeepsUsers(Protocol):
    """Remembers its users by itself, also in another process: in a database, in files, on a server."""

    def begin_session(self, user: str) -> None:
        """Begin a session of this user; called before the first message of each.

        Args:
            user: Who comes: an id that is new in each conversation, and the same in all
                of its sessions.
        """


@runtime_checkable
class SeparatesUsers(Protocol):
    """Serves several people in one conversation, and is told whose each message is."""

    def reply(self, message: str, user: str = "") -> str | Reply:
        """Return the agent's reply to this person.

        Args:
            message: The message.
            user: Who wrote it, the same id in the whole conversation; left out where
                nobody in particular did. An AcceptsHistory agent whose `accept` has a
                `user` as well is told with it.
        """


@runtime_checkable
class TakesTools(Protocol):
    """Can call the tools that a scenario offers."""

    def reply(self, message: str, tools: Tools = ...) -> str | Reply:
        """Return the reply, or call tools.

        Args:
            message: The message, the same as before where `tools.results` answers the
                calls of the reply before.
            tools: What may be called, by `tools.call(name, ...)` or by a Reply with
                `calls`; left out where the scenario that speaks offers nothing.
        """


@runtime_checkable
class Compacts(Protocol):
    """Can replace its context by something shorter, and continue from that."""

    def compact(self) -> str | Reply | None:
        """Compact the context; return the summary that it continues from, None where there is none to show."""


# How an agent that does not compact by itself is asked for a summary, and told it again.
COMPACTION = (
    "Your context ends here. Write down all that you will need to continue our work: goals, open tasks, files, "
    "conventions, corrections, reasons. You will know nothing else. Leave out what must not be written down."
)
HANDED_ON = "What you wrote down when your context ended:"


@runtime_checkable
class AnswersAlone(Protocol):
    """Can answer a question without remembering that it was asked."""

    def answer_alone(self, message: str) -> str | Reply:
        """Return the reply that `reply` would give now, and stay as if nothing had been said.

        Args:
            message: The question.
        """


@runtime_checkable
class AcceptsHistory(Protocol):
    """Can take in an exchange without generating a reply."""

    def accept(self, message: str, reply: str) -> Usage | Reply | None:
        """Remember an exchange as if it had happened.

        Args:
            message: What the agent was told.
            reply: What it is to believe that it replied.

        Returns:
            What remembering took: a Usage, or a Reply, of which usage and cost count; None if that is unknown, or
            `usage()` reports it.
        """


@runtime_checkable
class TimeAware(Protocol):
    """Wants to know the conversation's time."""

    def tell_time(self, now: datetime) -> None:
        """Take note of the time; called before a message whenever it has moved, and once the agent was restored.

        Args:
            now: The conversation's time, aware.
        """


@runtime_checkable
class ReportsUsage(Protocol):
    """Reports the tokens used since it was made."""

    def usage(self) -> Usage:
        """Return the sum so far, which never decreases."""


@runtime_checkable
class CountsTokens(Protocol):
    """Counts tokens its own way: for cost and limits, never for spans and gaps."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`."""


@runtime_checkable
class LimitsMessages(Protocol):
    """Takes messages up to a size of its own."""

    max_message_tokens: int
    """The size of the largest message in tokens, by the run's tokenizer."""


@runtime_checkable
class ShowsRetrieval(Protocol):
    """Reports what it retrieved for its last reply."""

    def retrieved(self) -> Sequence[str]:
        """Return ids or texts, best first."""


@runtime_checkable
class ShowsContext(Protocol):
    """Reports what stood before it for its last reply without being retrieved, such as the newest messages."""

    def in_context(self) -> Sequence[str]:
        """Return the texts."""


@runtime_checkable
class ShowsWrites(Protocol):
    """Reports what its memory did."""

    def written(self) -> Sequence[tuple[str, object, str | None]]:
        """Return what was done since this was called last.

        Rows `("added", id, text)`, `("changed", id, text)`, `("deleted", id, None)`,
        and `("found", id, text)` of what was found for the last message, best first.
        """


@runtime_checkable
class Settles(Protocol):
    """Takes its time until what it was told can be found."""

    def settle(self) -> object:
        """Return once it can be found; called before each message that is replied to, and timed apart."""


@runtime_checkable
class DeletesRecords(Protocol):
    """Deletes records of its memory; of one that ShowsWrites, those are deleted that a user withdraws."""

    def delete(self, record: str) -> object:
        """Delete a record; `record`: its id."""


@runtime_checkable
class AcceptsImages(Protocol):
    """Takes images beside a message."""

    def reply_with_images(self, message: str, images: Sequence[bytes]) -> str | Reply:
        """Return the reply to a message with images.

        Args:
            message: The message.
            images: The content of each image file.
        """


@runtime_checkable
class Configured(Protocol):
    """Reports the settings that its answers depend on, for the agent's fingerprint."""

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings as JSON values, without secrets."""


# The capabilities that a scenario may require, by name.
CAPABILITIES: Mapping[str, type] = {
    capability.__name__: capability
    for capability in (
        Resettable,
        Stateless,
        Checkpointable,
        KeepsUsers,
        SeparatesUsers,
        TakesTools,
        Compacts,
        AnswersAlone,
        AcceptsHistory,
        TimeAware,
        ReportsUsage,
        CountsTokens,
        LimitsMessages,
        ShowsRetrieval,
        ShowsContext,
        ShowsWrites,
        Settles,
        DeletesRecords,
        AcceptsImages,
        Configured,
    )
}


# A header names these only where the plan or an example needs them: journals of all
# other conversations are what they were before there were tools and compactions.
NAMED_WHERE_NEEDED = frozenset({TakesTools.__name__, Compacts.__name__})


class Capabilities(frozenset[str]):
    """The names of what an agent can do beyond replying."""

    __slots__ = ()

    # Written out, because type checkers take a comparison of other sets with a subclass
    # of frozenset for a mistake.
    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    __hash__ = frozenset.__hash__

    @property
    def saves(self) -> bool:
        """Whether there is a state to save: one that is Stateless, too, has none."""
        return "Checkpointable" in self and "Stateless" not in self

    @property
    def restorable(self) -> bool:
        """Whether the agent can be restored to where a conversation is, or need not be."""
        return not self.isdisjoint(("Stateless", "Checkpointable", "AcceptsHistory"))

    @property
    def leaves_no_trace(self) -> bool:
        """Whether the agent itself answers a question without remembering it."""
        return not self.isdisjoint(("Stateless", "AnswersAlone"))

    @property
    def asked_alone(self) -> bool:
        """Whether the agent can be as it was after a question: by itself, loaded again, or told all again."""
        return (
            self.leaves_no_trace
            or self.rewinds
            or self >= {"Resettable", "AcceptsHistory"}
        )

    @property
    def rewinds(self) -> bool:
        """Whether loading a saved state undoes what was said since."""
        return self.saves and SAVES_REFERENCE not in self


NOT_RESTORABLE = (
    "the agent cannot be restored to where it was: it is neither Checkpointable (save, load) nor AcceptsHistory "
    "(accept) nor Stateless (stateless = True)"
)


NOT_ASKED_ALONE = (
    "after a question the agent cannot be as it was before: it is neither AnswersAlone (answer_alone) nor Stateless "
    "(stateless = True) nor Checkpointable (save, load), nor both Resettable (reset) and AcceptsHistory (accept)"
)


# Stands among the capabilities of an agent whose saved state says where the real one is
# kept, which goes on.
SAVES_REFERENCE = "SavesReference"
# Stands among the capabilities of an agent that can know the time without being told.
# No protocol belongs to it.
SEES_CLOCK = "SeesClock"


class Announced(ABC):
    """A recording, which is told who speaks next.

    Known by inheritance, not by its members: no agent under test is ever told.
    """

    @abstractmethod
    def announce(self, speaker: str) -> None:
        """Know which example speaks next; "" is nobody's message, as filler is."""


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """What a reply must carry for full marks."""

    text: str
    """Empty where any reply will do."""
    needles: tuple[str, ...]
    """The messages that it depends on."""
    calls: tuple[Call, ...] = ()
    """The calls of tools that are to come before it."""


class Prompted(ABC):
    """A control, which is handed what full marks ask for before it replies.

    Being one is not enough: only those that a spec of this package made are prompted,
    never an agent under test.
    """

    @abstractmethod
    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Know what the reply to the next message must carry; nothing for a message that asks for nothing."""


class TakesTurns(ABC):
    """A chat model of ours, which waits for its turn at the endpoint: no time that its reply takes."""

    @abstractmethod
    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn, and hold it."""


class Apart(ABC):
    """A stand-in for an agent in a process of its own."""

    near_misses: Mapping[str, str] = MappingProxyType({})
    """A sentence for each capability that the agent seems to mean to have and has not."""

    @abstractmethod
    def note_time(self, now: datetime) -> None:
        """Know the conversation's time, which the clock of that process may have to show from the next call on."""


# --- Promised: what an adapter's settings say of an agent that is not there yet.


@dataclass(frozen=True, slots=True)
class Promised:
    """The capabilities that the agent will have, and the largest message that it takes (None: the usual size)."""

    capabilities: frozenset[str]
    max_message_tokens: int | None = None
    reports: frozenset[str] | None = None
    """The numbers of usage and cost that its settings name; None: it may report any."""


# --- What a memory did: one operation on one record, whatever door the word of it came
# through.

OperationKind = Literal["added", "changed", "deleted", "found"]
# Beyond these, what is reported of one exchange is left out, and the text of one record
# is cut.
MOST_OPERATIONS = 1_000
LONGEST_RECORD = 16_000
_LONGEST_ID = 200
_FORM = "('added', id, text), ('changed', id, text), ('found', id, text) and ('deleted', id, None)"
_ROW = 3
_SHOWN = 80


class MemoryOperation(
    Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """A record was written, changed, deleted, or found in a search."""

    what: OperationKind
    record: str = ""
    """Its id; "" where it has none."""
    text: str | None = None
    """What it says, cut where it is long; None where that is not told."""
    rank: int = 0
    """Of a record that was found its place, from 1."""
    exchange: int | None = None
    """The exchange that it belongs to, where it was told of later."""


def memory_operation(
    what: OperationKind, record: object, text: str | None, rank: int = 0
) -> MemoryOperation:
    """Return an operation, without secrets and not too long."""
    name = "" if record is None else redact_secrets(_clean(str(record))[:_LONGEST_ID])
    cleaned = None if text is None else redact_secrets(_clean(text[:LONGEST_RECORD]))
    return MemoryOperation(what, name, cleaned, rank)


def check_operations(
    rows: object, refuse: Callable[[str], LtmError]
) -> tuple[MemoryOperation, ...]:
    """Return what `written()` returned; `refuse` makes the error for anything but a list of its rows."""
    if not isinstance(rows, (list, tuple)):
        raise refuse(
            f"returned a {type(rows).__name__} from written(); it returns a list of {_FORM}"
        )
    result: list[MemoryOperation] = []
    rank = 0
    for row in rows[:MOST_OPERATIONS]:
        if isinstance(row, (list, tuple)) and len(row) == _ROW:
            operation, key, text = row
        else:
            operation = None
            key = None
            text = None
        if operation not in get_args(OperationKind) or not (
            isinstance(text, str) or (operation == "deleted" and text is None)
        ):
            raise refuse(
                f"returned {str(row)[:_SHOWN]!r} in the list of written(); it returns a list of {_FORM}"
            )
        # The places of a search; the next one begins after anything else.
        rank = rank + 1 if operation == "found" else 0
        result.append(memory_operation(operation, key, text, rank))
    return tuple(result)


def operation_rows(listed: object) -> list[Any]:
    """Return the rows of a JSON list of `{"what": ..., "id": ..., "text": ...}`; what is none of these as it is."""
    if isinstance(listed, list):
        rows = listed
    elif listed is None:
        rows = []
    else:
        rows = [listed]
    return [
        tuple(map(row.get, ("what", "id", "text"))) if isinstance(row, dict) else row
        for row in rows
    ]


def _clean(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
