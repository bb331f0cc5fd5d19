"""Trouble: whether an exception of a foreign client may pass if the message is sent again, told from its looks.

No client library is imported for it: what counts are status codes, names of classes, and Python's own exceptions,
also of a cause (`raise ... from error`) and within exception groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import TransientFault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

UNTAKEN = frozenset({425, 429, 503, 529})
"""Status codes that say: the message was not taken. (429 too many requests, 529 overloaded.)"""
PASSING = UNTAKEN | {408, 409}
"""Those and all other 5xx may pass; with these nobody knows what became of the message."""
_HOPELESS = frozenset({501, 505, 511})
"""Of 5xx: what will be said again and again."""
_NOT_CONNECTED = frozenset(
    {"ConnectError", "ConnectTimeout", "NewConnectionError", "ClientConnectorError", "PoolTimeout"}
)
"""Names of exceptions of HTTP clients that never got to send anything."""
_BROKEN_OFF = frozenset(
    {
        "APIConnectionError", "APITimeoutError", "ChunkedEncodingError", "ClientConnectionError", "ClientPayloadError",
        "ConnectionClosedError", "ConnectionError", "ConnectionTimeoutError", "IncompleteRead", "NetworkError",
        "ProtocolError", "ReadError", "ReadTimeout", "ReadTimeoutError", "RemoteProtocolError",
        "ServerDisconnectedError", "ServerTimeoutError", "Timeout", "TimeoutException", "WriteError", "WriteTimeout",
    }
)  # fmt: skip
"""Names of exceptions of clients that lost the connection, or patience."""
_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that may pass."""

    untaken: bool
    """The message surely was not taken, so whoever remembers has nothing to remember of it."""
    retry_after: float | None = None
    """Seconds that the other side asks to be left alone."""


def trouble(error: BaseException, *, now: datetime) -> Trouble | None:
    """Return what is known of an exception that may pass; None for any other.

    The chain of causes is looked through from the outside; a status code decides. A group may pass if all in it may.
    """
    lost: Trouble | None = None
    for one in _chain(error):
        parts = _attribute(one, "exceptions")
        if isinstance(parts, tuple) and parts:
            return _of_all([trouble(part, now=now) for part in parts])
        if isinstance(one, TransientFault):
            return Trouble(untaken=True, retry_after=_seconds(one.retry_after))
        status = _status(one)
        if status is not None:
            return _by_status(one, status, now)
        found = _by_kind(one)
        if found is not None and found.untaken:
            return found
        lost = lost or found  # a cause may know better: nothing was ever sent
    return lost


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(_DEEPEST):
        if one is None or not (isinstance(one, Exception) or _attribute(one, "exceptions")):
            return
        yield one
        one = one.__cause__ or _held(one)


def _held(error: BaseException) -> BaseException | None:
    """Return what urllib, urllib3 and requests hold in place of a cause."""
    held = (_attribute(error, "reason"), *error.args[:1])
    return next((one for one in held if isinstance(one, BaseException)), None)


def _of_all(parts: list[Trouble | None]) -> Trouble | None:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    asked = [part.retry_after for part in found if part.retry_after is not None]
    return Trouble(all(part.untaken for part in found), max(asked, default=None))


def _by_kind(error: BaseException) -> Trouble | None:
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, ConnectionRefusedError) or names & _NOT_CONNECTED:
        return Trouble(untaken=True)
    if isinstance(error, (ConnectionError, TimeoutError)) or names & (_BROKEN_OFF | {"TimeoutError"}):
        return Trouble(untaken=False)
    return None


def _by_status(error: BaseException, status: int, now: datetime) -> Trouble | None:
    headers = _headers(error)
    said = headers.get("x-should-retry", "")
    passing = status in PASSING or (500 <= status <= 599 and status not in _HOPELESS)  # noqa: PLR2004 - server errors
    if said == "false" or (not passing and said != "true") or _attribute(error, "code") == "insufficient_quota":
        return None
    return Trouble(status in UNTAKEN, _retry_after(headers, now))


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an exception of requests, httpx, aiohttp, urllib or a provider's client tells."""
    response = _attribute(error, "response")
    for holder, name in ((error, "status_code"), (response, "status_code"), (error, "status"), (error, "code")):
        status = _attribute(holder, name)
        if isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 599:  # noqa: PLR2004 - of HTTP
            return int(status)
    return None


def _headers(error: BaseException) -> dict[str, str]:
    for holder in (_attribute(error, "response"), error):
        try:
            pairs = dict(_attribute(holder, "headers") or {})
        except (TypeError, ValueError):
            continue
        if pairs:
            return {str(name).lower(): str(value).strip() for name, value in pairs.items()}
    return {}


def _retry_after(headers: dict[str, str], now: datetime) -> float | None:
    """Return the seconds that `Retry-After` asks for: a number, or a date (RFC 9110, section 10.2.3)."""
    thousandths = _seconds(headers.get("retry-after-ms"))
    if thousandths is not None:
        return thousandths / 1000
    asked = headers.get("retry-after")
    seconds = _seconds(asked)
    if seconds is not None or asked is None:
        return seconds
    then, there = _date(asked), _date(headers.get("date", ""))
    return None if then is None else max(0.0, (then - (there or now)).total_seconds())


def _seconds(given: object) -> float | None:
    try:
        seconds = float(given)  # type: ignore[arg-type]  # whatever it is
    except (TypeError, ValueError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return found if found.tzinfo is not None else None


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign exception may do anything
        return None
