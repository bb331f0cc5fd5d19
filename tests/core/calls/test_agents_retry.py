"""Transient faults: which are retried, how often, at what intervals, and by whom."""

# ruff: noqa: ARG001, ARG002 - agents under test keep the protocol's signatures
from __future__ import annotations

import asyncio
import random
import urllib.error
from contextlib import closing
from datetime import datetime, timezone
from email.message import Message
from typing import Any

import pytest

from pytest_ltm import AgentFault, TransientFault
from pytest_ltm._core.calls.retry import (
    LONGEST,
    TOTAL,
    Failed,
    Retries,
    Trouble,
    classify_failure,
)
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.sources import agent_source

NOW = datetime(2024, 5, 6, 7, 8, 0, tzinfo=timezone.utc)


class Response:
    def __init__(self, status: int, **headers: str) -> None:
        self.status_code = status
        self.headers = {
            name.replace("_", "-"): value for name, value in headers.items()
        }


class HTTPStatusError(Exception):
    """An error shaped like those of httpx and requests."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.response = Response(status, **headers)


class ProviderError(Exception):
    """An error shaped like those of provider clients."""

    def __init__(self, status: int, code: str | None = None) -> None:
        super().__init__(f"status {status}")
        self.status_code, self.code, self.response = status, code, Response(status)


ReadTimeout = type("ReadTimeout", (Exception,), {})
ConnectError = type("ConnectError", (Exception,), {})
APIConnectionError = type("APIConnectionError", (Exception,), {})


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def worded(error: HTTPStatusError, words: str) -> HTTPStatusError:
    error.args = (words,)
    return error


def group(*errors: Exception) -> BaseException:
    kind: type[Exception] = type("Group", (Exception,), {"exceptions": errors})
    return kind("unhandled errors in a task group")


# --- which faults are transient


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_these_statuses_may_pass(status: int) -> None:
    for error in (HTTPStatusError(status), ProviderError(status)):
        found = classify_failure(error, now=NOW)
        assert found is not None
        assert found.untaken is (status in {425, 429, 503, 529})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501, 505])
def test_these_statuses_will_be_said_again(status: int) -> None:
    assert classify_failure(HTTPStatusError(status), now=NOW) is None


@pytest.mark.parametrize(
    ("error", "untaken"),
    [
        (ConnectionRefusedError(), True),
        (ConnectionResetError(), False),
        (ConnectionAbortedError(), False),
        (BrokenPipeError(), False),
        (TimeoutError(), False),
        (asyncio.TimeoutError(), False),
        (ReadTimeout(), False),
        (ConnectError(), True),
        (TransientFault("busy"), True),
        (urllib.error.URLError(ConnectionRefusedError()), True),
        (urllib.error.URLError(TimeoutError()), False),
        (urllib.error.HTTPError("http://x", 503, "no", Message(), None), True),
        (caused(RuntimeError("the model failed"), ConnectionResetError()), False),
        (caused(APIConnectionError(), ReadTimeout()), False),
        (
            caused(
                APIConnectionError(), caused(ConnectError(), ConnectionRefusedError())
            ),
            True,
        ),
        (group(ConnectionRefusedError(), ConnectError()), True),
        (group(ConnectionRefusedError(), ConnectionResetError()), False),
    ],
)
def test_these_may_pass_and_these_surely_were_not_taken(
    error: BaseException, untaken: bool
) -> None:
    assert classify_failure(error, now=NOW) == Trouble(untaken)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        KeyError("choices"),
        OSError(28, "no space left on device"),
        SystemExit(503),
        group(ConnectionRefusedError(), ValueError()),
        caused(ProviderError(401), ConnectionResetError()),
        ProviderError(429, "insufficient_quota"),
        AgentFault("said so"),
    ],
)
def test_these_stay(error: BaseException) -> None:
    assert classify_failure(error, now=NOW) is None


def test_an_exception_whose_attributes_raise_is_looked_at_all_the_same() -> None:
    class Broken(ConnectionResetError):
        @property
        def response(self) -> Any:
            raise RuntimeError

    assert classify_failure(Broken(), now=NOW) == Trouble(untaken=False)


def test_a_chain_of_causes_that_bites_its_tail_ends() -> None:
    error = RuntimeError()
    error.__cause__ = error
    assert classify_failure(error, now=NOW) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry_after": "7"}, 7.0),
        ({"Retry_After": " 1.5 "}, 1.5),
        ({"retry_after": "-3"}, 0.0),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "Mon, 06 May 2024 07:08:30 GMT"}, 30.0),
        ({"retry_after": "Mon, 06 May 2024 07:00:00 GMT"}, 0.0),
        (
            {
                "retry_after": "Sat, 01 Jan 2000 00:00:20 GMT",
                "date": "Sat, 01 Jan 2000 00:00:00 GMT",
            },
            20.0,
        ),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "Mon, 99 May 2024 07:08:30 GMT"}, None),
    ],
)
def test_what_retry_after_asks_for(
    headers: dict[str, str], seconds: float | None
) -> None:
    found = classify_failure(HTTPStatusError(429, **headers), now=NOW)
    assert found is not None
    assert found.retry_after == seconds


def test_a_server_may_say_by_itself_whether_to_come_again() -> None:
    assert (
        classify_failure(HTTPStatusError(500, x_should_retry="false"), now=NOW) is None
    )
    assert classify_failure(
        HTTPStatusError(418, x_should_retry="true"), now=NOW
    ) == Trouble(untaken=False)


# --- how often, and at what intervals


class Line:
    """A caller whose waits take no time, with a record of its attempts."""

    def __init__(
        self, agent: Any, most: int = 4, seed: int = 1, **settings: Any
    ) -> None:
        self.waits: list[float] = []
        self.failed: list[Failed] = []
        retries = Retries(most=most, rng=random.Random(seed), sleep=self.waits.append)
        made = agent_source(agent, spec="x:y").make()
        self.speaker = AgentCaller(
            made,
            timeout=None,
            retries=retries,
            retried=self.failed.append,
            name="bot",
            **settings,
        )

    def ask(self, message: str = "a") -> str:
        with closing(self.speaker):
            return self.speaker.ask(message).text


class Flaky:
    """Raises the given errors in sequence, then replies."""

    stateless = True

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.heard: list[str] = []

    def reply(self, message: str) -> str:
        self.heard.append(message)
        if self.errors:
            raise self.errors.pop(0)
        return "at last"


def test_a_message_is_sent_again_until_it_is_answered() -> None:
    agent = Flaky(ConnectionResetError("lost"), ConnectionResetError("lost"))
    line = Line(agent)
    assert line.ask("hello") == "at last"
    assert agent.heard == ["hello"] * 3
    assert [one.attempt for one in line.failed] == [1, 2]
    assert [one.wait for one in line.failed] == line.waits
    assert "ConnectionResetError: lost" in str(line.failed[0].error)


def test_a_fault_that_stays_tells_how_often_it_was_tried() -> None:
    line = Line(Flaky(*[ConnectionResetError("lost")] * 9))
    with pytest.raises(
        AgentFault,
        match=r"ConnectionResetError: lost \(tried 5 times, with \d+\.\d s of waiting\)",
    ) as caught:
        line.ask()
    assert len(line.waits) == 4
    assert isinstance(caught.value.__cause__, ConnectionResetError)


def test_what_nothing_settles_is_tried_twice_more() -> None:
    agent = Flaky(*[worded(HTTPStatusError(500), "Out of paper")] * 9)
    line = Line(agent)
    with pytest.raises(AgentFault, match="tried 3 times"):
        line.ask()
    assert len(agent.heard) == 3


def test_a_server_that_names_a_time_to_come_again_settles_it() -> None:
    error = worded(HTTPStatusError(500, retry_after="0.1"), "Out of paper")
    agent = Flaky(*[error] * 4)
    Line(agent).ask()
    assert len(agent.heard) == 5


def test_a_status_without_words_is_all_that_counts() -> None:
    agent = Flaky(*[HTTPStatusError(500)] * 4)
    Line(agent).ask()
    assert len(agent.heard) == 5


def test_no_retries_means_one_attempt() -> None:
    agent = Flaky(ConnectionResetError("lost"))
    with pytest.raises(AgentFault, match=r"lost$"):
        Line(agent, most=0).ask()
    assert agent.heard == ["a"]


def test_waits_grow_and_are_drawn_from_the_given_chance() -> None:
    def waits(seed: int) -> list[float]:
        line = Line(Flaky(*[ConnectionResetError()] * 6), most=6, seed=seed)
        line.ask()
        return line.waits

    first = waits(1)
    assert first == waits(1)
    assert first != waits(2)
    for number, wait in enumerate(first):
        assert 2**number / 2 <= wait <= 2**number


def test_no_wait_is_longer_than_the_longest_and_all_together_no_longer_than_the_total() -> (
    None
):
    line = Line(Flaky(*[ConnectionResetError()] * 50), most=50)
    with pytest.raises(AgentFault):
        line.ask()
    assert max(line.waits) <= LONGEST
    assert sum(line.waits) <= TOTAL
    assert sum(line.waits) + LONGEST > TOTAL


def test_the_other_side_gets_the_time_that_it_asks_for() -> None:
    line = Line(Flaky(HTTPStatusError(429, retry_after="20"), HTTPStatusError(429)))
    line.ask()
    assert 20 <= line.waits[0] <= 21
    assert line.waits[1] <= 2


def test_who_asks_for_more_than_the_total_is_not_waited_for() -> None:
    line = Line(Flaky(HTTPStatusError(429, retry_after="3600")))
    with pytest.raises(
        AgentFault,
        match="it asks to be left alone for 3600 s; the waits last 180 s at most",
    ):
        line.ask()
    assert line.waits == []


def test_an_adapter_says_how_long_to_wait() -> None:
    line = Line(Flaky(TransientFault("busy", retry_after=30)))
    line.ask()
    assert 30 <= line.waits[0] <= 31


def test_an_error_of_the_agents_code_is_not_tried_again() -> None:
    agent = Flaky(ValueError("no such model"))
    with pytest.raises(AgentFault, match=r"ValueError: no such model$"):
        Line(agent).ask()
    assert agent.heard == ["a"]


@pytest.mark.parametrize("given", [None, b"bytes", "x" * 1_000_001])
def test_a_reply_that_is_none_is_not_asked_for_again(given: Any) -> None:
    heard = []

    def bad(message: str) -> Any:
        heard.append(message)
        return given

    with pytest.raises(AgentFault):
        Line(bad).ask()
    assert heard == ["a"]


def test_ctrl_c_ends_a_wait() -> None:
    agent = Flaky(ConnectionResetError())
    line = Line(agent)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    retries = Retries(most=4, rng=random.Random(0), sleep=interrupted)
    line.speaker._door._retries = retries
    with pytest.raises(KeyboardInterrupt):
        line.ask()
    assert agent.heard == ["a"]


def test_what_must_pass_is_not_tried_again() -> None:
    agent = Flaky(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        Line(agent).ask()
    assert agent.heard == ["a"]


def test_an_async_agent_is_asked_again() -> None:
    class Async:
        stateless = True
        calls = 0

        async def reply(self, message: str) -> str:
            self.calls += 1
            await asyncio.sleep(0)
            if self.calls < 3:
                raise ConnectionResetError
            return "at last"

    assert Line(Async()).ask() == "at last"


# --- agents that remember failed attempts


class Rememberer:
    """Stores each message before its model is called, as careless agents do."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.history: list[str] = []
        self.now: datetime | None = None

    def reply(self, message: str) -> str:
        self.history.append(message)
        if self.errors:
            raise self.errors.pop(0)
        return f"{len(self.history)} messages"


