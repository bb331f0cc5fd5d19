"""Limiter: turns at one endpoint, shared by all conversations and processes of a run."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from pytest_ltm.api.storage import (
    AgentFault,
    LtmError,
    Shared,
    TransientFault,
    sleep_interruptibly,
    stopwatch_seconds,
)
from pytest_ltm.providers.shared_limits import SHARING

T = TypeVar("T")

# Concurrent requests before anything is known.
INITIAL_CONCURRENT_REQUESTS = 8.0
MAX_CONCURRENT_REQUESTS = 256.0
# Seconds after a refusal before exceeding the carried load; longer after repeated
# refusals at that load.
CALM = 5.0
LONGEST_CALM = 60.0
# Seconds after a pause within which another refusal means that the endpoint carries
# less than before.
SOON = 5.0
# Seconds between two attempts to get a place.
POLL_SECONDS = 0.1
# Seconds; a pause that would last longer is left over from before a restart of the
# machine.
LONGEST_PAUSE = 3600.0
_LONGEST_GUESS = 60.0

# `limit`, `halved` (when), `carried` (places in use before that), `calm` (see CALM),
# `refusals` (in a row), `until` (end of a pause), `places`: ticket -> [host, pid,
# begin, end].
State = dict[str, Any]


class Ticket(Struct, frozen=True):
    """One request's claim to a place. Times are seconds of one clock for all processes of a machine."""

    name: str
    host: str
    pid: int
    lease: float
    """Seconds after which the place is free again, even if its holder has not released it."""


def take_place(
    state: State, ticket: Ticket, now: float, alive: Callable[[str, int], bool]
) -> float:
    """Give the ticket a place and return 0, or return the seconds to wait before trying again."""
    places = {}
    for name, place in state.get("places", {}).items():
        if place[2] <= now < place[3] and alive(place[0], place[1]):
            places[name] = place
    state["places"] = places
    pause = float(state.get("until", 0.0)) - now
    if 0 < pause <= LONGEST_PAUSE:
        return pause
    if len(places) >= int(_place_limit(state)):
        return POLL_SECONDS
    places[ticket.name] = [ticket.host, ticket.pid, now, now + ticket.lease]
    return 0.0


def give_place_back(state: State, ticket: Ticket) -> None:
    """Release the place."""
    state.get("places", {}).pop(ticket.name, None)


def note_success(state: State, now: float) -> None:
    """Note an answer: if most places were in use, allow more of them.

    The limit doubles per round of answers until the first refusal, and later up to what
    the endpoint carried; beyond that it grows by one per round, after a calm time,
    because each trial risks a pause for everybody.
    """
    limit = _place_limit(state)
    state["refusals"] = 0
    if 2 * len(state.get("places", {})) < limit:
        return
    if "halved" not in state:
        state["limit"] = min(MAX_CONCURRENT_REQUESTS, limit + 1)
    elif limit < state.get("carried", 1.0):
        state["limit"] = min(state["carried"], limit + 1)
    elif not 0 <= now - state["halved"] < state.get("calm", CALM):
        state["limit"] = min(MAX_CONCURRENT_REQUESTS, limit + 1 / limit)


def back_off(
    state: State, ticket: Ticket, now: float, retry_after: float | None, spread: float
) -> None:
    """Note a refusal: reduce the limit, and pause all callers.

    The pause lasts for the requested time, or for increasing guesses.

    The carried load is what was in use, unless another refusal follows at once: then it
    was too high. `spread` (random, 0…1) keeps the guesses of processes apart.
    """
    places = state.get("places", {})
    began = places.get(ticket.name, [0, 0, now, 0])[2]
    if began >= state.get("halved", 0.0) or state.get("halved", 0.0) > now:
        limit = _place_limit(state)
        used = max(1.0, min(limit, len(places)))
        refused_again = "halved" in state and now < state.get("until", 0.0) + SOON
        if refused_again:
            carried = used - 1
        else:
            carried = max(used - 1, state.get("carried", 1.0))
        at_the_same = (
            not refused_again
            and used > state.get("carried", MAX_CONCURRENT_REQUESTS) >= used - 2
        )
        if at_the_same:
            state["calm"] = min(LONGEST_CALM, 2 * state.get("calm", CALM))
        else:
            state["calm"] = state.get("calm", CALM)
        state["limit"], state["carried"] = max(1.0, limit / 2), max(1.0, carried)
        state["halved"] = now
        state["refusals"] = state.get("refusals", 0) + 1
    guess = min(_LONGEST_GUESS, 2.0 ** (max(1, state.get("refusals", 1)) - 1)) * (
        0.5 + spread
    )
    until = now + (guess if retry_after is None else min(retry_after, LONGEST_PAUSE))
    pause_end = state.get("until", 0.0)
    if pause_end - now <= LONGEST_PAUSE:
        state["until"] = max(until, pause_end)
    else:
        state["until"] = until


