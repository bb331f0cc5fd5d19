"""Exchange and Transcript: what was said, append-only; gaps and answers are derived, never stored."""

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
# How many tokens of a reply that the agent generated count towards waits and spans: a
# fixed allowance, at most as many as the message that it answers has, none, or all. What
# is told (messages, told filler, a data set's history) counts in any case, except under
# "filler": only filler and history count then, as between the distraction segments of
# Benchmark 1.
Count = Literal["told+4", "capped", "told", "all", "filler"]
COUNTS: tuple[Count, ...] = get_args(Count)
# Whatever an agent says, a question comes no sooner after what it asks about.
DEFAULT_COUNT: Count = "told+4"
REPLY_ALLOWANCE = 4
"""Tokens that stand for any reply: those of an acknowledgement, as told filler has. More would be span without text."""
# What `--ltm-count` may say. Plans that were made before there was an allowance have
# "told" for none.
COUNT_OPTIONS: Mapping[str, Count] = {
    "told": DEFAULT_COUNT,
    "told+4": DEFAULT_COUNT,
    "told+0": "told",
    "capped": "capped",
    "all": "all",
    "filler": "filler",
}


def read_count(text: str) -> Count:
    """Return the rule that a value of `--ltm-count` names; ConfigurationError for any other text."""
    if text not in COUNT_OPTIONS:
        near = did_you_mean(text, COUNT_OPTIONS)
        raise ConfigurationError(
            f"{text!r} is not one of told, capped, all, filler.{near}"
        )
    return COUNT_OPTIONS[text]


def count_option(count: Count) -> str:
    """Return the value of `--ltm-count` for a rule: the first of those that mean it."""
    return next(text for text, rule in COUNT_OPTIONS.items() if rule == count)


# Which reading of replies this is; plans hold it.
READING = "reading/2"


class Reading(Struct, frozen=True, kw_only=True):
    """How the replies of a conversation are read; by default as they came."""

    thoughts: Literal["strip", "keep"] = "keep"
    """Whether only speech is read: thoughts, printed tool calls and end tokens are stripped."""
    tags: tuple[str, ...] = ()
    """Names of tags around thoughts, beside those that are known."""
    version: str = READING
    """Of what counts as speech."""

    def __call__(self, reply: str) -> str:
        """Return what is read of a raw reply."""
        if self.thoughts == "keep":
            return reply
        return _speech_of(reply, self.tags)

    def says_something(self, reply: str) -> bool:
        """Return whether any of a raw reply is speech; always true where replies are read as they came."""
        return self.thoughts == "keep" or _shows_anything(self(reply))


def _shows_anything(text: str) -> bool:
    """Return whether anything of a text is seen: not only spaces, in whatever spelling, or empty elements."""
    seen = _UNSEEN.sub("", text)
    return any(sign.isprintable() and not sign.isspace() for sign in seen)


_UNSEEN = re.compile(r"<(\w+)>\s*</\1>|&nbsp;")


def _speech_of(reply: str, tags: tuple[str, ...]) -> str:
    speech: str | None = current_hooks().pytest_ltm_speech(reply=reply, tags=tags)
    if speech is None:
        raise ConfigurationError(
            "nothing here tells speech from thoughts: the feature 'language' is left out. "
            "Have it again, or read replies as they come: --ltm-thoughts=keep"
        )
    return speech


# What is speech of a reply.
SPOKEN = Reading(thoughts="strip")
# As published rules read, and all conversations did whose plan does not say.
RAW = Reading()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One message to the agent and its reply."""

    number: int
    """Its id in the journal: messages are numbered from 0, those that got no reply included."""
    by: str
    """The example that spoke (`colours/0`), or "" for opening, filler and history."""
    kind: Kind
    """Why it was sent: "opening", "say", "ask", "reset", "filler", "history" or "compact"."""
    message: str
    """What the agent was sent or told."""
    reply: str
    """What it replied, or was told that it replied: the speech, unless the run reads replies raw."""
    start: int
    """Tokens of the conversation before the message."""
    message_tokens: int
    """Tokens of the message, by the run's tokenizer."""
    reply_tokens: int
    """Tokens of the reply, by the run's tokenizer."""
    now: datetime
    """The conversation's time when the message was sent."""
    retrieved: tuple[str, ...] | None = None
    """What the agent says that it retrieved for the reply, best first; None where it does not report it."""
    places: tuple[tuple[int, int], ...] = ()
    """Which of that held earlier messages, as far as it is known: their numbers and places from 1; 0: none did."""
    user: str = ""
    """Whose message it is, as an agent that SeparatesUsers was told."""
    told: bool = False
    """The agent was told this exchange and generated nothing: the reply is not its own."""
    unread: str | None = None
    """The reply as it came, where that is not what is read of it."""
    account: Account = "whole"
    """How the reply came to be: whole, cut at a limit, or ended in a way that is not known."""
    alone: bool = False
    """A question that the agent does not remember: what is said next comes after what was said before it."""
    calls: tuple[AnsweredCall, ...] = ()
    """The tools that the agent called before it replied, in order."""

    @property
    def acted_reply(self) -> str:
        """The reply as people are shown it, after a line for each call of a tool before it."""
        acted = [f"[{call}: {call.result}]" for call in self.calls]
        return "\n".join([*acted, self.reply])

    @property
    def call_tokens(self) -> int:
        """Tokens of its calls, and of their results, by the run's tokenizer."""
        return sum(call.tokens + call.result_tokens for call in self.calls)

    @property
    def raw_reply(self) -> str:
        """The reply as it came: what the journal keeps, and what tokens count."""
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
    """An exchange that was told, whose texts are not in memory: a history may have millions of tokens."""

    __slots__ = ("_place", "_texts")
    _place: int
    _texts: TextFile

    def __init__(self, exchange: Exchange, texts: TextFile) -> None:
        for name in _OTHER_FIELDS:
            object.__setattr__(self, name, getattr(exchange, name))
        # As in the `__init__` that a frozen data class has.
        object.__setattr__(self, "_texts", texts)
        object.__setattr__(self, "_place", len(texts))
        texts.append(exchange.message)
        texts.append(exchange.reply)

    @property
    def message(self) -> str:
        """What the agent was told."""
        return self._texts[self._place]

    @property
    def reply(self) -> str:
        """What it was told that it replied."""
        return self._texts[self._place + 1]


