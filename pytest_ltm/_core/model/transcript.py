"""Exchange and Transcript: the conversation so far, append-only; gaps and answers are derived, never stored."""

from __future__ import annotations

import re
import tempfile
import weakref
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Literal, get_args, overload

from msgspec import Struct

from pytest_ltm._core.features import current_hooks
from pytest_ltm._core.model.account import Account
from pytest_ltm._core.model.tools import AnsweredCall
from pytest_ltm._core.storage.disk import disk_fault
from pytest_ltm._core.storage.errors import ConfigurationError, did_you_mean

Kind = Literal["opening", "say", "ask", "reset", "filler", "history", "compact"]
# How many tokens of a generated reply count towards waits and spans: a fixed allowance,
# at most as many as the message that it answers has, none, or all. Everything told
# (messages, told filler, a data set's history) counts in any case, except under
# "filler": only filler and history count then, as between the distraction segments of
# Benchmark 1.
Count = Literal["told+4", "capped", "told", "all", "filler"]
COUNTS: tuple[Count, ...] = get_args(Count)
# However short or long an agent's replies, a question keeps its distance from its
# needles.
DEFAULT_COUNT: Count = "told+4"
REPLY_ALLOWANCE = 4
"""Tokens counted for any reply: those of an acknowledgement, as in told filler. More would be span without text."""
# The values of `--ltm-count`. Plans older than the allowance have "told" for none.
COUNT_OPTIONS: Mapping[str, Count] = {
    "told": DEFAULT_COUNT,
    "told+4": DEFAULT_COUNT,
    "told+0": "told",
    "capped": "capped",
    "all": "all",
    "filler": "filler",
}


def read_count(text: str) -> Count:
    """Parse a value of `--ltm-count`; ConfigurationError for any other text."""
    if text not in COUNT_OPTIONS:
        near = did_you_mean(text, COUNT_OPTIONS)
        raise ConfigurationError(
            f"{text!r} is not one of told, capped, all, filler.{near}"
        )
    return COUNT_OPTIONS[text]


def count_option(count: Count) -> str:
    """Return the value of `--ltm-count` for a rule: the first of its names."""
    return next(text for text, rule in COUNT_OPTIONS.items() if rule == count)


# The version of the reading of replies, recorded in plans.
READING = "reading/2"


class Reading(Struct, frozen=True, kw_only=True):
    """How the replies of a conversation are read; by default unchanged."""

    thoughts: Literal["strip", "keep"] = "keep"
    """Whether only speech is read: thoughts, printed tool calls and end tokens are stripped."""
    tags: tuple[str, ...] = ()
    """Names of tags around thoughts, in addition to known ones."""
    version: str = READING
    """The version of the rules for speech."""

    def __call__(self, reply: str) -> str:
        """Return the read part of a raw reply."""
        if self.thoughts == "keep":
            return reply
        return _speech_of(reply, self.tags)

    def says_something(self, reply: str) -> bool:
        """Return whether any of a raw reply is speech; always true if replies are read unchanged."""
        return self.thoughts == "keep" or _shows_anything(self(reply))


def _shows_anything(text: str) -> bool:
    """Return whether a text has visible content: more than spaces, in any form, or empty elements."""
    seen = _UNSEEN.sub("", text)
    return any(sign.isprintable() and not sign.isspace() for sign in seen)


_UNSEEN = re.compile(r"<(\w+)>\s*</\1>|&nbsp;")


def _speech_of(reply: str, tags: tuple[str, ...]) -> str:
    speech: str | None = current_hooks().pytest_ltm_speech(reply=reply, tags=tags)
    if speech is None:
        raise ConfigurationError(
            "nothing separates speech from thoughts: the feature 'language' is disabled. "
            "Enable it, or read replies as they come: --ltm-thoughts=keep"
        )
    return speech


