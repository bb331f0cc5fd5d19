"""Is the later run worse? One difference, with its interval, its chance, and the smallest one that could be seen."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from copy import copy
from math import comb, copysign, fsum, inf, sqrt
from operator import attrgetter, truediv
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from pytest_ltm.figures.statistics.counts import (
    LEVEL,
    Interval,
    holm_correction,
    t_below,
    t_quantile,
)
from pytest_ltm.figures.statistics.pairs import (
    Pair,
    SignUnit,
    UnitKind,
    min_units,
    unit_kind,
    unit_members,
    units_of,
)
from pytest_ltm.figures.statistics.totals import group_by

# What floating point may make of nothing.
_NOISE = 1e-9
# The most units for which every assignment of signs is tried; with more, a sample is.
EXACT = 14
# Assignments drawn beyond that, each together with its opposite.
DRAWS = 2_000
_CHUNK = 8


# --- The sign-flip test over independent units, and the interval that it excludes
# nothing from.
#
# If before and after are exchangeable, the difference of every unit might as well have
# had the other sign (Fisher, 1935). Over clusters this is the wild cluster bootstrap
# with the null hypothesis imposed and Rademacher weights, which keeps its level with
# few clusters where percentile and BCa bootstraps do not (Cameron, Gelbach and Miller,
# 2008; Canay, Santos and Shaikh, 2021). Studentising would change nothing: the sum of
# squares is the same under every flip.


class Flips(Struct, frozen=True):
    """What all assignments of signs say, or a sample of them; the one found is one of them."""

    assignments: int
    p_drop: float
    """How often exchangeable runs lose at least as much (one-sided)."""
    p_gain: float
    """How often exchangeable runs gain at least as much (one-sided)."""
    means: tuple[float, ...]
    """For each assignment but the one found what the flipped units alone say of the difference, sorted."""

    def bounds(self, tail: float) -> tuple[float, float] | None:
        """Return the differences that the one-sided tests at `tail` just do not reject; None if they reject none.

        A difference x is rejected by the test of gains less x. The bounds are the k-th
        smallest and largest of the means over flipped units, k = `tail` of all
        assignments: the typical values of Hartigan (1969).
        """
        k = int(tail * self.assignments + _NOISE)
        return (self.means[k - 1], self.means[-k]) if k else None


def sign_flips(
    units: Sequence[SignUnit], rng: random.Random, draws: int = DRAWS
) -> Flips:
    """Return what all assignments of signs say, or a sample: each draw and its opposite, and no flip.

    An assignment loses at least as much as was found if the units that it flips gained
    nothing together. With a sample the test is still exact (Hemerik and Goeman, 2018):
    chance decides only which of the assignments the one found is ranked among.
    """
    gains = [unit.gain for unit in units]
    weights = [unit.weight for unit in units]
    if len(units) <= EXACT:
        flipped = _subset_sums(gains)[1:]
        heavy = _subset_sums(weights)[1:]
    else:
        masks = [rng.randbytes(draws) for _ in range(0, len(units), _CHUNK)]
        *drawn, (gain, full_weight) = zip(
            _drawn_sums(gains, masks), _drawn_sums(weights, masks), strict=True
        )
        # Each draw comes with its opposite, the units that it leaves out; no draw is
        # empty or all but the last.
        drawn = [draw for draw in drawn if _NOISE < draw[1] < full_weight - _NOISE]
        both = [
            *drawn,
            *((gain - more, full_weight - heavy) for more, heavy in drawn),
            (gain, full_weight),
        ]
        flipped, heavy = map(list, zip(*both, strict=True))
    assignments = len(flipped) + 1
    return Flips(
        assignments=assignments,
        p_drop=(1 + sum(map((-_NOISE).__le__, flipped))) / assignments,
        p_gain=(1 + sum(map(_NOISE.__ge__, flipped))) / assignments,
        means=tuple(sorted(map(truediv, flipped, heavy))),
    )


def _drawn_sums(values: Sequence[float], masks: Sequence[bytes]) -> list[float]:
    """Return for each draw the sum over the units that its bits choose, and last the sum over all."""
    tables = [
        _subset_sums(values[i : i + _CHUNK]) for i in range(0, len(values), _CHUNK)
    ]
    columns = []
    for table, mask in zip(tables, masks, strict=True):
        bits = len(table) - 1
        columns.append([table[byte & bits] for byte in mask])
    return [*map(sum, zip(*columns, strict=True)), fsum(values)]


def _subset_sums(values: Sequence[float]) -> list[float]:
    """Return the sum of every subset; bit i of its place says whether value i is in."""
    sums = [0.0]
    for value in values:
        sums += [subset_sum + value for subset_sum in sums]
    return sums


# --- How far the difference scatters between units, and between a few conversations.


class Scatter(Struct, frozen=True, kw_only=True):
    """How far a mean difference moves by chance."""

    difference: float
    error: float
    """Its standard error."""
    degrees: int
    """Degrees of freedom that the standard error has."""

    @property
    def p_drop(self) -> float:
        """How often equally good agents lose at least as much, one-sided."""
        return t_below(self._t, self.degrees)

    @property
    def p_gain(self) -> float:
        """How often equally good agents gain at least as much, one-sided."""
        return t_below(-self._t, self.degrees)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return difference ± t · error."""
        half = t_quantile(1 - tail, self.degrees) * self.error
        return self.difference - half, self.difference + half

    def detectable(self, alpha: float, power: float) -> float:
        """Return the smallest drop that a one-sided test at alpha sees with a power: (t + t) · error (Bloom, 1995)."""
        return (
            t_quantile(1 - alpha, self.degrees) + t_quantile(power, self.degrees)
        ) * self.error

    @property
    def _t(self) -> float:
        if abs(self.difference) < _NOISE:
            return 0.0
        if self.error > _NOISE:
            return self.difference / self.error
        return copysign(inf, self.difference)


