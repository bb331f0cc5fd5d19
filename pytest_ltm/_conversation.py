"""Conversation: the one loop that acts. The agenda decides, this carries it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentFault, ConversationOver, DiskFault, LtmError, ScenarioError, text_of
from pytest_ltm._lane import Body, Ending, Lane, Question, Watching
from pytest_ltm._pastime import Pastime
from pytest_ltm._result import ENDED_EARLY
from pytest_ltm._scenario import Ask, Request, Say, Wait, Watch
from pytest_ltm._scheduler import Agenda, Entry, Fill, Finish, Jump, Resume, Start, Tell
from pytest_ltm._score import Unscored
from pytest_ltm._seat import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pytest_ltm._channel import Channel
    from pytest_ltm._filler import Filler
    from pytest_ltm._history import PastExchange
    from pytest_ltm._plan import Plan
    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm._transcript import Exchange, Kind


class Conversation:
    """One dialogue with one agent, in which every example of the plan is played."""

    def __init__(
        self,
        plan: Plan,
        bodies: Sequence[Body],
        *,
        channel: Channel,
        filler: Filler,
        counter: TokenCounter,
        history: Sequence[PastExchange] = (),
    ) -> None:
        self.plan, self.channel = plan, channel
        self.notices: list[str] = []
        self.gone: str | None = None
        """Why the conversation cannot go on, if so."""
        self.finished = False
        self.lanes = [
            Lane(index, example, body, None if plan.span is None else example.span or plan.span)
            for index, (example, body) in enumerate(zip(plan.examples, bodies, strict=True))
        ]
        entries = [
            Entry(scenario=e.scenario, incompatible=frozenset(e.incompatible), together=e.together)
            for e in plan.examples
        ]
        self._agenda = Agenda(entries, now=channel.clock.now, history=[past.at for past in history])
        self._pastime, self._counter = Pastime(channel, filler, counter.count, history), counter
        self._watched: dict[int, Lane] = {}
        self._opened = False

    def step(self) -> None:
        """Carry out one decision; after the last, `finished` is true. DiskFault: nothing can be kept any more."""
        try:
            self._decide()
        except DiskFault:
            raise
        except ConversationOver as over:
            self.give_up(str(over))

    def _decide(self) -> None:
        if not self._opened and self.gone is None:
            self._opened = True
            if self.plan.opening and self.plan.span is not None:
                self._attempt(lambda: self.channel.ask("", "opening", self.plan.opening))
        if self.gone is not None:
            self._stop(self.gone)
            return
        match self._agenda.decide():
            case Start(index):
                self._begin(self.lanes[index])
            case Resume(index):
                self._agenda.resume(index)
                self._speak(self.lanes[index], self.lanes[index].body.resume(None))
            case Jump(to):
                self._jump(to)
            case Tell(number):
                self._tell(number)
            case Fill(tokens):
                # A watcher that counts replies needs real ones; else telling spares the agent's time and money.
                counted = any(lane.counting for lane in self._watched.values())
                self._attempt(lambda: self._pastime.fill(tokens, answered=counted))
            case Finish():
                self._finish()

    def give_up(self, reason: str) -> None:
        """Send nothing more: what has not ended will be reported as not reached."""
        if self.gone is None:
            self.gone = reason
            self.notices.append(f"{ENDED_EARLY}{reason}")

    def close(self, reason: str) -> None:
        """Unwind whatever is still in progress, report nothing of it, and finish the files."""
        for lane in self.lanes:
            if lane.start is not None and not lane.ended:
                lane.body.abandon()
        if not self.finished and not self.channel.journal.replaying:
            self.channel.journal.note("end", reason=reason)
        self.finished = True
        notice = self.channel.close()
        if notice:
            self.notices.append(notice)

    # --- what the agenda decides

    def _begin(self, lane: Lane) -> None:
        lane.start = self.channel.transcript.position
        self._agenda.start(lane.index)
        unplayable = lane.unplayable(self._counter, self.channel.powers)
        if unplayable:
            self._release(lane)
            self._end(lane, Ending(unplayable=unplayable))
            return
        now = self.channel.clock.now.isoformat()
        self.channel.journal.write("begin", example=lane.example.key, position=lane.start, now=now)
        self._speak(lane, lane.body.begin())

    def _jump(self, to: datetime) -> None:
        self.channel.journal.write("jump", to=to.isoformat())
        clock = self.channel.clock
        (clock.follow if self.channel.journal.replaying else clock.advance)(to)
        self._advance()

    def _tell(self, number: int) -> None:
        at = self._pastime.history[number].at
        if at > self.channel.clock.now:
            self._jump(at)
        for message in self._pastime.messages(number):
            self._attempt(lambda text=message: self._pastime.tell(number, text))  # type: ignore[misc]
        self._agenda.tell()

    def _finish(self) -> None:
        for lane in list(self._watched.values()):
            for watching in lane.watching:
                if watching.verdict is None:
                    self._look(lane, watching, at_end=True)
            self._settle(lane)
        self.channel.journal.write("end", reason="complete")
        self.finished = True

    def _stop(self, reason: str) -> None:
        if self.channel.journal.replaying:  # what is recorded stays as it is
            self.channel.journal.over = self.channel.journal.over or ConversationOver(reason)
        for lane in self.lanes:
            if not lane.ended:
                if lane.start is not None:
                    lane.body.abandon()
                self._end(lane, Ending(unreached=reason))
        self.channel.journal.note("end", reason=reason)
        self.finished = True

    # --- one example speaks until it waits or ends

    def _speak(self, lane: Lane, request: Request | None) -> None:
        while request is not None:
            if self.gone is not None and isinstance(request, (Say, Ask)):
                return  # nothing more is sent; the next step unwinds it
            try:
                if isinstance(request, Wait):
                    self._wait(lane, request)
                    return
                value = self._serve(lane, request)
            except ConversationOver:
                raise
            except LtmError as error:
                request = lane.body.throw(error)
                if isinstance(error, AgentFault):
                    lane.broken = error
                    if request is not None:  # it swallowed the fault; nothing it says now could be scored
                        lane.body.abandon()
                    break
            else:
                request = lane.body.resume(value)
        lane.body_ended = True
        self._settle(lane)

    def _wait(self, lane: Lane, wait: Wait) -> None:
        position, now = self.channel.transcript.position, self.channel.clock.now
        self._agenda.advance(position=position, now=now)  # a clock on the wall has moved on meanwhile
        tokens, time = lane.targets(wait, position=position, now=now)
        if wait.history > len(self._pastime.history):
            there = len(self._pastime.history)
            raise ScenarioError(f"waits for {wait.history} exchanges of the history, and it has {there}")
        fields = {"history": wait.history} if wait.history else {}
        self.channel.journal.write("wait", example=lane.example.key, tokens=tokens, time=time.isoformat(), **fields)
        self._agenda.suspend(lane.index, tokens=tokens, time=time, told=wait.history)

    def _serve(self, lane: Lane, request: Say | Ask | Watch) -> str | None:
        if isinstance(request, Watch):
            self._watch(lane, request)
            return None
        needles = lane.needles(request.about, self._pastime.told) if isinstance(request, Ask) else ()
        kind: Kind = "ask" if isinstance(request, Ask) else "say"
        try:
            exchange = self.channel.ask(lane.example.key, kind, request.text, needles)
        except AgentFault as fault:
            self._note(fault)
            raise
        lane.own.append(exchange)
        if kind == "ask":
            lane.questions.append(Question(exchange.number, needles))
        self._heard(exchange)
        return exchange.reply

    def _watch(self, lane: Lane, request: Watch) -> None:
        if not lane.own:
            raise ScenarioError("watches before it has said anything. Say what the agent is to do first")
        last = lane.own[-1].number
        if not lane.questions or lane.questions[-1].number != last:
            lane.questions.append(Question(last, tuple(number for number in lane.said if number != last)))
        since = [exchange for exchange in self.channel.transcript.since(last) if not exchange.told]
        watching = Watching(request, since[: request.replies])
        lane.watching.append(watching)
        self._watched[lane.index] = lane
        self.channel.journal.write("watcher", example=lane.example.key, replies=request.replies)
        self._agenda.listen(+watching.counts)
        self._look(lane, watching)

    # --- what follows from an exchange, and from an end

    def _attempt(self, send: Callable[[], Exchange]) -> bool:
        try:
            exchange = send()
        except AgentFault as fault:
            self._note(fault)
            return False
        self._heard(exchange)
        return True

    def _note(self, fault: AgentFault) -> None:
        if fault.fatal or self.channel.faults >= PATIENCE:
            times = f"{self.channel.faults} faults in a row, the last: " if self.channel.faults > 1 else ""
            self.give_up(f"the agent is gone ({times}{fault})")

    def _heard(self, exchange: Exchange) -> None:
        self._advance()
        if exchange.told:
            return
        watched = list(self._watched.values())
        for lane in watched:
            for watching in lane.watching:
                if watching.verdict is None and watching.since[-1].number < exchange.number:
                    watching.since.append(exchange)
                    self._look(lane, watching)
        # Only now, because the end of one may send its reset message, which the others must hear after this one.
        for lane in watched:
            if lane.body_ended:
                self._settle(lane)

    def _look(self, lane: Lane, watching: Watching, *, at_end: bool = False) -> None:
        counted = watching.counts
        try:
            watching.look(at_end=at_end)
        except lane.body.fatal:
            raise
        except BaseException as error:  # noqa: BLE001 - a watcher is the author's code: its error ends its example only
            lane.broken = error
            watching.verdict = Unscored(f"the watcher raised {type(error).__name__}: {text_of(error)}")
        self._agenda.listen(watching.counts - counted)

    def _advance(self) -> None:
        self._agenda.advance(position=self.channel.transcript.position, now=self.channel.clock.now)

    def _settle(self, lane: Lane) -> None:
        """The body has ended: report the example, unless one of its watchers has still to speak."""
        if self.channel.journal.over is not None:  # whoever asked a judge heard of it first, and ended by it
            raise self.channel.journal.over
        broken = lane.broken or lane.body.error
        if broken is None and lane.counting:
            return
        self._release(lane)
        if not lane.ended and (broken is not None or all(w.verdict is not None for w in lane.watching)):
            self._end(lane, lane.ending())

    def _release(self, lane: Lane) -> None:
        """Let its rivals start: who only listens to the end of the conversation keeps nobody waiting."""
        if lane.released:
            return
        lane.released = True
        if lane.own and lane.example.reset and lane.span is not None and self.gone is None:
            self._attempt(lambda: self.channel.ask(lane.example.key, "reset", lane.example.reset))
        self._agenda.end(lane.index)

    def _end(self, lane: Lane, ending: Ending) -> None:
        self.channel.journal.note("end", example=lane.example.key)
        lane.ended = True
        if self._watched.pop(lane.index, None) is not None:
            self._agenda.listen(-lane.counting)
        try:
            lane.body.finish(lane, ending)
        except ConversationOver:
            lane.ended = False  # its verdict could not be kept, and nothing of it was reported
            raise
