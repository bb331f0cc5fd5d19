"""Rules about changes against a baseline: with a limit, or by chance over all examples or per scenario."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.api.storage import join_some
from pytest_ltm.figures.statistics.paired_comparison import (
    compare_runs,
    compare_scenarios,
    score_of,
)
from pytest_ltm.figures.statistics.pairs import Pair, pair_rows, pass_pairs
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.figures.text import p_text
from pytest_ltm.gate.blindness import (
    collapses_text,
    lose_nearly_all,
    power_beyond_limit,
    power_of_chance,
    why_no_drop_fails,
    why_test_is_blind,
)
from pytest_ltm.gate.changes import Change
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.rule_results import (
    OF_ALL_ROWS,
    SLACK,
    RuleResult,
    unknown_metric,
    zero_open_scores,
)

_MOST_NAMED = 3
# An example in the baseline, and its counterpart in the later run.
RowPair: TypeAlias = tuple[ScenarioResult, ScenarioResult]


def check_change(
    rule: Rule, change: Change, *, looks: int, collapses: float
) -> RuleResult:
    """Return whether the rule holds, and the sentence on it.

    `looks`: the number of agents and memory spans that the rule is checked at. A rule about chance divides its limit
    among them, so that the probability of any false alarm is as stated (Bonferroni). `collapses`: the share of its
    conversations in which either side may earn nothing without being worse.
    """
    pairs = _pairs_in_scope(rule, change)
    if rule.metric.unit != "chance":
        return _check_limit(rule, change, pairs)
    if rule.metric.name == "holm":
        return _check_scenarios_by_chance(rule, pairs, looks, collapses)
    return _check_by_chance(rule, pairs, change, looks, collapses)


def check_span_change(rule: Rule, changes: Sequence[Change]) -> RuleResult:
    """Check a rule about the effective memory span of one agent, over all memory spans in both."""
    row_pairs: list[RowPair] = []
    for change in changes:
        row_pairs += _scored_row_pairs(change)
    before = effective_span([row for row, _ in row_pairs])
    after = effective_span([row for _, row in row_pairs])
    if before.span is None or after.span is None:
        reason = before.reason or after.reason
        return RuleResult("unmeasurable", f"{rule.subject} is unknown: {reason}")
    result = _compare_values(rule, before.span, after.span)
    blind = why_no_drop_fails(rule, before.span)
    return RuleResult(result.state, result.sentence, blind)


def _pairs_in_scope(rule: Rule, change: Change) -> tuple[Pair, ...]:
    """Return the pairs in a rule's scope, with 0 for open scores, and as passes for rules about passes."""
    before = zero_open_scores(rule.scope.rows(change.before))
    after = zero_open_scores(rule.scope.rows(change.after))
    if rule.metric.name == "pass_rate":
        return pass_pairs(before, after).pairs
    return pair_rows(before, after).pairs


def _scored_row_pairs(change: Change) -> list[RowPair]:
    """Return the examples scored in both, with 0 for open scores."""
    before = zero_open_scores(change.before)
    after = zero_open_scores(change.after)
    pairs: list[RowPair] = []
    for row_before, row_after in zip(before, after, strict=True):
        if row_before.scored and row_after.scored:
            pairs.append((row_before, row_after))
    return pairs


# --- Rules with a limit.


def _check_limit(rule: Rule, change: Change, pairs: Sequence[Pair]) -> RuleResult:
    """Return whether a metric lost no more than the rule allows."""
    if rule.metric.name in OF_ALL_ROWS:
        row_pairs = list(zip(change.before, change.after, strict=True))
    else:
        row_pairs = _scored_row_pairs(change)
    is_scoped = bool(rule.scope.kind)
    before = rule.metric.value(
        rule.scope.rows([row for row, _ in row_pairs]),
        change.held_before,
        scoped=is_scoped,
    )
    after = rule.metric.value(
        rule.scope.rows([row for _, row in row_pairs]),
        change.held_after,
        scoped=is_scoped,
    )
    if before is None or after is None:
        side = "the baseline has" if before is None else "the agent reports"
        no_cost = f"{side} no cost for all replies (see --ltm-price)"
        return unknown_metric(rule, no_cost, " in both")
    result = _compare_values(rule, before, after)
    if result.state == "passed":
        power = power_beyond_limit(rule, before, pairs)
        blind = why_no_drop_fails(rule, before)
        return RuleResult("passed", result.sentence + power, blind)
    scenarios: set[str] = set()
    for _, row in row_pairs:
        if rule.scope.includes_skills(row.scenario, row.skills):
            scenarios.add(row.scenario)
    losers = _largest_losers(rule, change, scenarios)
    doubt = _chance_explains(rule, change)
    return RuleResult("failed", result.sentence + losers + doubt)


