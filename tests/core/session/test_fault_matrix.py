"""Every fault of an agent at every point of a conversation has the effect documented in docs/faults.md."""

# ruff: noqa: ARG001 - agents under test keep the protocol's signatures
from __future__ import annotations

import asyncio
import io
import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import loopback
import pytest
from _talks import Dots, events, watching

from pytest_ltm import AgentFault, Exchange, Ltm, Score, TransientFault
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.storage.clock import can_interrupt
from pytest_ltm.testing import Played, run_conversation

interruptible = pytest.mark.skipif(
    not can_interrupt(), reason="no interval timer on this system"
)

Outcome = Literal["again", "error", "gone", "reply"]
"""Retried until it replies; the scenario errors; the whole conversation ends; an ordinary reply."""

PLACES = {
    "first": "victim: first",
    "middle": "victim: second",
    "watcher": "other: second",
    "last": "victim: question",
}
"""The message that meets the fault. For "watcher" it is another scenario's message while a watcher waits."""


# --- the faults


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Foreign(BaseException):
    """A BaseException, like pytest's own outcomes."""


class Provider(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status_code, self.headers = status, headers


class Group(Exception):
    exceptions = (ValueError("one of them"),)


def raising(error: BaseException) -> Callable[[], Any]:
    def fails() -> Any:
        raise error

    return fails


def in_c() -> str:
    """Wait past the limit like C code that never checks signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        threading.Event().wait(0.6)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    return "too late"


SIMPLE: dict[str, tuple[Outcome, Callable[[], Any]]] = {
    "exception": ("error", raising(ValueError("no such model"))),
    "broken text of an exception": ("error", raising(Unspeakable())),
    "huge text of an exception": ("error", raising(ValueError("x" * 1_000_000))),
    "exception group": ("error", raising(Group("several"))),
    "sys.exit": ("error", lambda: sys.exit(3)),
    "foreign base exception": ("error", raising(Foreign("skipped"))),
    "None": ("error", lambda: None),
    "a number": ("error", lambda: 3),
    "bytes": ("error", lambda: "café".encode("latin-1")),
    "10 MB": ("error", lambda: "a" * 10_000_000),
    "unauthorized": ("error", raising(Provider(401))),
    "said by the adapter": ("error", raising(AgentFault("not today"))),
    "said by the adapter for good": (
        "gone",
        raising(AgentFault("the process has ended", fatal=True)),
    ),
    "lone surrogate": ("reply", lambda: "half \ud83d"),
    "NUL and control characters": ("reply", lambda: "\0\x1b[2J\x07\u202e"),
    "empty": ("reply", lambda: ""),
    "refused": ("again", raising(ConnectionRefusedError("refused"))),
    "429": ("again", raising(Provider(429))),
    "429 with retry-after": ("again", raising(Provider(429, **{"retry-after": "2"}))),
    "503": ("again", raising(Provider(503))),
    "transient by the adapter": ("again", raising(TransientFault("busy"))),
}
UNSURE: dict[str, Callable[[], Any]] = {
    "connection reset": raising(ConnectionResetError("reset by peer")),
    "timeout of the client": raising(TimeoutError("read timed out")),
    "500": raising(Provider(500)),
    "504": raising(Provider(504)),
}
"""Faults after which it is unknown whether the agent received the message."""


class Faulty:
    """Replies, except that one message meets its fault the first `times` times."""

    def __init__(self, at: str, fault: Callable[[], Any], times: int = 1) -> None:
        self.at, self.fault, self.left = at, fault, times
        self.heard: list[str] = []

    def reply(self, message: str) -> Any:
        self.heard.append(message)
        if message == self.at and self.left:
            self.left -= 1
            return self.fault()
        return "ok"


class FaultyStateless(Faulty):
    stateless = True


class FaultyAsync(Faulty):
    async def reply(self, message: str) -> Any:
        await asyncio.sleep(0)
        return super().reply(message)


def tells(name: str) -> Callable[[Ltm], None]:
    def scenario(ltm: Ltm) -> None:
        ltm.say(f"{name}: first")
        ltm.wait(span=0.4)
        ltm.say(f"{name}: second")
        ltm.wait(span=0.9)
        ltm.ask(f"{name}: question")

    return scenario


def counts_replies(since: Sequence[Exchange], /) -> Score | None:
    return Score(1.0, f"after {len(since)}") if len(since) >= 6 else None


SCENARIOS = {
    "other": tells("other"),
    "victim": tells("victim"),
    "watched": watching(counts_replies, 6),
}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace all waits with a list of their durations, and return it."""
    seconds: list[float] = []
    monkeypatch.setattr("pytest_ltm._core.storage.clock.time.sleep", seconds.append)
    return seconds


def play(agent: object, **options: Any) -> tuple[Played, list[Any]]:
    file = io.StringIO()
    options = {
        "retries": 2,
        "tokenizer": "builtins:len",
        "filler": Dots(),
        "span": 300,
        **options,
    }
    played = run_conversation(SCENARIOS, agent, journal=Journal(file), **options)
    return played, [json.loads(line) for line in file.getvalue().splitlines()]


def outcomes(played: Played) -> dict[str, str]:
    found = {}
    for key, ending in played.endings.items():
        kinds = {
            "score": ending.verdict,
            "error": ending.error,
            "unreached": ending.unreached,
        }
        [found[key.removesuffix("/0")]] = [
            kind for kind, value in kinds.items() if value is not None
        ]
    return found


def check(
    outcome: Outcome, place: str, agent: Faulty, played: Played, journal: list[Any]
) -> None:
    """Assert the documented outcome and no other effect."""
    hurt = PLACES[place].partition(":")[0]
    found, faults = (
        outcomes(played),
        [event for event in journal if event["event"] == "fault"],
    )
    assert set(found) == set(SCENARIOS), "each is reported once"
    if outcome in {"again", "reply"}:
        assert set(found.values()) == {"score"}
        assert faults == []
        assert [e.message for e in played.transcript].count(agent.at) == 1, (
            "a message that was repeated counts once"
        )
        assert agent.heard.count(agent.at) == (2 if outcome == "again" else 1)
        return
    assert agent.heard.count(agent.at) == 1
    assert len(faults) == 1
    assert found.pop(hurt) == "error"
    assert isinstance(played.endings[f"{hurt}/0"].error, AgentFault)
    if outcome == "error":
        assert set(found.values()) == {"score"}, "the others go on"
    else:
        assert agent.heard[-1] == agent.at, "nothing more is sent"
        assert "unreached" in found.values() or place == "last"
        assert any("the agent is gone" in notice for notice in played.notices)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SIMPLE)
