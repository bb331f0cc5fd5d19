"""Is the later run worse? One difference with its interval, its p-values and the smallest detectable drop."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
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
    scenario_weights,
    unit_kind,
    unit_members,
    units_of,
)
from pytest_ltm.figures.statistics.totals import group_by

# Tolerance for rounding errors.
_NOISE = 1e-9
# Up to this many units all assignments of signs are enumerated; beyond that they are
# sampled.
EXACT = 14
# Sampled assignments, each together with its opposite.
DRAWS = 2_000
_CHUNK = 8


# --- The sign-flip test over independent units, and the interval of differences that
# it does not reject.
#
# If before and after are exchangeable, the difference of every unit might as well have
# had the other sign (Fisher, 1935). Over clusters this is the wild cluster bootstrap
# with the null hypothesis imposed and Rademacher weights, which keeps its level with
# few clusters where percentile and BCa bootstraps do not (Cameron, Gelbach and Miller,
# 2008; Canay, Santos and Shaikh, 2021). Studentising would change nothing: the sum of
# squares is the same under every flip.


class Flips(Struct, frozen=True):
    """The result of all assignments of signs, or of a sample that includes the observed one."""

    assignments: int
    p_drop: float
    """One-sided probability that exchangeable runs lose at least as much."""
    p_gain: float
    """One-sided probability that exchangeable runs gain at least as much."""
    means: tuple[float, ...]
    """For each assignment but the observed one, the mean difference estimated from its flipped units alone, sorted."""

    def bounds(self, tail: float) -> tuple[float, float] | None:
        """Return the differences just not rejected by the one-sided tests at `tail`; None if they reject none.

        A difference x is rejected by the test of gains less x. The bounds are the k-th
        smallest and largest of the means over flipped units, k = `tail` of all
        assignments: the typical values of Hartigan (1969).
        """
        k = int(tail * self.assignments + _NOISE)
        return (self.means[k - 1], self.means[-k]) if k else None


def sign_flips(
    units: Sequence[SignUnit], rng: random.Random, draws: int = DRAWS
) -> Flips:
    """Apply all assignments of signs, or a sample that consists of draws, their opposites and the identity.

    An assignment loses at least as much as observed if the units that it flips have no gain in sum. With a sample the
    test is still exact (Hemerik and Goeman, 2018): chance only selects the assignments among which the observed one is
    ranked.
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
        # Each draw comes with its opposite, the complementary set of units; none may be
        # empty or complete.
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
    """Return for each draw the sum over the units selected by its bits, followed by the sum over all."""
    columns = []
    for start, mask in zip(range(0, len(values), _CHUNK), masks, strict=True):
        table = _subset_sums(values[start : start + _CHUNK])
        # The last units may be fewer than a byte has bits: higher bits change nothing.
        table *= 2**_CHUNK // len(table)
        columns.append(map(table.__getitem__, mask))
    return [*map(sum, zip(*columns, strict=True)), fsum(values)]


def _subset_sums(values: Sequence[float]) -> list[float]:
    """Return the sum of every subset; bit i of its index says whether value i is included."""
    sums = [0.0]
    for value in values:
        sums += [subset_sum + value for subset_sum in sums]
    return sums


# --- The scatter of the difference between units, and between a few conversations.


