"""The places at one endpoint, as a JSON value and what happens to it: pure, so that the rules can be read and tested.

Additive increase, multiplicative decrease, as in TCP's congestion avoidance (Chiu and Jain 1989): each success raises
the number of places by 1/limit, so by one for each round; a refusal halves it, at most once for all requests that
were under way together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = 8.0
"""Requests at a time before anything is known."""
MOST = 256.0
POLL = 0.1
"""Seconds after which to look again for a place."""
LONGEST_PAUSE = 3600.0
"""Seconds; a pause that ends later than that is left over from before the machine was restarted."""
_LONGEST_GUESS = 60.0

State = dict[str, Any]
"""`limit`, `halved` (when), `refusals` (in a row), `until` (end of a pause), `places`: ticket -> Place's fields."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One request's claim to a place. Times are in seconds of one clock for all processes of a machine."""

    name: str
    host: str
    pid: int
    lease: float
    """Seconds after which the place is free again, whatever became of its holder."""


def take(state: State, ticket: Ticket, now: float, alive: Callable[[str, int], bool]) -> float:
    """Give the ticket a place and return 0, or return the seconds to wait before asking again."""
    places = state["places"] = _held(state, now, alive)
    pause = float(state.get("until", 0.0)) - now
    if 0 < pause <= LONGEST_PAUSE:
        return pause
    if len(places) >= int(_limit(state)):
        return POLL
    places[ticket.name] = [ticket.host, ticket.pid, now, now + ticket.lease]
    return 0.0


def leave(state: State, ticket: Ticket) -> None:
    """Give the place back."""
    state.get("places", {}).pop(ticket.name, None)


def succeeded(state: State) -> None:
    """An answer came: if most places were in use, there may be a little more of them."""
    limit = _limit(state)
    state["refusals"] = 0
    if 2 * len(state.get("places", {})) >= limit:
        state["limit"] = min(MOST, limit + 1 / limit)


def refused(state: State, ticket: Ticket, now: float, retry_after: float | None, spread: float) -> None:
    """The endpoint wants less: everybody pauses, for as long as it says or else longer from time to time.

    `spread` (0…1, by chance) keeps processes that guess from guessing alike.
    """
    began = state.get("places", {}).get(ticket.name, [0, 0, now, 0])[2]
    if began >= state.get("halved", 0.0) or state.get("halved", 0.0) > now:
        state["limit"] = max(1.0, _limit(state) / 2)
        state["halved"] = now
        state["refusals"] = state.get("refusals", 0) + 1
    guess = min(_LONGEST_GUESS, 2.0 ** (max(1, state.get("refusals", 1)) - 1)) * (0.5 + spread)
    until = now + (guess if retry_after is None else min(retry_after, LONGEST_PAUSE))
    kept = state.get("until", 0.0)
    state["until"] = max(until, kept) if kept - now <= LONGEST_PAUSE else until


def _held(state: State, now: float, alive: Callable[[str, int], bool]) -> dict[str, Any]:
    """Return the places without those of dead processes, of expired leases, and of before a restart."""
    return {
        name: place
        for name, place in state.get("places", {}).items()
        if place[2] <= now < place[3] and alive(place[0], place[1])
    }


def _limit(state: State) -> float:
    return min(MOST, max(1.0, float(state.get("limit", FIRST))))
