"""PlayedConversation: one conversation of the run, from its items to its results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, TypeVar

from pytest_ltm._core.calls.airlock import exact_pairs
from pytest_ltm._core.calls.conversation_thread import own_thread
from pytest_ltm._core.engine.factory import ConversationFactory
from pytest_ltm._core.engine.lane import Ending, Lane
from pytest_ltm._core.engine.scoring import ending_of, scenario_result, usage_totals
from pytest_ltm._core.internals.item_context import UnattributedOutput
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.cost import Bill, lost_with_judge
from pytest_ltm._core.journal.result import ConversationResult, Ended, ScenarioResult
from pytest_ltm._core.journal.retrieval import covers_all
from pytest_ltm._core.journal.run_file import JOURNAL, TIMINGS
from pytest_ltm._core.model.agent import NOT_ASKED_ALONE, Usage
from pytest_ltm._core.model.handle import Ltm, LtmUser
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.session.conversation_setup import (
    ConversationInputs,
    ConversationMode,
    UserLine,
)
from pytest_ltm._core.session.dataset import conversation_start, told_in
from pytest_ltm._core.session.hook_calls import HookCalls, ask_first
from pytest_ltm._core.session.item_body import (
    SKIPS,
    BodyConditions,
    ItemBody,
    Membership,
)
from pytest_ltm._core.session.planning import around_agent, clock_for, plan_for
from pytest_ltm._core.session.state import ItemSide
from pytest_ltm._core.storage.errors import LtmInternalError
from pytest_ltm._core.storage.wording import pluralize

T = TypeVar("T")


class PlayedConversation:
    """The items that share one agent and one journal; `heard` is called after each exchange that is not recorded."""

    def __init__(
        self,
        inputs: ConversationInputs,
        mode: ConversationMode,
        conditions: BodyConditions,
        *,
        again: Callable[[], str],
        heard: Callable[[PlayedConversation, Exchange], None],
        hooks: HookCalls,
    ) -> None:
        self._hooks = hooks
        self.inputs = inputs
        self.name = str(inputs.place.conversation)
        self._mode = mode
        self._again = again
        self._closed = False
        settings = inputs.settings
        self.span = settings.spans[inputs.place.span]
        self.results: dict[str, ScenarioResult] = {}
        self._handles: list[Ltm] = []
        self.bodies = {item.key: ItemBody(item, conditions) for item in inputs.items}
        self._unattributed = UnattributedOutput(inputs.config)
        self._time = "simulated" if inputs.source.apart else settings.time
        self._unreported = list(self.bodies.values())
        """In order, without those at the end that are known to be reported."""
        tokens = token_counter(settings.tokenizer)
        introduction = told_in(settings, inputs.place)
        self._clock = clock_for(
            settings.time, self._jumped, conversation_start(introduction)
        )
        history = () if introduction is None else introduction.history
        today = plan_for(inputs.items, settings)
        self.plan = mode.plan(today.plan)
        factory = ConversationFactory(
            plan=self.plan,
            seed=settings.seed.value,
            clock=self._clock,
            counter=tokens,
            filler=today.filler,
            history=history,
            calling=self._calling,
        )
        opened = self._opened = mode.open(factory)
        # After the folder is open: a resumed conversation begins at its recorded time.
        self.start = self._clock.now
        self._judge = mode.judge(
            opened,
            lambda: (
                known_question
                for ltm in self._handles
                for known_question in ltm.known_questions
            ),
        )
        self._users = UsersOnDemand(lambda: mode.users(opened))
        self._bill = Bill(inputs.tariff)
        bodies = [self.bodies[example.key] for example in self.plan.examples]
        self.conversation = factory.open(
            bodies,
            opened.script,
            opened.port,
            opened.journal,
            observers=[*opened.observers, self._bill.count_event],
            heard=lambda exchange: heard(self, exchange),
        )
        if opened.obstacle:
            self.conversation.give_up(opened.obstacle)
        for example in self.plan.examples:
            body = self.bodies[example.key]
            unready = today.unready.get(example.key)
            body.agents_traceback = opened.traceback
            body.recorded = opened.verdicts.get(example.key)
            judge = None if self._judge is None else self._judge.handle(example.key)
            users = self._users.handle(example.key)
            ltm = factory.handle(
                body.send,
                example,
                lambda: self.conversation,
                judge=judge,
                users=users,
                offers="TakesTools" in example.requires,
                compacts="Compacts" in example.requires,
            )
            self._handles.append(ltm)
            body.join(
                Membership(self.conversation, ltm, self._example_ended), unready=unready
            )

    def _calling(self, by: str, call: Callable[[], T]) -> T:
        body = self.bodies.get(by)
        thread = own_thread()
        mine = None if body is None or body.reported else body

        def output() -> AbstractContextManager[object]:
            if mine is None:
                return self._unattributed.active()
            return mine.talking()

        level = logging.root.level if mine is None else mine.log_level
        with (
            around_agent(self._time, self._clock, output())
            if thread is None
            else thread.capture_logs(output, level)
        ):
            return call()

    def _jumped(self, before: datetime, now: datetime) -> None:
        config = self.inputs.config
        spec = self.inputs.source.spec
        ask_first(
            config,
            "pytest_ltm_time_jumped",
            config=config,
            spec=spec,
            agent=self._opened.port.agent,
            before=before,
            now=now,
        )

    @property
    def agent_fingerprint(self) -> str:
        """The fingerprint of the agent's configuration; "" if unknown."""
        return self._opened.agent_fingerprint

    def observe(self, observer: Callable[[events.Event], object]) -> None:
        """Add an observer, which is notified of each later event after it is written."""
        self._opened.journal.observers.append(observer)

    # --- its course

    def play(
        self, interrupted: Callable[[], bool], body: ItemSide | None = None
    ) -> None:
        """Play the conversation until its end or until `body` is reported; stops early if the session stops."""
        while not (
            interrupted()
            or self.all_are_reported
            or (body is not None and body.reported)
        ):
            if self.conversation.finished:
                raise LtmInternalError(f"{self.name} is over, and not all was reported")
            self.conversation.step()
        # While others are playing, ending it would delay a session that is about to
        # stop.
        if self.all_are_reported and (body is not None or not interrupted()):
            self.close("complete")

    @property
    def all_are_reported(self) -> bool:
        """Whether only closing it remains."""
        while self._unreported and self._unreported[-1].reported:
            self._unreported.pop()
        return not self._unreported

    def note(self, nodeid: str, label: str, ok: bool) -> None:
        """Record a reported part of an item as a check of its example."""
        for body in self.bodies.values():
            if body.item.nodeid == nodeid and not body.reported:
                body.handle.check(label, ok)

    def begin_no_more(self) -> None:
        """Release the fixtures of examples that have not begun: the pytest session is about to stop."""
        for body in self.bodies.values():
            if not body.is_begun:
                body.let_go()

    def flush_journal(self) -> None:
        """Ensure that everything written is on disk; the process is about to end."""
        self._opened.journal.close()

    def close(self, reason: str) -> None:
        """Finish the files; bodies still in progress are unwound without a report."""
        if self._closed:
            return
        self._closed = True
        while reason == "complete" and not self.conversation.finished:
            self.conversation.step()
        replaying = self._opened.journal.replaying
        try:
            self.conversation.close(reason)
        finally:
            # Last in, first out, as in pytest; items that were never set up are
            # released at once.
            for body in reversed(self.bodies.values()):
                if not body.reported:
                    body.withdraw_item()
            if self._judge is not None:
                self._judge.close()
            self._users.close()
            self._mode.close(self._opened)
            self._unattributed.close()
            for body in self.bodies.values():
                body.release()
        stopped = reason != "complete"
        if not (stopped and replaying):
            # Less has been replayed so far than the file has.
            result = self._result(stopped=stopped)
            self._mode.keep_result(
                self.conversation, result, stopped=stopped, replaying=replaying
            )

    def _example_ended(
        self, body: ItemBody, lane: Lane, ending: Ending
    ) -> tuple[ScenarioResult, str]:
        channel = self.conversation.channel
        place = self.inputs.place
        key = lane.example.key
        marks = body.known.marks
        row = scenario_result(
            lane,
            ending,
            channel.transcript,
            costs=self._bill.costs,
            guesses=self._bill.guesses,
            agent=place.agent,
            span_label=place.span,
            trial=place.conversation.trial,
            nodeid=body.item.nodeid,
            pass_k=marks.pass_k,
            floor=float(marks.floor),
            own_wish=isinstance(ending.error, SKIPS),
            memory=channel.record.memory,
            reading=self.plan.reading.version if self.plan.scoring == "current" else "",
            **({} if self._judge is None else self._judge.result_fields(key)),
            **self._users.result_fields(key),
        )
        result = self.results[key] = self._mode.end_example(body, lane, ending, row)
        checks = tuple(
            (check.label, None if check.open else check.ok) for check in result.checks
        )
        channel.journal.note(
            events.VerdictRecorded(
                example=key,
                score=result.score,
                reason=result.reason,
                rule=result.rule,
                evidence=result.evidence,
                checks=checks,
                upper=result.upper,
            )
        )
        if not body.conditions.withheld:
            for properties in self._hooks.ask_all(
                "pytest_ltm_properties", exact_pairs, result=result
            ):
                body.item.user_properties.extend(properties)
        if result.scored or result.cause in ("unscored", "ungraded"):
            self._hooks.tell_all(
                "pytest_ltm_verdict",
                config=self.inputs.config,
                nodeid=result.nodeid,
                verdict=ending_of(result).verdict,
            )
        if result.outcome == "failed":
            text = self.inputs.config.hook.pytest_ltm_failure_text(
                result=result, transcript=channel.transcript, again=self._again()
            )
        else:
            text = ""
        return result, text

    def _result(self, *, stopped: bool) -> ConversationResult:
        conversation = self.conversation
        plan = self.plan
        place = self.inputs.place
        account = self.inputs.account
        fields = usage_totals(conversation.channel.record, self._bill)
        together = 0
        if plan.questions == "alone":
            for exchange in conversation.channel.transcript:
                together += exchange.kind == "ask" and not exchange.alone
        ended: Ended = "interrupted" if stopped else "complete"
        if conversation.ended_because:
            if account is None or account.refused is None:
                ended = "agent gone"
            else:
                ended = "budget spent"
        return ConversationResult(
            agent=place.agent,
            agent_spec=self.inputs.source.spec,
            span_label=place.span,
            span=self.span,
            trial=place.conversation.trial,
            plan_fingerprint=plan.fingerprint,
            agent_fingerprint=self.agent_fingerprint,
            scenarios=tuple(
                self.results[example.key]
                for example in plan.examples
                if example.key in self.results
            ),
            simulated_seconds=(self._clock.now - self.start).total_seconds(),
            notices=tuple(
                dict.fromkeys(self._notices(fields, together))
            ),  # a recorded notice may occur again
            ended=ended,
            gone=conversation.ended_because or "",
            journal=self._opened.journal.head,
            asked_together=together,
            **fields,
        )

    def _notices(self, fields: Mapping[str, Any], together: int) -> Iterator[str]:
        """Yield the notices for readers of the results; `together`: how many questions were not asked alone."""
        conversation = self.conversation
        bill = self._bill
        plan = self.plan
        yield from conversation.notices
        yield from self._mode.notices(conversation)
        if any(
            not exchange.told and not exchange.raw_reply
            for exchange in conversation.channel.transcript
        ):
            yield "the agent gave empty replies: accepted and scored as given"
        if bill.guesses:
            yield (
                f"{pluralize(len(bill.guesses), 'exchange')} did not report all that it used: tokens and dollars are "
                "estimates (~), from the texts sent and received"
            )
        yield from self._loss_notices()
        if plan.count == "all" and fields["reply_tokens"] > fields["tokens"] / 2:
            yield (
                f"{fields['reply_tokens'] / fields['tokens']:.0%} of the tokens are the agent's own, and all of "
                "them count towards spans: the more it says, the less it is told between needle and question. See "
                "--ltm-count"
            )
        if times := len(conversation.channel.record.sessions):
            yield (
                f"{times + 1} sessions: the agent was made again {pluralize(times, 'time')}, with its own memory only"
            )
        elif plan.sessions and not conversation.ended_because:
            yield "one session only: the conversation ended before the second of --ltm-sessions was due"
        if together:
            yield f"{pluralize(together, 'question')} asked in one talk, not each alone: {NOT_ASKED_ALONE}"
        if covers_all(conversation.channel.transcript):
            yield (
                "each question got at least as many memories as there were exchanges before it, so nothing was left "
                "out and retrieval is not measured: choose a smaller k or a longer span"
            )

    def _loss_notices(self) -> Iterator[str]:
        """Yield notices about the usage of failed attempts of agent and judge."""
        wasted = "failed attempts used about {:,} tokens{}, which is in no other figure"
        bill = self._bill
        if bill.lost is not None:
            dollars = "" if bill.lost_usd is None else f", ${bill.lost_usd:.4f}"
            yield wasted.format(bill.lost.total, dollars)
        if self._judge is None:
            return
        tariff = self.inputs.costs.judge.tariff
        folder = self.inputs.folder
        tokens, usd = lost_with_judge(folder / JOURNAL, folder / TIMINGS, tariff)
        if tokens:
            has_price = tariff.dollars_for(Usage()) is not None
            dollars = f", ${usd:.4f}" if has_price else ""
            yield f"the judge's {wasted.format(tokens, dollars)}"


class UsersOnDemand:
    """The models of simulated users, connected when a scenario first needs one."""

    def __init__(self, connect: Callable[[], UserLine]) -> None:
        self._connect = connect
        self._line: UserLine | None = None

    def handle(self, example: str) -> Callable[..., LtmUser]:
        """Return the factory of the users of one example."""

        def make_user(goal: str, **terms: Any) -> LtmUser:
            if self._line is None:
                self._line = self._connect()
            return self._line.handle(example)(goal, **terms)

        return make_user

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return the fields of ScenarioResult about the users of an example."""
        if self._line is None:
            return {}
        return self._line.result_fields(example)

    def close(self) -> None:
        """Close the models, if connected."""
        if self._line is not None:
            self._line.close()