class Saved(Rememberer):
    def save(self) -> bytes:
        return "\n".join(self.history).encode()

    def load(self, state: bytes) -> None:
        self.history = state.decode().split("\n") if state else []
        self.now = None

    def tell_time(self, now: datetime) -> None:
        self.now = now


def test_an_agent_that_can_be_put_back_is_put_back_before_each_try() -> None:
    agent = Saved(ConnectionResetError(), HTTPStatusError(500))
    line = Line(agent)
    line.speaker.tell_time(NOW)
    assert line.ask("hello") == "1 messages"
    assert agent.history == ["hello"]
    assert agent.now == NOW


def test_its_state_is_saved_once_if_somebody_else_saves_it_after_each_message() -> None:
    calls = []

    class Counted(Saved):
        def save(self) -> bytes:
            calls.append(len(self.history))
            return super().save()

    line = Line(Counted())
    for message in "abc":
        line.speaker.ask(message)
        line.speaker.save()
    assert calls == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(),
        HTTPStatusError(500),
        HTTPStatusError(504),
        TimeoutError(),
    ],
)
def test_an_agent_that_cannot_be_put_back_is_not_asked_again_what_it_may_have_heard(
    error: Exception,
) -> None:
    agent = Rememberer(error)
    with pytest.raises(AgentFault):
        Line(agent).ask()
    assert agent.history == ["a"]


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(), HTTPStatusError(429), HTTPStatusError(503)]
)
def test_it_is_asked_again_where_the_message_was_not_taken(error: Exception) -> None:
    agent = Rememberer(error)
    assert Line(agent).ask() == "2 messages"


