"""Channel: one message there, one reply back, counted once, written down before anything else happens."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentFault
from pytest_ltm._transcript import Exchange, Kind, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._clock import Clock
    from pytest_ltm._filler import FillerExchange
    from pytest_ltm._journal import Journal, Timings
    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm.agents._protocols import Reply
    from pytest_ltm.agents._speaker import Speaker


class Channel:
    """The way to the agent of one conversation, and the record of what went over it.

    `heard` is called after each exchange; `around(by)` gives what surrounds each call of the agent.
    """

    def __init__(
        self,
        speaker: Speaker,
        counter: TokenCounter,
        clock: Clock,
        journal: Journal,
        timings: Timings,
        *,
        heard: Callable[[Exchange], None] = lambda _: None,
        around: Callable[[str], AbstractContextManager[object]] = lambda _: nullcontext(),
    ) -> None:
        self.transcript = Transcript()
        self.clock, self.journal = clock, journal
        self.faults = 0
        """Faults since the last reply."""
        self.silences = 0
        """Replies that were empty: valid, but worth a notice."""
        self.cost_usd: float | None = None
        """What the agent said it cost, if it says so."""
        self.costs: dict[int, float] = {}
        """The same by exchange."""
        self._speaker, self._counter, self._timings, self._heard = speaker, counter, timings, heard
        self._around = around

    @property
    def powers(self) -> frozenset[str]:
        """What the agent can do beyond replying."""
        return self._speaker.powers

    @property
    def can_tell(self) -> bool:
        """Whether the agent can be told an exchange without generating."""
        return "AcceptsHistory" in self._speaker.powers

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self._speaker.max_message_tokens

    def ask(self, by: str, kind: Kind, text: str, about: tuple[int, ...] = (), tokens: int | None = None) -> Exchange:
        """Send a message and return the exchange; AgentFault if no reply came, which adds no tokens.

        `tokens`: of the text, where they are known; every text is counted once.
        """
        number = len(self.transcript)
        tokens = self._counter.count(text) if tokens is None else tokens
        start, now = self.transcript.position, self.clock.now
        fields = {"about": list(about)} if about else {}
        self.journal.write(
            "message", exchange=number, by=by, kind=kind, text=text, tokens=tokens,
            position=start, now=now.isoformat(), **fields,
        )  # fmt: skip
        began = self._timings.clock()
        try:
            with self._around(by):
                self._speaker.announce(by)
                self._speaker.tell_time(now)
                reply = self._speaker.ask(text)
        except AgentFault as fault:
            self.faults += 1
            self.journal.write("fault", exchange=number, text=str(fault))
            raise
        self._timings.write("reply", exchange=number, seconds=round(self._timings.clock() - began, 6))
        self.faults = 0
        self.silences += not reply.text
        exchange = Exchange(
            number=number, by=by, kind=kind, message=text, reply=reply.text, start=start,
            message_tokens=tokens, reply_tokens=self._counter.count(reply.text), now=now,
        )  # fmt: skip
        self._write_reply(exchange, reply)
        return self._heard_now(exchange)

    def tell(self, filler: FillerExchange) -> Exchange:
        """Tell the agent an exchange that it need not answer."""
        number, now = len(self.transcript), self.clock.now
        tokens = self._counter.count(filler.message) if filler.message_tokens is None else filler.message_tokens
        exchange = Exchange(
            number=number, by="", kind="filler", message=filler.message, reply=filler.expected_reply,
            start=self.transcript.position, message_tokens=tokens,
            reply_tokens=self._counter.count(filler.expected_reply), now=now, told=True,
        )  # fmt: skip
        try:
            with self._around(""):
                self._speaker.tell_time(now)
                self._speaker.tell(filler.message, filler.expected_reply)
        except AgentFault as fault:
            self.faults += 1
            self.journal.write("fault", exchange=number, text=str(fault))
            raise
        self.faults = 0
        self.journal.write(
            "filler", exchange=number, message=exchange.message, message_tokens=exchange.message_tokens,
            reply=exchange.reply, reply_tokens=exchange.reply_tokens,
        )  # fmt: skip
        return self._heard_now(exchange)

    def close(self) -> str | None:
        """Let the agent go and finish the files; returns a notice if the agent would not go quietly."""
        notice = self._speaker.close()
        self.journal.close()
        self._timings.close()
        return notice

    def _write_reply(self, exchange: Exchange, reply: Reply) -> None:
        fields: dict[str, object] = {}
        if reply.usage is not None:
            fields["usage"] = {name: getattr(reply.usage, name) for name in reply.usage.__slots__}
        if reply.cost_usd is not None:
            fields["cost_usd"] = reply.cost_usd
            self.costs[exchange.number] = reply.cost_usd
            self.cost_usd = (self.cost_usd or 0.0) + reply.cost_usd
        self.journal.write("reply", exchange=exchange.number, text=reply.text, tokens=exchange.reply_tokens, **fields)

    def _heard_now(self, exchange: Exchange) -> Exchange:
        self.transcript.append(exchange)
        self._heard(exchange)
        return exchange
