"""Conversation: the only loop that acts. The script decides, the port answers, and observers are notified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from pytest_ltm._core.engine.channel import Channel
from pytest_ltm._core.engine.lane import (
    CreditedQuestion,
    Ending,
    GreenBody,
    Lane,
    Watching,
)
from pytest_ltm._core.engine.port import MAX_CONSECUTIVE_FAULTS
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import KeptVerdict, ended_early
from pytest_ltm._core.model import schedule as _schedule
from pytest_ltm._core.model.agent import Capabilities
from pytest_ltm._core.model.filler import (
    Filler,
    FillerExchange,
    PastExchange,
    split_by_tokens,
)
from pytest_ltm._core.model.plan import Plan
from pytest_ltm._core.model.scenario import (
    Ask,
    Compact,
    NewSession,
    Request,
    Say,
    Wait,
    Watch,
    kind_of_request,
)
from pytest_ltm._core.model.score import Unscored
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.tools import Tools
from pytest_ltm._core.model.transcript import Exchange, Kind
from pytest_ltm._core.storage import errors as _errors

# --- Script: what comes next.


class Send(Struct, frozen=True):
    """Send a message that does not come from a body."""

    by: str
    kind: Kind
    text: str
    about: tuple[int, ...] = ()
    alone: bool = False


class SendFiller(Struct, frozen=True):
    """Send exactly this filler."""

    filler: FillerExchange


class TellHistoryPart(Struct, frozen=True):
    """Send one message of an exchange of the history."""

    number: int
    message: str


class Renew(Struct, frozen=True):
    """Begin the agent's next session."""


class Close(Struct, frozen=True):
    """End an example whose body was abandoned, with the given ending."""

    lane: int
    ending: Ending


class GiveUp(Struct, frozen=True):
    """End the conversation: nothing more can be sent."""

    reason: str


Action: TypeAlias = (
    "_schedule.Decision | Send | SendFiller | TellHistoryPart | Renew | Close | GiveUp"
)


class ScriptChanged(_errors.ConversationOver):
    """A body's message differs from its script; only its own example ends."""


class ConversationScript:
    """Decides what happens next in a conversation: the loop executes what `next` returns. The rest is optional."""

    @property
    def has_early_end(self) -> bool:
        """Whether the script repeats a conversation that ended early, with the same ending."""
        return False

    def next(self, conversation: Conversation) -> Action | None:
        """Return the next decision; None if there is nothing to do this time."""
        raise NotImplementedError

    def decide_ahead(self, conversation: Conversation, lane: Lane) -> Iterable[Action]:  # noqa: ARG002 - a script may need them
        """Return the decisions that precede the next request of a body."""
        return ()

    def check(
        self,
        lane: Lane,
        say: Say
        | Ask
        | Compact
        | events.WaitBegan
        | events.SessionBegan
        | events.Watcher,
    ) -> None:
        """Raise ScriptChanged if the script has another message, wait or watcher at this place."""

    def admit(self, record: ConversationRecord, exchange: Exchange) -> None:
        """Raise AgentFault if the recorded exchange is not an answer."""

    def wait(
        self, conversation: Conversation, lane: Lane, wait: events.WaitBegan
    ) -> None:
        """Called when an example begins to wait."""

    def release(self, lane: Lane) -> str:
        """Allow the rivals of an example to start; return its reset message, or ""."""
        raise NotImplementedError

    def settle(self, lane: Lane) -> None:
        """Raise ScriptChanged if the script continues after the example's body has ended."""