_OTHER_FIELDS = tuple(
    field.name for field in fields(Exchange) if field.name not in ("message", "reply")
)
_LONG = 1_000
"""Characters from which the texts of what was told are kept on disk."""


def needle_gap(needle: Exchange, question: Exchange) -> int:
    """Return the tokens really passed from the end of the needle's message to the start of the question's."""
    return question.start - needle.message_end


class TranscriptView(Sequence[Exchange]):
    """Exchanges to look at, not to change: a view, because a copy for each look would cost the square of its length."""

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
    """The exchanges of one conversation in the order in which they happened."""

    def __init__(self, count: Count = "all") -> None:
        self.counts = count
        """Of the replies that the agent generates; as published, all of them."""
        self._texts = TextFile()
        self._all: list[Exchange] = []
        super().__init__(self._all)
        self.remembered: list[Exchange] = []
        """The exchanges that the agent has in mind: all but questions asked alone."""
        self._by: dict[str, list[Exchange]] = {}
        self._told, self._counted = [0], [0]
        """The tokens that were told, and those that count towards spans: before each exchange, and after the last."""

    def append(self, exchange: Exchange) -> None:
        """Add the next exchange."""
        if exchange.told and len(exchange.message) + len(exchange.reply) > _LONG:
            exchange = LongExchange(exchange, self._texts)
        reply_share = 0 if exchange.told else exchange.reply_tokens
        message_share = exchange.message_tokens + exchange.reply_tokens - reply_share
        counts = self._share_of_reply(exchange)
        # The state before it is put back, so it takes no place in what the agent has in
        # mind.
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
        """Return whether an exchange brings waits nearer to their end by more than its allowance."""
        if self.counts == DEFAULT_COUNT:
            reply_share = 0
        else:
            reply_share = self._share_of_reply(exchange)
        told_tokens = exchange.reply_tokens if exchange.told else 0
        return exchange.message_tokens + told_tokens + reply_share > 0

    def _share_of_reply(self, exchange: Exchange) -> int:
        """Return the tokens that count of a reply that the agent generated."""
        if exchange.told:
            return 0
        # What is called is the agent's own choice, and so is what it then hears.
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
            # no message went unanswered
            return number
        return bisect_left(self._exchanges, number, key=attrgetter("number"))

    @property
    def position(self) -> int:
        """Tokens said so far, by anyone, without questions asked alone."""
        return self.remembered[-1].end if self.remembered else 0

    @property
    def counted_tokens(self) -> int:
        """Tokens said so far that count towards spans."""
        return self._counted[-1]

    def counted_before(self, number: int) -> int:
        """Return the tokens before an exchange that count towards spans."""
        return self._counted[self._place(number)]

    def told_gap(self, needle: Exchange, question: Exchange) -> int:
        """Return the tokens of a `gap` that were told: what the agent itself generated is not in it."""
        needle_end = self._told[self._place(needle.number)] + needle.message_tokens
        return self._told[self._place(question.number)] - needle_end

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._exchanges)


# --- Texts that need not be in memory: what was said in a conversation of millions of
# tokens.

_IN_MEMORY = 2**20
"""Bytes up to which there is no file."""


class TextFile:
    """Texts by number, in a file without a name once they are many; in memory is where each ends.

    DiskFault if the disk takes no more.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with the texts
        self._ends = array("Q", [0])
        self._lock = Lock()  # reports read what a conversation in another thread writes
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._ends) - 1

    def append(self, text: str) -> None:
        """Add a text; its number is how many there were before."""
        data = text.encode("utf-8", "surrogatepass")
        with self._lock:
            try:
                self._file.seek(self._ends[-1])
                self._file.write(data)
            except OSError as error:
                raise disk_fault(Path(tempfile.gettempdir()), error) from error
            # Last: a text that was written in part is not there, and the next one is
            # written over it.
            self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, number: int) -> str:
        """Return a text; IndexError if there is none."""
        start = self._ends[number]
        end = self._ends[number + 1]
        with self._lock:
            self._file.seek(start)
            return self._file.read(end - start).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Yield the texts in their order."""
        return map(self.__getitem__, range(len(self)))

    def truncate(self, length: int) -> None:
        """Forget all but the first texts."""
        del self._ends[length + 1 :]
