"""Testing agents, scenarios and watchers without pytest: fakes, and a conversation in memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from pytest_ltm._core.calls.retry import Retries
from pytest_ltm._core.engine.factory import ConversationFactory
from pytest_ltm._core.engine.lane import Ending, GreenBody, Lane
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.filler import Filler, FillerExchange, PastExchange
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.judge import Inquiry
from pytest_ltm._core.model.plan import Plan, PlannedExample, user_seed
from pytest_ltm._core.model.scenario import Definition
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.model.transcript import Transcript
from pytest_ltm._core.storage.clock import SimulatedClock
from pytest_ltm._core.storage.errors import UserError
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import is_prompted
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.judges.model_calls import BudgetedCaller, ModelCaller
from pytest_ltm.users.user_connection import (
    USER_MODEL_NAME,
    UserConnection,
    find_user_model,
)

__all__ = [
    "CountingFiller",
    "FakeJudge",
    "Played",
    "ScriptedAgent",
    "run_conversation",
    "run_scenario",
]


class ScriptedAgent:
    """An agent that gives prepared replies in order, then empty ones; keeps the messages in `heard`.

    Args:
        *replies: The replies in order.

    >>> agent = ScriptedAgent("Noted.", "Ochre.")
    >>> agent.reply("My favourite colour is ochre."), agent.reply("Which is it?"), agent.reply("Sure?")
    ('Noted.', 'Ochre.', '')
    >>> len(agent.heard)
    3
    """

    def __init__(self, *replies: str) -> None:
        self.heard: list[str] = []
        self._replies = iter(replies)

    def reply(self, message: str) -> str:
        """Return the next prepared reply, and keep `message`."""
        self.heard.append(message)
        return next(self._replies, "")


@dataclass(frozen=True, slots=True)
class FakeJudge:
    """A judge for tests: gives prepared replies by prompt name, and records the questions.

    >>> judge = FakeJudge(otherwise="It names ochre. GRADE: yes")
    >>> judge.asked
    []
    """

    replies: Mapping[str, str] = field(default_factory=dict)
    """The replies by prompt name."""
    otherwise: str = "GRADE: no"
    """The reply to any other prompt."""
    asked: list[Inquiry] = field(default_factory=list)
    """Every question, in order."""

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the prepared reply to an `inquiry`."""
        self.asked.append(inquiry)
        return self.replies.get(inquiry.prompt, self.otherwise)


class CountingFiller:
    """A filler that counts: about one numbered word for each requested token."""

    def __init__(self) -> None:
        self.made = 0

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return filler of about `tokens` tokens whose message has at most `max_message_tokens`."""
        self.made += 1
        # Its number takes a few tokens.
        size = max(1, min(tokens - 4, max_message_tokens - 8))
        return FillerExchange(f"Filler {self.made}:" + " word" * size, "ok")

    def configuration(self) -> object:
        """Return its name."""
        return "counting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The result of a conversation in memory."""

    endings: Mapping[str, Ending]
    """How each example ended, by its name: `scenario/0`."""
    lanes: Mapping[str, Lane]
    """The examples as the conversation saw them, by the same names."""
    transcript: Transcript
    """Every exchange, in order."""
    notices: tuple[str, ...]
    """Notices for a reader of the results, a sentence each."""
    order: tuple[str, ...]
    """The examples in the order in which they ended."""