class Scatter(Struct, frozen=True, kw_only=True):
    """How far a mean difference varies by chance."""

    difference: float
    error: float
    """The standard error of the difference."""
    degrees: int
    """The degrees of freedom of the standard error."""

    @property
    def p_drop(self) -> float:
        """One-sided probability that equally good agents lose at least as much."""
        return t_below(self._t, self.degrees)

    @property
    def p_gain(self) -> float:
        """One-sided probability that equally good agents gain at least as much."""
        return t_below(-self._t, self.degrees)

    def bounds(self, tail: float) -> tuple[float, float]:
        """Return difference ± t · error."""
        half = t_quantile(1 - tail, self.degrees) * self.error
        return self.difference - half, self.difference + half

    def detectable(self, alpha: float, power: float) -> float:
        """Return the smallest drop that a one-sided test detects with `power`: (t + t) · error (Bloom, 1995)."""
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
    """Return the standard error of the mean over at least two independent units.

    sqrt(n / (n - 1) · sum of (gain - weight · mean)²): the cluster-robust error of a
    mean (Liang and Zeger, 1986). It has n - 1 degrees of freedom, fewer if a few
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
    """Return the standard error over at least two conversations, which covers effects on whole conversations."""
    return structs.replace(
        standard_error(conversations), degrees=len(conversations) - 1
    )


def smallest_seen_drop(
    cells: Sequence[SignUnit],
    conversations: Sequence[SignUnit],
    alpha: float,
    power: float,
) -> float:
    """Return the drop that is mostly detected if no pair differs, so that the scatter is not 0 but unknown.

    A drop x of units that lose a whole point or nothing has the variance x (1 - x) ·
    sum of w²; the smallest that is (t + t) standard errors large is q / (1 + q), q = (t
    + t)² · sum of w².
    """
    squares = fsum(unit.weight**2 for unit in cells)
    degrees = [len(cells) - 1, *([len(conversations) - 1] if conversations else [])]
    wide = 0.0
    for degree in degrees:
        quantiles = t_quantile(1 - alpha, degree) + t_quantile(power, degree)
        wide = max(wide, quantiles**2)
    return wide * squares / (1 + wide * squares)


# --- The effect of chance on a difference, by all applicable tests together.


class Chance(Struct, frozen=True, kw_only=True):
    """Combined tests, each valid under its own assumptions, so the more conservative one counts."""

    flipped: Flips
    few: Scatter | None
    """The scatter between a few conversations; None if there are enough of them to flip."""

    @property
    def p_drop(self) -> float:
        """Probability that equally good agents lose at least as much."""
        return max(self.flipped.p_drop, self.few.p_drop if self.few else 0.0)

    @property
    def p_gain(self) -> float:
        """Probability that equally good agents gain at least as much."""
        return max(self.flipped.p_gain, self.few.p_gain if self.few else 0.0)

    def bounds(self, tail: float) -> tuple[float, float] | None:
        """Return the widest differences just not rejected by a one-sided test at `tail`; None with too few units."""
        result = self.flipped.bounds(tail)
        if result is None or self.few is None:
            return result
        low, high = self.few.bounds(tail)
        return min(result[0], low), max(result[1], high)

    def interval(self, level: float) -> Interval | None:
        """Return the differences that at least one of the tests does not reject; None with too few units."""
        bounds = self.bounds((1 - level) / 2)
        if bounds is None:
            return None
        return Interval(max(-1.0, bounds[0]), min(1.0, bounds[1]))


def chance_of_difference(
    units: Sequence[SignUnit], few: Sequence[SignUnit], rng: random.Random, draws: int
) -> Chance:
    """Return the effect of chance on the mean difference; `few`: the conversations, if they are not the units."""
    return Chance(
        flipped=sign_flips(units, rng, draws),
        few=of_conversations(few) if few else None,
    )


def few_conversations(pairs: Sequence[Pair], kind: UnitKind) -> tuple[SignUnit, ...]:
    """Return the conversations if smaller units take their place, else nothing."""
    if kind == "conversation":
        return ()
    return units_of(pairs, "conversation")


class RunUnits(Struct, frozen=True):
    """The independent units of two runs, from which all tests are computed."""

    units: tuple[SignUnit, ...]
    few: tuple[SignUnit, ...]
    """The conversations if smaller units take their place, else nothing."""

    @classmethod
    def of_kind(cls, pairs: Sequence[Pair], kind: UnitKind) -> RunUnits:
        """Return the units of a kind."""
        return cls(units_of(pairs, kind), few_conversations(pairs, kind))


# --- Conversations that collapse, of which a run may have shown fewer than it has on
# average.
#
# An agent that earns nothing in a share r of its conversations shows k such ones or
# fewer in n of them with the chance P(K <= k), K binomial, and is then taken for better
# than it is. A test that errs there in alpha / P(K <= k) of the runs errs in alpha of
# all.

Side: TypeAlias = Literal["before", "after"]
_SIDES: tuple[Side, Side] = ("before", "after")
COLLAPSES = 0.3
"""The share of its conversations in which either agent may earn nothing without being worse."""
# Tested shares, as fractions of that limit.
_PARTS = (1 / 3, 2 / 3, 1.0)
# A conversation counts as empty if it earns less than this fraction of its side's mean.
_EMPTY = 0.25


class Collapse(Struct, frozen=True):
    """The case that one side collapses in a share of its conversations but showed fewer collapses."""

    side: Side
    kept: float
    """Its mean would be this fraction of the observed one."""
    unseen: float
    """The probability of seeing no more collapses than were observed."""


def possible_collapses(pairs: Sequence[Pair], limit: float) -> tuple[Collapse, ...]:
    """Return the collapses in up to `limit` of the conversations that would explain a difference."""
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
    """Return the probability that at most `limit` of `of` independent events happen, each with probability `share`."""
    probabilities: list[float] = []
    for count in range(limit + 1):
        ways = comb(of, count)
        probabilities.append(ways * share**count * (1 - share) ** (of - count))
    return fsum(probabilities)


class ChanceOfRuns(Struct, frozen=True, kw_only=True):
    """The effect of chance on the difference of two runs, either of which may collapse in unseen conversations."""

    seen: Chance
    unseen: tuple[tuple[Collapse, Chance], ...]
    """The same for each assumed collapse of one run."""

    @property
    def p_drop(self) -> float:
        """Probability that equally good agents lose at least as much."""
        p_drop = self.seen.p_drop
        for collapse, chance in self._of("before"):
            p_drop = max(p_drop, collapse.unseen * chance.p_drop)
        return p_drop

    @property
    def p_gain(self) -> float:
        """Probability that equally good agents gain at least as much."""
        p_gain = self.seen.p_gain
        for collapse, chance in self._of("after"):
            p_gain = max(p_gain, collapse.unseen * chance.p_gain)
        return p_gain

    @property
    def p_value(self) -> float:
        """Two-sided probability that equally good agents differ at least as much."""
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

    def _of(self, side: Side) -> Iterator[tuple[Collapse, Chance]]:
        for collapse, chance in self.unseen:
            if collapse.side == side:
                yield collapse, chance

    def _bounds(self, side: Side, tail: float) -> Iterator[tuple[float, float]]:
        for collapse, chance in self._of(side):
            if tail < collapse.unseen:
                bounds = chance.bounds(tail / collapse.unseen)
            else:
                bounds = None
            if bounds is not None:
                yield bounds


class Imagined(Struct, frozen=True):
    """The units of two runs if one side had collapsed as often as assumed."""

    collapse: Collapse
    runs: RunUnits
    owed: float
    """The part of that side's mean that it would have lost."""