def standard_error(units: Sequence[SignUnit]) -> Scatter:
    """Return the standard error of the mean over independent units, two at least.

    sqrt(n / (n - 1) · sum of (gain - weight · mean)²): the cluster-robust error of a
    mean (Liang and Zeger, 1986). It has n - 1 degrees of freedom, fewer where a few
    units make most of it: 2n / (kurtosis - 1), from the variance of a variance.
    """
    difference = fsum(unit.gain for unit in units)
    squares = [(unit.gain - unit.weight * difference) ** 2 for unit in units]
    count = len(units)
    sum_of_squares = fsum(squares)
    if sum_of_squares > _NOISE**2:
        peaked = count * fsum(square**2 for square in squares) / sum_of_squares**2 - 1
    else:
        peaked = 0.0
    if peaked > _NOISE:
        degrees = min(count - 1, max(1, round(2 * count / peaked)))
    else:
        degrees = count - 1
    return Scatter(
        difference=difference,
        error=sqrt(sum_of_squares * count / (count - 1)),
        degrees=degrees,
    )


def of_conversations(conversations: Sequence[SignUnit]) -> Scatter:
    """Return the standard error that minds what befalls whole conversations, of which there are few, two at least."""
    return structs.replace(
        standard_error(conversations), degrees=len(conversations) - 1
    )


def smallest_seen_drop(
    cells: Sequence[SignUnit],
    conversations: Sequence[SignUnit],
    alpha: float,
    power: float,
) -> float:
    """Return the drop that is mostly seen where no pair differs, so that the scatter is not 0 but unknown.

    A drop x of units that lose a whole point or nothing has the variance x (1 - x) ·
    sum of w²; the smallest that is (t + t) standard errors large is q / (1 + q), q = (t
    + t)² · sum of w².
    """
    squares = fsum(unit.weight**2 for unit in cells)
    degrees = [len(cells) - 1, *([len(conversations) - 1] if conversations else [])]
    wide = max(
        (t_quantile(1 - alpha, degree) + t_quantile(power, degree)) ** 2
        for degree in degrees
    )
    return wide * squares / (1 + wide * squares)


