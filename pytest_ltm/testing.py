"""For testing agents, scenarios and watchers without pytest: fakes that ship, and a conversation in memory."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm._channel import Channel
from pytest_ltm._clock import SimulatedClock
from pytest_ltm._conversation import Conversation
from pytest_ltm._filler import Filler, FillerExchange
from pytest_ltm._green import GreenBody
from pytest_ltm._handle import Ltm
from pytest_ltm._journal import Journal, Timings
from pytest_ltm._judge import FakeJudge as FakeJudge  # noqa: PLC0414 - so type checkers know that it is exported
from pytest_ltm._lane import Ending, Lane
from pytest_ltm._plan import Plan, PlannedExample, body_rng
from pytest_ltm._tokens import counter
from pytest_ltm._transcript import retrieved_last
from pytest_ltm.agents._adapt import source
from pytest_ltm.agents._retry import Retries
from pytest_ltm.agents._speaker import Speaker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm._history import PastExchange
    from pytest_ltm._scenario import Definition
    from pytest_ltm._transcript import Transcript


class ScriptedAgent:
    """An agent that gives prepared replies in order, then an empty text; keeps what it was told."""

    def __init__(self, *replies: str) -> None:
        self.heard: list[str] = []
        self._replies = iter(replies)

    def reply(self, message: str) -> str:
        """Return the next prepared reply."""
        self.heard.append(message)
        return next(self._replies, "")


class CountingFiller:
    """A filler that counts: one numbered word for each token wanted, give or take a few."""

    def __init__(self) -> None:
        self.made = 0

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return filler of about the wanted size."""
        self.made += 1
        size = max(1, min(tokens - 4, max_message_tokens - 8))  # its number takes a few tokens
        return FillerExchange(f"Filler {self.made}:" + " word" * size, "ok")

    def configuration(self) -> object:
        """Return its name."""
        return "counting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What became of a conversation in memory."""

    endings: Mapping[str, Ending]
    """By example, `name/0`."""
    lanes: Mapping[str, Lane]
    transcript: Transcript
    notices: tuple[str, ...]
    order: tuple[str, ...]
    """The examples in the order in which they ended."""


@dataclass
class _Body(GreenBody):
    run: Callable[[], object]
    endings: dict[str, Ending] = field(repr=False)

    def __post_init__(self) -> None:
        super().__init__()

    def play(self) -> object:
        return self.run()

    def finish(self, lane: Lane, ending: Ending) -> None:
        self.endings[lane.example.key] = ending


def run_conversation(
    scenarios: Mapping[str, Callable[[Ltm], object]],
    agent: object,
    *,
    span: int | None = 2_000,
    seed: int = 0,
    definitions: Mapping[str, Definition] | None = None,
    examples: Iterable[PlannedExample] | None = None,
    filler: Filler | None = None,
    journal: Journal | None = None,
    opening: str = "",
    history: Sequence[PastExchange] = (),
    retries: int = 0,
    reply_timeout: float | None = None,
    **plan: Any,
) -> Played:
    """Play scenarios, given as functions of the handle by name, with one agent; nothing touches the disk.

    `history` is told in the place of filler; time begins at its first date. `definitions` and `examples` say more about
    the scenarios than their names; `plan` overrides fields of the Plan. A message that failed for a passing reason is
    sent again up to `retries` times; a reply may take `reply_timeout` seconds.
    """
    planned = tuple(
        examples
        or (PlannedExample(scenario=name, example="0", definition=(definitions or {}).get(name)) for name in scenarios)
    )
    fields = {
        "seed": seed, "trial": 0, "span": span, "tokenizer": "cl100k_base", "filler": "counting",
        "scoring": "current", "judge": "none", "judge_votes": 1, "time": "simulated", "opening": opening,
    }  # fmt: skip
    whole = Plan(examples=planned, **{**fields, **plan})
    clock = SimulatedClock(history[0].at) if history else SimulatedClock()
    counts, endings = counter(whole.tokenizer), dict[str, Ending]()

    def body(example: PlannedExample) -> _Body:
        made = _Body(run=lambda: scenarios[example.scenario](ltm), endings=endings)
        ltm = Ltm(
            made.send,
            now=lambda: clock.now,
            example=example.number,
            span=None if span is None else example.span or span,
            rng=body_rng(seed, 0, example),
            definition=example.definition,
            retrieved=lambda: retrieved_last(channel.transcript, example.key),
        )
        made.sheet = ltm.sheet
        return made

    speaker = Speaker(
        source(agent, spec="agent").make(),
        timeout=reply_timeout,
        retries=Retries(most=retries, rng=random.Random(seed)),
        retried=lambda failed: channel.retried(failed),  # noqa: PLW0108 - there is no channel yet
    )
    channel = Channel(speaker, counts, clock, journal or Journal(), Timings())
    conversation = Conversation(
        whole,
        [body(e) for e in whole.examples],
        channel=channel,
        filler=filler or CountingFiller(),
        counter=counts,
        history=history,
    )
    while not conversation.finished:
        conversation.step()
    conversation.close("complete")
    lanes = {lane.example.key: lane for lane in conversation.lanes}
    return Played(
        endings=endings, lanes=lanes, transcript=channel.transcript,
        notices=tuple(conversation.notices), order=tuple(endings),
    )  # fmt: skip


def run_scenario(
    scenario: Callable[[Ltm], object], agent: object, *, definition: Definition | None = None, **options: Any
) -> Ending:
    """Play one scenario alone and return what became of it."""
    definitions = {"scenario": definition} if definition else None
    return run_conversation({"scenario": scenario}, agent, definitions=definitions, **options).endings["scenario/0"]