def _place_limit(state: State) -> float:
    return min(
        MAX_CONCURRENT_REQUESTS,
        max(1.0, float(state.get("limit", INITIAL_CONCURRENT_REQUESTS))),
    )


# Seconds that a request waits for its turn.
LONGEST_WAIT = 900.0
_UNLIMITED_LEASE = 3600.0
_MARGIN = 60.0
_NUMBERS = itertools.count()


class Unshared:
    """State of this process alone, for agents that are used outside a run."""

    def __init__(self) -> None:
        self._value: State = {}
        self._lock = threading.Lock()

    def change(self, alter: Callable[[State], State]) -> State:
        """Replace the value by `alter(value)`, and return the new value."""
        with self._lock:
            self._value = alter(deepcopy(self._value))
            return self._value


# The store of an endpoint's state: a file shared by processes, or this process's
# memory.
Value: TypeAlias = Shared | Unshared


_OWN: dict[str, Unshared] = {}


def value_of(endpoint: str) -> Value:
    """Return the store of an endpoint's state, the same one for equal names."""
    if SHARING.folder is None:
        return _OWN.setdefault(endpoint, Unshared())
    slug = re.sub(
        r"[^A-Za-z0-9]+", "-", endpoint.partition("://")[2] or endpoint
    ).strip("-")[:60]
    return Shared(
        SHARING.folder
        / f"{slug}-{hashlib.sha256(endpoint.encode()).hexdigest()[:8]}.json"
    )


class RateLimitSlot:
    """A request's turn at the endpoint."""

    def __init__(self, limiter: Limiter, ticket: Ticket) -> None:
        self._limiter = limiter
        self._ticket = ticket

    def succeeded(self) -> None:
        """Note that an answer arrived."""
        self._limiter.change(lambda state: note_success(state, stopwatch_seconds()))

    def note_refusal(self, retry_after: float | None) -> None:
        """Note that the endpoint asked for fewer requests, and perhaps for a pause of `retry_after` seconds."""
        spread = self._limiter.rng.random()
        # The time is taken inside the change: whoever got a place while this waited for
        # the lock came earlier.
        self._limiter.change(
            lambda state: back_off(
                state, self._ticket, stopwatch_seconds(), retry_after, spread
            )
        )


class Limiter:
    """Grants turns at one endpoint; `lease`: maximum seconds of a request (None: unknown)."""

    def __init__(
        self,
        endpoint: str,
        *,
        value: Value,
        rng: random.Random,
        lease: float | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.rng = rng
        self._value = value
        self._lease = (_UNLIMITED_LEASE if lease is None else lease) + _MARGIN

    @contextmanager
    def turn(self, longest: float = LONGEST_WAIT) -> Iterator[RateLimitSlot]:
        """Wait for a turn and hold it for the block; Ctrl-C ends the wait.

        Raises TransientFault if there is no turn within `longest` seconds, AgentFault
        if the endpoint itself asks for a longer wait.
        """
        ticket = Ticket(
            f"{os.getpid()}.{next(_NUMBERS)}", platform.node(), os.getpid(), self._lease
        )

        def ask(state: State) -> float:
            return take_place(state, ticket, stopwatch_seconds(), _is_process_alive)

        try:
            end = stopwatch_seconds() + longest
            while (wait := self.change(ask)) > 0:
                if wait > longest:
                    far = f"{self.endpoint} asks to wait {wait:.0f} s, and a request waits {longest:g} s at most"
                    raise AgentFault(far)
                if stopwatch_seconds() + wait > end:
                    late = f"no turn at {self.endpoint} within {longest:g} s: other requests came first"
                    raise TransientFault(late, retry_after=wait)
                # Spread, so that callers waiting for the same moment do not all arrive
                # at once.
                sleep_interruptibly(
                    wait + self.rng.uniform(0, min(1.0, 0.1 * wait + POLL_SECONDS / 2))
                )
            yield RateLimitSlot(self, ticket)
        finally:
            self.change(partial(give_place_back, ticket=ticket))

    def change(self, note: Callable[[State], T]) -> T:
        """Change the endpoint's state, and return the result of `note`; an unreadable state is discarded."""
        noted: list[T] = []  # `change` of the store returns only the state

        def alter(state: State) -> State:
            state["endpoint"] = self.endpoint
            noted.append(note(state))
            return state

        try:
            self._value.change(alter)
        except LtmError:
            if not isinstance(self._value, Shared):
                raise
            with suppress(FileNotFoundError):
                self._value.path.unlink()
            self._value.change(alter)
        return noted[-1]


def _is_process_alive(host: str, pid: int) -> bool:
    """Return whether a process on this machine is alive; True if that is unknown."""
    if os.name == "nt" or host != platform.node():  # on Windows, os.kill would end it
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:
        # a process of another user may not be signalled, so it is alive
        return not isinstance(error, ProcessLookupError)
    return True