# --- What chance does to a difference, by all the tests that apply together.


class Chance(Struct, frozen=True, kw_only=True):
    """Each test is right on its own supposition, so the more careful one counts."""

    flipped: Flips
    few: Scatter | None
    """What a few conversations leave open; None where there are enough to flip them."""

    @property
    def p_drop(self) -> float:
        """How often equally good agents lose at least as much."""
        return max(self.flipped.p_drop, self.few.p_drop if self.few else 0.0)

    @property
    def p_gain(self) -> float:
        """How often equally good agents gain at least as much."""
        return max(self.flipped.p_gain, self.few.p_gain if self.few else 0.0)

    def bounds(self, tail: float) -> tuple[float, float] | None:
        """Return the differences that some one-sided test at `tail` just does not reject; None with too few units."""
        result = self.flipped.bounds(tail)
        if result is None or self.few is None:
            return result
        low, high = self.few.bounds(tail)
        return min(result[0], low), max(result[1], high)

    def interval(self, level: float) -> Interval | None:
        """Return the differences that some of the tests would not reject, either way; None with too few units."""
        bounds = self.bounds((1 - level) / 2)
        if bounds is None:
            return None
        return Interval(max(-1.0, bounds[0]), min(1.0, bounds[1]))


def chance_of_difference(
    units: Sequence[SignUnit], few: Sequence[SignUnit], rng: random.Random, draws: int
) -> Chance:
    """Return what chance does to the mean difference of units; `few`: the conversations, if they are not the units."""
    return Chance(
        flipped=sign_flips(units, rng, draws),
        few=of_conversations(few) if few else None,
    )


def few_conversations(pairs: Sequence[Pair], kind: UnitKind) -> tuple[SignUnit, ...]:
    """Return the conversations, where smaller units stand in their place; else none."""
    if kind == "conversation":
        return ()
    return units_of(pairs, "conversation")


# --- Conversations that collapse, where fewer were seen to than do.
#
# An agent that earns nothing in a share r of its conversations shows k such ones or
# fewer in n of them with the chance P(K <= k), K binomial, and is then taken for better
# than it is. A test that errs there in alpha / P(K <= k) of the runs errs in alpha of
# all.

Side: TypeAlias = Literal["before", "after"]
_SIDES: tuple[Side, Side] = ("before", "after")
COLLAPSES = 0.3
"""In which share of its conversations either agent may earn nothing without being worse."""
# Shares up to that one that are tried, as parts of it.
_PARTS = (1 / 3, 2 / 3, 1.0)
# A conversation is empty if it earns less than this part of what those of its side earn.
_EMPTY = 0.25


class Collapse(Struct, frozen=True):
    """What if one side collapses in a share of its conversations, and showed fewer of them."""

    side: Side
    kept: float
    """Its mean would be this share of the one that was seen."""
    unseen: float
    """How often conversations show no more collapses than were seen."""


def possible_collapses(pairs: Sequence[Pair], limit: float) -> tuple[Collapse, ...]:
    """Return what collapses in a share of up to `limit` of the conversations would explain."""
    conversations = unit_members(pairs, "conversation").values()
    count = len(conversations)
    found = []
    for side in _SIDES:
        scores = [score_of(group, side) for group in conversations]
        least = _EMPTY * fsum(scores) / max(count, 1)
        empty = sum(score <= least for score in scores)
        for part in _PARTS:
            share = part * limit
            if empty < share * count:
                remaining = (1 - share) / (1 - empty / count)
                found.append(
                    Collapse(side, remaining, binomial_below(empty, count, share))
                )
    return tuple(found)


def binomial_below(limit: int, of: int, share: float) -> float:
    """Return how often at most `limit` of `of` events happen, each with the chance `share`."""
    return fsum(
        comb(of, count) * share**count * (1 - share) ** (of - count)
        for count in range(limit + 1)
    )


