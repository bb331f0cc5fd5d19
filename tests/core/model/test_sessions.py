"""Sessions: when they end, which user returns, and what a newly created agent still knows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pytest_ltm._core.engine.held_agent import Checkpoints
from pytest_ltm._core.engine.port import LivePort
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.timings import Timings
from pytest_ltm._core.model.plan import Plan
from pytest_ltm._core.model.schedule import (
    Rhythm,
    cannot_come_back,
    parse_sessions_option,
    session_rhythm,
)
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.transcript import Exchange, Transcript
from pytest_ltm._core.storage.clock import START, SimulatedClock
from pytest_ltm._core.storage.errors import AgentFault, ConfigurationError
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.testing import Played, run_conversation

SAID = Exchange(
    number=0,
    by="",
    kind="say",
    message="one",
    reply="one",
    start=0,
    message_tokens=1,
    reply_tokens=1,
    now=START,
)


def told_once() -> Transcript:
    told = Transcript()
    told.append(SAID)
    return told


def live_port(make: Callable[[], AgentCaller], **options: Any) -> LivePort:
    return LivePort(
        make, TokenCounter("characters", len), SimulatedClock(), Timings(), **options
    )


class Saves:
    """Saves all messages; `kept` of them survive the session."""

    kept = 100

    def __init__(self) -> None:
        self.told: list[str] = []

    def reply(self, message: str) -> str:
        self.told.append(message)
        return " ".join(self.told)

    def save(self) -> bytes:
        return "\n".join(self.told[: self.kept]).encode()

    def load(self, state: bytes) -> None:
        self.told = state.decode().splitlines()


class Forgets(Saves):
    kept = 0


class Keeps:
    """Stores messages by user."""

    users: dict[str, list[str]]

    def begin_session(self, user: str) -> None:
        self.told = self.users.setdefault(user, [])

    def reply(self, message: str) -> str:
        self.told.append(message)
        return " ".join(self.told)


class Both(Forgets):
    """Has a store and a saved state; the store counts."""

    users: dict[str, list[str]]

    def begin_session(self, user: str) -> None:
        self.told = self.users.setdefault(user, [])


class Plain:
    def reply(self, message: str) -> str:
        return message


def comes_back(ltm: Any) -> None:
    ltm.say("The cat is called Max.")
    ltm.new_session()
    ltm.check("knows", "Max" in ltm.ask("Who is the cat?"))


def verdict(result: Played) -> Any:
    return result.endings["cat/0"].verdict


def played(agent: Any, body: Any = comes_back, **options: Any) -> Played:
    return run_conversation({"cat": body}, agent, span=1_000, **options)


@pytest.mark.parametrize(
    ("agent", "score"), [(Saves, 1), (Forgets, 0), (Keeps, 1), (Both, 1)]
)
def test_what_is_left_is_the_agents_own_memory(agent: Any, score: float) -> None:
    agent.users = {}
    assert verdict(played(agent)).value == score


def test_a_user_is_the_same_in_all_sessions_of_a_conversation_and_in_no_other() -> None:
    Keeps.users = {}
    played(Keeps), played(Keeps)
    assert [len(user) for user in Keeps.users.values()] == [2, 2]


def test_an_agent_of_one_session_is_never_a_zero() -> None:
    unscored = verdict(played(Plain))
    assert unscored.cause == "requires"
    assert "neither a KeepsUsers (begin_session) nor Checkpointable" in unscored.reason


def test_one_that_the_run_would_meet_again_is_refused_before_the_first_message() -> (
    None
):
    result = played(Plain, sessions="3")
    assert len(result.transcript) == 0
    why = str(result.endings["cat/0"].unreached)
    assert (
        "sessions are asked for (--ltm-sessions), and the agent has one session only"
        in why
    )


def test_one_that_cannot_be_saved_ends_the_conversation() -> None:
    class Breaks(Saves):
        def save(self) -> bytes:
            raise OSError("no room")

    live = live_port(lambda: AgentCaller(Breaks(), timeout=None))
    live.restore()
    live.open(told_once())
    with pytest.raises(AgentFault, match="no room"):
        live.new_session()


def test_a_state_that_is_kept_is_not_saved_again() -> None:
    agents: list[Saves] = []

    def made() -> AgentCaller:
        agents.append(Saves())
        return AgentCaller(agents[-1], timeout=None)

    checkpoints = Checkpoints(None)
    live = live_port(made, checkpoints=checkpoints)
    assert live.new_session() is None
    live.restore()
    assert live.new_session() is None  # nothing had been said
    live.reply(
        events.MessageSent(
            exchange=0, by="", kind="say", text="one", tokens=1, position=0, now=START
        )
    )
    agents[0].told.append("said to nobody")
    live.open(told_once())
    live.new_session()
    live.restore()
    assert (len(agents), agents[1].told) == (2, ["one"])


# --- The end of a session.


def times(text: str, *, span: int | None) -> Rhythm:
    due = session_rhythm(text, span=span, began=START)
    assert due is not None
    return due


def test_by_tokens_a_session_is_a_share_of_the_span() -> None:
    due = times("4", span=100)
    assert [at for at in range(0, 400, 5) if due.is_over(at, START)] == [
        *range(25, 400, 25)
    ]


def test_what_was_passed_over_is_one_session() -> None:
    due = times("3", span=100)
    assert [due.is_over(at, START) for at in (0, 90, 99, 100, 100, 134)] == [
        False,
        True,
        False,
        True,
        False,
        True,
    ]


def test_by_time() -> None:
    due, hour = times("every:8h", span=None), timedelta(hours=1)
    assert [at for at in range(40) if due.is_over(0, START + at * hour)] == [
        8,
        16,
        24,
        32,
    ]
    assert due.is_over(0, START + 200 * hour)
    assert not due.is_over(0, START + 207 * hour)


def test_a_conversation_without_a_span_has_no_share_of_it() -> None:
    assert session_rhythm("3", span=None, began=START) is None
    assert session_rhythm("", span=100, began=START) is None


@pytest.mark.parametrize(
    "text",
    ["1", "0", "-2", "x", "every:", "every:0h", "every:-1h", "every:soon", "²", "2.5"],
)
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"from 2 on, or every:TIME such as every:8h"
    ):
        parse_sessions_option(text)


def test_sessions_are_part_of_the_plan_where_there_are_any() -> None:
    fields: dict[str, Any] = {
        "examples": (),
        "seed": 0,
        "trial": 0,
        "span": 100,
        "tokenizer": "t",
        "filler": "f",
        "scoring": "current",
        "judge": "none",
        "judge_votes": 0,
        "time": "simulated",
        "opening": "",
    }
    one, many = Plan(**fields), Plan(**fields, sessions="3")
    assert "sessions" not in one.to_json()
    assert one.fingerprint != many.fingerprint
    assert Plan.from_json(many.to_json()) == many
    assert Plan.from_json(one.to_json()) == one


@pytest.mark.parametrize(
    ("capabilities", "can"),
    [
        ({"Checkpointable"}, True),
        ({"KeepsUsers"}, True),
        ({"Stateless"}, True),
        ({"AcceptsHistory"}, False),
    ],
)
def test_who_is_met_again(capabilities: set[str], *, can: bool) -> None:
    assert (not cannot_come_back(frozenset(capabilities))) == can
