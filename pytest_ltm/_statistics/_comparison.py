"""Is the later run worse? One difference, with its interval, its chance, and the smallest one that could be seen."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_ltm._statistics._chance import chance, few_conversations
from pytest_ltm._statistics._flips import DRAWS
from pytest_ltm._statistics._intervals import LEVEL, Interval, holm
from pytest_ltm._statistics._scatter import of_conversations, scatter, unseen
from pytest_ltm._statistics._totals import FULL_MARKS
from pytest_ltm._statistics._units import UnitKind, enough, unit_kind, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._statistics._pairs import Pair
    from pytest_ltm._statistics._units import Unit

ALPHA = 0.05
"""The chance of a false alarm that a gate takes, unless another is asked for."""
POWER = 0.8
"""The chance to see a real drop that `detectable` is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a later run has over an earlier one, on the examples that both have a score for.

    Whatever cannot be told is None, and `reason` says why.
    """

    difference: float | None
    """Later less earlier: the mean over scenarios of the mean over their pairs; below 0 the later one lost."""
    interval: Interval | None
    """Where the difference lies at `level`; None if there are too few units, or no pair differs."""
    p: float | None
    """How often equally good agents differ at least as much, either way."""
    p_drop: float | None
    """How often equally good agents lose at least as much: what a gate looks at."""
    p_gain: float | None
    detectable: float | None
    """The smallest drop that the one-sided test at `alpha` sees with probability `power`; None beyond 1."""
    pairs: int
    better: int
    worse: int
    kind: UnitKind
    units: int
    """How many independent units of that kind the pairs make."""
    conversations: int
    """How many each run had. One does not show what befalls all of it: see `compare`."""
    level: float
    alpha: float
    power: float
    reason: str = ""
    """Why nothing can be told; "" where it can."""
    adjusted: float | None = None
    """`p_drop` after Holm's correction, where the comparison is one of several that are listed together."""

    @property
    def can_tell(self) -> bool:
        """Whether these pairs could show a drop at all."""
        return not self.reason

    @property
    def identical(self) -> bool:
        """Whether no pair differs."""
        return self.pairs > 0 and not self.better and not self.worse

    @property
    def dropped(self) -> bool:
        """Whether the later run is worse by more than chance explains at `alpha`."""
        p = self.p_drop if self.adjusted is None else self.adjusted
        return self.can_tell and p is not None and p <= self.alpha


def compare(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    level: float = LEVEL,
    alpha: float = ALPHA,
    power: float = POWER,
    kind: UnitKind | None = None,
    draws: int = DRAWS,
) -> Comparison:
    """Compare two runs; the order of the pairs changes nothing, and swapping the runs only the signs.

    The difference is that of `total` and `accuracy`: every scenario counts the same. The scenarios are taken as
    they are, both runs play the same ones; chance is what the agent says. So the unit that may have had the other
    sign is a conversation, where there are enough of them (eight for a level of 95 %). With fewer it is the
    examples of a scenario in one conversation together, and the scatter between conversations counts by a t test
    beside it: the larger p, the wider interval. One conversation does not show what befalls all of it; that is
    supposed to scatter as much as what befalls a scenario (`of_conversations`). `kind` chooses otherwise. `rng`
    defaults to a fixed seed, so that equal runs get equal answers.
    """
    chosen = kind or unit_kind(pairs, level)
    units, few = units_of(pairs, chosen), few_conversations(pairs, chosen)
    reason = _too_little(len(pairs), len(units), chosen, alpha)
    found = None if reason else chance(units, few, rng or random.Random(0), draws)
    better = sum(pair.gain > _NOISE for pair in pairs)
    worse = sum(pair.gain < -_NOISE for pair in pairs)
    return Comparison(
        difference=_difference(units, differs=bool(better or worse)),
        interval=found.interval(level) if found and (better or worse) else None,
        p=found.p if found else None,
        p_drop=found.p_drop if found else None,
        p_gain=found.p_gain if found else None,
        detectable=_detectable(units, few, alpha, power) if found else None,
        pairs=len(pairs),
        better=better,
        worse=worse,
        kind=chosen,
        units=len(units),
        conversations=len({(pair.span_label, pair.trial) for pair in pairs}),
        level=level,
        alpha=alpha,
        power=power,
        reason=reason,
    )