class ChanceOfRuns(Struct, frozen=True, kw_only=True):
    """What chance does to the difference of two runs, either of which may collapse in conversations not held."""

    seen: Chance
    unseen: tuple[tuple[Collapse, Chance], ...]
    """The same, were one run as much worse as collapses make it."""

    @property
    def p_drop(self) -> float:
        """How often equally good agents lose at least as much."""
        explained = [
            collapse.unseen * chance.p_drop for collapse, chance in self._of("before")
        ]
        return max([self.seen.p_drop, *explained])

    @property
    def p_gain(self) -> float:
        """How often equally good agents gain at least as much."""
        explained = [
            collapse.unseen * chance.p_gain for collapse, chance in self._of("after")
        ]
        return max([self.seen.p_gain, *explained])

    @property
    def p_value(self) -> float:
        """How often equally good agents differ at least as much, either way."""
        return min(1.0, 2 * min(self.p_drop, self.p_gain))

    def interval(self, level: float) -> Interval | None:
        """Return the differences that some of the tests would not reject; None with too few units."""
        seen_interval = self.seen.interval(level)
        if seen_interval is None:
            return None
        tail = (1 - level) / 2
        lows = [bounds[0] for bounds in self._bounds("after", tail)]
        highs = [bounds[1] for bounds in self._bounds("before", tail)]
        return Interval(
            max(-1.0, min([seen_interval.low, *lows])),
            min(1.0, max([seen_interval.high, *highs])),
        )

    def _of(self, side: Side) -> list[tuple[Collapse, Chance]]:
        return [
            (collapse, chance)
            for collapse, chance in self.unseen
            if collapse.side == side
        ]

    def _bounds(self, side: Side, tail: float) -> Iterator[tuple[float, float]]:
        for collapse, chance in self._of(side):
            if tail < collapse.unseen:
                bounds = chance.bounds(tail / collapse.unseen)
            else:
                bounds = None
            if bounds is not None:
                yield bounds


def chance_of_runs(
    pairs: Sequence[Pair],
    kind: UnitKind,
    rng: random.Random,
    draws: int,
    collapses: Sequence[Collapse],
) -> ChanceOfRuns:
    """Return what chance does to the difference of two runs, by units of a kind."""

    def chance(which: Sequence[Pair], rng: random.Random) -> Chance:
        return chance_of_difference(
            units_of(which, kind), few_conversations(which, kind), rng, draws
        )

    # All look at the same assignments, so that swapping the runs swaps only signs.
    unseen = [
        (collapse, chance(less_collapses(pairs, collapse), copy(rng)))
        for collapse in collapses
    ]
    return ChanceOfRuns(seen=chance(pairs, rng), unseen=tuple(unseen))


def less_collapses(pairs: Sequence[Pair], collapse: Collapse) -> list[Pair]:
    """Return the pairs as they would be on average if one side had collapsed as often as it may."""
    side = collapse.side
    return [
        structs.replace(pair, **{side: collapse.kept * getattr(pair, side)})
        for pair in pairs
    ]


def score_of(pairs: Sequence[Pair], side: Side) -> float:
    """Return the mean over scenarios of a side."""
    alone = [
        structs.replace(pair, before=0.0, after=getattr(pair, side)) for pair in pairs
    ]
    return fsum(unit.gain for unit in units_of(alone, "scenario"))


def count_conversations(pairs: Sequence[Pair]) -> int:
    """Return how many conversations each run had."""
    return len({(pair.span_label, pair.trial) for pair in pairs})


def with_one_more(
    units: Sequence[SignUnit], imagined: SignUnit
) -> tuple[SignUnit, ...]:
    """Return the units and an imagined one, with weights that make 1 again."""
    everything = [*units, imagined]
    total = fsum(unit.weight for unit in everything)
    return tuple(
        SignUnit(unit.gain / total, unit.weight / total) for unit in everything
    )


