"""The agent caller: replies, faults and time limits."""

# ruff: noqa: ARG001, ARG002, BLE001 - agents under test keep the protocol's signatures and swallow what they can
from __future__ import annotations

import signal
import sys
from contextlib import closing
from typing import Any

import pytest
from asked_agents import BLANK, HALF, ask, block, fault, interruptible, speaker

from pytest_ltm._core.calls import time_limits as _deadline
from pytest_ltm.agents import Reply, Usage
from pytest_ltm.api.calls import OutOfTime, call_within
from pytest_ltm.api.storage import AgentError, AgentFault

# --- replies


def test_a_text_is_a_reply() -> None:
    assert ask(lambda message: message + "!") == Reply("a!")


def test_an_empty_text_is_a_reply() -> None:
    assert ask(lambda _: "") == Reply("")


def test_a_reply_keeps_usage_and_cost() -> None:
    full = Reply("a", Usage(input_tokens=3, output_tokens=4), 0.25)
    assert ask(lambda _: full) == full


def test_a_text_of_a_class_of_its_own_becomes_a_plain_one() -> None:
    class Loud(str):
        __slots__ = ()

        def __str__(self) -> Any:
            return "LOUD"

    reply = ask(lambda _: Loud("quiet")).text
    assert (reply, type(reply)) == ("quiet", str)


def test_half_characters_are_replaced_so_that_the_journal_can_be_written() -> None:
    assert ask(lambda _: "caf\u00e9 \ud83d.").text == "café \\ud83d."


# --- faults


@pytest.mark.parametrize("given", [None, b"bytes", 3, ["a"], BLANK, (x for x in "ab")])
def test_what_is_no_text_is_a_fault(given: Any) -> None:
    error = fault(lambda _: given)
    assert "replied with" in str(error)
    assert not error.fatal


def test_none_is_called_none() -> None:
    assert "replied with None;" in str(fault(lambda _: None))


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), "0.1", True])
def test_a_cost_that_is_no_amount_is_a_fault(cost: Any) -> None:
    assert "cost" in str(fault(lambda _: Reply("a", None, cost)))


@pytest.mark.parametrize("usage", [{"input_tokens": 3}, Usage(input_tokens=-1), HALF])
def test_usage_that_counts_nothing_is_a_fault(usage: Any) -> None:
    assert "usage" in str(fault(lambda _: Reply("a", usage)))


def test_an_exception_is_a_fault_with_its_cause() -> None:
    def broken(message: str) -> None:
        raise ValueError("no such model\nsecond line")

    error = fault(broken)
    assert str(error) == "agent broken raised in reply(): ValueError: no such model"
    assert isinstance(error.__cause__, ValueError)
    assert not error.fatal


def test_a_fault_names_the_agent_as_it_was_called() -> None:
    with (
        closing(speaker(lambda _: None, name="mybot")) as one,
        pytest.raises(AgentFault, match="agent 'mybot' "),
    ):
        one.ask("a")


def test_a_long_text_of_an_exception_is_cut() -> None:
    def broken(message: str) -> None:
        raise ValueError("x" * 10_000)

    assert len(str(fault(broken))) < 400


@pytest.mark.parametrize(
    "kind", [Exception, RuntimeError, ValueError, SyntaxError, AgentFault]
)
def test_an_exception_that_cannot_be_printed_is_still_a_fault(
    kind: type[Exception],
) -> None:
    def cannot(_: object) -> str:
        raise RuntimeError

    unspeakable = type("Unspeakable", (kind,), {"__str__": cannot})

    def broken(message: str) -> None:
        raise unspeakable("x")

    assert "its text cannot be read" in str(fault(broken))


def test_sys_exit_is_a_fault() -> None:
    error = fault(lambda _: sys.exit(3))
    assert "SystemExit: 3" in str(error)


def test_a_foreign_base_exception_is_a_fault() -> None:
    class Outcome(BaseException): ...

    def broken(message: str) -> None:
        raise Outcome("skipped")

    assert "Outcome: skipped" in str(fault(broken))


