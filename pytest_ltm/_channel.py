"""Channel: one message there, one reply back, counted once, written down before anything else happens.

Where a recorded conversation is resumed, what is recorded is taken and nobody is asked.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pytest_ltm._costs._bill import Bill, Tariff
from pytest_ltm._errors import AgentFault, Divergence
from pytest_ltm._filler import FillerExchange
from pytest_ltm._seat import Seat
from pytest_ltm._transcript import Exchange, Kind, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ltm._clock import Clock
    from pytest_ltm._costs._budget import Account
    from pytest_ltm._journal import Journal, Timings
    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm.agents._protocols import Reply
    from pytest_ltm.agents._retry import Failed
    from pytest_ltm.agents._speaker import Speaker


class Channel:
    """The way to the agent of one conversation, and the record of what went over it.

    `heard` is called after each exchange but recorded ones; `around(by)` gives what surrounds each call of the agent.
    `tariff`: what the agent's tokens cost where it does not say; `account`: where the conversation's budget is kept.
    """

    def __init__(
        self,
        seat: Seat | Speaker,
        counter: TokenCounter,
        clock: Clock,
        journal: Journal,
        timings: Timings,
        *,
        heard: Callable[[Exchange], None] = lambda _: None,
        around: Callable[[str], AbstractContextManager[object]] = lambda _: nullcontext(),
        tariff: Tariff | None = None,
        account: Account | None = None,
    ) -> None:
        self.transcript = Transcript()
        self.clock, self.journal = clock, journal
        self.faults = 0
        """Faults since the last reply."""
        self.silences = 0
        """Replies that were empty: valid, but worth a notice."""
        self.bill = Bill(tariff or Tariff())
        """What the replies cost and used."""
        self.named: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda shown: shown
        """Gives ids of the history in the place of texts that the agent says it retrieved."""
        self._seat = seat if isinstance(seat, Seat) else Seat.of(seat)
        self._counter, self._timings, self._heard, self._around = counter, timings, heard, around
        self._messages = 0
        self._account = account

    @property
    def cost_usd(self) -> float | None:
        """What the replies cost, as far as anybody knows."""
        return self.bill.usd

    @property
    def costs(self) -> Mapping[int, float]:
        """The same by exchange."""
        return self.bill.costs

    @property
    def powers(self) -> frozenset[str]:
        """What the agent can do beyond replying."""
        return self._seat.powers

    @property
    def can_tell(self) -> bool:
        """Whether the agent can be told an exchange without generating."""
        return "AcceptsHistory" in self.powers

    @property
    def max_message_tokens(self) -> int:
        """How long one message may be."""
        return self._seat.max_message_tokens

    def ask(
        self,
        by: str,
        kind: Kind,
        text: str,
        about: tuple[int, ...] = (),
        tokens: int | None = None,
        images: Sequence[str] = (),
    ) -> Exchange:
        """Send a message and return the exchange; AgentFault if no reply came, which adds no tokens.

        `images`: files that an AcceptsImages agent sees beside it; their names are written down, and add no tokens.
        `tokens`: of the text, where they are known; every text is counted once. ConversationOver if there is no
        agent to send it to, or no place to write it down: then it was not sent.
        """
        replaying = self.journal.replaying
        number = self._begin(by)
        start, now = self.transcript.position, self.clock.now
        tokens = self._counted(text) if tokens is None else tokens
        fields: dict[str, Any] = {"about": list(about)} if about else {}
        if images:
            fields["images"] = [PurePath(image).name for image in images]
        self.journal.write(
            "message", exchange=number, by=by, kind=kind, text=text, tokens=tokens,
            position=start, now=now.isoformat(), **fields,
        )  # fmt: skip
        recorded = self._recorded("reply", text=str, tokens=int)
        answer, seconds = (recorded, 0.0) if recorded else self._asked(number, by, text, images)
        exchange = Exchange(
            number=number, by=by, kind=kind, message=text, reply=answer["text"], start=start,
            message_tokens=tokens, reply_tokens=answer["tokens"], now=now,
            retrieved=tuple(answer["retrieved"]) if "retrieved" in answer else None,
        )  # fmt: skip
        self.journal.write("reply", **{"exchange": number, **answer})
        if not recorded:
            self._timings.write("reply", exchange=number, seconds=round(seconds, 6))
        self.silences += not exchange.reply
        self.bill.add(number, answer, message_tokens=tokens)
        if self._account is not None and not recorded and not answer.get("hypothetical"):
            usd, spent = self.bill.tariff.spent(answer, message_tokens=tokens)
            self._account.add("agent", usd=usd, tokens=spent)
        return self._end(exchange, replaying=replaying)

    def tell(self, filler: FillerExchange, *, history: str = "") -> Exchange:
        """Tell the agent an exchange that it need not answer; AgentFault if it will not have it.

        `history`: the id of the exchange in the conversation's history, if it is one of it.
        """
        replaying = self.journal.replaying
        number = self._begin("")
        start, now = self.transcript.position, self.clock.now
        tokens = self._counter.count(filler.message) if filler.message_tokens is None else filler.message_tokens
        recorded = self._recorded("filler", message=str, message_tokens=int, reply=str, reply_tokens=int)
        told = recorded or self._told(number, filler, tokens, {"history": history} if history else {})
        exchange = Exchange(
            number=number, by="", kind="history" if history else "filler", message=told["message"],
            reply=told["reply"], start=start, message_tokens=told["message_tokens"], reply_tokens=told["reply_tokens"],
            now=now, told=True,
        )  # fmt: skip
        self.journal.write("filler", **{"exchange": number, **told})
        return self._end(exchange, replaying=replaying)

    def recorded_filler(self) -> FillerExchange | None:
        """Return the filler that comes next in the record, if filler does: what was said is said again."""
        told = _checked(self.journal.upcoming("filler"), message=str, reply=str, message_tokens=int)
        if told is not None:
            return FillerExchange(told["message"], told["reply"], told["message_tokens"])
        asked = _checked(self.journal.upcoming("message"), text=str, tokens=int)
        if asked is not None and asked.get("kind") == "filler":
            return FillerExchange(asked["text"], "", asked["tokens"])
        return None

    def retried(self, failed: Failed) -> None:
        """Note an attempt that is followed by another, in the timings: the exchange counts once."""
        self._timings.write(
            "retry", exchange=self._messages - 1, attempt=failed.attempt, waited=failed.wait, error=str(failed.error)
        )

    def close(self) -> str | None:
        """Let the agent go and finish the files; returns a notice if the agent would not go quietly."""
        notice = self._seat.close()
        try:
            self.journal.close()
        finally:
            self._timings.close()
        return notice

    # --- one message

    def _begin(self, by: str) -> int:
        """Have everything there that sending needs, before a word of it is written down; return its number."""
        if self.journal.replaying:
            self._follow(self.journal.upcoming("message"))
        else:
            if self._account is not None:
                self._account.check()
            self._ready(by)
            self.clock.tick()
        self._messages += 1
        return self._messages - 1

    def _ready(self, by: str) -> None:
        if not self._seat.is_ready:
            with self._around(by):
                self._seat.ready(self.transcript)

    def _counted(self, text: str) -> int:
        recorded = _checked(self.journal.upcoming("message"), text=str, tokens=int)
        same = recorded is not None and recorded["text"] == text
        return recorded["tokens"] if recorded is not None and same else self._counter.count(text)

    def _recorded(self, event: str, **kinds: type) -> dict[str, Any] | None:
        """Return what the record holds of the reply or the told filler, None if nothing; raises a recorded fault."""
        fault = self.journal.upcoming("fault")
        if fault is not None:
            raise self._fault(fault.get("exchange"), AgentFault(str(fault.get("text")), fatal=bool(fault.get("fatal"))))
        found = _checked(self.journal.upcoming(event), **kinds)
        self._follow(found)
        return None if found is None else {k: v for k, v in found.items() if k not in {"event", "exchange"}}

    def _asked(self, number: int, by: str, text: str, images: Sequence[str] = ()) -> tuple[dict[str, Any], float]:
        self._ready(by)
        began = self._timings.clock()
        try:
            with self._around(by):
                reply = self._seat.ask(by, text, self.clock.now, images)
                seconds = self._timings.clock() - began
                retrieved = self._seat.retrieved()
                self._seat.keep(number)
        except AgentFault as fault:
            self._faulted(number, fault)
            raise
        shown = {} if retrieved is None else {"retrieved": list(self.named(retrieved))}
        tokens = self._counter.count(reply.text)
        return {"text": reply.text, "tokens": tokens, **_bill(reply), **shown, **self._stamp()}, seconds

    def _told(self, number: int, filler: FillerExchange, tokens: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        self._ready("")
        try:
            with self._around(""):
                self._seat.tell(filler.message, filler.expected_reply, self.clock.now)
                self._seat.keep_told(number)
        except AgentFault as fault:
            self._faulted(number, fault)
            raise
        answered = self._counter.count(filler.expected_reply)
        return {
            "message": filler.message, "message_tokens": tokens,
            "reply": filler.expected_reply, "reply_tokens": answered, **fields, **self._stamp(),
        }  # fmt: skip

    def _faulted(self, number: int, fault: AgentFault) -> None:
        self._seat.faulted(fault)
        self._fault(number, fault)

    def _fault(self, number: object, fault: AgentFault) -> AgentFault:
        self.faults += 1
        self.journal.write("fault", exchange=number, text=str(fault), **({"fatal": True} if fault.fatal else {}))
        return fault

    def _stamp(self) -> dict[str, str]:
        now = self.clock.tick()
        return {} if now is None else {"now": now.isoformat()}

    def _follow(self, recorded: Mapping[str, Any] | None) -> None:
        if recorded is not None and "now" in recorded and self.clock.real:
            self.clock.follow(recorded_time(recorded["now"]))

    def _end(self, exchange: Exchange, *, replaying: bool) -> Exchange:
        self.faults = 0
        self.transcript.append(exchange)
        if not replaying:
            self._heard(exchange)
        return exchange


def recorded_time(text: object) -> datetime:
    """Return a time that a journal holds; Divergence if it is none."""
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        raise Divergence(f"the journal holds {text!r} as a time: {error}") from error


def _checked(event: dict[str, Any] | None, **kinds: type) -> dict[str, Any] | None:
    def fits(value: object, kind: type) -> bool:
        return type(value) is kind and (not isinstance(value, int) or value >= 0)

    if event is None or all(fits(event.get(name), kind) for name, kind in kinds.items()):
        return event
    raise Divergence(f"an event of the journal is not what this version writes: {event!r:.200}")


def _bill(reply: Reply) -> dict[str, Any]:
    bill: dict[str, Any] = {}
    if reply.usage is not None:
        bill["usage"] = {name: getattr(reply.usage, name) for name in reply.usage.__slots__}
    if reply.cost_usd is not None:
        bill["cost_usd"] = reply.cost_usd
    if reply.hypothetical:
        bill["hypothetical"] = True
    return bill