# The chance of a false alarm that a gate takes, unless another is asked for.
ALPHA = 0.05
# Why nothing is told of other conversations.
ONE = "one conversation each does not show how much conversations vary; more trials do"
FEWEST, MOST_TRIALS = 3, 100
"""Nobody is told to play fewer, or more."""
# The chance to see a real drop that `detectable` is about.
POWER = 0.8


class Comparison(Struct, frozen=True, kw_only=True):
    """What a later run has over an earlier one, on the examples that both have a score for.

    Whatever cannot be told is None, and `reason` says why.
    """

    difference: float | None
    """Later less earlier: the mean over scenarios of the mean over their pairs; below 0 the later one lost."""
    interval: Interval | None = None
    """Where the difference lies at `level`; None if there are too few units, or no pair differs."""
    p: float | None = None
    """How often equally good agents differ at least as much, either way."""
    p_drop: float | None = None
    """How often equally good agents lose at least as much: what a gate looks at."""
    p_gain: float | None = None
    detectable: float | None = None
    """The smallest drop that the one-sided test at `alpha` sees with probability `power`; None beyond 1."""
    pairs: int
    better: int
    worse: int
    kind: UnitKind
    units: int
    """How many independent units of that kind the pairs make."""
    conversations: int
    """How many each run had. One does not show how conversations vary, so that nothing can be told."""
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
    def is_identical(self) -> bool:
        """Whether no pair differs."""
        return self.pairs > 0 and not self.better and not self.worse

    @property
    def dropped_beyond_chance(self) -> bool:
        """Whether the later run is worse by more than chance explains at `alpha`."""
        p = self.p_drop if self.adjusted is None else self.adjusted
        return self.can_tell and p is not None and p <= self.alpha


def compare_runs(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    level: float = LEVEL,
    alpha: float = ALPHA,
    power: float = POWER,
    kind: UnitKind | None = None,
    draws: int = DRAWS,
    collapses: float = COLLAPSES,
    all_pairs: Sequence[Pair] = (),
) -> Comparison:
    """Compare two runs; the order of the pairs changes nothing, and swapping the runs only the signs.

    The difference is that of `total` and `accuracy`: every scenario counts the same.
    The scenarios are taken as they are, both runs play the same ones; chance is what
    the agent says. So the unit that may have had the other sign is a conversation,
    where there are enough of them (eight for a level of 95 %). With fewer it is the
    examples of a scenario in one conversation together, and the scatter between
    conversations counts by a t test beside it: the larger p, the wider interval. One
    conversation does not show what befalls all of it: then nothing can be told but what
    holds for it alone (`chance_here`). `kind` chooses otherwise. Either run may
    collapse in a share of its conversations, up to `collapses`; 0 where both sides are
    of the same conversations. `all_pairs`: the pairs of all scenarios, where these are of
    one of them. `rng` defaults to a fixed seed, so that equal runs get equal
    answers.
    """
    kind = kind or unit_kind(pairs, level)
    units = units_of(pairs, kind)
    conversations = count_conversations(pairs)
    better = sum(pair.gain > _NOISE for pair in pairs)
    worse = sum(pair.gain < -_NOISE for pair in pairs)
    difference = 0.0 if units else None
    if better or worse:
        difference = fsum(unit.gain for unit in units)
    comparison = Comparison(
        difference=difference,
        pairs=len(pairs),
        better=better,
        worse=worse,
        kind=kind,
        units=len(units),
        conversations=conversations,
        level=level,
        alpha=alpha,
        power=power,
        reason=_too_little(len(pairs), len(units), kind, conversations, alpha),
    )
    if not comparison.can_tell:
        return comparison
    possible = possible_collapses(all_pairs or pairs, collapses)
    chance = chance_of_runs(pairs, kind, rng or random.Random(0), draws, possible)
    return structs.replace(
        comparison,
        interval=chance.interval(level) if better or worse else None,
        p=chance.p_value,
        p_drop=chance.p_drop,
        p_gain=chance.p_gain,
        detectable=_detectable_drop(pairs, kind, alpha, power, possible),
    )