def test_an_agent_whose_save_fails_is_treated_as_one_that_cannot_be_put_back() -> None:
    class Unsaved(Saved):
        def save(self) -> bytes:
            raise RuntimeError

    with pytest.raises(AgentFault, match="ConnectionResetError"):
        Line(Unsaved(ConnectionResetError())).ask()


def test_being_told_an_exchange_is_tried_again_too() -> None:
    class Historian(Flaky):
        def accept(self, message: str, reply: str) -> None:
            self.reply(message)

    agent = Historian(ConnectionResetError())
    line = Line(agent)
    with closing(line.speaker):
        line.speaker.tell("a", "b")
    assert agent.heard == ["a", "a"]


# --- the text of a fault


def test_an_adapters_own_fault_keeps_its_words_and_says_whether_the_agent_is_gone() -> (
    None
):
    def gone(message: str) -> str:
        raise AgentFault("the process has ended", fatal=True)

    with pytest.raises(
        AgentFault, match=r"^agent 'bot': the process has ended$"
    ) as caught:
        Line(gone).ask()
    assert caught.value.fatal


def test_a_group_says_what_is_in_it() -> None:
    with pytest.raises(
        AgentFault,
        match=r"Group: unhandled errors in a task group \[ConnectionResetError: lost\]",
    ):
        Line(Flaky(group(ConnectionResetError("lost"), ValueError()))).ask()


def test_ctrl_c_in_a_group_passes() -> None:
    class Outer(BaseException):
        exceptions = (ValueError(), KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        Line(Flaky(Outer())).ask()


def test_a_reply_and_a_fault_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "planted-value-0")
    assert (
        Line(lambda _: "it is planted-value-0").ask()
        == "it is [redacted $PLANTED_TOKEN]"
    )
    with pytest.raises(AgentFault) as caught:
        Line(Flaky(ValueError("planted-value-0"))).ask()
    assert "planted-value" not in str(caught.value)
