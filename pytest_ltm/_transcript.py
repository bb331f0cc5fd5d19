"""Exchange and Transcript: what was said, append-only; gaps and answers are derived, never stored."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from datetime import datetime

Kind = Literal["opening", "say", "ask", "reset", "filler", "history"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One message to the agent and its reply."""

    number: int
    """Its id in the journal: messages are numbered from 0, those that got no reply included."""
    by: str
    """The example that spoke (`colours/0`), or "" for opening, filler and history."""
    kind: Kind
    message: str
    reply: str
    start: int
    """Tokens of the conversation before the message."""
    message_tokens: int
    reply_tokens: int
    now: datetime
    """The conversation's time when the message was sent."""
    retrieved: tuple[str, ...] | None = None
    """What the agent says that it retrieved for the reply, best first; None where it does not say."""
    told: bool = False
    """The agent was told this exchange and generated nothing: the reply is not its own."""

    @property
    def message_end(self) -> int:
        """Tokens of the conversation up to the end of the message."""
        return self.start + self.message_tokens

    @property
    def end(self) -> int:
        """Tokens of the conversation up to the end of the reply."""
        return self.start + self.message_tokens + self.reply_tokens


def gap(needle: Exchange, question: Exchange) -> int:
    """Return the tokens really passed from the end of the needle's message to the start of the question's."""
    return question.start - needle.message_end


def retrieved_last(transcript: Transcript, speaker: str) -> tuple[str, ...] | None:
    """Return what the agent retrieved for its last reply to an example; None where it does not say."""
    own = transcript.of(speaker)
    return own[-1].retrieved if own else None


class Transcript(Sequence[Exchange]):
    """The exchanges of one conversation in the order in which they happened."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._by: dict[str, list[Exchange]] = {}

    def append(self, exchange: Exchange) -> None:
        """Add the next exchange."""
        self._exchanges.append(exchange)
        self._by.setdefault(exchange.by, []).append(exchange)

    def of(self, speaker: str) -> Sequence[Exchange]:
        """Return the exchanges of one example, in order."""
        return self._by.get(speaker, [])

    def since(self, number: int) -> Sequence[Exchange]:
        """Return the exchanges from `number` on."""
        return self._exchanges[self._place(number) :]

    def number(self, number: int) -> Exchange:
        """Return the exchange of that number; KeyError if that message got no reply."""
        place = self._place(number)
        if place < len(self) and self._exchanges[place].number == number:
            return self._exchanges[place]
        raise KeyError(number)

    def _place(self, number: int) -> int:
        return bisect_left(self._exchanges, number, key=attrgetter("number"))

    @property
    def position(self) -> int:
        """Tokens said so far, by anyone."""
        return self._exchanges[-1].end if self._exchanges else 0

    @overload
    def __getitem__(self, index: int) -> Exchange: ...

    @overload
    def __getitem__(self, index: slice) -> list[Exchange]: ...

    def __getitem__(self, index: int | slice) -> Exchange | list[Exchange]:
        """Return one exchange, or a list for a slice."""
        return self._exchanges[index]

    def __len__(self) -> int:
        return len(self._exchanges)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._exchanges)


class Heard(Sequence[Exchange]):
    """Exchanges to look at, not to change: a view, because a copy for each look would cost the square of its length."""

    __slots__ = ("_exchanges",)

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._exchanges = exchanges

    @overload
    def __getitem__(self, index: int) -> Exchange: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Exchange]: ...

    def __getitem__(self, index: int | slice) -> Exchange | Sequence[Exchange]:
        """Return one exchange, or a copy of some for a slice."""
        return self._exchanges[index]

    def __len__(self) -> int:
        return len(self._exchanges)
