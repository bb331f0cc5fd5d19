"""Limiter: everybody's turns at one endpoint, in all conversations and processes of a run."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import re
import threading
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ltm._clock import sleep, stopwatch
from pytest_ltm._errors import AgentFault, LtmError, TransientFault
from pytest_ltm._providers import _places as places
from pytest_ltm._shared import Shared

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONGEST_WAIT = 900.0
"""Seconds that a request waits for its turn."""
_UNLIMITED_LEASE = 3600.0
_MARGIN = 60.0
_NUMBERS = itertools.count()


class Value(Protocol):
    """What keeps the state of an endpoint: a file that processes share, or a part of this process's memory."""

    def change(self, alter: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replace the value by what `alter` makes of it, and return that."""
        ...


class Unshared:
    """A value of this process alone, for agents that are used outside a run."""

    def __init__(self) -> None:
        self._value: dict[str, Any] = {}
        self._lock = threading.Lock()

    def change(self, alter: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replace the value by what `alter` makes of it, and return that."""
        with self._lock:
            self._value = alter(deepcopy(self._value))
            return self._value


@dataclass(slots=True)
class _Sharing:
    folder: Path | None = None
    reply_timeout: float | None = None


_SHARING = _Sharing()
_OWN: dict[str, Unshared] = {}


def share(folder: Path | None, *, reply_timeout: float | None = None) -> None:
    """From now on keep the limits of all endpoints in this folder, for all processes that name the same one.

    None: each process keeps its own. `reply_timeout` (seconds, None: no limit) is that of the run. Nothing is written
    before a model is asked.
    """
    _SHARING.folder, _SHARING.reply_timeout = folder, reply_timeout


def reply_timeout() -> float | None:
    """Return the run's limit for one reply, in seconds; None: there is none."""
    return _SHARING.reply_timeout


def value_of(endpoint: str) -> Value:
    """Return what keeps the state of an endpoint, the same one for equal names."""
    if _SHARING.folder is None:
        return _OWN.setdefault(endpoint, Unshared())
    slug = re.sub(r"[^A-Za-z0-9]+", "-", endpoint.partition("://")[2] or endpoint).strip("-")[:60]
    return Shared(_SHARING.folder / f"{slug}-{hashlib.sha256(endpoint.encode()).hexdigest()[:8]}.json")


class Turn:
    """A request's turn at the endpoint."""

    def __init__(self, limiter: Limiter, ticket: places.Ticket) -> None:
        self._limiter, self._ticket = limiter, ticket

    def succeeded(self) -> None:
        """An answer came."""
        self._limiter.change(places.succeeded)

    def refused(self, retry_after: float | None) -> None:
        """The endpoint asks for less, and perhaps for a pause of so many seconds."""
        self._limiter.refused(self._ticket, retry_after)


class Limiter:
    """Hands out turns at one endpoint; `lease` is the seconds that a request can take (None: nobody knows)."""

    def __init__(self, endpoint: str, *, value: Value, rng: random.Random, lease: float | None = None) -> None:
        self.endpoint = endpoint
        self._value, self._rng = value, rng
        self._lease = (_UNLIMITED_LEASE if lease is None else lease) + _MARGIN

    @contextmanager
    def turn(self, longest: float = LONGEST_WAIT) -> Iterator[Turn]:
        """Wait for a turn and keep it for the time of the block; Ctrl-C ends the wait.

        Raises TransientFault if none comes within `longest` seconds, AgentFault if the endpoint itself asked for more.
        """
        ticket = places.Ticket(f"{os.getpid()}.{next(_NUMBERS)}", platform.node(), os.getpid(), self._lease)
        try:
            self._wait(ticket, longest)
            yield Turn(self, ticket)
        finally:
            self.change(partial(places.leave, ticket=ticket))

    def refused(self, ticket: places.Ticket, retry_after: float | None) -> None:
        """Note a refusal."""
        now, spread = stopwatch(), self._rng.random()
        self.change(partial(places.refused, ticket=ticket, now=now, retry_after=retry_after, spread=spread))

    def change(self, note: Callable[[dict[str, Any]], object]) -> None:
        """Change the endpoint's state; one that cannot be read is learned anew."""

        def alter(state: dict[str, Any]) -> dict[str, Any]:
            state["endpoint"] = self.endpoint
            note(state)
            return state

        try:
            self._value.change(alter)
        except LtmError:
            if not isinstance(self._value, Shared):
                raise
            with suppress(FileNotFoundError):
                self._value.path.unlink()
            self._value.change(alter)

    def _wait(self, ticket: places.Ticket, longest: float) -> None:
        end = stopwatch() + longest
        while (wait := self._ask(ticket)) > 0:
            if stopwatch() + wait > end:
                raise self._late(wait, longest)
            # Spread, so that those who waited for the same moment do not all come in it.
            sleep(wait + self._rng.uniform(0, min(1.0, 0.1 * wait + places.POLL / 2)))

    def _ask(self, ticket: places.Ticket) -> float:
        waits: list[float] = []

        def take(state: dict[str, Any]) -> None:
            waits.append(places.take(state, ticket, stopwatch(), _alive))

        self.change(take)
        return waits[-1]

    def _late(self, wait: float, longest: float) -> AgentFault:
        if wait > longest:
            return AgentFault(f"{self.endpoint} asks to wait {wait:.0f} s, and a request waits {longest:g} s at most")
        return TransientFault(f"no turn at {self.endpoint} within {longest:g} s: others were before", retry_after=wait)


def _alive(host: str, pid: int) -> bool:
    """Whether a process of this machine is still there; true for one that nobody here can tell of."""
    if os.name == "nt" or host != platform.node():  # on Windows, os.kill would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
