"""Retries: a message that failed temporarily is sent again, a bounded number of times, with growing waits."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import product
from typing import Any, TypeVar

from msgspec import Struct, field

from pytest_ltm._core.calls.conversation_thread import sleep_here
from pytest_ltm._core.calls.passing import UNTAKEN, sort_refusal
from pytest_ltm._core.model.account import split_words
from pytest_ltm._core.storage import clock as _clock
from pytest_ltm._core.storage.errors import TransientFault, text_of

# HTTP clients' exceptions are recognised by words in their names: some never sent
# anything, others lost the connection or timed out.
_NOT_CONNECTED = re.compile(r" (?:connect\w{0,2}|pool|new connection) ")
_BROKEN_OFF = re.compile(
    r" (?:\w*connect\w+|network|protocol|payload|incomplete|timeout)"
)
_DEEPEST = 10


class Trouble(Struct, frozen=True):
    """A possibly transient failure."""

    untaken: bool
    """The message certainly did not arrive, so it is not in any memory."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    unsure: bool = False
    """Unclear whether it is transient: retried at most twice."""


class RemoteCause(Exception):
    """An exception raised in another process, where its causes were examined: `passing`, `lost`."""

    passing: Trouble | None = None
    lost: bool = False


def classify_failure(error: BaseException, *, now: datetime) -> Trouble | None:
    """Return the trouble of a possibly transient exception; None for any other.

    The chain of causes is examined from the outside; a status code decides. A group may
    be transient if all its members may.
    """
    lost_trouble: Trouble | None = None
    for cause in _cause_chain(error):
        if isinstance(cause, RemoteCause):
            return cause.passing
        parts = _safe_getattr(cause, "exceptions")
        if isinstance(parts, tuple) and parts:
            return _classify_all(parts, now)
        if isinstance(cause, TransientFault):
            return Trouble(not cause.taken, _finite_seconds(cause.retry_after))
        status = _http_status(cause)
        if status is not None:
            return _by_status(cause, status, now)
        trouble = _by_kind(cause)
        if trouble is not None and trouble.untaken:
            return trouble
        # A cause may be more specific: nothing was ever sent.
        lost_trouble = lost_trouble or trouble
    return lost_trouble


def _classify_all(errors: Sequence[BaseException], now: datetime) -> Trouble | None:
    troubles = [classify_failure(error, now=now) for error in errors]
    passing = [trouble for trouble in troubles if trouble is not None]
    if len(passing) < len(troubles):
        return None
    longest = max(trouble.retry_after or 0.0 for trouble in passing)
    return Trouble(
        all(trouble.untaken for trouble in passing),
        longest or None,
        any(trouble.unsure for trouble in passing),
    )


def broken_off(error: BaseException) -> bool:
    """Return whether the connection was lost or timed out after the message may have been taken."""
    for cause in _cause_chain(error):
        if isinstance(cause, RemoteCause):
            return cause.lost
        if isinstance(cause, TransientFault) or _http_status(cause) is not None:
            return False
        result = _by_kind(cause)
        if result is not None:
            return not result.untaken
    return False


def _cause_chain(error: BaseException) -> Iterator[BaseException]:
    cause_: BaseException | None = error
    for _ in range(_DEEPEST):
        if cause_ is None or not (
            isinstance(cause_, Exception) or _safe_getattr(cause_, "exceptions")
        ):
            return
        yield cause_
        # urllib, urllib3 and requests keep the original exception elsewhere than in
        # `__cause__`.
        first = vars(BaseException)["args"].__get__(cause_)[:1]
        candidates = (cause_.__cause__, _safe_getattr(cause_, "reason"), *first)
        cause_ = next(
            (cause for cause in candidates if isinstance(cause, BaseException)), None
        )


def _by_kind(error: BaseException) -> Trouble | None:
    names = [f"{split_words(kind.__name__)} " for kind in type(error).__mro__]
    if isinstance(error, ConnectionRefusedError) or any(
        map(_NOT_CONNECTED.search, names)
    ):
        return Trouble(untaken=True)
    return Trouble(untaken=False) if any(map(_BROKEN_OFF.search, names)) else None


def _by_status(error: BaseException, status: int, now: datetime) -> Trouble | None:
    headers: dict[str, str] = {}
    for holder in (_safe_getattr(error, "response"), error):
        if not headers:
            with suppress(TypeError, ValueError):
                pairs = dict(_safe_getattr(holder, "headers") or {})
                headers = {
                    str(name).lower(): str(value).strip()
                    for name, value in pairs.items()
                }
    delay = _retry_after(headers, now)
    chance = sort_refusal(status, _words_of(error))
    advice = headers.get("x-should-retry")
    if advice == "true" or (delay is not None and chance == "unknown"):
        chance = "passing"
    if advice == "false" or chance == "final":
        return None
    return Trouble(status in UNTAKEN, delay, chance == "unknown")


def _words_of(error: BaseException) -> str:
    """Return the words of the refusal, else the error's own, without addresses."""
    words = _safe_getattr(error, "words")
    parts = (
        words if isinstance(words, str) else text_of(error),
        _safe_getattr(error, "code"),
    )
    return _ADDRESS.sub("", " ".join(part for part in parts if isinstance(part, str)))


