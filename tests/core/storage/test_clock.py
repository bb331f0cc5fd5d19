"""Clocks: time passes only when it is told to."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo

import pytest

from pytest_ltm._core.storage import clock as clock_module
from pytest_ltm._core.storage.clock import (
    START,
    SignallingClock,
    SimulatedClock,
    WallClock,
    describe_duration,
    stopwatch_seconds,
    wall_time,
)


def test_simulated_time_begins_at_a_fixed_aware_moment_and_stands_still() -> None:
    clock = SimulatedClock()
    assert (
        clock.now == clock.now == START == datetime(2024, 3, 4, 9, tzinfo=timezone.utc)
    )


def test_simulated_time_jumps_to_where_it_is_told() -> None:
    clock = SimulatedClock()
    clock.advance(START + timedelta(days=400, microseconds=1))
    assert clock.now - START == timedelta(days=400, microseconds=1)


def test_simulated_time_never_goes_back() -> None:
    clock = SimulatedClock()
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(START - timedelta(seconds=1))


def test_a_signalling_clock_tells_both_ends_of_a_jump_when_it_has_happened() -> None:
    seen: list[tuple[datetime, datetime, datetime]] = []
    clock = SignallingClock(lambda before, now: seen.append((before, now, clock.now)))
    clock.advance(later := START + timedelta(hours=1))
    assert seen == [(START, later, later)]


def test_a_clock_on_the_wall_sleeps_until_the_moment_however_often_it_is_woken() -> (
    None
):
    now, slept = START, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += timedelta(seconds=min(seconds, 60))

    WallClock(lambda: now, sleep).advance(START + timedelta(seconds=90))
    assert slept == [90, 30]


def test_a_clock_on_the_wall_does_not_sleep_for_a_moment_that_is_past() -> None:
    def sleep(seconds: float) -> None:
        pytest.fail(f"slept for {seconds} s")

    WallClock(lambda: START, sleep).advance(START - timedelta(days=1))


def test_the_time_on_the_wall_is_aware() -> None:
    assert wall_time().utcoffset() == timedelta(0)
    assert WallClock().now.utcoffset() == timedelta(0)


def test_a_stopwatch_never_runs_backwards() -> None:
    assert stopwatch_seconds() <= stopwatch_seconds()


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(days=2, hours=3, minutes=4, seconds=5), "2 days, 3:04:05"),
        (timedelta(hours=3), "3:00:00"),
        (timedelta(seconds=59.6), "0:01:00"),
        (timedelta(0), "0:00:00"),
    ],
)
def test_a_duration_is_described_with_its_days(duration: timedelta, text: str) -> None:
    assert describe_duration(duration) == text


def test_our_own_time_goes_on_while_a_test_freezes_what_modules_have_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Frozen(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Frozen:
            return cls(2020, 1, 1, tzinfo=tz)

    monkeypatch.setattr(clock_module, "datetime", Frozen)
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)

    assert type(wall_time()) is datetime
    assert stopwatch_seconds() != stopwatch_seconds()
