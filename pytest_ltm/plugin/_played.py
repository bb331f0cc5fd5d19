"""PlayedConversation: one conversation of the run, from its items to its folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._channel import Channel
from pytest_ltm._conversation import Conversation
from pytest_ltm._errors import LtmInternalError
from pytest_ltm._handle import Ltm
from pytest_ltm._plan import body_rng
from pytest_ltm._recording import CHECKPOINTS, RESULTS
from pytest_ltm._rescore._rows import recorded_result
from pytest_ltm._result import ConversationResult, ScenarioResult, write_results
from pytest_ltm._scoring import scenario_result
from pytest_ltm._tokens import counter
from pytest_ltm._transcript import retrieved_last
from pytest_ltm.agents._powers import near_misses
from pytest_ltm.plugin import _internals as internals
from pytest_ltm.plugin import _time
from pytest_ltm.plugin._body import SKIPS, ItemBody
from pytest_ltm.plugin._dataset import begins, told_in
from pytest_ltm.plugin._judging import desk_for
from pytest_ltm.plugin._opened import Supply, open_folder
from pytest_ltm.plugin._planning import filler_for, plan_for, retold
from pytest_ltm.plugin._state import LANE
from pytest_ltm.reporting._failure import failure_text
from pytest_ltm.reporting._summary import user_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    import pytest

    from pytest_ltm._filler import Filler
    from pytest_ltm._lane import Ending, Lane
    from pytest_ltm._result import Ended
    from pytest_ltm._transcript import Exchange
    from pytest_ltm.agents._adapt import AgentSource
    from pytest_ltm.plugin._costs import RunCosts
    from pytest_ltm.plugin._items import LtmItem
    from pytest_ltm.plugin._settings import Settings


class PlayedConversation:
    """The items that share one agent and one journal."""

    def __init__(
        self,
        known: Sequence[LtmItem],
        settings: Settings,
        source: AgentSource,
        *,
        folder: Path,
        setup_state: internals.TreeSetupState,
        pool: internals.Pool,
        next_up: Callable[[pytest.Item], pytest.Item | None],
        again: str,
        listener: Callable[[PlayedConversation, Exchange], None],
        costs: RunCosts,
    ) -> None:
        self.place, self._settings, self._source, self._folder = known[0].place, settings, source, folder
        self._again, self._listener = again, listener
        self._costs, self._account = costs, costs.account(folder.name)
        self.span = settings.spans[self.place.span]
        self.results: dict[str, ScenarioResult] = {}
        self.bodies: dict[str, ItemBody] = {
            one.key: ItemBody(one, setup_state, pool, ended=self._example_ended, next_up=next_up) for one in known
        }
        self._counter = counter(settings.tokenizer)
        self._retold = None if settings.rescored is None else retold(settings.rescored / folder.name, settings)
        told = told_in(settings, self.place)
        self._history = () if told is None else told.history
        self._clock = _time.clock_for(settings.time, self._jumped, begins(told))
        self._closed = False
        filler = filler_for(self.config, settings, self.place.trial, self._counter)
        self.plan, unready = plan_for(known, settings, filler)
        for key, error in unready.items():
            self.bodies[key].unready = error
        self.conversation = self._conversation(filler)
        for body in self.bodies.values():
            self._give_handle(body)

    # --- how it is made

    def _conversation(self, filler: Filler) -> Conversation:
        supply = Supply(self._source, self._settings, self._folder, label=self.place.agent, trial=self.place.trial)
        if self._retold is None:
            self._opened = open_folder(self._folder, self.plan, supply, self._clock)
        else:
            self._opened = self._retold.open(self._folder, self.plan, self._clock)
        opened = self._opened
        self._start = self._clock.now
        self._desk = desk_for(
            self.config, self._settings, self.place, journal=opened.journal, timings=opened.timings,
            retold=self._retold,
            tariff=self._costs.judge.tariff, account=self._account,
        )  # fmt: skip
        channel = Channel(
            opened.seat,
            self._counter,
            self._clock,
            opened.journal,
            opened.timings,
            heard=lambda exchange: self._listener(self, exchange),
            around=self._around,
            tariff=self._costs.agents[self.place.agent].tariff,
            account=self._account,
        )
        supply.retried = channel.retried
        bodies = [self.bodies[example.key] for example in self.plan.examples]
        make: Callable[..., Conversation] = Conversation if self._retold is None else self._retold.conversation
        conversation = make(
            self.plan, bodies, channel=channel, filler=filler, counter=self._counter, history=self._history
        )
        for body in bodies:
            body.conversation, body.seat = conversation, opened.seat
        if opened.gone:
            conversation.give_up(opened.gone)
        return conversation

    def _give_handle(self, body: ItemBody) -> None:
        example = next(example for example in self.plan.examples if example.key == body.known.key)
        clock = self._clock
        body.handle = Ltm(
            body.send,
            now=lambda: clock.now,
            example=example.number,
            span=None if self.span is None else example.span or self.span,
            rng=body_rng(self._settings.seed, self.place.trial, example),
            definition=example.definition,
            scoring=self._settings.scoring,
            judge=None if self._desk is None else self._desk.handle(example.key),
            retrieved=lambda: retrieved_last(self.conversation.channel.transcript, example.key),
        )
        body.sheet = body.handle.sheet

    def _around(self, by: str) -> AbstractContextManager[object]:
        body = self.bodies.get(by)
        claimed = body is not None and not body.reported
        output = body.talking() if body is not None and claimed else internals.unclaimed(self.config)
        return _time.around_agent(self._settings.time, self._clock, output)

    def _jumped(self, before: datetime, now: datetime) -> None:
        self.config.hook.pytest_ltm_time_jumped(
            config=self.config, spec=self._source.spec, agent=self._opened.seat.agent, before=before, now=now
        )

    # --- what becomes of it

    @property
    def config(self) -> pytest.Config:
        """The pytest configuration."""
        return next(iter(self.bodies.values())).item.config

    def play_until_reported(self, item: pytest.Item, interrupted: Callable[[], bool]) -> None:
        """Carry the conversation on until this item has been reported, or something stops the pytest session."""
        body = item.stash[LANE]
        while not body.reported and not interrupted():
            if self.conversation.finished:
                raise LtmInternalError(f"the conversation is over and {item.nodeid} was never reported")
            self.conversation.step()
        if all(body.reported for body in self.bodies.values()):
            self.close("complete")

    def note(self, nodeid: str, label: str, ok: bool) -> None:
        """A part of an item has been reported: it is a check of its example."""
        for body in self.bodies.values():
            if body.item.nodeid == nodeid and not body.reported:
                body.handle.check(label, ok)

    def begin_no_more(self) -> None:
        """The pytest session is about to stop: whoever has not begun needs no fixtures any more."""
        for body in self.bodies.values():
            if not body.begun:
                body.let_go()

    def close(self, reason: str) -> None:
        """Finish the files; what is still in progress is unwound and not reported."""
        if self._closed:
            return
        self._closed = True
        while reason == "complete" and not self.conversation.finished:
            self.conversation.step()
        replaying = self._opened.journal.replaying
        try:
            self.conversation.close(reason)
        finally:
            self._let_go()
        less = replaying and reason != "complete"  # what was read again so far is less than what is there
        if self._retold or not less:
            result, cut_off = self._result(reason), replaying and not self._retold  # what is recorded is not said again
            keeps = self._opened.untouched or cut_off
            write_results(self._folder / RESULTS, self._beside_recorded(result) if keeps else result)
        if reason == "complete" and self.conversation.gone is None:  # nobody will go on with it
            shutil.rmtree(self._folder / CHECKPOINTS, ignore_errors=True)

    def _let_go(self) -> None:
        # Last in, first out, as pytest would: who was never set up is let go at once.
        for body in reversed(self.bodies.values()):
            if not body.reported:
                body.withdraw()
        if self._desk is not None:
            self._desk.close()
        self._opened.lock.release()
        for body in self.bodies.values():
            body.release()

    def _example_ended(self, body: ItemBody, lane: Lane, ending: Ending) -> tuple[ScenarioResult, str]:
        channel = self.conversation.channel
        result = scenario_result(
            lane,
            ending,
            channel.transcript,
            costs=channel.costs,
            agent=self.place.agent,
            span_label=self.place.span,
            trial=self.place.conversation[2],
            nodeid=body.item.nodeid,
            pass_k=body.known.marks.pass_k,
            own_wish=isinstance(ending.error, SKIPS),
            **({} if self._desk is None else self._desk.told_of(lane.example.key)),
        )
        result = (self._retold and self._retold.kept(lane.example.key)) or result
        channel.journal.note(
            "verdict",
            example=lane.example.key,
            score=result.score,
            reason=result.reason,
            rule=result.rule,
            evidence=result.evidence,
            checks=[[check.label, check.ok] for check in result.checks],
        )
        self.results[lane.example.key] = result
        body.item.user_properties.extend(user_properties(result))
        text = failure_text(result, channel.transcript, self._again) if result.outcome == "failed" else ""
        return result, text

    def _beside_recorded(self, result: ConversationResult) -> ConversationResult:
        """Return the results that are there, with what they lack: of a conversation that could not be told again."""
        there = recorded_result(self._folder)
        if there is None:
            return result
        known = {row.id: row for row in there.scenarios if row.scored}
        rows = tuple(known.get(row.id, row) for row in result.scenarios)
        return replace(there, scenarios=rows, notices=(*there.notices, *result.notices), ended=result.ended)

    @property
    def _gone(self) -> Ended:
        return "agent gone" if self._account is None or self._account.refused is None else "budget spent"

    def _near_misses(self) -> list[str]:
        """Return what the agent lacks of the powers that scenarios asked for in vain, where it has part of them."""
        if self._retold is not None:
            return self._retold.notices
        wanted = {power for example in self.plan.examples for power in example.requires}
        if self.conversation.gone or wanted <= self.conversation.channel.powers:
            return []
        return near_misses(self._opened.seat.agent, wanted)

    def _result(self, reason: str) -> ConversationResult:
        transcript, channel = self.conversation.channel.transcript, self.conversation.channel
        filler = sum(e.message_tokens + e.reply_tokens for e in transcript if e.kind == "filler")
        said = sum(e.reply_tokens for e in transcript if not e.told)
        notices = [*self.conversation.notices, *self._near_misses()]
        if channel.silences:
            notices.append("the agent gave empty replies: valid, and worth what they are worth")
        ended: Any = "complete" if reason == "complete" else "interrupted"
        return ConversationResult(
            agent=self.place.agent,
            agent_spec=self._source.spec if self._retold is None else self._retold.spec,
            span_label=self.place.span,
            span=self.span,
            trial=self.place.conversation[2],
            plan_fingerprint=self.plan.fingerprint,
            agent_fingerprint=self._opened.agent_fingerprint,
            scenarios=tuple(self.results[e.key] for e in self.plan.examples if e.key in self.results),
            tokens=transcript.position,
            filler_tokens=filler,
            reply_tokens=said,
            exchanges=len(transcript),
            simulated_seconds=(self._clock.now - self._start).total_seconds(),
            cost_usd=channel.cost_usd,
            filler_cost_usd=channel.bill.of({e.number for e in transcript if e.kind in {"filler", "history"}}),
            harness_cost_usd=channel.bill.of({e.number for e in transcript if e.kind in {"opening", "reset"}}),
            hypothetical=channel.bill.hypothetical,
            input_tokens=channel.bill.input_tokens,
            output_tokens=channel.bill.output_tokens,
            cached_tokens=channel.bill.cached_tokens,
            notices=tuple(notices),
            ended=((self._retold and self._retold.ended) or self._gone) if self.conversation.gone else ended,
        )
