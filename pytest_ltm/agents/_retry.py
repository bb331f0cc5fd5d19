"""Retries: a message that failed for a passing reason is sent again, a bounded number of times, each time later."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_ltm import _clock
from pytest_ltm.agents._transience import trouble

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from tenacity import Retrying

__tracebackhide__ = True
"""For pytest: who reads of an agent's exception wants the agent's frames, not these."""

T = TypeVar("T")

FIRST = 1.0
"""Seconds that the first wait lasts at most; each next one may last twice as long."""
LONGEST = 60.0
"""Seconds that no wait lasts longer than, unless the other side asks for more."""
TOTAL = 180.0
"""Seconds that the waits for one message last at most, taken together."""


@dataclass(frozen=True, slots=True)
class Failed:
    """One attempt that failed and is followed by another."""

    attempt: int
    """Its number, from 1."""
    wait: float
    """Seconds until the next one."""
    error: BaseException


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How a failed message is sent again: `most` times after the first, with waits drawn from `rng`.

    A wait lasts between half of and the full 1, 2, 4 ... 60 seconds, or what the other side asks for
    (`Retry-After`) and up to a second more, so that not all who wait come back at once. If the waits would sum
    up to more than 180 seconds the fault stays at once.
    """

    most: int
    rng: random.Random
    sleep: Callable[[float], object] = _clock.sleep
    began: tuple[datetime, float] = field(default_factory=lambda: (_clock.wall_time(), _clock.stopwatch()))
    """The time on the wall at one reading of the stopwatch: an agent's call may have a clock that was moved."""

    def run(
        self, call: Callable[[], T], *, anew: bool, failed: Callable[[Failed], None], ready: Callable[[], None]
    ) -> T:
        """Return what `call` returns, called again after passing faults; the last one is raised as it is.

        `anew`: whether the other side can be put back to where it was before the call (else only a fault that says
        that the message was not taken is followed by another try). Before each further call `failed` is told of the
        one before, then comes the wait, then `ready`.
        """

        def permits(error: BaseException) -> bool:
            found = trouble(error, now=self._now())
            return found is not None and (anew or found.untaken)

        first: list[BaseException] = []
        try:
            return call()
        except BaseException as error:
            if not permits(error):
                raise
            first.append(error)

        def attempt() -> T:
            if first:
                raise first.pop()
            return call()

        return self._persistent(permits, failed, ready)(attempt)

    def _persistent(
        self, permits: Callable[[BaseException], bool], failed: Callable[[Failed], None], ready: Callable[[], None]
    ) -> Retrying:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt  # noqa: PLC0415 - heavy, seldom needed

        def before_sleep(state: Any) -> None:
            failed(Failed(state.attempt_number, state.upcoming_sleep, state.outcome.exception()))

        def wait_then_make_ready(seconds: float) -> None:
            self.sleep(seconds)
            ready()

        return Retrying(
            retry=retry_if_exception(permits),
            wait=self._wait,
            stop=lambda state: stop_after_attempt(self.most + 1)(state) or _too_long(state),
            sleep=wait_then_make_ready,
            before_sleep=before_sleep,
            reraise=True,
        )

    def history(self, failures: Sequence[Failed], last: BaseException) -> str:
        """Return what to add to the text of a fault that stayed: how often it was tried, and why no more."""
        found = trouble(last, now=self._now())
        words = []
        if failures:
            words.append(f"tried {len(failures) + 1} times, with {sum(one.wait for one in failures):.1f} s of waiting")
        if found is not None and found.retry_after is not None and len(failures) < self.most:
            words.append(f"it asks to be left alone for {found.retry_after:g} s; the waits last {TOTAL:g} s at most")
        return f" ({'; '.join(words)})" if words else ""

    def _wait(self, state: Any) -> float:
        usual: float = min(LONGEST, FIRST * 2.0 ** min(state.attempt_number - 1, 10))
        usual *= 0.5 + self.rng.random() / 2
        found = trouble(state.outcome.exception(), now=self._now())
        asked = found.retry_after if found is not None else None
        if asked is not None and asked > usual:
            usual = asked + self.rng.random() * min(1.0, asked / 10)
        return round(usual, 3)

    def _now(self) -> datetime:
        wall, watch = self.began
        return wall + timedelta(seconds=_clock.stopwatch() - watch)


def _too_long(state: Any) -> bool:
    return bool(state.idle_for + state.upcoming_sleep > TOTAL)