# Reads only the speech of a reply.
SPOKEN = Reading(thoughts="strip")
# The reading of published rules, and of conversations whose plan has none.
RAW = Reading()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One message to the agent and its reply."""

    number: int
    """Its id in the journal: messages are numbered from 0, including those without a reply."""
    by: str
    """The example that spoke (`colours/0`), or "" for opening, filler and history."""
    kind: Kind
    """The reason for it: "opening", "say", "ask", "reset", "filler", "history" or "compact"."""
    message: str
    """The message sent or told to the agent."""
    reply: str
    """The agent's reply, or the one that it was told: the speech, unless the run reads replies raw."""
    start: int
    """Tokens of the conversation before the message."""
    message_tokens: int
    """Tokens of the message, by the run's tokenizer."""
    reply_tokens: int
    """Tokens of the reply, by the run's tokenizer."""
    now: datetime
    """The conversation's time when the message was sent."""
    retrieved: tuple[str, ...] | None = None
    """The texts that the agent retrieved for the reply, best first; None if it does not report them."""
    places: tuple[tuple[int, int], ...] = ()
    """The numbers of earlier messages, with the rank of the first of those texts that contains each; 0: none."""
    user: str = ""
    """The sender's id, as given to an agent that SeparatesUsers."""
    told: bool = False
    """The agent was told this exchange and generated nothing: the reply is not its own."""
    unread: str | None = None
    """The raw reply, if it differs from the part that is read."""
    account: Account = "whole"
    """How the reply was produced: whole, cut at a limit, or with an unknown end."""
    alone: bool = False
    """A question that the agent does not remember: the next message continues the conversation from before it."""
    calls: tuple[AnsweredCall, ...] = ()
    """The tools that the agent called before it replied, in order."""

    @property
    def acted_reply(self) -> str:
        """The reply as shown to readers, after a line for each tool call before it."""
        if not self.calls:
            return self.reply
        acted = [f"[{call}: {call.result}]" for call in self.calls]
        return "\n".join([*acted, self.reply])

    @property
    def call_tokens(self) -> int:
        """Tokens of its calls, and of their results, by the run's tokenizer."""
        return sum(call.tokens + call.result_tokens for call in self.calls)

    @property
    def raw_reply(self) -> str:
        """The unprocessed reply, as the journal keeps it and tokens are counted."""
        return self.reply if self.unread is None else self.unread

    @property
    def message_end(self) -> int:
        """Tokens of the conversation up to the end of the message."""
        return self.start + self.message_tokens

    @property
    def end(self) -> int:
        """Tokens of the conversation up to the end of the reply."""
        return self.message_end + self.call_tokens + self.reply_tokens


class LongExchange(Exchange):
    """A told exchange whose texts are not in memory: a history may have millions of tokens."""

    __slots__ = ("_place", "_texts")
    _place: int
    _texts: TextFile

    def __init__(self, exchange: Exchange, texts: TextFile) -> None:
        for name in _OTHER_FIELDS:
            object.__setattr__(self, name, getattr(exchange, name))
        # As in the `__init__` of a frozen dataclass.
        object.__setattr__(self, "_texts", texts)
        object.__setattr__(self, "_place", len(texts))
        texts.append(exchange.message)
        texts.append(exchange.reply)

    @property
    def message(self) -> str:
        """The message told to the agent."""
        return self._texts[self._place]

    @property
    def reply(self) -> str:
        """The reply told to the agent."""
        return self._texts[self._place + 1]


_OTHER_FIELDS = tuple(
    field.name for field in fields(Exchange) if field.name not in ("message", "reply")
)
_LONG = 1_000
"""The length in characters above which told texts are kept on disk."""


def needle_gap(needle: Exchange, question: Exchange) -> int:
    """Return the actual tokens from the end of the needle's message to the start of the question's."""
    return question.start - needle.message_end


class TranscriptView(Sequence[Exchange]):
    """A read-only view of exchanges: a copy for each access would have quadratic cost."""

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