def _compare_values(rule: Rule, before: float, after: float) -> RuleResult:
    """Return whether a value lost no more than the rule allows."""
    loss = before - after if rule.metric.higher_is_better else after - before
    allowed = rule.limit * before if rule.relative else rule.limit
    if abs(after - before) <= SLACK:
        text = f"{rule.subject} is {rule.amount(after)} as before"
    else:
        verb = "rose" if after > before else "dropped"
        amounts = " to ".join(rule.amounts(before, after))
        text = f"{rule.subject} {verb} from {amounts}"
    if loss <= allowed + SLACK:
        return RuleResult("passed", text)
    # With a limit of 0, "by more than 0" would add nothing.
    excess = f", by more than {rule.allowed}" if rule.limit else ""
    return RuleResult("failed", text + excess)


def _chance_explains(rule: Rule, change: Change) -> str:
    """Return a sentence ending if chance alone explains the drop of all scores, else ""."""
    is_of_all = rule.metric.name in ("mean", "total") and not rule.scope.kind
    p = change.overall.p_drop
    if not is_of_all or p is None or p <= change.overall.alpha:
        return ""
    return f"; chance explains as much (one-sided p {p_text(p)})"


def _largest_losers(rule: Rule, change: Change, scenarios: Collection[str]) -> str:
    """Return the scenarios with the largest losses, for a rule about scores of all scenarios."""
    is_of_scores = (
        rule.metric.unit not in ("usd", "tokens")
        and rule.metric.name not in OF_ALL_ROWS
    )
    if rule.scope.kind == "scenario" or not is_of_scores:
        return ""
    worst: list[tuple[float, str]] = []
    for name, level in change.levels.items():
        if name in scenarios and level.difference < -SLACK:
            worst.append((level.difference, name))
    if not worst:
        return ""
    texts = []
    for _, name in sorted(worst):
        level = change.levels[name]
        texts.append(f"{name} ({level.before:.2f} to {level.after:.2f})")
    return f"; most in {join_some(texts, _MOST_NAMED)}"


# --- Rules about chance.


def _check_by_chance(
    rule: Rule, pairs: Sequence[Pair], change: Change, looks: int, collapses: float
) -> RuleResult:
    """Return whether the scores dropped by more than chance explains."""
    alpha = rule.limit / looks
    name = f"the scores{rule.scope.words}"
    comparison = compare_runs(pairs, alpha=alpha, collapses=collapses)
    p_drop = comparison.p_drop
    if not comparison.is_identical and (not comparison.can_tell or p_drop is None):
        reason = f"cannot tell whether {name} dropped: {comparison.reason}"
        return RuleResult("unmeasurable", reason)
    test = f"one-sided p {p_text(p_drop)}" if p_drop is not None else ""
    if looks > 1:
        test += f", one of {looks} comparisons"
    difference = comparison.difference or 0.0
    if comparison.dropped_beyond_chance:
        text = (
            f"{name} dropped by {-difference:.2f}, more than chance explains ({test})"
        )
        losers = _largest_losers(rule, change, {pair.scenario for pair in pairs})
        return RuleResult("failed", text + losers)
    if comparison.is_identical or p_drop is None:
        text = f"{name} are as before"
    else:
        text = f"{name} moved by {difference:+.2f}, which chance explains ({test})"
    simulated = compare_runs(lose_nearly_all(pairs), alpha=alpha, collapses=collapses)
    blind = why_test_is_blind([simulated], score_of(pairs, "before"))
    power = power_of_chance(pairs, alpha, collapses)
    supposed = power + collapses_text(collapses) if power is not None else ""
    return RuleResult("passed", text + supposed, blind)


def _check_scenarios_by_chance(
    rule: Rule, pairs: Sequence[Pair], looks: int, collapses: float
) -> RuleResult:
    """Return whether any scenario dropped by more than chance explains, corrected for testing all."""
    alpha = rule.limit / looks
    comparisons = compare_scenarios(pairs, alpha=alpha, collapses=collapses)
    dropped = []
    for name, comparison in comparisons.items():
        if comparison.dropped_beyond_chance:
            difference = f"{comparison.difference or 0.0:+.2f}"
            p = p_text(comparison.adjusted or 0.0)
            dropped.append(f"{name} ({difference}, one-sided p {p})")
    if dropped:
        text = f"dropped by more than chance explains, corrected for {len(comparisons)} scenarios"
        return RuleResult("failed", f"{text}: {', '.join(dropped)}")
    reasons: list[str] = []
    for comparison in comparisons.values():
        if not comparison.can_tell:
            reasons.append(comparison.reason)
    if not comparisons:
        reasons = ["no example has a score in both runs"]
    if reasons:
        reason = f"cannot tell whether single scenarios dropped: {reasons[0]}"
        return RuleResult("unmeasurable", reason)
    simulated = compare_scenarios(
        lose_nearly_all(pairs), alpha=alpha, collapses=collapses
    )
    noticed = sum(comparison.dropped_beyond_chance for comparison in simulated.values())
    sentence = (
        f"none of {len(comparisons)} scenarios dropped by more than chance explains; "
        f"the loss of nine tenths of all would have been seen in {noticed} of them"
    )
    blind = why_test_is_blind(simulated.values(), score_of(pairs, "before"))
    return RuleResult("passed", sentence, blind)
