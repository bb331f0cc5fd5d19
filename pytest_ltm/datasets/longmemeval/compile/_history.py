"""One compiled history: evidence and fillers in their places, with dates, within the length that was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.longmemeval._schema import written
from pytest_ltm.datasets.longmemeval.compile._dates import dates, places
from pytest_ltm.datasets.longmemeval.compile._needles import evidence_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm.datasets.longmemeval.compile._fillers import Filler, Fillers, Supply
    from pytest_ltm.datasets.longmemeval.compile._needles import NeedleRecord

CLOSE = 0.005
"""A history is long enough when it lacks less than this share of its tokens."""
LACKING = 0.1
"""A history that lacks more than this share is refused."""
_IN_VAIN = 20
"""So many fillers in a row that do not fit end the search for one that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How long a history is to be: of so many sessions, or of so many tokens at most."""

    sessions: int | None = None
    tokens: int | None = None


def compiled(
    record: NeedleRecord, fillers: Fillers, length: Length, *, seed: int, count: Callable[[str], int]
) -> dict[str, Any]:
    """Return the record with its history, in the published schema, its sessions in the order of their dates.

    Raises DatasetError where the evidence alone is longer than asked for, and where the fillers run out.
    """
    rng = Random(f"longmemeval history {seed} {record.id}")
    supply = fillers.supply(record, f"longmemeval fillers {seed} {record.id}")
    chosen = _enough(record, supply, length, count)
    rng.shuffle(chosen)
    total = len(record.evidence) + len(chosen)
    taken = places(rng, len(record.evidence), total)
    anchors = [(place, one.at) for place, one in zip(taken, record.evidence, strict=True)]
    told = {place: (one.id, one.turns) for place, one in zip(taken, record.evidence, strict=True)}
    free = iter(chosen)
    sessions = [told[place] if place in told else _plain(next(free)) for place in range(total)]
    when = {place: one.when for place, one in zip(taken, record.evidence, strict=True)}
    at = dates(rng, anchors, total, record.at)
    return {
        **record.asked,
        "haystack_dates": [when.get(place) or written(at[place]) for place in range(total)],
        "haystack_session_ids": [name for name, _ in sessions],
        "haystack_sessions": [turns for _, turns in sessions],
        "answer_session_ids": [one.id for one in record.evidence],
    }


def _plain(filler: Filler) -> tuple[str, list[dict[str, Any]]]:
    return filler.id, filler.turns


def _enough(record: NeedleRecord, supply: Supply, length: Length, count: Callable[[str], int]) -> list[Filler]:
    if length.sessions is not None:
        return _so_many(record, supply, length.sessions)
    if length.tokens is not None:
        return _so_long(record, supply, length.tokens, evidence_tokens(record, count))
    return []


def _so_many(record: NeedleRecord, supply: Supply, sessions: int) -> list[Filler]:
    wanted = sessions - len(record.evidence)
    if wanted < 0:
        raise DatasetError(
            f"{record.where}: {sessions} sessions are asked for, and its evidence alone is {len(record.evidence)}. "
            "Evidence is never dropped: ask for more"
        )
    found: list[Filler] = []
    while len(found) < wanted:
        filler = supply.next(None)
        if filler is None:
            raise DatasetError(
                f"{record.where}: only {len(found)} of {wanted} fillers can be had that do not touch its evidence. "
                "Give more --fillers, or ask for fewer sessions"
            )
        found.append(filler)
    return found


def _so_long(record: NeedleRecord, supply: Supply, tokens: int, evidence: int) -> list[Filler]:
    room = tokens - evidence
    if room < 0:
        raise DatasetError(
            f"{record.where}: {tokens:,} tokens are asked for, and its evidence alone has {evidence:,}. "
            "Evidence is never dropped: ask for more"
        )
    found: list[Filler] = []
    vain = 0
    while room > tokens * CLOSE and vain < _IN_VAIN:
        filler = supply.next(room)
        if filler is None:
            vain += 1
            continue
        found.append(filler)
        room -= filler.tokens
        vain = 0
    if room > tokens * LACKING:
        raise DatasetError(
            f"{record.where}: the fillers that do not touch its evidence fill only {tokens - room:,} of {tokens:,} "
            "tokens. Give more --fillers, or ask for fewer tokens"
        )
    return found