class Transcript(TranscriptView):
    """The exchanges of one conversation in order of occurrence."""

    def __init__(self, count: Count = "all") -> None:
        self.counts = count
        """How much of the generated replies counts; all of them, as published."""
        self._texts = TextFile()
        self._all: list[Exchange] = []
        super().__init__(self._all)
        self.remembered: list[Exchange] = []
        """The exchanges that the agent remembers: all except questions asked alone."""
        self._by: dict[str, list[Exchange]] = {}
        self._told, self._counted = [0], [0]
        """The told tokens, and those that count towards spans: before each exchange, and after the last."""

    def append(self, exchange: Exchange) -> None:
        """Add the next exchange."""
        if exchange.told and len(exchange.message) + len(exchange.reply) > _LONG:
            exchange = LongExchange(exchange, self._texts)
        reply_share = 0 if exchange.told else exchange.reply_tokens
        message_share = exchange.message_tokens + exchange.reply_tokens - reply_share
        counts = self._share_of_reply(exchange)
        # The state before it is restored, so it takes up none of the agent's memory.
        if exchange.alone:
            message_share = counts = 0
        else:
            self.remembered.append(exchange)
        self._told.append(self._told[-1] + message_share)
        passes = self.counts != "filler" or exchange.kind in ("filler", "history")
        self._counted.append(
            self._counted[-1] + (message_share + counts if passes else 0)
        )
        self._all.append(exchange)
        self._by.setdefault(exchange.by, []).append(exchange)

    def adds_tokens(self, exchange: Exchange) -> bool:
        """Return whether an exchange brings waits closer to their end by more than its allowance."""
        if self.counts == DEFAULT_COUNT:
            reply_share = 0
        else:
            reply_share = self._share_of_reply(exchange)
        told_tokens = exchange.reply_tokens if exchange.told else 0
        return exchange.message_tokens + told_tokens + reply_share > 0

    def _share_of_reply(self, exchange: Exchange) -> int:
        """Return the tokens of a generated reply that count."""
        if exchange.told:
            return 0
        # Calls are the agent's own choice, and so are their results.
        generated = exchange.reply_tokens + exchange.call_tokens
        if self.counts == "all":
            return generated
        if self.counts in ("capped", "filler"):
            return min(generated, exchange.message_tokens)
        return REPLY_ALLOWANCE if self.counts == DEFAULT_COUNT else 0

    def exchanges_of(self, speaker: str) -> Sequence[Exchange]:
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
        if number < len(self._exchanges) and self._exchanges[number].number == number:
            # Every message got a reply.
            return number
        return bisect_left(self._exchanges, number, key=attrgetter("number"))

    @property
    def position(self) -> int:
        """Tokens of the conversation so far, by all speakers, without questions asked alone."""
        return self.remembered[-1].end if self.remembered else 0

    @property
    def counted_tokens(self) -> int:
        """Tokens so far that count towards spans."""
        return self._counted[-1]

    def counted_before(self, number: int) -> int:
        """Return the tokens before an exchange that count towards spans."""
        return self._counted[self._place(number)]

    def told_gap(self, needle: Exchange, question: Exchange) -> int:
        """Return the told tokens of a `gap`, without the agent's own replies."""
        needle_end = self._told[self._place(needle.number)] + needle.message_tokens
        return self._told[self._place(question.number)] - needle_end

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._exchanges)


# --- Texts that need not be in memory: those of a conversation of millions of tokens.

_IN_MEMORY = 2**20
"""The size in bytes up to which no file is used."""


class TextFile:
    """Texts by number, in an unnamed file once they are large; memory holds only their ends.

    DiskFault if the disk is full.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with the texts
        self._ends = array("Q", [0])
        # Reports read texts while a conversation in another thread writes.
        self._lock = Lock()
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._ends) - 1

    def append(self, text: str) -> None:
        """Add a text; its number is the previous number of texts."""
        data = text.encode("utf-8", "surrogatepass")
        with self._lock:
            try:
                self._file.seek(self._ends[-1])
                self._file.write(data)
            except OSError as error:
                raise disk_fault(Path(tempfile.gettempdir()), error) from error
            # Last: a partly written text does not count, and the next one overwrites
            # it.
            self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, number: int) -> str:
        """Return a text; IndexError if there is none."""
        start = self._ends[number]
        end = self._ends[number + 1]
        with self._lock:
            self._file.seek(start)
            return self._file.read(end - start).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Yield the texts in order."""
        return map(self.__getitem__, range(len(self)))

    def truncate(self, length: int) -> None:
        """Drop all but the first `length` texts."""
        del self._ends[length + 1 :]
