"""Conversations assembled by hand, for what `run_conversation` cannot set up."""

from __future__ import annotations

import random
from collections.abc import Callable

from _talks import Dots, example

from pytest_ltm._core.engine.lane import GreenBody
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.api.engine import Conversation, ConversationFactory, Ending, Lane
from pytest_ltm.api.journal import Journal, Timings
from pytest_ltm.api.model import TokenCounter
from pytest_ltm.api.scenarios import Ltm, Plan
from pytest_ltm.api.storage import SimulatedClock


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
    bodies = [
        ByHand(scenarios[example.scenario], clock, endings) for example in plan.examples
    ]
    port = factory.recorded_port(journal, factory.live_port(lambda: speaker, Timings()))
    return factory.open(bodies, factory.agenda(), port, journal), endings


def played_out(conversation: Conversation) -> None:
    while not conversation.finished:
        conversation.step()
    conversation.close("complete")
