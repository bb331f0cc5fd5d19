"""How long each session is and where in it something is told, before anybody knows what."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

SHORTEST = 7
"""Turns of the shortest session: greetings, one thing told with one question about it, goodbyes."""
_AROUND = 4
_FIRST_YEARS = (2021, 2025)


@dataclass(frozen=True, slots=True)
class Outline:
    """One session to be."""

    number: int
    at: datetime
    first: int
    """Which speaker (0 or 1) begins."""
    blocks: tuple[int, ...]
    """What stands between greetings and goodbyes: n > 0: something is told, with n questions about it; 0: one turn of
    small talk. Speakers alternate through all of it."""


def outlines(sessions: int, turns: int, rng: random.Random) -> list[Outline]:
    """Return sessions with as many turns in all."""
    dates = _dates(sessions, rng)
    lengths = _lengths(sessions, turns, rng)
    return [
        Outline(number, at, rng.randrange(2), _blocks(length - _AROUND, rng))
        for number, (at, length) in enumerate(zip(dates, lengths, strict=True), start=1)
    ]


def _dates(sessions: int, rng: random.Random) -> list[datetime]:
    at = datetime(rng.randint(*_FIRST_YEARS), rng.randint(1, 12), rng.randint(1, 28), tzinfo=timezone.utc)
    found = []
    for _ in range(sessions):
        found.append(at + timedelta(minutes=rng.randint(8 * 60, 22 * 60)))
        at += timedelta(days=rng.choice((2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 21)))
    return found


def _lengths(sessions: int, turns: int, rng: random.Random) -> list[int]:
    """Return lengths that differ by up to a third, and never fall below SHORTEST."""
    spare = turns - SHORTEST * sessions
    weights = [rng.uniform(0.65, 1.35) for _ in range(sessions)]
    shares = [int(spare * weight / sum(weights)) for weight in weights]
    for place in range(spare - sum(shares)):
        shares[place % sessions] += 1
    return [SHORTEST + share for share in shares]


def _blocks(turns: int, rng: random.Random) -> tuple[int, ...]:
    """Return blocks of together as many turns: 1 + 2n for something told, 1 for small talk."""
    found: list[int] = []
    while turns >= 3:  # noqa: PLR2004 - the shortest block
        asked = min(rng.choice((1, 2, 2, 3)), (turns - 1) // 2)
        found.append(asked)
        turns -= 1 + 2 * asked
        if turns and rng.random() < 0.3:  # noqa: PLR2004
            found.append(0)
            turns -= 1
    found += [0] * turns
    return tuple(found)
