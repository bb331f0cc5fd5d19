"""What is independent of the rest, given the agent: the units that tests and intervals resample."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, fsum, log2
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._statistics._pairs import Pair

UnitKind: TypeAlias = Literal["conversation", "scenario", "example"]
"""Whole conversations; the examples of a scenario in one conversation; or single examples."""

_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class Unit:
    """What may have had the other sign as a whole."""

    gain: float
    """Its weighted differences, summed; all units together make the mean difference."""
    weight: float
    """Its share of the mean; all units together make 1."""


def unit_kind(pairs: Sequence[Pair], level: float) -> UnitKind:
    """Return the unit of a comparison: conversations where they are enough, else the scenarios in them.

    Two more than an interval of that level takes at all, so that its bounds are not the outermost values: eight at
    95 %.
    """
    conversations = {(pair.span_label, pair.trial) for pair in pairs}
    return "conversation" if len(conversations) >= enough((1 - level) / 2) + 2 else "scenario"


def enough(alpha: float) -> int:
    """Return how many units a one-sided test needs at least: 2^-n <= alpha; two, to have any scatter."""
    if not 0 < alpha < 1:
        raise ValueError(f"a level lies between 0 and 1, not {alpha!r}")
    return max(2, ceil(log2(1 / alpha) - _NOISE))


def units_of(pairs: Sequence[Pair], kind: UnitKind) -> tuple[Unit, ...]:
    """Return the units with the weights that make their sum the mean over scenarios; sorted by their keys."""
    counts: dict[str, int] = {}
    for pair in pairs:
        counts[pair.scenario] = counts.get(pair.scenario, 0) + 1
    weights = {name: 1 / (len(counts) * count) for name, count in counts.items()}
    return tuple(
        Unit(fsum(weights[pair.scenario] * pair.gain for pair in group), fsum(weights[pair.scenario] for pair in group))
        for group in members(pairs, kind).values()
    )


def members(pairs: Sequence[Pair], kind: UnitKind) -> dict[tuple[str, ...], list[Pair]]:
    """Return the pairs of each unit, sorted by its key."""
    found: dict[tuple[str, ...], list[Pair]] = {}
    for pair in pairs:
        found.setdefault(_key(pair, kind), []).append(pair)
    return dict(sorted(found.items()))


def _key(pair: Pair, kind: UnitKind) -> tuple[str, ...]:
    conversation = (pair.span_label, pair.trial)
    if kind == "conversation":
        return conversation
    return (*conversation, pair.scenario, *((pair.example,) if kind == "example" else ()))
