"""`--ltm-pace`: a store that indexes late is scored for what it knows, and its lag is measured in real seconds."""

from __future__ import annotations

import asyncio
import random
import re
from datetime import datetime, timezone
from typing import Any

import pytest

from pytest_ltm.agents.memory import pace as paces
from pytest_ltm.agents.memory.pace import Pace, PaceClock, lag_sentence, parse_pace
from pytest_ltm.agents.memory.reading import NoteReading
from pytest_ltm.agents.memory.stores import Stored
from pytest_ltm.agents.memory.thinker import make_thinker
from pytest_ltm.api.storage import AgentFault, ConfigurationError, Field
from pytest_ltm.lifecycle.bench import Bench
from pytest_ltm.lifecycle.lifecycle_session import run_test
from pytest_ltm.lifecycle.store_suite import TESTS
from pytest_ltm.lifecycle.subject import Subject

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)
TRAIN = "My train to Ghent leaves from platform 14."
ASKED = "From which platform does my train leave?"


class FastClock:
    """A clock that advances only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def seconds(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Late:
    """Finds a text only some seconds after it was added."""

    def __init__(self, clock: FastClock, lag: float) -> None:
        self.clock, self.lag = clock, lag
        self.kept: list[tuple[float, str]] = []

    def add(
        self, text: str, *, role: str, at: datetime, session: str, user: str
    ) -> None:
        del role, at, session, user
        self.kept.append((self.clock.now, text))

    def search(self, query: str, *, k: int) -> list[str]:
        asked = set(re.findall(r"\w+", query.lower()))
        ready = [text for at, text in self.kept if at + self.lag <= self.clock.now]
        fits = [text for text in ready if asked & set(re.findall(r"\w+", text.lower()))]
        return fits[::-1][:k]


def stored(monkeypatch: pytest.MonkeyPatch, store: Any, pace: Pace) -> Any:
    monkeypatch.setattr(paces, "_of_run", [pace])
    thinker, _ = make_thinker("rules", Field({}, "test"), ready=True)
    agent = Stored(store, "late", thinker(), NoteReading(), {}, {})
    agent.tell_time(NOON)
    return agent


def answers(
    monkeypatch: pytest.MonkeyPatch, lag: float, *, polls: bool
) -> tuple[str, Any]:
    clock = FastClock()
    pace = Pace(polls=polls, clock=PaceClock(clock.seconds, clock.sleep))
    agent = stored(monkeypatch, Late(clock, lag), pace)
    agent.accept(TRAIN, "")
    return agent.reply(ASKED).text, agent


@pytest.mark.parametrize("lag", [0.0, 2.0, 8.0, 60.0])
def test_a_polled_store_answers_as_without_lag_which_is_known_within_5_percent(
    monkeypatch: pytest.MonkeyPatch, lag: float
) -> None:
    text, agent = answers(monkeypatch, lag, polls=True)
    assert text == answers(monkeypatch, 0.0, polls=False)[0]
    assert "14" in text
    [measured] = agent._lags
    assert measured == pytest.approx(lag, rel=0.05, abs=0.01)


def test_without_polling_a_late_store_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    text, agent = answers(monkeypatch, 8.0, polls=False)
    assert "14" not in text
    assert not hasattr(agent, "settle")


def test_seconds_are_waited_once_before_a_search_that_follows_something_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FastClock()
    pace = Pace(wait=9.0, clock=PaceClock(clock.seconds, clock.sleep))
    agent = stored(monkeypatch, Late(clock, 8.0), pace)
    agent.accept(TRAIN, "")
    assert "14" in agent.answer_alone(ASKED).text
    assert clock.now == 109.0
    agent.answer_alone(ASKED)
    assert clock.now == 109.0


def test_what_is_never_found_is_missed_after_the_limit_and_said_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, agent = answers(monkeypatch, 1e9, polls=True)
    with pytest.raises(AgentFault, match=r"\(0 texts, 1 not within 120 s\)"):
        agent.close()


def test_after_three_misses_nobody_waits_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FastClock()
    pace = Pace(polls=True, clock=PaceClock(clock.seconds, clock.sleep))
    agent = stored(monkeypatch, Late(clock, 1e9), pace)
    for _ in range(5):
        agent.reply(ASKED)
    assert clock.now < 100 + 3 * 121


def test_an_async_store_goes_on_while_it_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Background(Late):
        async def add(self, text: str, **_: Any) -> None:  # type: ignore[override]
            asyncio.get_running_loop().call_later(0.02, self.kept.append, (0.0, text))

        async def search(self, query: str, *, k: int) -> list[str]:  # type: ignore[override]
            return super().search(query, k=k)

    agent = stored(monkeypatch, Background(FastClock(), 0.0), Pace(polls=True))

    async def talk() -> Any:
        await agent.accept(TRAIN, "")
        return await agent.reply(ASKED)

    assert "14" in asyncio.run(talk()).text
    assert agent._lags[0] >= 0.02


def test_the_suite_finds_what_a_late_store_knows_and_how_late() -> None:
    clock = FastClock()
    pace = Pace(polls=True, clock=PaceClock(clock.seconds, clock.sleep))
    [test] = [test for test in TESTS if test.name == "found"]
    bench = Bench(Subject(lambda: Late(clock, 8.0), pace), random.Random(1))
    run_test(test, bench)
    bench.subject.close()
    assert bench.row.failures == []
    assert bench.subject.usage.lags[0] == pytest.approx(8.0, rel=0.05)


@pytest.mark.parametrize(
    ("text", "shown"), [("settle", "settle"), ("Poll", "poll"), ("2.5s", "2.5")]
)
def test_a_pace_is_a_word_or_seconds(text: str, shown: str) -> None:
    assert str(parse_pace(text)) == shown


@pytest.mark.parametrize("text", ["fast", "-1", "1e9", "nan"])
def test_any_other_pace_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="settle, poll or a number of seconds"):
        parse_pace(text)


def test_lags_are_said_with_three_percentiles() -> None:
    assert lag_sentence([0.5], 0, 120.0).endswith(
        "p50/p95/p99: 0.500/0.500/0.500 (1 text)"
    )
    assert lag_sentence([], 0, 120.0) == ""
