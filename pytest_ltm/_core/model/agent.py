"""The agent protocol, with one required method; extra capabilities are extra protocols, found by `isinstance`."""

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
    """Tokens as billed by the provider, by its own tokenizer, and the number of requests."""

    # The counts have factories: unlike defaults, their values are always written.
    input_tokens: ReportedCount = field(default_factory=int)
    """Tokens sent, including cached ones."""
    output_tokens: ReportedCount = field(default_factory=int)
    """Tokens generated."""
    cached_tokens: ReportedCount = field(default_factory=int)
    """The part of the input tokens that came from the provider's cache."""
    calls: ReportedCount = 0
    """Requests to models; 0 if not reported."""
    estimated: bool = False
    """Some of it was not reported, and is estimated from the texts."""

    def __add__(self, other: Usage | None) -> Usage:
        return self if other is None else self._with(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        return self._with(other, -1)

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens

    def _with(self, other: Usage, sign: int) -> Usage:
        sums = {}
        for name in ("input_tokens", "output_tokens", "cached_tokens", "calls"):
            sums[name] = getattr(self, name) + sign * getattr(other, name)
        return Usage(**sums, estimated=self.estimated or other.estimated)


class TokenCounts(Protocol):
    """The token counts in a provider's answer; None if not reported."""

    @property
    def input(self) -> int | None:
        """Tokens sent."""

    @property
    def output(self) -> int | None:
        """Tokens generated."""

    @property
    def cached(self) -> int:
        """The part that came from the provider's cache."""


def usage_of(used: TokenCounts, *, prompt: int, reply: int) -> Usage:
    """Return the usage of one request; `prompt` and `reply` are estimates, used for what the server has not counted."""
    asked, replied = used.input, used.output
    # Fewer than half of a long prompt's tokens are no count of it, nor is 0 of a reply;
    # the template of a short prompt may be half of it.
    if 2 * (asked or 0) + 200 < prompt:
        asked = None
    if not replied and reply:
        replied = None
    return Usage(
        input_tokens=prompt if asked is None else asked,
        output_tokens=reply if replied is None else replied,
        cached_tokens=used.cached if asked else 0,
        calls=1,
        estimated=asked is None or replied is None,
    )


class Mishap(Struct, frozen=True):
    """A problem within an agent that it handled: not a fault, but worth reporting."""

    what: str
    """A short description, the same each time: `notebook unreadable: rules took over`."""
    times: int = 1
    of: int = 0
    """The number of opportunities; 0 if not counted."""


def add_mishaps(total: dict[str, Mishap], more: Iterable[Mishap]) -> dict[str, Mishap]:
    """Add mishaps to a total by description, and return the total."""
    for mishap in more:
        counted = total.get(mishap.what, Mishap(mishap.what, 0))
        total[mishap.what] = Mishap(
            mishap.what, counted.times + mishap.times, counted.of + mishap.of
        )
    return total


# The beginning of a Mishap about a reply that reached its limit, or whose end is
# unknown.
CUT_OFF = "reply cut off at "
ENDED_SOMEHOW = "it is not known how replies ended: finish_reason "


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply with its usage and cost; return a plain `str` if neither is known.

    >>> Reply("Ochre.", usage=Usage(input_tokens=120, output_tokens=3), cost_usd=0.0004).usage.output_tokens
    3
    """

    text: str
    """The text of the reply."""
    usage: Usage | None = None
    """The tokens of this reply; None if unknown."""
    cost_usd: float | None = None
    """Its cost in dollars; None if unknown."""
    hypothetical: bool = False
    """Nothing is spent: usage and cost are estimates, which count towards no budget."""
    finish_reason: str = ""
    """Its end, as named by its provider: `stop`, `length`; "" if unknown."""
    thoughts: str = ""
    """The thoughts apart from the text: recorded, but never sent again or scored."""
    mishaps: tuple[Mishap, ...] = ()
    """Problems on the way."""
    calls: Sequence[Call] = ()
    """Tools to call before the reply: the agent is then asked again, with the results."""


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
    """Can be saved between two messages and restored, even in another process."""

    def save(self) -> bytes:
        """Return the agent's whole state."""

    def load(self, state: bytes) -> None:
        """Restore a state.

        Args:
            state: The result of `save`, perhaps from another process.
        """


@runtime_checkable
class KeepsUsers(Protocol):
    """Remembers its users on its own, across processes: in a database, in files, on a server."""

    def begin_session(self, user: str) -> None:
        """Begin a session of this user; called before the first message of each session.

        Args:
            user: The user's id, new in each conversation and the same in all of its
                sessions.
        """


@runtime_checkable
class SeparatesUsers(Protocol):
    """Serves several people in one conversation, and is given the sender of each message."""

    def reply(self, message: str, user: str = "") -> str | Reply:
        """Return the agent's reply to this person.

        Args:
            message: The message.
            user: The id of the sender, the same throughout the conversation; left out
                for messages without a particular sender. An AcceptsHistory agent whose
                `accept` has a `user`, too, gets it there as well.
        """


@runtime_checkable
class TakesTools(Protocol):
    """Can call the tools that a scenario offers."""

    def reply(self, message: str, tools: Tools = ...) -> str | Reply:
        """Return the reply, or call tools.

        Args:
            message: The message, unchanged if `tools.results` answers the calls of the
                previous reply.
            tools: The tools on offer, called by `tools.call(name, ...)` or by a Reply
                with `calls`; left out if the scenario offers none.
        """


@runtime_checkable
class Compacts(Protocol):
    """Can replace its context by a shorter one, and continue from that."""

    def compact(self) -> str | Reply | None:
        """Compact the context; return the summary that it continues from, None if it cannot be shown."""


# The request for a summary to an agent that does not compact by itself, and the
# introduction of the summary.
COMPACTION = (
    "Your context ends here. Write down all that you will need to continue our work: goals, open tasks, files, "
    "conventions, corrections, reasons. You will know nothing else. Leave out what must not be written down."
)
HANDED_ON = "What you wrote down when your context ended:"


@runtime_checkable
class AnswersAlone(Protocol):
    """Can answer a question without remembering that it was asked."""

    def answer_alone(self, message: str) -> str | Reply:
        """Return the reply that `reply` would give now, and restore the state from before the question.

        Args:
            message: The question.
        """


@runtime_checkable
class AcceptsHistory(Protocol):
    """Can store an exchange without generating a reply."""

    def accept(self, message: str, reply: str) -> Usage | Reply | None:
        """Remember an exchange as if it had happened.

        Args:
            message: The message.
            reply: The reply that the agent should believe it gave.

        Returns:
            The usage for storing it: a Usage, or a Reply, of which usage and cost count; None if that is unknown, or
            `usage()` reports it.
        """


@runtime_checkable
class TimeAware(Protocol):
    """Uses the conversation's time."""

    def tell_time(self, now: datetime) -> None:
        """Set the time; called before a message whenever it has changed, and after the agent was restored.

        Args:
            now: The conversation's time, aware.
        """


@runtime_checkable
class ReportsUsage(Protocol):
    """Reports the tokens used since it was created."""

    def usage(self) -> Usage:
        """Return the sum so far, which never decreases."""


@runtime_checkable
class CountsTokens(Protocol):
    """Counts tokens by its own tokenizer: for cost and limits, never for spans and gaps."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`."""


@runtime_checkable
class LimitsMessages(Protocol):
    """Has its own limit for the size of a message."""

    max_message_tokens: int
    """The size of the largest message in tokens, by the run's tokenizer."""


@runtime_checkable
class ShowsRetrieval(Protocol):
    """Reports the texts retrieved for its last reply."""

    def retrieved(self) -> Sequence[str]:
        """Return ids or texts, best first."""


@runtime_checkable
class ShowsContext(Protocol):
    """Reports the non-retrieved part of its context at its last reply, such as the newest messages."""

    def in_context(self) -> Sequence[str]:
        """Return the texts."""


@runtime_checkable
class ShowsWrites(Protocol):
    """Reports the operations of its memory."""

    def written(self) -> Sequence[tuple[str, object, str | None]]:
        """Return the operations since the last call.

        Rows `("added", id, text)`, `("changed", id, text)`, `("deleted", id, None)`,
        and `("found", id, text)` for the results for the last message, best first.
        """


@runtime_checkable
class Settles(Protocol):
    """Needs some time until new messages can be found."""

    def settle(self) -> object:
        """Return once everything can be found; called before each message to be answered, and timed separately."""


@runtime_checkable
class DeletesRecords(Protocol):
    """Deletes records of its memory; if it ShowsWrites, records that a user withdraws are deleted."""

    def delete(self, record: str) -> object:
        """Delete a record; `record`: its id."""


@runtime_checkable
class AcceptsImages(Protocol):
    """Accepts images in addition to a message."""

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


# A header contains these only if the plan or an example needs them: journals of all
# other conversations stay as they were before tools and compactions existed.
NAMED_WHERE_NEEDED = frozenset({TakesTools.__name__, Compacts.__name__})


class Capabilities(frozenset[str]):
    """The names of an agent's capabilities beyond replying."""

    __slots__ = ()

    # Written explicitly, because type checkers report comparisons of other sets with a
    # subclass of frozenset.
    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    __hash__ = frozenset.__hash__

    @property
    def saves(self) -> bool:
        """Whether there is a state to save: a Stateless agent has none."""
        return "Checkpointable" in self and "Stateless" not in self

    @property
    def restorable(self) -> bool:
        """Whether the agent can be restored to the state of a conversation, or need not be."""
        return not self.isdisjoint(("Stateless", "Checkpointable", "AcceptsHistory"))

    @property
    def leaves_no_trace(self) -> bool:
        """Whether the agent itself answers a question without remembering it."""
        return not self.isdisjoint(("Stateless", "AnswersAlone"))

    @property
    def asked_alone(self) -> bool:
        """Whether the agent can return to its state before a question: by itself, by loading, or by retelling."""
        return (
            self.leaves_no_trace
            or self.rewinds
            or self >= {"Resettable", "AcceptsHistory"}
        )

    @property
    def rewinds(self) -> bool:
        """Whether loading a saved state undoes later messages."""
        return self.saves and SAVES_REFERENCE not in self


NOT_RESTORABLE = (
    "the agent cannot be restored to where it was: it is neither Checkpointable (save, load) nor AcceptsHistory "
    "(accept) nor Stateless (stateless = True)"
)


NOT_ASKED_ALONE = (
    "the agent cannot return to its state before a question: it is neither AnswersAlone (answer_alone) nor Stateless "
    "(stateless = True) nor Checkpointable (save, load), nor both Resettable (reset) and AcceptsHistory (accept)"
)


# Marks an agent whose save() returns a reference to live state.
SAVES_REFERENCE = "SavesReference"
# Marks an agent that can know the time without being told. It has no protocol.
SEES_CLOCK = "SeesClock"


class Announced(ABC):
    """A recording, which is notified of the next speaker.

    Recognised by inheritance, not by its members: an agent under test is never
    notified.
    """

    @abstractmethod
    def announce(self, speaker: str) -> None:
        """Receive the name of the example that speaks next; "" for messages without one, such as filler."""


@dataclass(frozen=True, slots=True)
class ExpectedReply:
    """The requirements on a reply for full marks."""

    text: str
    """Empty if any reply will do."""
    needles: tuple[str, ...]
    """The messages that it depends on."""
    calls: tuple[Call, ...] = ()
    """The tool calls expected before it."""


class Prompted(ABC):
    """A control, which is given the expected reply before it answers.

    Inheriting is not enough: only controls created by a spec of this package are
    prompted, never an agent under test.
    """

    @abstractmethod
    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Receive the expected replies to the next message; empty if it expects none."""


class TakesTurns(ABC):
    """A chat model of this package that waits for its turn at the endpoint; the wait is not part of its reply time."""

    @abstractmethod
    def turn(self) -> AbstractContextManager[object]:
        """Return a context that waits for a turn and holds it."""


class Apart(ABC):
    """A proxy of an agent in a process of its own."""

    near_misses: Mapping[str, str] = MappingProxyType({})
    """A sentence for each capability that the agent appears to intend but lacks."""

    @abstractmethod
    def note_time(self, now: datetime) -> None:
        """Receive the conversation's time, which that process's clock may have to show from the next call on."""


# --- Promised: the capabilities that an adapter's settings announce before the agent
# exists.


@dataclass(frozen=True, slots=True)
class Promised:
    """The capabilities that the agent will have, and its largest message (None: the usual size)."""

    capabilities: frozenset[str]
    max_message_tokens: int | None = None
    reports: frozenset[str] | None = None
    """The usage and cost figures named in its settings; None: it may report any."""


# --- Memory operations: one operation on one record, whichever way it was reported.

OperationKind = Literal["added", "changed", "deleted", "found"]
# Beyond these limits, further operations of one exchange are dropped, and the text of a
# record is cut.
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
    """Its id; "" if it has none."""
    text: str | None = None
    """Its text, cut if long; None if not reported."""
    rank: int = 0
    """For a found record, its rank from 1."""
    exchange: int | None = None
    """The exchange that it belongs to, if it was reported later."""


def memory_operation(
    what: OperationKind, record: object, text: str | None, rank: int = 0
) -> MemoryOperation:
    """Return an operation, without secrets and within the length limits."""
    name = (
        ""
        if record is None
        else redact_secrets(escape_surrogates(str(record))[:_LONGEST_ID])
    )
    cleaned = (
        None
        if text is None
        else redact_secrets(escape_surrogates(text[:LONGEST_RECORD]))
    )
    return MemoryOperation(what, name, cleaned, rank)


def check_operations(
    rows: object, refuse: Callable[[str], LtmError]
) -> tuple[MemoryOperation, ...]:
    """Check and convert the result of `written()`; `refuse` creates the error for anything but a list of its rows."""
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
        # Ranks of one search; any other operation starts a new search.
        rank = rank + 1 if operation == "found" else 0
        result.append(memory_operation(operation, key, text, rank))
    return tuple(result)


def operation_rows(listed: object) -> list[Any]:
    """Convert a JSON list of `{"what": ..., "id": ..., "text": ...}` to rows; other items stay unchanged."""
    if isinstance(listed, list):
        rows = listed
    elif listed is None:
        rows = []
    else:
        rows = [listed]
    converted: list[Any] = []
    for row in rows:
        if isinstance(row, dict):
            converted.append(tuple(map(row.get, ("what", "id", "text"))))
        else:
            converted.append(row)
    return converted


def escape_surrogates(text: str) -> str:
    """Return the text with lone surrogates escaped, which UTF-8 cannot encode."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
