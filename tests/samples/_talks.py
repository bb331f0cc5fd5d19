"""In-memory conversations for the engine's tests: a token is a character, so every length is predictable."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_ltm._core.model.scenario import Watcher
from pytest_ltm.api.journal import Journal, strip_checksum
from pytest_ltm.api.model import Exchange, FillerExchange, Score
from pytest_ltm.api.scenarios import Ltm, PlannedExample
from pytest_ltm.testing import Played, run_conversation

CHARACTERS = "builtins:len"


class Agent:
    """Returns one fixed reply, raising at the calls in `fails_at`; remembers every message."""

    def __init__(self, reply: str = "ok", *, fails_at: Sequence[int] = ()) -> None:
        self.heard: list[str] = []
        self._reply, self._fails_at = reply, fails_at

    def reply(self, message: str) -> str:
        self.heard.append(message)
        if len(self.heard) in self._fails_at:
            raise RuntimeError("no answer")
        return self._reply


class Historian(Agent):
    """An agent with `accept`: stores exchanges that are told to it."""

    def __init__(self, reply: str = "ok") -> None:
        super().__init__(reply)
        self.told: list[tuple[str, str]] = []

    def accept(self, message: str, reply: str) -> None:
        self.told.append((message, reply))


class Dots:
    """Filler of exactly the requested size; remembers the sizes requested."""

    def __init__(self) -> None:
        self.asked_for: list[int] = []

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        self.asked_for.append(tokens)
        return FillerExchange("." * max(1, min(tokens - 2, max_message_tokens)), "ok")

    def configuration(self) -> object:
        return "dots"


class After:
    """A watcher that reaches a verdict after `replies` exchanges; remembers what it was shown."""

    def __init__(self, replies: int) -> None:
        self.replies = replies
        self.shown: list[list[str]] = []

    def __call__(self, since: Sequence[Exchange], /) -> Score | None:
        self.shown.append([exchange.message for exchange in since])
        return Score(1.0, f"after {len(since)}") if len(since) >= self.replies else None


def talk(
    scenarios: Mapping[str, Callable[[Ltm], object]],
    agent: object | None = None,
    **options: Any,
) -> Played:
    """Play scenarios with an agent that replies "ok"; a token is a character."""
    return run_conversation(
        scenarios,
        agent or Agent(),
        **{"tokenizer": CHARACTERS, "filler": Dots(), "count": "capped", **options},
    )


def events(
    scenarios: Mapping[str, Callable[[Ltm], object]],
    agent: object | None = None,
    **options: Any,
) -> list[Any]:
    """Return the journal of a conversation."""
    file = io.StringIO()
    talk(scenarios, agent, journal=Journal(file), **options)
    return [
        json.loads(strip_checksum(line.encode()))
        for line in file.getvalue().splitlines(keepends=True)
    ]


def example(scenario: str, number: int = 0, **fields: Any) -> PlannedExample:
    return PlannedExample(scenario=scenario, example=str(number), **fields)


def simple(ltm: Ltm) -> None:
    """Say and ask, without a wait between them."""
    ltm.say("blue")
    ltm.ask("which?")


def watching(
    watcher: Watcher, replies: int | None = None, *, says: str = "instruction"
) -> Callable[[Ltm], None]:
    """Return a scenario that says one thing and has `watcher` watch the replies."""

    def watched(ltm: Ltm) -> None:
        ltm.say(says)
        ltm.watch(watcher, replies)

    return watched


def speakers(played: Played) -> list[str]:
    """Return the speaker of each exchange in order; "" for filler and the opening."""
    return [exchange.by for exchange in played.transcript]


def patient(ltm: Ltm) -> None:
    """Wait for half of the span between `say` and `ask`."""
    ltm.say("blue")
    ltm.wait(span=0.5)
    ltm.ask("which?")