def imagine_collapses(
    pairs: Sequence[Pair], kind: UnitKind, collapses: Sequence[Collapse]
) -> list[Imagined]:
    """Return the units of a kind for each collapse that would explain a difference."""
    means = {side: score_of(pairs, side) for side in _SIDES}
    imagined: list[Imagined] = []
    for collapse in collapses:
        runs = RunUnits.of_kind(less_collapses(pairs, collapse), kind)
        owed = (1 - collapse.kept) * means[collapse.side]
        imagined.append(Imagined(collapse, runs, owed))
    return imagined


def chance_of_runs(
    runs: RunUnits, imagined: Sequence[Imagined], rng: random.Random, draws: int
) -> ChanceOfRuns:
    """Return the effect of chance on the difference of two runs."""
    # All use the same assignments, so that swapping the runs only swaps signs.
    unseen: list[tuple[Collapse, Chance]] = []
    for case in imagined:
        chance = chance_of_difference(case.runs.units, case.runs.few, copy(rng), draws)
        unseen.append((case.collapse, chance))
    seen = chance_of_difference(runs.units, runs.few, rng, draws)
    return ChanceOfRuns(seen=seen, unseen=tuple(unseen))


def less_collapses(pairs: Sequence[Pair], collapse: Collapse) -> list[Pair]:
    """Return the expected pairs if one side had collapsed as often as assumed."""
    side = collapse.side
    expected_pairs: list[Pair] = []
    for pair in pairs:
        score = collapse.kept * getattr(pair, side)
        expected_pairs.append(structs.replace(pair, **{side: score}))
    return expected_pairs


def score_of(pairs: Sequence[Pair], side: Side) -> float:
    """Return the mean over scenarios of one side."""
    weights = scenario_weights(pairs)
    score = attrgetter(side)
    cell_scores: list[float] = []
    for cell in unit_members(pairs, "scenario").values():
        cell_scores.append(fsum(weights[pair.scenario] * score(pair) for pair in cell))
    return fsum(cell_scores)


def count_changes(pairs: Iterable[Pair]) -> tuple[int, int]:
    """Return the number of pairs that are better in the later run, and of those that are worse."""
    better = worse = 0
    for pair in pairs:
        gain = pair.gain
        better += gain > _NOISE
        worse += gain < -_NOISE
    return better, worse


def count_conversations(pairs: Sequence[Pair]) -> int:
    """Return the number of conversations in each run."""
    return len({(pair.span_label, pair.trial) for pair in pairs})


