"""Means, totals and their spread."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, sqrt
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from pytest_ltm.api.journal import (
    CallDurations,
    Pace,
    ReplyTime,
    ScenarioResult,
    SettleTime,
    TellTime,
    Timing,
)
from pytest_ltm.figures.statistics.counts import pass_at_k, pass_hat_k

if TYPE_CHECKING:
    Key = TypeVar("Key")
    Part = TypeVar("Part")


# The paper's number of draws of one example per scenario (Castillo-Bolado et al.,
# 2024).
DRAWS = 1_000

# A score from here on counts as 1, as 2/3 + 1/3 may in floating point.
FULL_MARKS = 1 - 1e-9


class Spread(Struct, frozen=True, kw_only=True):
    """The variation of a total with the examples that happened to be drawn."""

    sd: float
    """Standard deviation over the draws."""
    low: float
    """2.5 % of the draws lie below."""
    high: float
    """2.5 % of the draws lie above."""


def group_by(
    parts: Iterable[Part], key: Callable[[Part], Key]
) -> dict[Key, list[Part]]:
    """Group the parts by key, keeping the order of first appearance."""
    result: dict[Key, list[Part]] = {}
    for part in parts:
        result.setdefault(key(part), []).append(part)
    return result


def mean_or_none(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None, or None without any: nothing is not zero."""
    numbers = [value for value in values if value is not None]
    return fsum(numbers) / len(numbers) if numbers else None


def scores_by_scenario(rows: Iterable[ScenarioResult]) -> dict[str, tuple[float, ...]]:
    """Return the scores of each scenario that has any, over examples and trials.

    Names and scores are sorted, so that the order of rows does not matter.
    """
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.score is not None:
            scores[row.scenario].append(row.score)
    return {name: tuple(sorted(scores[name])) for name in sorted(scores)}


def total_score(scores: Mapping[str, Sequence[float]]) -> float:
    """Return the sum over scenarios of the mean over examples, out of the number of scenarios.

    The score of a run in the LTM Benchmark (Castillo-Bolado et al., 2024).
    """
    return fsum(fsum(values) / len(values) for values in scores.values())


def score_share(scores: Mapping[str, Sequence[float]]) -> float | None:
    """Return the total as a share of full marks: total / scenarios, 0 to 1; None without any score."""
    return total_score(scores) / len(scores) if scores else None


def pass_k(rows: Iterable[ScenarioResult], tries: int, *, every: bool) -> float | None:
    """Return the mean over examples of the probability that all (else any) of `tries` trials pass.

    None if no example has that many scored trials.
    """
    chance_of = pass_hat_k if every else pass_at_k
    examples = group_by(
        [row for row in rows if row.scored],
        lambda row: (row.scenario, row.example, row.span_label),
    )
    chances = []
    for trials in examples.values():
        passed = sum(row.outcome == "passed" for row in trials)
        chance = chance_of(len(trials), passed, tries)
        if chance is not None:
            chances.append(chance)
    return mean_or_none(chances)


def spread_by_draws(
    scores: Mapping[str, Sequence[float]], rng: random.Random, draws: int = DRAWS
) -> Spread | None:
    """Return the spread of the total over draws of one example for each scenario.

    Total of a draw = sum over scenarios of the score of one example, each equally likely (Castillo-Bolado et al.,
    2024); sd = sqrt(mean of (total - mean total)^2). None if no scenario has two scores: one example says nothing about
    others, and a spread of 0 would.
    """
    # Scenarios with one score add the same to every draw, so drawing them would only
    # take time.
    repeated = [(values, len(values)) for values in scores.values() if len(values) > 1]
    if not repeated:
        return None
    fixed = fsum(values[0] for values in scores.values() if len(values) == 1)
    draw = rng.random
    totals = []
    for _ in range(draws):
        drawn = [values[int(draw() * count)] for values, count in repeated]
        totals.append(fixed + fsum(drawn))
    totals.sort()
    centre = fsum(totals) / draws
    sd = sqrt(fsum((total - centre) ** 2 for total in totals) / draws)
    return Spread(
        sd=sd, low=percentile_of(totals, 0.025), high=percentile_of(totals, 0.975)
    )


def percentile_of(ordered: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of the ordered values lie.

    Linear between the two nearest values (definition 7 of Hyndman and Fan, 1996).
    """
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def ltm_reach(rows: Iterable[ScenarioResult]) -> float | None:
    """Return the mean measured span, in tokens, of the examples with full marks; 0 if none has them.

    The "LTM score" of the LTM Benchmark, version 3.5. None without any score.
    """
    scored = [row for row in rows if row.scored]
    if not scored:
        return None
    spans = []
    for row in scored:
        if row.score is not None and row.score >= FULL_MARKS:
            spans.append(row.measured_span)
    return mean_or_none(spans) or 0.0


def weighted_reach(rows: Iterable[ScenarioResult]) -> float | None:
    """Return the mean over examples of score times measured span, in tokens; None without any score.

    The "LTM score" of the benchmark's versions 1 and 2 and of its blog: tokens weighted
    by accuracy.
    """
    tokens: list[float] = []
    for row in rows:
        if row.score is not None and row.measured_span is not None:
            tokens.append(row.score * row.measured_span)
    return mean_or_none(tokens)


def filler_share(filler_tokens: int, tokens: int) -> float | None:
    """Return the filler's share of a conversation's tokens, 0 to 1; None if it is empty."""
    return filler_tokens / tokens if tokens else None


# --- Durations of an agent's calls: total, median and 95th percentile.


def agent_paces(timed: Mapping[tuple[str, str], Iterable[Timing]]) -> tuple[Pace, ...]:
    """Return the pace of each agent at each memory span, from the timings by their labels."""
    result = []
    for (agent, span_label), entries in timed.items():
        timings = list(entries)
        pace = Pace(
            agent=agent,
            span_label=span_label,
            asking=_call_durations(timings, ReplyTime),
            storing=_call_durations(timings, TellTime),
            settling=_call_durations(timings, SettleTime),
        )
        if pace.asking or pace.storing:
            result.append(pace)
    return tuple(result)


def _call_durations(
    timings: Iterable[Timing], kind: type[ReplyTime | TellTime | SettleTime]
) -> CallDurations | None:
    """Return the durations of calls of one kind; None without any."""
    seconds = [timing.seconds for timing in timings if isinstance(timing, kind)]
    if not seconds:
        return None
    # Rounded to microseconds: below that, clocks differ more than agents do.
    ordered = sorted(seconds)
    return CallDurations(
        total=sum(seconds),
        median=round(median(ordered), 6),
        p95=round(percentile_of(ordered, 0.95), 6),
    )
