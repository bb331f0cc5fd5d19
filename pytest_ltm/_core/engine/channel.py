"""Channel: sends one message, gets one reply, counts it once and journals it before anything else happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from pytest_ltm._core.engine.port import Enclosed, Port
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.model.agent import Capabilities, ExpectedReply
from pytest_ltm._core.model.filler import FillerExchange, ToldTexts
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.tools import Call, Tools
from pytest_ltm._core.model.transcript import (
    DEFAULT_COUNT,
    RAW,
    Count,
    Exchange,
    Kind,
    Reading,
    Transcript,
)
from pytest_ltm._core.storage.clock import Clock
from pytest_ltm._core.storage.errors import AgentFault


class _Due(Struct):
    """A watcher that is still waiting for replies."""

    answers: Mapping[int, str] | Callable[[datetime], str]
    about: tuple[int, ...]
    replies: int

    def answer(self, now: datetime) -> str:
        """Return the text that the next reply must contain; "" if none."""
        if callable(self.answers):
            return self.answers(now)
        return self.answers.get(self.replies + 1, "")


class Channel:
    """Connects one conversation with the port that answers in it, and records the exchanges.

    Each event is written to the journal before it counts; then `observers` are
    notified. `heard` is called after each exchange that is not a recorded one. `count`:
    which tokens of replies count towards spans; `reading`: which part of replies is
    read.
    """

    def __init__(
        self,
        port: Port,
        counter: TokenCounter,
        clock: Clock,
        journal: Journal,
        *,
        count: Count = DEFAULT_COUNT,
        reading: Reading = RAW,
        observers: Sequence[Callable[[events.Event], object]] = (),
        heard: Callable[[Exchange], object] = lambda _: None,
    ) -> None:
        self.port = port
        self.clock = clock
        self.journal = journal
        self.transcript = Transcript(count)
        """The exchanges so far."""
        self.record = ConversationRecord(transcript=self.transcript, reading=reading)
        self.texts = ToldTexts()
        """The texts of the history, used to replace retrieved texts by their ids."""
        self._counter = counter
        self._heard = heard
        self._messages = 0
        self._due: list[_Due] = []
        journal.observers += [self.record.add, *observers]
        port.open(self.transcript)

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities beyond replying."""
        return self.port.capabilities

    @property
    def prompts(self) -> bool:
        """Whether the agent is a control that is given the expected answers."""
        return "Prompted" in self.capabilities

    def ask(
        self,
        by: str,
        kind: Kind,
        text: str,
        about: tuple[int, ...] = (),
        tokens: int | None = None,
        images: Sequence[str] = (),
        *,
        answer: str | None = None,
        user: str = "",
        alone: bool = False,
        withdrawn: Sequence[str] = (),
        tools: Tools | None = None,
        calls: Sequence[Call] = (),
    ) -> Exchange:
        """Send a message and return the exchange; AgentFault if no reply came, which adds no tokens.

        `images`: files for an AcceptsImages agent in addition to the text; their names
        are recorded, and they add no tokens. `tokens`: the length of the text, if
        known; every text is counted once. `answer` and `calls`: the expected answer and
        calls, for a control. `tools`: the tools that the agent may call before it
        replies. `user`: the sender, for an agent that SeparatesUsers. `alone`: the
        agent must not remember the message. `withdrawn`: values whose records are
        deleted afterwards, for an agent that DeletesRecords. ConversationOver without an agent
        or a journal to write to: then nothing was sent.
        """
        with self._exchange(by) as number:
            recorded = self.port.upcoming(events.MessageSent)
            if tokens is None and recorded is not None and recorded.text == text:
                tokens = recorded.tokens
            message = events.MessageSent(
                exchange=number,
                by=by,
                kind=kind,
                text=text,
                tokens=self._counter.count(text) if tokens is None else tokens,
                position=self.record.position,
                now=self.clock.now,
                about=about,
                images=tuple([PurePath(image).name for image in images]),
                user=user,
                alone=alone,
            )
            self.journal.write(message)
            enclosed = Enclosed(
                images,
                self._prompts(answer, about, calls),
                self.record.memory.holders(withdrawn),
                tools,
            )
            reply = self.port.reply(message, enclosed)
            if reply.retrieved is not None:
                reply = replace(
                    reply, retrieved=self.texts.replace_known_texts(reply.retrieved)
                )
            self.journal.write(reply)
            self.port.written(reply)
            for due in () if alone or kind == "compact" else self._due:
                due.replies += 1
        return self.transcript[-1]

    def expect(
        self,
        answers: Mapping[int, str] | Callable[[datetime], str],
        about: tuple[int, ...],
        *,
        replies: int,
    ) -> None:
        """Prompt a control for later replies, by time or by reply number; `replies` have been given already."""
        self._due.append(_Due(answers, about, replies))

    def tell(self, filler: FillerExchange, *, history: str = "") -> Exchange:
        """Tell the agent an exchange that needs no answer; AgentFault if the agent refuses it.

        `history`: the exchange's id, if it is part of the conversation's history.
        """
        with self._exchange("") as number:
            if filler.message_tokens is None:
                tokens = self._counter.count(filler.message)
            else:
                tokens = filler.message_tokens
            filler_sent = events.FillerSent(
                exchange=number,
                message=filler.message,
                message_tokens=tokens,
                reply=filler.expected_reply,
                reply_tokens=0,
                history=history,
            )
            # A real clock has moved since the last event.
            self.record.now = self.clock.now
            # Written afterwards, because the port adds usage and time to the event; an
            # interrupted one is told again.
            self.journal.write(self.port.tell(filler_sent))
        return self.transcript[-1]

    def recorded_filler(self) -> FillerExchange | None:
        """Return the next recorded event as filler, if it is filler, so that a replay repeats it."""
        upcoming = self.port.upcoming(events.FillerSent)
        if upcoming is not None:
            return FillerExchange(
                upcoming.message, upcoming.reply, upcoming.message_tokens
            )
        message = self.port.upcoming(events.MessageSent)
        if message is not None and message.kind == "filler":
            return FillerExchange(message.text, "", message.tokens)
        return None

    def close(self) -> str | None:
        """Close the agent and the journal; return a notice if closing the agent failed."""
        notice = self.port.close()
        self.journal.close()
        return notice

    def _prompts(
        self, answer: str | None, about: tuple[int, ...], calls: Sequence[Call]
    ) -> list[ExpectedReply]:
        if not self.prompts:
            return []
        prompts = []
        if answer is not None:
            prompts.append(ExpectedReply(answer, self._needles(about), tuple(calls)))
        for due in self._due:
            if text := due.answer(self.clock.now):
                prompts.append(ExpectedReply(text, self._needles(due.about), ()))
        return prompts

    def _needles(self, about: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.transcript.number(number).message for number in about)

    @contextmanager
    def _exchange(self, by: str) -> Iterator[int]:
        """Prepare the port and yield the number of the exchange; a fault inside is written to the journal."""
        # Checked first, because the recorded reply may be the last of the record.
        is_new = not self.port.replaying
        self.port.ready(by)
        number = self._messages
        self._messages += 1
        try:
            yield number
        except AgentFault as fault:
            self.journal.write(
                events.Fault(
                    exchange=number,
                    text=str(fault),
                    fatal=fault.fatal,
                    passing=fault.passing,
                    lost=fault.usage,
                    account=fault.account,
                    leak=fault.leak,
                )
            )
            raise
        if is_new:
            self._heard(self.transcript[-1])