def test_a_fault_has_its_outcome_wherever_it_happens(name: str, place: str) -> None:
    outcome, fault = SIMPLE[name]
    agent = Faulty(PLACES[place], fault)
    check(outcome, place, agent, *play(agent))


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", UNSURE)
@pytest.mark.parametrize("kind", [Faulty, FaultyStateless])
def test_where_nobody_knows_what_was_heard_only_who_remembers_nothing_is_asked_again(
    name: str, place: str, kind: type[Faulty]
) -> None:
    agent = kind(PLACES[place], UNSURE[name])
    check("again" if kind is FaultyStateless else "error", place, agent, *play(agent))


class FaultySaved(Faulty):
    """Stores each message before it meets its fault, and can be restored."""

    def __init__(self, at: str, fault: Callable[[], Any]) -> None:
        super().__init__(at, fault)
        self.memory: list[str] = []

    def reply(self, message: str) -> Any:
        self.memory.append(message)
        return super().reply(message)

    def save(self) -> bytes:
        return json.dumps(self.memory).encode()

    def load(self, state: bytes) -> None:
        self.memory = json.loads(state)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*UNSURE, "refused", "429"])
def test_who_can_be_put_back_is_asked_again_and_remembers_the_message_once(
    name: str, place: str
) -> None:
    agent = FaultySaved(
        PLACES[place], UNSURE[name] if name in UNSURE else SIMPLE[name][1]
    )
    played, journal = play(agent)
    check("again", place, agent, played, journal)
    assert agent.memory == [exchange.message for exchange in played.transcript]


@pytest.mark.parametrize("place", ["first", "middle", "watcher"])
def test_a_message_whose_fault_stayed_is_forgotten_by_who_can_be_put_back(
    place: str,
) -> None:
    agent = FaultySaved(PLACES[place], SIMPLE["exception"][1])
    played, journal = play(agent)
    check("error", place, agent, played, journal)
    assert agent.memory == [exchange.message for exchange in played.transcript]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "name",
    [
        "exception",
        "sys.exit",
        "None",
        "refused",
        "429 with retry-after",
        "foreign base exception",
    ],
)
def test_an_async_agents_fault_has_the_same_outcome(name: str, place: str) -> None:
    outcome, fault = SIMPLE[name]
    agent = FaultyAsync(PLACES[place], fault)
    check(outcome, place, agent, *play(agent))


