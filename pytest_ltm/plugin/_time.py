"""What `--ltm-time` means: the conversation's clock, and what surrounds each call of the agent."""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._clock import Clock, SignallingClock, SimulatedClock, WallClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

MODES = ("simulated", "jump", "signal", "sleep")


def check(mode: str) -> None:
    """Raise UsageError if the mode needs what is not installed."""
    if mode == "jump" and importlib.util.find_spec("time_machine") is None:
        raise pytest.UsageError(
            "--ltm-time=jump: moving the process's clock needs time-machine. Install it: pip install 'pytest-ltm[time]'"
        )


def clock_for(mode: str, jumped: Callable[[datetime, datetime], object], start: datetime) -> Clock:
    """Return the clock of a conversation; `jumped(before, now)` is called in the mode `signal` only."""
    if mode == "sleep":
        return WallClock()
    return SignallingClock(jumped, start) if mode == "signal" else SimulatedClock(start)


def around_agent(mode: str, clock: Clock, output: AbstractContextManager[object]) -> AbstractContextManager[object]:
    """Return what surrounds a call of the agent: in the mode `jump` the process's clock shows the conversation's time.

    Only there: elsewhere durations, time limits and other people's code keep the real clock. `output`: what else does.
    """
    return _moved(clock, output) if mode == "jump" else output


@contextmanager
def _moved(clock: Clock, output: AbstractContextManager[object]) -> Iterator[None]:
    import time_machine  # noqa: PLC0415 - an extra

    with output, time_machine.travel(clock.now, tick=True):
        yield
