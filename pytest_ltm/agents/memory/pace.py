"""Pace: the real time that a memory has before new text must be searchable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from pytest_ltm.api.storage import ConfigurationError, pluralize, stopwatch_seconds

LIMIT = 120.0
"""Seconds after which a polled text counts as missed."""
# Seconds between two polls: a share of the elapsed time, so that any lag is known to 2
# %.
_SHORTEST = 0.005
_LONGEST = 0.5
_SHARE = 0.02
_SHARES = (0.5, 0.95, 0.99)
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class PaceClock:
    """The source of seconds, and the function that waits; tests use their own."""

    seconds: Callable[[], float] = stopwatch_seconds
    sleep: Callable[[float], object] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What happens between the last message and a search."""

    polls: bool = False
    """Whether a search that misses is repeated until the limit."""
    wait: float = 0.0
    """Seconds to wait before a search that follows new text."""
    limit: float = LIMIT
    clock: PaceClock = field(default_factory=PaceClock)

    def __str__(self) -> str:
        if self.polls:
            return "poll"
        return f"{self.wait:g}" if self.wait else "settle"

    @property
    def waits(self) -> bool:
        """Whether it does more than let the memory settle."""
        return self.polls or self.wait > 0

    def pauses(self, since: float) -> Iterator[float]:
        """Yield the seconds to wait before each poll for text written at `since`; 0 before the first."""
        yield 0.0
        while self.polls and (passed := self.clock.seconds() - since) < self.limit:
            yield min(max(passed * _SHARE, _SHORTEST), _LONGEST)


_of_run: list[Pace] = []


def use_pace(pace: Pace) -> Callable[[], None]:
    """Set the pace of memories that are created from now on; return a function that ends this."""
    _of_run.append(pace)
    return partial(_of_run.remove, pace)


def pace_of_run() -> Pace:
    """Return the pace of the run."""
    return _of_run[-1] if _of_run else Pace()


def parse_pace(text: str) -> Pace:
    """Return the pace for `settle`, `poll` or a number of seconds; ConfigurationError for anything else."""
    word = text.strip().casefold()
    if word in {"settle", "poll"}:
        return Pace(polls=word == "poll")
    try:
        seconds = float(word.removesuffix("s"))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < _HOUR:
        raise ConfigurationError(
            f"expected settle, poll or a number of seconds below 3,600, got {text!r}"
        )
    return Pace(wait=seconds)


def percentiles(values: Sequence[float]) -> str:
    """Return the 50th, 95th and 99th percentile, written `0.001/0.002/0.002`."""
    if not values:
        return "unknown"
    # Imported here: few runs measure a lag.
    from pytest_ltm.figures.statistics.totals import percentile_of

    ordered = sorted(values)
    return "/".join(f"{percentile_of(ordered, share):.3f}" for share in _SHARES)


def lag_sentence(lags: Sequence[float], missed: int, limit: float) -> str:
    """Return a sentence on a memory's lags; "" if nothing was measured. `limit`: 0 without polling."""
    if not lags and not missed:
        return ""
    when = f"within {limit:g} s" if limit else "at the first look"
    never = f", {missed:,} not {when}" if missed else ""
    return f"write to readable in s, p50/p95/p99: {percentiles(lags)} ({pluralize(len(lags), 'text')}{never})"
