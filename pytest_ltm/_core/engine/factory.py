"""ConversationFactory: combines a port and a script into a conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from pytest_ltm._core.engine.channel import Channel
from pytest_ltm._core.engine.conversation import (
    AgendaScript,
    Conversation,
    ConversationScript,
)
from pytest_ltm._core.engine.held_agent import AgentLine
from pytest_ltm._core.engine.lane import GreenBody
from pytest_ltm._core.engine.port import (
    Calling,
    LivePort,
    Port,
    Recorded,
    RecordedEvents,
    call_now,
)
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.filler import Filler, PastExchange
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.plan import Plan, PlannedExample, body_rng
from pytest_ltm._core.model.scenario import Request
from pytest_ltm._core.model.score import Scoring
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.storage.clock import Clock

if TYPE_CHECKING:
    from pytest_ltm._core.model.judge import Judge


class ConversationFactory(Struct, frozen=True, kw_only=True):
    """The parts of a conversation that stay the same when it is played, rehearsed, resumed or scored again."""

    plan: Plan
    seed: int
    """The seed of the bodies' random numbers; the plan may have only its digest."""
    clock: Clock
    counter: TokenCounter
    filler: Filler
    history: Sequence[PastExchange] = ()
    calling: Calling = call_now

    def agenda(self) -> AgendaScript:
        """Return the script of a conversation that is played for the first time or resumed."""
        return AgendaScript(self.plan, now=self.clock.now, history=self.history)

    def live_port(
        self, make: Callable[[], AgentLine], timings: Timings, **options: Any
    ) -> LivePort:
        """Return a port for the agent that `make` creates; `options`: further arguments of LivePort."""
        return LivePort(
            make, self.counter, self.clock, timings, calling=self.calling, **options
        )

    def recorded_port(self, recorded: RecordedEvents, then: Port) -> Port:
        """Return a port that replays a record, and continues with `then`."""
        # Without a record, `then` is used directly, so exchanges do not pass through
        # another layer.
        if recorded.replaying:
            return Recorded(recorded, self.clock, then)
        return then

    def open(
        self,
        bodies: Sequence[GreenBody],
        script: ConversationScript,
        port: Port,
        journal: Journal,
        **observing: Any,
    ) -> Conversation:
        """Return the conversation; `bodies` in the order of the plan, `observing`: the channel's callbacks."""
        channel = Channel(
            port,
            self.counter,
            self.clock,
            journal,
            count=self.plan.count,
            reading=self.plan.reading,
            **observing,
        )
        return Conversation(
            self.plan,
            bodies,
            script,
            channel,
            filler=self.filler,
            counter=self.counter,
            history=self.history,
        )

    def handle(
        self,
        send: Callable[[Request], Any],
        example: PlannedExample,
        get_conversation: Callable[[], Conversation],
        *,
        judge: Judge | None = None,
        **options: Any,
    ) -> Ltm:
        """Return the handle that the body of an example uses to talk."""
        plan = self.plan
        return Ltm(
            send,
            now=lambda: self.clock.now,
            example=example.number,
            span=None if plan.span is None else example.span or plan.span,
            rng=lambda: body_rng(self.seed, plan.trial, example),
            definition=example.definition,
            scoring=cast("Scoring", plan.scoring),
            heard=lambda: get_conversation().channel.transcript.exchanges_of(
                example.key
            ),
            judge=judge,
            **options,
        )
