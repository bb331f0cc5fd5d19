"""Pace: how long a memory has, in real time, until what it was told must be found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_ltm._core.storage.clock import stopwatch_seconds
from pytest_ltm._core.storage.errors import ConfigurationError

LIMIT = 60.0
"""Seconds after which a fact that is polled for counts as missed."""
# Seconds between two looks: a share of those that have passed, so that a lag is known
# to 2 %, whatever it is.
_SHORTEST, _LONGEST, _SHARE = 0.005, 0.5, 0.02


@dataclass(frozen=True, slots=True)
class PaceClock:
    """Where seconds come from, and how they pass; tests have one of their own."""

    seconds: Callable[[], float] = stopwatch_seconds
    sleep: Callable[[float], object] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What happens between the last message and a search."""

    polls: bool = False
    """A search that misses is repeated until the limit."""
    wait: float = 0.0
    """Seconds to wait before each search that follows something new."""
    limit: float = LIMIT
    clock: PaceClock = field(default_factory=PaceClock)

    def __str__(self) -> str:
        if self.polls:
            return "poll"
        return f"{self.wait:g}" if self.wait else "settle"

    def let_pass(self) -> None:
        """Wait as long as is asked for."""
        if self.wait:
            self.clock.sleep(self.wait)

    def poll(self, found: Callable[[], bool], since: float) -> float | None:
        """Look until it is found; return the seconds since then, None if it was not found within the limit."""
        if found():
            return self.clock.seconds() - since
        if not self.polls:
            return None
        while (passed := self.clock.seconds() - since) < self.limit:
            self.clock.sleep(min(max(passed * _SHARE, _SHORTEST), _LONGEST))
            if found():
                return self.clock.seconds() - since
        return None


def parse_pace(text: str) -> Pace:
    """Return the pace that `settle`, `poll` or a number of seconds means; ConfigurationError for anything else."""
    word = text.strip().casefold()
    if word == "settle":
        return Pace()
    if word == "poll":
        return Pace(polls=True)
    try:
        seconds = float(word.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 3600:
        raise ConfigurationError(
            f"expected settle, poll or a number of seconds below 3,600, got {text!r}"
        )
    return Pace(wait=seconds)