def compare_scenarios(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    alpha: float = ALPHA,
    collapses: float = COLLAPSES,
) -> dict[str, Comparison]:
    """Compare scenario by scenario, which are listed together; sorted by name.

    `adjusted` holds Holm's correction over all of them, so that the chance of any false
    alarm is at most `alpha`, and `detectable` the drop that stands out among them. A
    scenario with so few units that even unanimous ones could not cannot be told; it
    still counts as one of them.
    """
    by_scenario = attrgetter("scenario")
    groups = group_by(sorted(pairs, key=by_scenario), by_scenario)
    seeded = rng or random.Random(0)
    kind = unit_kind(pairs, LEVEL)
    comparisons = [
        compare_runs(
            group,
            rng=seeded,
            alpha=alpha / len(groups),
            kind=kind,
            collapses=collapses,
            all_pairs=pairs,
        )
        for group in groups.values()
    ]
    chances = [comparison.p_drop for comparison in comparisons]
    corrected = holm_correction([1.0 if p is None else p for p in chances])
    result = {}
    for name, comparison, p in zip(groups, comparisons, corrected, strict=True):
        adjusted = p if comparison.can_tell else None
        result[name] = structs.replace(comparison, alpha=alpha, adjusted=adjusted)
    return result


def _detectable_drop(
    pairs: Sequence[Pair],
    kind: UnitKind,
    alpha: float,
    power: float,
    collapses: Sequence[Collapse],
) -> float | None:
    """Return the smallest difference that is seen with a power, and is more than unseen collapses explain."""
    drop = _seen_drop(pairs, kind, alpha, power)
    for lower, owed, tail in _lower_pairs(pairs, collapses, alpha):
        drop = max(drop, owed + _seen_drop(lower, kind, tail, power))
    return drop if drop <= 1 else None


def _lower_pairs(
    pairs: Sequence[Pair], collapses: Sequence[Collapse], alpha: float
) -> Iterator[tuple[list[Pair], float, float]]:
    """Yield the pairs less each collapse that may explain a drop, what it costs, and the level that is left."""
    for collapse in collapses:
        tail = alpha / collapse.unseen
        if tail < 1:
            owed = (1 - collapse.kept) * score_of(pairs, collapse.side)
            yield less_collapses(pairs, collapse), owed, tail


def _seen_drop(
    pairs: Sequence[Pair], kind: UnitKind, alpha: float, power: float
) -> float:
    units = units_of(pairs, kind)
    few = few_conversations(pairs, kind)
    scatters = [standard_error(units), *([of_conversations(few)] if few else [])]
    if all(scatter.error < _NOISE for scatter in scatters):
        return smallest_seen_drop(units, few, alpha, power)
    return max(scatter.detectable(alpha, power) for scatter in scatters)


def power_of_test(
    pairs: Sequence[Pair], drop: float, *, alpha: float = ALPHA, collapses: float
) -> float | None:
    """Return how often the one-sided test sees a drop of this size in runs that scatter as these do.

    By the least sensitive test that counts; None where nothing can be told.
    """
    kind = unit_kind(pairs, LEVEL)
    units = len(unit_members(pairs, kind))
    if _too_little(len(pairs), units, kind, count_conversations(pairs), alpha):
        return None
    power = _power_at(pairs, kind, alpha, drop)
    possible = possible_collapses(pairs, collapses)
    for lower, owed, tail in _lower_pairs(pairs, possible, alpha):
        power = min(power, _power_at(lower, kind, tail, drop - owed))
    return power


def _power_at(
    pairs: Sequence[Pair], kind: UnitKind, alpha: float, drop: float
) -> float:
    return min(
        t_below(
            drop / scatter.error - t_quantile(1 - alpha, scatter.degrees),
            scatter.degrees,
        )
        for scatter in _scatters_of_drop(pairs, kind, drop)
    )


