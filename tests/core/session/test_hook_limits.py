"""A foreign hook that does not return is named and called no more; the run continues."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ltm._core.session import hook_calls
from pytest_ltm._core.session.hook_calls import HookCalls

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no interval timers there"
)


def calls_of(*functions: Any, limit: float | None = 0.2) -> HookCalls:
    implementations = [
        SimpleNamespace(argnames=(), function=function, plugin=function)
        for function in functions
    ]
    caller = SimpleNamespace(get_hookimpls=lambda: implementations)
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_ltm_odd=caller))
    return HookCalls(config, limit)


def test_a_hook_that_hangs_is_named_once_and_called_no_more() -> None:
    asked: list[str] = []

    def hangs() -> None:
        asked.append("hangs")
        time.sleep(60)

    def answers() -> str:
        return "here"

    calls = calls_of(hangs, answers)
    for _ in range(3):
        assert list(calls.ask_all("pytest_ltm_odd")) == ["here"]
    assert asked == ["hangs"]
    [fault] = calls.faults
    assert "hangs did not return within 0.2 s, and is not called any more" in fault
    assert "--ltm-evaluator-timeout=SECONDS" in fault


def test_an_observer_that_hangs_is_told_nothing_more() -> None:
    told: list[Any] = []

    def observe(event: Any) -> None:
        told.append(event)
        while True:
            time.sleep(0.01)

    calls = calls_of()
    observer = calls.guard(observe)
    for event in range(3):
        observer(event)  # type: ignore[arg-type]
    assert told == [0]
    assert len(calls.faults) == 1


def test_what_the_answer_of_a_hook_does_when_it_is_read_is_within_the_limit() -> None:
    class Slow:
        def __str__(self) -> str:
            time.sleep(60)
            return "never"

    calls = calls_of(Slow)
    assert list(calls.ask_all("pytest_ltm_odd", str)) == []
    assert len(calls.faults) == 1


def test_without_a_limit_a_hook_may_take_its_time() -> None:
    def waits() -> str:
        time.sleep(0.3)
        return "here"

    assert list(calls_of(waits, limit=None).ask_all("pytest_ltm_odd")) == ["here"]


def test_no_other_conversation_goes_on_while_a_function_of_ours_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The airlock would switch greenlets; with -x other items would then fail after the first failure."""
    told: list[Any] = []

    def observe(event: Any) -> None:
        told.append(event)

    observe.__module__ = "pytest_ltm.figures.plugin"
    monkeypatch.setattr(hook_calls, "read_attribute", pytest.fail)
    observer = calls_of().guard(observe)
    observer(1)  # type: ignore[arg-type]
    observer(2)  # type: ignore[arg-type]
    assert told == [1, 2]
