from __future__ import annotations

# ruff: noqa: ARG001, ARG005, BLE001 - handlers have the signature of signals, and hostile calls swallow what they can
import signal
import threading
from typing import Any

import pytest

from pytest_ltm._core.calls import time_limits
from pytest_ltm._core.calls.conversation_thread import OutOfTime
from pytest_ltm._core.calls.time_limits import call_within
from pytest_ltm._core.storage.clock import can_interrupt, stopwatch_seconds

pytestmark = pytest.mark.skipif(
    not can_interrupt(), reason="no interval timer on this system"
)


def block(seconds: Any = 30.0) -> None:
    """Block far longer than any limit here, without the banned sleep."""
    threading.Event().wait(seconds)


@pytest.fixture(autouse=True)
def undisturbed() -> Any:
    """Fail if a test leaves the process's timer or signal handler changed."""
    before = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.setitimer(signal.ITIMER_REAL, 0)[0] == 0


def test_a_call_in_time_returns_its_value() -> None:
    assert call_within(30, lambda: "done") == "done"


@pytest.mark.slow
def test_a_call_that_blocks_is_interrupted() -> None:
    with pytest.raises(OutOfTime):
        call_within(0.1, block)


@pytest.mark.slow
def test_a_call_that_computes_for_ever_is_interrupted() -> None:
    def spin() -> None:
        while True:
            pass

    with pytest.raises(OutOfTime):
        call_within(0.1, spin)


def test_an_exception_of_the_call_passes() -> None:
    with pytest.raises(ZeroDivisionError):
        call_within(30, lambda: 1 // 0)


@pytest.mark.slow
def test_catching_exception_in_a_loop_does_not_swallow_the_interruption() -> None:
    def stubborn() -> None:
        while True:
            try:
                block()
            except Exception:
                continue

    with pytest.raises(OutOfTime):
        call_within(0.1, stubborn)


@pytest.mark.slow
def test_what_swallows_the_first_interruptions_is_interrupted_again() -> None:
    swallowed = []

    def stubborn() -> None:
        for _ in range(2):
            try:
                block()
            except BaseException as error:
                swallowed.append(type(error))
        block()

    with pytest.raises(OutOfTime):
        call_within(0.1, stubborn)
    assert swallowed == [OutOfTime, OutOfTime]


def test_no_limit_sets_no_timer() -> None:
    assert call_within(None, lambda: signal.getitimer(signal.ITIMER_REAL)) == (0, 0)


def test_an_earlier_timer_goes_on_with_the_time_that_is_left(restored: Any) -> None:
    signal.setitimer(signal.ITIMER_REAL, 1000, 7)
    call_within(30, lambda: None)
    left, repeat = signal.getitimer(signal.ITIMER_REAL)
    assert 0 < left <= 1000
    assert repeat == 7


@pytest.mark.slow
def test_an_earlier_timer_that_is_due_inside_rings_inside(restored: Any) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(Rang):
        call_within(30, block)


@pytest.mark.slow
def test_an_earlier_handler_that_returns_does_not_end_the_limit(
    quiet: list[str],
) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(OutOfTime):
        call_within(0.2, block)
    assert quiet == ["rang"]


@pytest.mark.slow
def test_limits_nest_and_the_inner_one_leaves_the_outer_one() -> None:
    reached = []

    def outer() -> None:
        with pytest.raises(OutOfTime):
            call_within(0.1, block)
        reached.append("after the inner limit")
        block()

    with pytest.raises(OutOfTime):
        call_within(1.5, outer)
    assert reached == ["after the inner limit"]


@pytest.mark.slow
def test_an_outer_limit_holds_inside_a_longer_inner_one() -> None:
    with pytest.raises(OutOfTime):
        call_within(0.1, lambda: call_within(30, block))


@pytest.mark.slow
def test_another_thread_has_no_limit_and_does_no_harm() -> None:
    outcome = []

    def elsewhere() -> None:
        outcome.append((can_interrupt(), call_within(0.05, lambda: block(0.2))))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert outcome == [(False, None)]


class Rang(Exception):
    pass


@pytest.fixture
def restored() -> Any:
    def ring(number: int, frame: object) -> None:
        raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert signal.getsignal(signal.SIGALRM) is ring
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def quiet() -> Any:
    rings: list[str] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rings.append("rang"))
    yield rings
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_limit_that_is_over_as_the_call_comes_back_sets_no_timer_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An alarm without our handler would end the process."""
    hours_passed = [0.0]
    monkeypatch.setattr(
        time_limits,
        "stopwatch_seconds",
        lambda: stopwatch_seconds() + 3600 * hours_passed[0],
    )
    set_timer = time_limits._timer

    def set_timer_late(seconds: float, repeat: float = 0.0) -> tuple[float, float]:
        before = set_timer(seconds, repeat)
        if seconds == 0 and hours_passed[0]:
            signal.raise_signal(signal.SIGALRM)
        return before

    monkeypatch.setattr(time_limits, "_timer", set_timer_late)
    call_within(30, lambda: hours_passed.__setitem__(0, 1.0))
    assert set_timer(0) == (0, 0)