def with_one_more(
    units: Sequence[SignUnit], imagined: SignUnit
) -> tuple[SignUnit, ...]:
    """Return the units and an imagined one, with the weights rescaled to 1."""
    everything = [*units, imagined]
    total = fsum(unit.weight for unit in everything)
    scaled: list[SignUnit] = []
    for unit in everything:
        scaled.append(SignUnit(unit.gain / total, unit.weight / total))
    return tuple(scaled)


# The default probability of a false alarm that a gate accepts.
ALPHA = 0.05
# Why nothing can be said about other conversations.
ONE = "one conversation each does not show how much conversations vary; more trials do"
FEWEST, MOST_TRIALS = 3, 100
"""The fewest and most trials to recommend."""
# The power that `detectable` refers to.
POWER = 0.8


class Comparison(Struct, frozen=True, kw_only=True):
    """The difference of a later run over an earlier one, on the examples that both have a score for.

    Values that cannot be determined are None, and `reason` says why.
    """

    difference: float | None
    """Later minus earlier: the mean over scenarios of the mean over their pairs; negative if the later run lost."""
    interval: Interval | None = None
    """The interval of the difference at `level`; None if there are too few units, or if no pair differs."""
    p: float | None = None
    """Two-sided probability that equally good agents differ at least as much."""
    p_drop: float | None = None
    """One-sided probability that equally good agents lose at least as much, used by gates."""
    p_gain: float | None = None
    detectable: float | None = None
    """The smallest drop that the one-sided test at `alpha` detects with `power`; None beyond 1."""
    pairs: int
    better: int
    worse: int
    kind: UnitKind
    units: int
    """Number of independent units of that kind."""
    conversations: int
    """Number of conversations per run. A single one does not show how conversations vary, so nothing can be said."""
    level: float
    alpha: float
    power: float
    reason: str = ""
    """Why the comparison says nothing; "" if it does."""
    adjusted: float | None = None
    """`p_drop` after Holm's correction, if the comparison is one of several listed together."""

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
    """Compare two runs; the order of pairs does not matter, and swapping the runs only changes signs.

    The difference is that of `total` and `accuracy`: every scenario counts the same. The scenarios are fixed, as both
    runs play the same ones; chance lies in what the agent says. So the unit whose sign may flip is a conversation, if
    there are enough of them (eight for a level of 95 %). With fewer, it is all examples of a scenario in one
    conversation, and a t test over conversations covers the scatter between them: the larger p and the wider interval
    count. One conversation does not show what affects all of it, so only statements about itself are possible
    (`chance_here`). `kind` overrides the unit. Either run may collapse in a share of its conversations, up to
    `collapses`; 0 if both sides come from the same conversations. `all_pairs`: the pairs of all scenarios, if `pairs`
    are those of one. `rng` defaults to a fixed seed, so that equal runs get equal results.
    """
    kind = kind or unit_kind(pairs, level)
    runs = RunUnits.of_kind(pairs, kind)
    units = runs.units
    conversations = count_conversations(pairs)
    better, worse = count_changes(pairs)
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
    imagined = imagine_collapses(pairs, kind, possible)
    chance = chance_of_runs(runs, imagined, rng or random.Random(0), draws)
    return structs.replace(
        comparison,
        interval=chance.interval(level) if better or worse else None,
        p=chance.p_value,
        p_drop=chance.p_drop,
        p_gain=chance.p_gain,
        detectable=_detectable_drop(runs, imagined, alpha, power),
    )


def compare_scenarios(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    alpha: float = ALPHA,
    collapses: float = COLLAPSES,
) -> dict[str, Comparison]:
    """Compare scenarios one by one, for a common list; sorted by name.

    `adjusted` has Holm's correction over all of them, so that the probability of any false alarm is at most `alpha`,
    and `detectable` is the drop that stands out among them. A scenario with so few units that even unanimous ones could
    not show a drop is not decided; it still counts for the correction.
    """
    by_scenario = attrgetter("scenario")
    groups = group_by(sorted(pairs, key=by_scenario), by_scenario)
    seeded = rng or random.Random(0)
    kind = unit_kind(pairs, LEVEL)
    comparisons: list[Comparison] = []
    for group in groups.values():
        comparison = compare_runs(
            group,
            rng=seeded,
            alpha=alpha / len(groups),
            kind=kind,
            collapses=collapses,
            all_pairs=pairs,
        )
        comparisons.append(comparison)
    chances = [comparison.p_drop for comparison in comparisons]
    corrected = holm_correction([1.0 if p is None else p for p in chances])
    result = {}
    for name, comparison, p in zip(groups, comparisons, corrected, strict=True):
        adjusted = p if comparison.can_tell else None
        result[name] = structs.replace(comparison, alpha=alpha, adjusted=adjusted)
    return result