def compare_scenarios(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    level: float = LEVEL,
    alpha: float = ALPHA,
    power: float = POWER,
) -> dict[str, Comparison]:
    """Compare scenario by scenario, by name, as in `compare_groups`."""
    names = sorted({pair.scenario for pair in pairs})
    groups = {name: [pair for pair in pairs if pair.scenario == name] for name in names}
    return compare_groups(groups, rng=rng, level=level, alpha=alpha, power=power, kind=unit_kind(pairs, level))


def compare_groups(
    groups: Mapping[str, Sequence[Pair]],
    *,
    rng: random.Random | None = None,
    level: float = LEVEL,
    alpha: float = ALPHA,
    power: float = POWER,
    kind: UnitKind | None = None,
) -> dict[str, Comparison]:
    """Compare several groups of pairs that are listed together: scenarios, skills, memory spans, agents.

    `adjusted` holds Holm's correction over all of them, so that the chance of any false alarm is at most `alpha`, and
    `detectable` the drop that stands out among so many. A group with so few units that even unanimous ones could
    not cannot be told; it still counts as one of them. Sorted by name.
    """
    seeded = rng or random.Random(0)
    one_of = alpha / max(1, len(groups))
    found = {
        name: compare(groups[name], rng=seeded, level=level, alpha=one_of, power=power, kind=kind)
        for name in sorted(groups)
    }
    adjusted = holm([1.0 if each.p_drop is None else each.p_drop for each in found.values()])
    return {
        name: dataclasses.replace(each, alpha=alpha, adjusted=p if each.can_tell else None)
        for (name, each), p in zip(found.items(), adjusted, strict=True)
    }


def paired_bootstrap(
    pairs: Sequence[Pair], *, rng: random.Random, level: float = LEVEL, draws: int = DRAWS
) -> Interval | None:
    """Return the interval of the mean difference by the wild cluster bootstrap; None where it cannot be told.

    Clustered as in `compare`, and the same interval (Cameron, Gelbach and Miller, 2008; inverted as in Hartigan, 1969).
    """
    return compare(pairs, rng=rng, level=level, draws=draws).interval


def sign_flip(pairs: Sequence[Pair], *, rng: random.Random, draws: int = DRAWS) -> float | None:
    """Return the two-sided chance of the mean difference, clustered as in `compare`; None where it cannot be told."""
    return compare(pairs, rng=rng, draws=draws).p


def minimum_detectable_effect(
    pairs: Sequence[Pair], level: float = ALPHA, power: float = POWER, kind: UnitKind | None = None
) -> float | None:
    """Return the smallest drop that a one-sided test at `level` sees with probability `power`; None beyond 1.

    (t at 1 - level + t at power) times the standard error of the difference over n units, with n - 1 degrees of
    freedom (Bloom, 1995), by the least sensitive of the tests that count. Where no pair differs the scatter is not 0
    but unknown: then it is that of units which lose a whole point or nothing (`unseen`).
    """
    return compare(pairs, alpha=level, power=power, kind=kind).detectable


_NOISE = 1 - FULL_MARKS


def _difference(units: Sequence[Unit], *, differs: bool) -> float | None:
    if not units:
        return None
    return fsum(unit.gain for unit in units) if differs else 0.0


def _detectable(units: Sequence[Unit], few: Sequence[Unit], alpha: float, power: float) -> float | None:
    found = [scatter(units), *([of_conversations(units, few)] if few else [])]
    if all(each.error < _NOISE for each in found):
        return unseen(units, few, alpha, power)
    drop = max(each.detectable(alpha, power) for each in found)
    return drop if drop <= 1 else None


def _too_little(pairs: int, units: int, kind: UnitKind, alpha: float) -> str:
    if not pairs:
        return "no example has a score in both runs"
    needed = enough(alpha)
    if units >= needed:
        return ""
    what = {
        "conversation": "conversations",
        "scenario": "scenarios (times conversations)",
        "example": "examples",
    }[kind]
    return (
        f"a drop cannot stand out from chance at a level of {alpha:.2g}: that takes at least {needed} {what}, "
        f"here {'is' if units == 1 else 'are'} {units}; more trials help"
    )