class AgendaScript(ConversationScript):
    """Sends the opening message, then follows an agenda."""

    def __init__(
        self, plan: Plan, *, now: datetime, history: Sequence[PastExchange] = ()
    ) -> None:
        entries = [
            _schedule.AgendaEntry(
                scenario=e.scenario,
                incompatible=frozenset(e.incompatible),
                together=e.together,
            )
            for e in plan.examples
        ]
        self.agenda = _schedule.Agenda(
            entries, now=now, history=[past.at for past in history]
        )
        # An isolated example begins at once: an opening message would count towards its
        # span.
        self._opening = plan.opening if plan.span is not None else ""
        self._rhythm = _schedule.session_rhythm(
            plan.sessions, span=plan.span, began=now
        )
        self._compaction = _schedule.compaction_rhythm(plan.compact, span=plan.span)

    def next(self, conversation: Conversation) -> Action:
        """Return and record the agenda's decision; ConversationOver if the agent lacks sessions or compaction."""
        self._refuse(conversation.channel.capabilities)
        if self._opening:
            opening = self._opening
            self._opening = ""
            return Send("", "opening", opening)
        self._advance(conversation)
        decision = self.agenda.decide(listening=conversation.has_counting_watcher)
        # After the last example no user returns, and nothing remains to be remembered.
        if not isinstance(decision, _schedule.Finish):
            due = self._find_interruption(conversation)
            if due is not None:
                return due
        match decision:
            case _schedule.ResumeLane(index):
                self.agenda.resume(index)
            case _schedule.Start(index):
                self.agenda.start(index)
            case _schedule.Tell():
                self.agenda.tell()
        return decision

    def _refuse(self, capabilities: Capabilities) -> None:
        """Raise ConversationOver if the plan needs sessions or compaction and the agent supports neither."""
        if self._rhythm is not None and (
            obstacle := _schedule.cannot_come_back(capabilities)
        ):
            raise _errors.ConversationOver(
                f"sessions are asked for (--ltm-sessions), and {obstacle}"
            )
        if self._compaction is not None and "Compacts" not in capabilities:
            raise _errors.ConversationOver(
                f"--ltm-compact is given, and {_schedule.NO_COMPACTION}"
            )

    def _find_interruption(self, conversation: Conversation) -> Action | None:
        """Return the new session or the compaction that is due before the next message, if any."""
        position = conversation.channel.transcript.counted_tokens
        now = conversation.channel.clock.now
        if self._rhythm is not None and self._rhythm.is_over(position, now):
            return Renew()
        if self._compaction is not None and self._compaction.is_over(position, now):
            return Send("", "compact", Compact().text)
        return None

    def wait(
        self, conversation: Conversation, lane: Lane, wait: events.WaitBegan
    ) -> None:
        """Add the example's wait to the agenda."""
        self._advance(conversation)  # a real clock has moved since the last event
        self.agenda.suspend(
            lane.index, tokens=wait.tokens, time=wait.time, told=wait.history
        )

    def release(self, lane: Lane) -> str:
        """Remove the example from the agenda."""
        self.agenda.end(lane.index)
        if lane.own and lane.span is not None:
            return lane.example.reset
        return ""

    def _advance(self, conversation: Conversation) -> None:
        self.agenda.advance(
            position=conversation.channel.transcript.counted_tokens,
            now=conversation.channel.clock.now,
        )


class FillerSender:
    """Sends filler and history; AgentFault if the agent refuses them, ConversationOver if the filler fails."""

    def __init__(
        self,
        channel: Channel,
        filler: Filler,
        count: Callable[[str], int],
        history: Sequence[PastExchange] = (),
    ) -> None:
        self.history = history
        self.told: dict[str, tuple[int, ...]] = {}
        """Exchange numbers by the id of a told part of the history: several if it was sent in parts."""
        self._channel = channel
        self._filler = filler
        self._count = count

    def send_filler(self, tokens: int, *, answered: bool) -> Exchange:
        """Send filler of about `tokens` tokens; `answered`: the agent must reply, because a watcher counts replies."""
        try:
            # Called even if filler is recorded, so that the filler's sequence stays in
            # step.
            filler: object = self._filler.make(
                tokens, self._channel.port.max_message_tokens
            )
        except Exception as error:  # a filler may come from the user
            raise _errors.ConversationOver(
                f"the filler failed with {_errors.describe_error(error)}"
            ) from error
        if not isinstance(filler, FillerExchange):
            reason = f"make() returns a FillerExchange, not {filler!r}"
            raise _errors.ConversationOver(
                f"the filler failed with FillerError: {reason}"
            )
        filler = self._channel.recorded_filler() or filler
        if "AcceptsHistory" in self._channel.capabilities and not answered:
            exchange = self._channel.tell(filler)
        else:
            exchange = self._channel.ask(
                "", "filler", filler.message, tokens=filler.message_tokens
            )
        # Otherwise the agenda would ask for filler forever.
        if not self._channel.transcript.adds_tokens(exchange):
            raise _errors.ConversationOver(
                "the filler adds no tokens, so no wait would ever end. Use another --ltm-filler"
            )
        return exchange

    def messages(self, number: int) -> Sequence[str]:
        """Return the messages that convey one exchange of the history, split if it exceeds the agent's limit."""
        past = self.history[number]
        if self._shows(past):
            return (past.pictured,)
        if "AcceptsHistory" in self._channel.capabilities:
            return (past.message,)
        return split_by_tokens(
            past.asked, self._channel.port.max_message_tokens, self._count
        )

    def tell(self, number: int, message: str) -> Exchange:
        """Send one message of an exchange of the history; ConversationOver on a fault: no gaps are allowed."""
        past = self.history[number]
        try:
            if self._shows(past):
                exchange = self._channel.ask("", "history", message, images=past.images)
            elif "AcceptsHistory" in self._channel.capabilities:
                exchange = self._channel.tell(
                    FillerExchange(message, past.reply), history=past.id
                )
            else:
                exchange = self._channel.ask("", "history", message)
        except _errors.AgentFault as fault:
            raise _errors.ConversationOver(
                f"the agent did not take {past.id} of the history: {fault}"
            ) from fault
        # A question may depend on the exchange or on its contents: dialogue turns,
        # facts, summaries.
        for name in (past.id, *past.holds):
            self.told[name] = (*self.told.get(name, ()), exchange.number)
        if "ShowsRetrieval" in self._channel.capabilities:
            self._channel.texts.add(past, message)
        return exchange

    def _shows(self, past: PastExchange) -> bool:
        """Return whether an exchange is sent with its photos: images can be sent, but not told."""
        return bool(past.images) and "AcceptsImages" in self._channel.capabilities