_ADDRESS = re.compile(r"\w+://\S+")


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status in an exception of requests, httpx, aiohttp, urllib or a provider's client."""
    response = _safe_getattr(error, "response")
    names = ("status_code", "status", "code")
    for name, holder in product(names, (error, response)):
        status = _safe_getattr(holder, name)
        if (
            isinstance(status, int)
            and not isinstance(status, bool)
            and 100 <= status <= 599
        ):
            return int(status)
    return None


def _retry_after(headers: dict[str, str], now: datetime) -> float | None:
    """Return the seconds given by `Retry-After`: a number, or a date (RFC 9110, section 10.2.3)."""
    thousandths = _finite_seconds(headers.get("retry-after-ms"))
    if thousandths is not None:
        return thousandths / 1000
    retry_after = headers.get("retry-after")
    seconds = _finite_seconds(retry_after)
    if seconds is not None or retry_after is None:
        return seconds
    then = _retry_date(retry_after)
    server_time = _retry_date(headers.get("date", ""))
    if then is None:
        return None
    return max(0.0, (then - (server_time or now)).total_seconds())


def _finite_seconds(value: object) -> float | None:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever it is
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _retry_date(text: str) -> datetime | None:
    try:
        result = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return result if result.tzinfo is not None else None


def _safe_getattr(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - an error message must not fail on what it reports
        return None


# For pytest: readers of an agent's exception want the agent's frames, not these.
__tracebackhide__ = True

T = TypeVar("T")

# The maximum of the first wait in seconds; each further one may last twice as long.
FIRST_DELAY_SECONDS = 1.0
# The maximum of every wait in seconds, unless the server asks for more.
LONGEST = 60.0
# The maximum in seconds of all waits for one message together.
TOTAL = 180.0
# The number of retries if it is unclear whether they help.
_MOST_UNSURE = 2


class Failed(Struct, frozen=True):
    """A failed attempt that is retried."""

    attempt: int
    """Its number, from 1."""
    wait: float
    """Seconds until the next one."""
    error: BaseException


class Retries(Struct, frozen=True, kw_only=True):
    """The policy for retries: `most` after the first attempt, with waits drawn from `rng`.

    A wait lasts between half of and the full 1, 2, 4 ... 60 seconds, or as long as the
    server asks (`Retry-After`) and up to a second more, so that clients do not return
    all at once. If the waits would exceed 180 seconds in total, the fault is final at
    once.
    """

    most: int
    rng: random.Random
    sleep: Callable[[float], object] = sleep_here
    began: tuple[datetime, float] = field(
        default_factory=lambda: (_clock.wall_time(), _clock.stopwatch_seconds())
    )
    """The wall time at one reading of the stopwatch: an agent's call may run with a moved clock."""

    def run(
        self,
        call: Callable[[], T],
        *,
        anew: bool,
        failed: Callable[[Failed], None],
        ready: Callable[[], None],
        raised: Callable[[BaseException], None] = lambda _: None,
    ) -> T:
        """Call `call` until it succeeds, after transient faults; the last fault is raised unchanged.

        `anew`: whether the other side can be restored before another call (otherwise
        only a fault that says that the message was not taken is retried). Before each
        retry come `failed`, for the previous attempt, then the wait, then `ready`.
        `raised` is called for every error, including the last.
        """
        attempt = 1
        waited = 0.0
        while True:
            try:
                return call()
            except BaseException as error:
                raised(error)
                trouble = classify_failure(error, now=self._now())
                if trouble is None or not (anew or trouble.untaken):
                    raise
                requested = trouble.retry_after
                usual = min(
                    LONGEST, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 10)
                ) * (0.5 + self.rng.random() / 2)
                if requested is not None and requested > usual:
                    usual = requested + self.rng.random() * min(1.0, requested / 10)
                wait = round(usual, 3)
                most = min(self.most, _MOST_UNSURE) if trouble.unsure else self.most
                if attempt > most or waited + wait > TOTAL:
                    raise
                failed(Failed(attempt, wait, error))
            self.sleep(wait)
            ready()
            attempt += 1
            waited += wait

    def may_pass(self, error: BaseException) -> bool:
        """Return whether the same call may succeed later."""
        return classify_failure(error, now=self._now()) is not None

    def history(self, failures: Sequence[Failed], last: BaseException) -> str:
        """Return a suffix for the text of a final fault: the number of attempts, and why there were no more."""
        trouble = classify_failure(last, now=self._now())
        words = []
        if failures:
            words.append(
                f"tried {len(failures) + 1} times, with {sum(failure.wait for failure in failures):.1f} s of waiting"
            )
        if (
            trouble is not None
            and trouble.retry_after is not None
            and len(failures) < self.most
        ):
            words.append(
                f"it asks to be left alone for {trouble.retry_after:g} s; the waits last {TOTAL:g} s at most"
            )
        return f" ({'; '.join(words)})" if words else ""

    def _now(self) -> datetime:
        wall, watch = self.began
        return wall + timedelta(seconds=_clock.stopwatch_seconds() - watch)