def test_ctrl_c_passes() -> None:
    def interrupted(message: str) -> None:
        raise KeyboardInterrupt

    with closing(speaker(interrupted)) as one, pytest.raises(KeyboardInterrupt):
        one.ask("a")


def test_the_fatal_types_are_the_callers_choice() -> None:
    class Quit(BaseException): ...

    def quitting(message: str) -> None:
        raise Quit

    with closing(speaker(quitting, fatal=(Quit,))) as one, pytest.raises(Quit):
        one.ask("a")


def test_after_a_fault_the_agent_can_be_asked_again() -> None:
    replies = iter([None, "fine"])
    with closing(speaker(lambda _: next(replies))) as one:
        with pytest.raises(AgentFault):
            one.ask("a")
        assert one.ask("a").text == "fine"


# --- time limits


class Stuck:
    def reply(self, message: str) -> None:
        block()


class StuckButPure(Stuck):
    stateless = True


class StuckButSaved(Stuck):
    def save(self) -> Any:
        return b""

    def load(self, state: bytes) -> None: ...


class StuckButTold(Stuck):
    def accept(self, message: str, reply: str) -> None: ...


@pytest.mark.slow
@interruptible
def test_a_reply_that_does_not_come_is_a_fatal_fault_with_the_way_out() -> None:
    error = fault(Stuck, timeout=0.1)
    assert "Stuck did not return from reply() within 0.1 s" in str(error)
    assert "--ltm-reply-timeout" in str(error)
    assert isinstance(error.__cause__, OutOfTime)
    assert error.fatal


@pytest.mark.slow
@interruptible
@pytest.mark.parametrize("agent", [StuckButPure, StuckButSaved, StuckButTold])
def test_a_timeout_is_not_fatal_if_the_agent_can_be_put_back(agent: Any) -> None:
    assert not fault(agent, timeout=0.1).fatal


@pytest.mark.slow
@interruptible
def test_an_agent_that_catches_every_exception_runs_out_of_time() -> None:
    def stubborn(message: str) -> None:
        while True:
            try:
                block()
            except Exception:
                continue

    assert fault(stubborn, timeout=0.1).fatal


@pytest.mark.slow
@interruptible
def test_an_agent_that_turns_the_first_interruption_into_a_reply_has_replied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # no second interruption follows, however busy the machine
    monkeypatch.setattr(_deadline, "REPEAT", 60.0)

    def recovering(message: str) -> Any:
        try:
            block()
        except BaseException:
            return "sorry"

    assert ask(recovering, timeout=0.1).text == "sorry"


@pytest.mark.slow
@interruptible
def test_an_outer_limit_is_not_taken_for_the_agents() -> None:
    with closing(speaker(Stuck)) as one, pytest.raises(OutOfTime):
        call_within(0.1, lambda: one.ask("a"))


@pytest.mark.slow
@interruptible
def test_after_a_timeout_no_alarm_is_left() -> None:
    fault(Stuck, timeout=0.1)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_limit_that_is_none_is_refused(timeout: float | None) -> None:
    with pytest.raises(AgentError, match="positive number of seconds"):
        speaker(Stuck, timeout)


# --- leftovers


def test_an_agent_that_lowers_the_recursion_limit_lowers_it_for_nobody_else() -> None:
    before = sys.getrecursionlimit()

    def shallow(_: str) -> str:
        sys.setrecursionlimit(before - 100)
        return "done"

    async def shallow_too(message: str) -> str:
        return shallow(message)

    for reply in (shallow, shallow_too):
        assert ask(reply).text == "done"
        assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_agent_that_takes_our_signals_gives_them_back(
    number: signal.Signals,
) -> None:
    before = signal.getsignal(number)

    def deaf(_: str) -> str:
        signal.signal(number, signal.SIG_IGN)
        raise ValueError("and it fails")

    fault(deaf)
    assert signal.getsignal(number) is before