def power_of_limit(pairs: Sequence[Pair], drop: float, limit: float) -> float | None:
    """Return how often a true drop of this size shows as one of more than the limit; None with a single unit."""
    if len(unit_members(pairs, "scenario")) < 2:
        return None
    return min(
        t_below((drop - limit) / scatter.error, scatter.degrees)
        for scatter in _scatters_of_drop(pairs, "scenario", drop)
    )


def _scatters_of_drop(
    pairs: Sequence[Pair], kind: UnitKind, drop: float
) -> list[Scatter]:
    """Return how a drop scatters between units, and between conversations if there are several.

    Where no pair differs it is supposed that units lose a whole point or nothing.
    """
    groups = [units_of(pairs, kind)]
    conversations = few_conversations(pairs, kind)
    groups += [conversations] if len(conversations) > 1 else []
    scatters = [standard_error(groups[0]), *map(of_conversations, groups[1:])]
    if any(scatter.error > _NOISE for scatter in scatters):
        return [scatter for scatter in scatters if scatter.error > _NOISE]
    share = min(max(drop, 0.0), 1.0)
    squares = fsum(unit.weight**2 for unit in units_of(pairs, kind))
    error = max(sqrt(share * (1 - share) * squares), _NOISE)
    return [
        structs.replace(scatter, difference=-drop, error=error) for scatter in scatters
    ]


def _too_little(
    pairs: int, units: int, kind: UnitKind, conversations: int, alpha: float
) -> str:
    if not pairs:
        return "no example has a score in both runs"
    needed = min_units(alpha)
    if units < needed:
        noun = {"scenario": "scenarios (times conversations)"}.get(kind, f"{kind}s")
        return (
            f"a drop cannot stand out from chance at a level of {alpha:.2g}: that takes at least {needed} {noun}, "
            f"here {'is' if units == 1 else 'are'} {units}; more trials help"
        )
    return ONE if conversations == 1 else ""


# --- What holds for the conversations that were held, and how many more would settle
# the rest.


def chance_here(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    alpha: float = ALPHA,
    draws: int = DRAWS,
) -> float | None:
    """Return how often equally good agents differ as much, either way, whatever befalls whole conversations.

    That is the test of what was held, on the texts that both were told: the examples of
    a scenario in one conversation may have had the other sign together. None where
    there are too few of them.
    """
    units = units_of(pairs, "scenario")
    if len(units) < min_units(alpha / 2):
        return None
    flips = sign_flips(units, rng or random.Random(0), draws)
    return min(1.0, 2 * min(flips.p_drop, flips.p_gain))


def trials_to_tell(pairs: Sequence[Pair]) -> int | None:
    """Return how many trials mostly tell a difference of this size, either way; None where more than MOST_TRIALS do.

    From the scatter between conversations; of a single one it is supposed that what
    befalls all of it scatters as much as what befalls a scenario in it: the design
    effect of a correlation of one half (Kish, 1965).
    """
    conversations = units_of(pairs, "conversation")
    cells = units_of(pairs, "scenario")
    count = len(conversations)
    if count > 1:
        apart = standard_error(conversations).error * sqrt(count)
    elif len(cells) > 1:
        apart = standard_error(cells).error * sqrt(
            1 + 1 / fsum(unit.weight**2 for unit in cells)
        )
    else:
        return None
    difference = abs(fsum(unit.gain for unit in cells))
    highest = max(score_of(pairs, side) for side in _SIDES)
    for trials in range(max(FEWEST, count + 1), MOST_TRIALS + 1):
        mean = Scatter(
            difference=difference, error=apart / sqrt(trials), degrees=trials - 1
        )
        needed = [mean.detectable(ALPHA / 2, POWER)]
        for part in _PARTS:
            share = part * COLLAPSES
            tail = ALPHA / 2 / (1 - share) ** trials
            if tail < 1:
                needed.append(share * highest + mean.detectable(tail, POWER))
        if difference > _NOISE and max(needed) <= difference:
            return trials
    return None