def _detectable_drop(
    runs: RunUnits, imagined: Sequence[Imagined], alpha: float, power: float
) -> float | None:
    """Return the smallest drop that is detected with `power` and exceeds what unseen collapses explain."""
    drop = _seen_drop(runs, alpha, power)
    for case, tail in _explaining(imagined, alpha):
        drop = max(drop, case.owed + _seen_drop(case.runs, tail, power))
    return drop if drop <= 1 else None


def _explaining(
    imagined: Sequence[Imagined], alpha: float
) -> Iterator[tuple[Imagined, float]]:
    """Yield the collapses that may explain a drop, each with the level that remains for a test."""
    for case in imagined:
        tail = alpha / case.collapse.unseen
        if tail < 1:
            yield case, tail


def _seen_drop(runs: RunUnits, alpha: float, power: float) -> float:
    scatters = [standard_error(runs.units)]
    if runs.few:
        scatters.append(of_conversations(runs.few))
    if all(scatter.error < _NOISE for scatter in scatters):
        return smallest_seen_drop(runs.units, runs.few, alpha, power)
    return max(scatter.detectable(alpha, power) for scatter in scatters)


def power_of_test(
    pairs: Sequence[Pair], drop: float, *, alpha: float = ALPHA, collapses: float
) -> float | None:
    """Return the power of the one-sided test for a drop of this size in runs with this scatter.

    Uses the least sensitive applicable test; None if the pairs can show nothing.
    """
    kind = unit_kind(pairs, LEVEL)
    runs = RunUnits.of_kind(pairs, kind)
    count = len(runs.units)
    if _too_little(len(pairs), count, kind, count_conversations(pairs), alpha):
        return None
    power = _power_at(runs, alpha, drop)
    possible = possible_collapses(pairs, collapses)
    for case, tail in _explaining(imagine_collapses(pairs, kind, possible), alpha):
        power = min(power, _power_at(case.runs, tail, drop - case.owed))
    return power


def _power_at(runs: RunUnits, alpha: float, drop: float) -> float:
    powers: list[float] = []
    for scatter in _scatters_of_drop(runs, drop):
        limit = t_quantile(1 - alpha, scatter.degrees)
        powers.append(t_below(drop / scatter.error - limit, scatter.degrees))
    return min(powers)


def power_of_limit(pairs: Sequence[Pair], drop: float, limit: float) -> float | None:
    """Return how often a true drop of this size exceeds the limit; None with a single unit."""
    runs = RunUnits.of_kind(pairs, "scenario")
    if len(runs.units) < 2:
        return None
    powers: list[float] = []
    for scatter in _scatters_of_drop(runs, drop):
        powers.append(t_below((drop - limit) / scatter.error, scatter.degrees))
    return min(powers)


def _scatters_of_drop(runs: RunUnits, drop: float) -> list[Scatter]:
    """Return the scatter of a drop between units, and between conversations if there are several.

    If no pair differs, units are assumed to lose a whole point or nothing.
    """
    scatters = [standard_error(runs.units)]
    if len(runs.few) > 1:
        scatters.append(of_conversations(runs.few))
    if any(scatter.error > _NOISE for scatter in scatters):
        return [scatter for scatter in scatters if scatter.error > _NOISE]
    share = min(max(drop, 0.0), 1.0)
    squares = fsum(unit.weight**2 for unit in runs.units)
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


# --- What holds for the conversations played, and how many more would settle the rest.


def chance_here(
    pairs: Sequence[Pair],
    *,
    rng: random.Random | None = None,
    alpha: float = ALPHA,
    draws: int = DRAWS,
) -> float | None:
    """Return the two-sided p-value for the conversations played, ignoring effects on whole conversations.

    This tests only the texts that both were given: the examples of a scenario in one conversation may flip their sign
    together. None if there are too few of them.
    """
    units = units_of(pairs, "scenario")
    if len(units) < min_units(alpha / 2):
        return None
    flips = sign_flips(units, rng or random.Random(0), draws)
    return min(1.0, 2 * min(flips.p_drop, flips.p_gain))


def trials_to_tell(pairs: Sequence[Pair]) -> int | None:
    """Return how many trials mostly detect a difference of this size; None if more than MOST_TRIALS.

    Uses the scatter between conversations; for a single one, effects on the whole conversation are assumed to scatter
    as much as those on one scenario in it: the design effect of a correlation of one half (Kish, 1965).
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
