"""Conversations built by hand, where run_conversation offers no door."""

from __future__ import annotations

import random
from collections.abc import Callable

from _talks import Dots, example

from pytest_ltm._core.engine.conversation import Conversation
from pytest_ltm._core.engine.factory import ConversationFactory
from pytest_ltm._core.engine.lane import Ending, GreenBody, Lane
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.plan import Plan
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.storage.clock import SimulatedClock
from pytest_ltm.agents.caller import AgentCaller


class ByHand(GreenBody):
    def __init__(
        self,
        scenario: Callable[[Ltm], object],
        clock: SimulatedClock,
        endings: dict[str, Ending],
    ) -> None:
        super().__init__()
        self.ltm = Ltm(
            self.send,
            now=lambda: clock.now,
            example=0,
            span=2000,
            rng=lambda: random.Random(0),
        )
        self.sheet, self.scenario, self.endings = self.ltm.sheet, scenario, endings

    def play(self) -> object:
        return self.scenario(self.ltm)

    def finish(self, lane: Lane, ending: Ending) -> None:
        self.endings[lane.example.key] = ending


def conversation_of(
    scenarios: dict[str, Callable[[Ltm], object]],
    speaker: AgentCaller,
    *,
    reset: str = "",
    clock: SimulatedClock | None = None,
    journal: Journal | None = None,
) -> tuple[Conversation, dict[str, Ending]]:
    plan = Plan(
        examples=tuple(example(name, reset=reset) for name in scenarios),
        seed=0,
        trial=0,
        span=2000,
        tokenizer="len",
        filler="dots",
        scoring="current",
        judge="none",
        judge_votes=0,
        time="simulated",
        opening="",
    )
    clock, endings, journal = (
        clock or SimulatedClock(),
        dict[str, Ending](),
        journal or Journal(),
    )
    factory = ConversationFactory(
        plan=plan, seed=0, clock=clock, counter=TokenCounter("len", len), filler=Dots()
    )
    bodies = [ByHand(scenarios[one.scenario], clock, endings) for one in plan.examples]
    port = factory.recorded_port(journal, factory.live_port(lambda: speaker, Timings()))
    return factory.open(bodies, factory.agenda(), port, journal), endings


def played_out(conversation: Conversation) -> None:
    while not conversation.finished:
        conversation.step()
    conversation.close("complete")