class Conversation:
    """One dialogue with one agent, which plays every example of the plan.

    `script` decides what comes next; `channel` has the port and the observers. Every
    message is sent from `step`, which the port may suspend.
    """

    def __init__(
        self,
        plan: Plan,
        bodies: Sequence[GreenBody],
        script: ConversationScript,
        channel: Channel,
        *,
        filler: Filler,
        counter: TokenCounter,
        history: Sequence[PastExchange] = (),
    ) -> None:
        self.plan = plan
        self.script = script
        self.channel = channel
        self.filler_sender = FillerSender(channel, filler, counter.count, history)
        self.counter = counter
        self.notices: list[str] = []
        self.ended_because: str | None = None
        """Why the conversation ended early, if it did."""
        self.changed_scripts: dict[str, str] = {}
        """Why an example differs from its script, by example."""
        self.finished = False
        self.lanes: list[Lane] = []
        for example, body in zip(plan.examples, bodies, strict=True):
            span = None if plan.span is None else example.span or plan.span
            self.lanes.append(Lane(len(self.lanes), example, body, span))
        self._watched: dict[int, Lane] = {}

    @property
    def has_counting_watcher(self) -> bool:
        """Whether a watcher counts replies and has no verdict yet."""
        return any(lane.has_counting_watcher for lane in self._watched.values())

    def step(self) -> None:
        """Carry out one decision; after the last, `finished` is true. DiskFault if the journal cannot be written."""
        try:
            if self.ended_because is None:
                self._run_action(self.script.next(self))
                return
            if self.channel.port.replaying and not self.script.has_early_end:
                # The record must not change.
                self.channel.journal.over = (
                    self.channel.journal.over
                    or _errors.ConversationOver(self.ended_because)
                )
            for lane in self.lanes:
                if lane.ended:
                    continue
                if lane.start is not None:
                    lane.body.unwind_body()
                self._report_ending(lane, Ending(unreached=self.ended_because))
            self.channel.journal.note(events.End(reason=self.ended_because))
            self.finished = True
        except _errors.DiskFault:
            raise
        except _errors.ConversationOver as over:
            self.give_up(str(over))

    def _run_action(self, action: Action | None) -> None:
        match action:
            case _schedule.ResumeLane(index):
                self._speak(self.lanes[index], self.lanes[index].body.resume(None))
            case _schedule.Start(index):
                self._begin_example(self.lanes[index])
            case Close(index, ending):
                self._report_ending(self.lanes[index], ending)
            case GiveUp(reason):
                self.give_up(reason)
            case _schedule.Finish():
                # Nothing more can decide a watcher, so each is asked a last time.
                for lane in list(self._watched.values()):
                    for watching in lane.watching:
                        if watching.verdict is None:
                            self._ask_watcher(lane, watching, at_end=True)
                    self._finish_example(lane)
                self.channel.journal.write(events.End(reason="complete"))
                self.finished = True
            case None:
                pass
            case _:
                self._send(action)

    def _send(self, action: Action) -> None:
        match action:
            case Renew():
                self._renew(events.SessionBegan())
            case _schedule.JumpTime(to):
                self._jump_to(to)
            case _schedule.Tell(number):
                if (
                    time := self.filler_sender.history[number].at
                ) > self.channel.clock.now:
                    self._jump_to(time)
                for message in self.filler_sender.messages(number):
                    self._feed_watchers(self.filler_sender.tell(number, message))
            case TellHistoryPart(number, message):
                self._feed_watchers(self.filler_sender.tell(number, message))
            case _schedule.Fill(tokens):
                # A watcher that counts replies needs real ones; otherwise telling saves
                # the agent's time and money.
                self._send_safely(
                    lambda: self.filler_sender.send_filler(
                        tokens, answered=self.has_counting_watcher
                    )
                )
            case Send(by, kind, text, about, alone):
                self._send_safely(
                    lambda: self.channel.ask(by, kind, text, about, alone=alone)
                )
            case SendFiller(filler):
                self._send_safely(lambda: self.channel.tell(filler))

    def give_up(self, reason: str) -> None:
        """Send nothing more; examples that have not ended are reported as not reached."""
        if self.ended_because is None:
            self.ended_because = reason
            self.notices.append(ended_early(reason))

    def close(self, reason: str) -> None:
        """Unwind the bodies in progress without reporting them, and close the files."""
        for lane in self.lanes:
            # A body that never began has no greenlet to unwind and no clean-up to run.
            if lane.start is not None and not lane.ended:
                lane.body.unwind_body()
        # A journal that is still being replayed has its end already, or will be resumed
        # further.
        if not self.finished and not self.channel.port.replaying:
            self.channel.journal.note(events.End(reason=reason))
        self.finished = True
        notice = self.channel.close()
        if notice:
            self.notices.append(notice)

    # --- actions of the script

    def _begin_example(self, lane: Lane) -> None:
        lane.start = self.channel.transcript.counted_tokens
        # Before anything is written: an example that the agent cannot play never began.
        unplayable = lane.unplayable(self.counter, self.channel.capabilities)
        if unplayable:
            self._release_rivals(lane)
            self._report_ending(lane, Ending(unplayable=unplayable))
            return
        now = self.channel.clock.now
        self.channel.journal.write(
            events.Begin(
                example=lane.example.key, position=self.channel.record.position, now=now
            )
        )
        self._speak(lane, lane.body.begin())

    def _jump_to(self, to: datetime) -> None:
        self.channel.journal.write(events.TimeJumped(to=to))
        if not self.channel.port.replaying:
            self.channel.clock.advance(to)
            return
        try:
            self.channel.clock.jump_to_recorded(to)
        except ValueError as error:
            raise _errors.Divergence(
                f"the journal holds an impossible jump: {error}"
            ) from error

    # --- one example sends until it waits or ends

    def _speak(self, lane: Lane, request: Request | None) -> None:
        try:
            while request is not None:
                if self.ended_because is not None and isinstance(
                    request, (Say, Ask, Compact)
                ):
                    return  # nothing more is sent; the next step unwinds the body
                try:
                    self._catch_up(lane)
                    if isinstance(request, Wait):
                        self._wait(lane, request)
                        return
                    value = self._serve(lane, request)
                except _errors.ConversationOver:
                    raise
                except _errors.LtmError as error:
                    request = lane.body.throw_error(error)
                    if isinstance(error, _errors.AgentFault):
                        lane.broken = error
                        if request is not None:
                            # The body swallowed the fault; nothing that it says now
                            # could be scored.
                            lane.body.unwind_body()
                        break
                else:
                    request = lane.body.resume(value)
            lane.body_ended = True
            self._finish_example(lane)
        except ScriptChanged as changed:
            kept_verdict = KeptVerdict(example=lane.example.key, why=str(changed))
            self.changed_scripts[kept_verdict.example] = kept_verdict.why
            self.notices.append(kept_verdict.notice_text)
            lane.body.unwind_body()
            # The example keeps its recorded verdict, whatever its body raises while it
            # is unwound.
            lane.body_ended = True
            lane.broken = None
            self._watched.pop(lane.index, None)

    def _catch_up(self, lane: Lane) -> None:
        for action in self.script.decide_ahead(self, lane):
            self._run_action(action)
            if self.ended_because is not None:
                raise _errors.ConversationOver(self.ended_because)

    def _wait(self, lane: Lane, wait: Wait) -> None:
        tokens, time = lane.targets(
            wait,
            position=self.channel.transcript.counted_tokens,
            now=self.channel.clock.now,
        )
        history_length = len(self.filler_sender.history)
        if wait.history > history_length:
            raise _errors.ScenarioError(
                f"waits for {wait.history} exchanges of the history, and it has {history_length}"
            )
        # Checked before it is written: a journal must not contain what did not happen.
        event = events.WaitBegan(
            example=lane.example.key, tokens=tokens, time=time, history=wait.history
        )
        self.script.check(lane, event)
        self.channel.journal.write(event)
        self.script.wait(self, lane, event)

    def _serve(
        self, lane: Lane, request: Say | Ask | Watch | NewSession | Compact
    ) -> str | None:
        if isinstance(request, Watch):
            self._watch(lane, request)
            return None
        if isinstance(request, NewSession):
            event = events.SessionBegan(example=lane.example.key)
            self.script.check(lane, event)
            self._renew(event)
            return None
        if isinstance(request, Compact):
            return self._compact(lane, request)
        if request.user and "SeparatesUsers" not in self.channel.capabilities:
            raise _errors.Unmeasured(_schedule.NO_USERS, cause="requires")
        tools = lane.body.sheet.offered_tools()
        if tools is not None and "TakesTools" not in self.channel.capabilities:
            raise _errors.Unmeasured(_schedule.NO_TOOLS, cause="requires")
        question = request if isinstance(request, Ask) else None
        needles: tuple[int, ...] = ()
        images: Sequence[str] = ()
        alone = False
        if question is not None:
            needles = lane.needles(question.about, self.filler_sender.told)
            apart = (
                self.plan.questions == "alone"
                if question.alone is None
                else question.alone
            )
            can_act = tools is not None  # to act is to leave a trace
            alone = apart and self.channel.capabilities.asked_alone and not can_act
            images = (
                question.images if "AcceptsImages" in self.channel.capabilities else ()
            )
        answer = "" if question is None else question.answer
        lane.unprompted = lane.unprompted or (answer is None and self.channel.prompts)
        # Checked before anything is sent: a body that differs from its record ends
        # without sending.
        self.script.check(lane, request)
        try:
            exchange = self.channel.ask(
                lane.example.key,
                kind_of_request(request),
                request.text,
                needles,
                images=images,
                answer=answer,
                user=request.user,
                alone=alone,
                withdrawn=lane.withdrawn_values(request),
                tools=tools,
                calls=() if question is None else question.calls,
            )
        except _errors.AgentFault as fault:
            self._count_fault(fault)
            raise
        self.script.admit(self.channel.record, exchange)
        lane.note_exchange(request, exchange)
        if question is not None:
            lane.questions.append(
                CreditedQuestion(exchange.number, needles, answer or "")
            )
        self._feed_watchers(exchange)
        if tools is not None:
            _settle_calls(tools, exchange)
        return exchange.reply

    def _compact(self, lane: Lane, request: Compact) -> str:
        if "Compacts" not in self.channel.capabilities:
            raise _errors.Unmeasured(_schedule.NO_COMPACTION, cause="requires")
        self.script.check(lane, request)
        try:
            exchange = self.channel.ask(
                lane.example.key, kind_of_request(request), request.text, answer=""
            )
        except _errors.AgentFault as fault:
            self._count_fault(fault)
            raise
        return exchange.reply

    def _renew(self, event: events.SessionBegan) -> None:
        obstacle = _schedule.cannot_come_back(self.channel.capabilities)
        # A control gets its answers from the plan, so it can stay without returning.
        if obstacle and "Prompted" not in self.channel.capabilities:
            raise _errors.Unmeasured(obstacle, cause="requires")
        self.channel.journal.write(event)
        if obstacle:
            return
        try:
            notice = self.channel.port.new_session()
        except _errors.AgentFault as fault:
            raise _errors.ConversationOver(
                f"the agent could not be saved for its next session: {fault}"
            ) from fault
        if notice:
            self.notices.append(notice)

    def _watch(self, lane: Lane, request: Watch) -> None:
        if not lane.own:
            raise _errors.ScenarioError(
                "watches before it has said anything. Tell the agent what to do first"
            )
        event = events.Watcher(example=lane.example.key, replies=request.replies)
        self.script.check(lane, event)
        last = lane.own[-1].number
        if not lane.questions or lane.questions[-1].number != last:
            lane.questions.append(
                CreditedQuestion(
                    last,
                    tuple(
                        number for number in lane.uncredited_exchanges if number != last
                    ),
                )
            )
        transcript = self.channel.transcript
        since = [
            exchange
            for exchange in transcript.since(last)
            if not exchange.told
            and exchange.kind != "compact"
            and (not exchange.alone or exchange.number == last)
        ]
        watching = Watching(request, since[: request.replies])
        lane.watching.append(watching)
        self._watched[lane.index] = lane
        self.channel.journal.write(event)
        if request.answers is not None:
            self.channel.expect(
                request.answers, (*lane.questions[-1].needles, last), replies=len(since)
            )
        else:
            lane.unprompted = lane.unprompted or self.channel.prompts
        self._ask_watcher(lane, watching)

    # --- consequences of exchanges and endings

    def _send_safely(self, send: Callable[[], Exchange]) -> None:
        try:
            exchange = send()
        except _errors.AgentFault as fault:
            self._count_fault(fault)
        else:
            self._feed_watchers(exchange)

    def _count_fault(self, fault: _errors.AgentFault) -> None:
        if fault.leak:
            return
        faults = self.channel.record.faults_in_a_row
        if fault.fatal or faults >= MAX_CONSECUTIVE_FAULTS:
            times = f"{faults} faults in a row, the last: " if faults > 1 else ""
            self.give_up(f"the agent is gone ({times}{fault})")

    def _feed_watchers(self, exchange: Exchange) -> None:
        is_reply = not (exchange.told or exchange.alone or exchange.kind == "compact")
        if not is_reply or not self._watched:
            return
        watched = list(self._watched.values())
        for lane in watched:
            for watching in lane.watching:
                if (
                    watching.verdict is None
                    and watching.since[-1].number < exchange.number
                ):
                    watching.since.append(exchange)
                    self._ask_watcher(lane, watching)
        # Only now: an ending may send a reset message, which the other watchers must
        # see after this exchange.
        for lane in watched:
            if lane.body_ended:
                self._finish_example(lane)

    def _ask_watcher(
        self, lane: Lane, watching: Watching, *, at_end: bool = False
    ) -> None:
        try:
            lane.body.judging(lambda: watching.look(at_end=at_end))
        except lane.body.fatal:
            raise
        except BaseException as error:  # noqa: BLE001 - a watcher may come from the user
            lane.broken = error
            watching.verdict = Unscored(
                f"the watcher raised {type(error).__name__}: {_errors.text_of(error)}"
            )

    def _finish_example(self, lane: Lane) -> None:
        """Report an example whose body has ended, unless one of its watchers has no verdict yet."""
        if lane.example.key in self.changed_scripts:
            return
        self.script.settle(lane)
        if self.channel.journal.over is not None:
            # A body that asked a judge hit the limit first, and ended.
            raise self.channel.journal.over
        broken = lane.broken or lane.body.error
        if broken is None and lane.has_counting_watcher:
            return
        self._release_rivals(lane)
        if not lane.ended and (
            broken is not None or all(w.verdict is not None for w in lane.watching)
        ):
            self._report_ending(lane, lane.ending())

    def _release_rivals(self, lane: Lane) -> None:
        """Allow the rivals to start: a watcher that runs until the end of the conversation does not block them."""
        if lane.released:
            return
        lane.released = True
        reset = self.script.release(lane)
        if reset and self.ended_because is None:
            self._send_safely(
                lambda: self.channel.ask(lane.example.key, "reset", reset)
            )

    def _report_ending(self, lane: Lane, ending: Ending) -> None:
        # `note`, not `write`: an ending must not fail when nothing can be written any
        # more.
        self.channel.journal.note(events.End(example=lane.example.key))
        lane.ended = True
        self._watched.pop(lane.index, None)
        try:
            lane.body.finish(lane, ending)
        except _errors.ConversationOver:
            lane.ended = (
                False  # its verdict could not be kept, and nothing of it was reported
            )
            raise


def _settle_calls(tools: Tools, exchange: Exchange) -> None:
    """Replay recorded calls to the scenario's functions; ScenarioError if one of the functions raised."""
    if exchange.calls and not tools.answered:
        tools.repeat(exchange.calls)
    if tools.failure is not None:
        raise _errors.ScenarioError(
            f"a tool of the scenario failed with {_errors.describe_error(tools.failure)}"
        ) from tools.failure