class _Body(GreenBody):
    def __init__(self, run: Callable[[], object], endings: dict[str, Ending]) -> None:
        super().__init__()
        self._scenario = run
        self._endings = endings

    def play(self) -> object:
        return self._scenario()

    def finish(self, lane: Lane, ending: Ending) -> None:
        self._endings[lane.example.key] = ending


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

    Args:
        scenarios: The bodies by name; each is called with its own `Ltm`.
        agent: An agent, a class, a no-argument factory or a function of the message.
        span: The memory span in tokens; None for isolated examples.
        seed: The seed of everything random.
        definitions: The data of scenarios, by name.
        examples: The planned examples; by default one of each scenario.
        filler: The source of filler; by default a CountingFiller.
        journal: The journal of the conversation; one with a recording is
            replayed first.
        opening: The first message; "" for none.
        history: Exchanges that are told in place of filler; time begins at the
            first one's date.
        retries: The maximum number of retries of a message after TransientFaults.
        reply_timeout: Seconds allowed for a reply; None for no limit.
        **plan: Other fields of the plan.

    Returns:
        The endings of the examples, and the transcript.

    >>> def colour(ltm):
    ...     ltm.say("My favourite colour is ochre.")
    ...     ltm.wait(tokens=100)
    ...     ltm.check("names ochre", "ochre" in ltm.ask("What is my favourite colour?"))
    >>> played = run_conversation({"colour": colour}, lambda message: f"You said: {message}", span=1_000)
    >>> played.endings["colour/0"].verdict.value
    0.0
    >>> {exchange.kind for exchange in played.transcript} == {"say", "filler", "ask"}
    True
    """
    planned = examples or (
        PlannedExample(
            scenario=name, example="0", definition=(definitions or {}).get(name)
        )
        for name in scenarios
    )
    defaults = {
        "trial": 0,
        "tokenizer": "cl100k_base",
        "filler": "counting",
        "scoring": "current",
        "judge": "none",
        "judge_votes": 1,
        "time": "simulated",
    }
    full_plan = Plan(
        examples=tuple(planned),
        seed=seed,
        span=span,
        opening=opening,
        **{**defaults, **plan},
    )
    endings: dict[str, Ending] = {}
    factory = ConversationFactory(
        plan=full_plan,
        seed=seed,
        clock=SimulatedClock(history[0].at) if history else SimulatedClock(),
        counter=token_counter(full_plan.tokenizer),
        filler=filler or CountingFiller(),
        history=history,
    )

    def body(example: PlannedExample) -> _Body:
        item_body = _Body(lambda: scenarios[example.scenario](ltm), endings)
        ltm = factory.handle(
            item_body.send,
            example,
            lambda: conversation,
            users=users.handle(example.key),
        )
        item_body.sheet = ltm.sheet
        return item_body

    supply = agent_source(agent, spec="agent")
    place = Path("tests", token_hex(8))
    supply.embedded = is_prompted(agent)  # a control stays a control in tests

    def speaker() -> AgentCaller:
        attempts = Retries(most=retries, rng=random.Random(seed))
        return AgentCaller(
            supply.make(folder=place), timeout=reply_timeout, retries=attempts
        )

    journal = journal or Journal()
    users = UserConnection(
        lambda model, _: BudgetedCaller(
            ModelCaller(
                find_user_model(model),
                who=USER_MODEL_NAME,
                error=UserError,
                timeout=None,
            ),
            "user",
            journal,
        ),
        journal=journal,
        timings=Timings(),
        seed_of=lambda example: user_seed(seed, 0, example),
    )
    port = factory.recorded_port(journal, factory.live_port(speaker, Timings()))
    bodies = [body(example) for example in full_plan.examples]
    conversation = factory.open(bodies, factory.agenda(), port, journal)
    while not conversation.finished:
        conversation.step()
    conversation.close("complete")
    users.close()
    lanes = {lane.example.key: lane for lane in conversation.lanes}
    return Played(
        endings=endings,
        lanes=lanes,
        transcript=conversation.channel.transcript,
        notices=tuple(conversation.notices),
        order=tuple(endings),
    )


def run_scenario(
    scenario: Callable[[Ltm], object],
    agent: object,
    *,
    definition: Definition | None = None,
    **options: Any,
) -> Ending:
    """Play one scenario alone and return its ending.

    Args:
        scenario: The body, called with its `Ltm`.
        agent: As in `run_conversation`.
        definition: The data of its example, if it needs any.
        **options: Other parameters of `run_conversation`.

    Returns:
        The verdict, or the error in its place.

    >>> def colour(ltm):
    ...     ltm.say("My favourite colour is ochre.")
    ...     assert "ochre" in ltm.ask("What is my favourite colour?")
    >>> run_scenario(colour, ScriptedAgent("Noted.", "It is ochre.")).verdict.value
    1.0
    """
    definitions = {"scenario": definition} if definition else None
    return run_conversation(
        {"scenario": scenario}, agent, definitions=definitions, **options
    ).endings["scenario/0"]