@pytest.mark.slow
@interruptible
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["waits", "waits in C", "never awakes"])
@pytest.mark.parametrize("kind", [Faulty, FaultyStateless])
def test_who_does_not_come_back_in_time_is_gone_unless_it_remembers_nothing(
    name: str, place: str, kind: type[Faulty]
) -> None:
    class Async(kind):  # type: ignore[misc, valid-type]  # of either kind
        async def reply(self, message: str) -> Any:
            if message == self.at:
                self.heard.append(message)
                await asyncio.Event().wait()
            return super().reply(message)

    hang = in_c if name == "waits in C" else lambda: threading.Event().wait(30)
    agent = (Async if name == "never awakes" else kind)(PLACES[place], hang)
    check(
        "error" if kind is FaultyStateless else "gone",
        place,
        agent,
        *play(agent, reply_timeout=0.25),
    )


EARLIER, LATER = "Wed, 01 Jan 2020 00:00:00 GMT", "Wed, 01 Jan 2020 00:00:09 GMT"


@pytest.fixture
def server() -> Iterator[loopback.Server]:
    with loopback.server() as one:
        yield one


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("name", "answers", "outcome"),
    [
        ("reset", [(loopback.RESET, {})], "again"),
        ("429", [(429, {})], "again"),
        ("429 with retry-after", [(429, {"Retry-After": "7"})], "again"),
        ("503 with a date", [(503, {"Retry-After": LATER, "Date": EARLIER})], "again"),
        ("500", [(500, {})], "again"),
        ("500 three times", [(500, {})] * 3, "error"),
        ("401", [(401, {})], "error"),
    ],
)
def test_over_real_http(
    name: str,
    answers: list[Any],
    outcome: str,
    place: str,
    server: loopback.Server,
    waits: list[float],
) -> None:
    class Http(FaultyStateless):
        def reply(self, message: str) -> str:
            self.heard.append(message)
            if message == self.at and self.left:
                server.script, self.left = list(answers), 0
            return loopback.post(server.url, message)

    agent = Http(PLACES[place], lambda: None)
    played, journal = play(agent)
    hurt = PLACES[place].partition(":")[0]
    if outcome == "again":
        check("again", place, agent, played, journal)
    else:
        assert outcomes(played)[hurt] == "error"
        assert set(outcomes(played).values()) == {"score", "error"}
    if "Retry-After" in answers[0][1]:
        asked = 7 if name.startswith("429") else 9
        assert [int(wait) for wait in waits] == [asked]


def test_nobody_listens_at_the_address() -> None:
    with loopback.server() as gone:
        url = gone.url
    agent = Faulty(PLACES["first"], lambda: loopback.post(url, "a"))
    check("again", "first", agent, *play(agent))


# --- consequences


def test_three_faults_in_a_row_end_the_conversation_whatever_their_kind() -> None:
    class Broken(Faulty):
        def reply(self, message: str) -> Any:
            self.heard.append(message)
            raise ValueError("no")

    agent = Broken("", lambda: None)
    played, journal = play(agent)
    assert len(agent.heard) == 3
    assert "3 faults in a row" in played.notices[0]
    assert set(outcomes(played).values()) <= {"error", "unreached"}
    assert journal[-1]["reason"].startswith("the agent is gone")


def test_a_fault_at_filler_hurts_nobody() -> None:
    class AtFiller(Faulty):
        def reply(self, message: str) -> Any:
            self.heard.append(message)
            if message.startswith(".") and self.left:
                self.left -= 1
                raise ValueError("no")
            return "ok"

    played, journal = play(AtFiller("", lambda: None))
    assert set(outcomes(played).values()) == {"score"}
    assert [event["event"] for event in journal].count("fault") == 1


def test_control_characters_stay_in_the_record_as_they_are() -> None:
    agent = Faulty(PLACES["last"], lambda: "\0\x1b[2J\x07\u202e")
    _, journal = play(agent)
    assert "\0\x1b[2J\x07\u202e" in [event.get("text") for event in journal]


def test_a_fault_of_some_length_is_told_on_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = Faulty(PLACES["first"], raising(ValueError("\x1b[2J\n" + "x" * 1_000_000)))
    [fault] = [event for event in play(agent)[1] if event["event"] == "fault"]
    assert len(fault["text"]) < 500
    assert fault["text"].isprintable()


def test_what_the_agent_says_is_scored_as_it_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "ochre-ochre-ochre")
    heard: list[str] = []

    def nosy(ltm: Ltm) -> None:
        ltm.say("I like ochre.")
        heard.append(ltm.ask("Which?"))

    found = events({"a": nosy}, lambda _: "it is ochre-ochre-ochre", retries=0)
    assert heard == ["it is [redacted $PLANTED_SECRET]"]
    assert [event["text"] for event in found if event["event"] == "reply"] == heard * 2
