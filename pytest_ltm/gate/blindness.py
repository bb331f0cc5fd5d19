"""What a passing rule could have detected: the power of its test, why it is blind, and enough trials to cure that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from msgspec import structs

from pytest_ltm.figures.statistics.paired_comparison import (
    Comparison,
    compare_runs,
    compare_scenarios,
    power_of_limit,
    power_of_test,
    score_of,
)
from pytest_ltm.figures.statistics.pairs import Pair
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.rule_results import SLACK

# The drop whose detection is reported for every passing rule; less if the score is
# lower.
_DROP = 0.1
# A rule that misses a loss of this share cannot detect anything but a total loss.
_NEARLY_ALL = 0.9
# The largest number of trials tried in the search for enough.
_MOST_TRIALS = 30


def why_no_drop_fails(rule: Rule, before: float) -> str:
    """Return why no drop, however large, could break a rule with a limit; "" if one could."""
    if not rule.metric.higher_is_better:
        return ""
    if before <= SLACK:
        return "the baseline has nothing to lose"
    allowed = rule.limit * before if rule.relative else rule.limit
    if allowed < _NEARLY_ALL * before - SLACK:
        return ""
    return f"the baseline has {rule.amount(before)}, and {rule.allowed} may be lost"


def lose_nearly_all(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs as if the later run had lost nearly everything."""
    lost: list[Pair] = []
    for pair in pairs:
        lost.append(structs.replace(pair, after=(1 - _NEARLY_ALL) * pair.before))
    return lost


def why_test_is_blind(comparisons: Iterable[Comparison], score: float) -> str:
    """Return why a test missed the loss of nearly everything; "" if it detected it.

    `comparisons`: those of `lose_nearly_all`. `score`: that of the baseline.
    """
    if score <= SLACK:
        return "the baseline has nothing to lose"
    if any(comparison.dropped_beyond_chance for comparison in comparisons):
        return ""
    return (
        f"even if nine tenths of the baseline's {score:.2f} were lost, "
        "chance would explain it: more trials see more"
    )


def power_beyond_limit(rule: Rule, before: float, pairs: Sequence[Pair]) -> str:
    """Return how often a drop would have broken a rule with a limit, as a sentence ending; "" if unknown."""
    if rule.metric.name not in ("mean", "pass_rate", "total") or not pairs:
        return ""
    allowed = rule.limit * before if rule.relative else rule.limit
    parts = 1
    if rule.metric.name == "total":
        parts = len({pair.scenario for pair in pairs})
    drop = min(_DROP, score_of(pairs, "before"))
    power = power_of_limit(pairs, drop, allowed / parts)
    return "" if power is None else _power_text(drop * parts, power)


def power_of_chance(
    pairs: Sequence[Pair], alpha: float, collapses: float
) -> str | None:
    """Return how often the paired test would have detected a drop, as a sentence ending; None if unknown."""
    drop = min(_DROP, score_of(pairs, "before"))
    power = power_of_test(pairs, drop, alpha=alpha, collapses=collapses)
    return None if power is None else _power_text(drop, power)


def _power_text(drop: float, power: float) -> str:
    """Return a text such as `; a drop of 0.10 would have been seen in 62 of 100 such runs`."""
    if drop <= SLACK:
        return ""
    runs = round(100 * power)
    return f"; a drop of {drop:.2f} would have been seen in {runs} of 100 such runs"


def collapses_text(collapses: float) -> str:
    """Return what a test assumes about conversations that earn nothing, as a sentence ending."""
    if not collapses:
        return ""
    return (
        f", if up to {collapses:.0%} of either side's conversations may earn nothing "
        "(--ltm-compare-collapses)"
    )


# --- Known before the run: whether a rule about chance could ever detect a drop.


def why_undetectable(rule: Rule, imagined: Iterable[tuple[str, Pair]]) -> str:
    """Return why a rule's test can never detect a drop, even if all examples get a score; "" if it can.

    `imagined`: agents, each with a pair for one of its examples.
    """
    if rule.metric.unit != "chance":
        return ""
    places = group_by(imagined, lambda item: (item[0], item[1].span_label))
    for place in places.values():
        pairs = [pair for _, pair in place]
        reason = _why_too_few(rule, pairs)
        if reason:
            trials = _find_enough_trials(rule, pairs)
            if trials:
                reason += f": --ltm-trials={trials} is enough, also for the baseline"
            return reason
    return ""


def _find_enough_trials(rule: Rule, pairs: Sequence[Pair]) -> int:
    """Return the smallest number of trials that could show a drop; 0 if none below `_MOST_TRIALS` could."""
    first = [pair for pair in pairs if pair.trial.partition(".")[0] == "0"]
    for trials in range(2, _MOST_TRIALS):
        repeated: list[Pair] = []
        for trial, pair in product(range(trials), first):
            repeated.append(structs.replace(pair, trial=f"{trial}.{pair.trial}"))
        if not _why_too_few(rule, repeated):
            return trials
    return 0


def _why_too_few(rule: Rule, pairs: Sequence[Pair]) -> str:
    comparisons: list[Comparison] = []
    if rule.metric.name == "holm":
        comparisons += compare_scenarios(pairs, alpha=rule.limit).values()
    if not comparisons:
        comparisons = [compare_runs(pairs, alpha=rule.limit)]
    for comparison in comparisons:
        if not comparison.can_tell:
            return comparison.reason
    return ""
