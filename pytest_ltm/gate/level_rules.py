"""Rules about a run's values: a metric at one memory span, the effective span, trials that pass, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_ltm.api.journal import ConversationResult, ScenarioResult
from pytest_ltm.api.storage import pluralize
from pytest_ltm.figures.statistics.spans_reached import effective_span
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.rule_results import (
    OF_ALL_ROWS,
    SLACK,
    RuleResult,
    unknown_metric,
    zero_open_scores,
)

_MOST_NAMED = 3


def check_level(rule: Rule, conversations: Sequence[ConversationResult]) -> RuleResult:
    """Return whether a metric is within its limit at one memory span."""
    rows = rule.scope.rows(_rows_of(conversations))
    counted = rows if rule.metric.name in OF_ALL_ROWS else zero_open_scores(rows)
    is_scoped = bool(rule.scope.kind)
    value = rule.metric.value(counted, conversations, scoped=is_scoped)
    if value is None and is_scoped and not rows:
        reason = f"there is no example{rule.scope.words}"
        return RuleResult("unmeasurable", f"{rule.subject} is unknown: {reason}")
    if value is None:
        no_cost = (
            "the agent does not report the cost of all its replies (see --ltm-price)"
        )
        return unknown_metric(rule, no_cost)
    amount, limit = rule.amounts(value, rule.limit)
    text = f"{rule.subject} is {amount}{_zeros_text(rows, counted)}"
    # Sums of thirds must not break a limit that they meet exactly.
    if rule.metric.higher_is_better and value < rule.limit - SLACK:
        return RuleResult("failed", f"{text}, not at least {limit}")
    if not rule.metric.higher_is_better and value > rule.limit + SLACK:
        return RuleResult("failed", f"{text}, not at most {limit}")
    return RuleResult("passed", text)


def _zeros_text(
    rows: Sequence[ScenarioResult], counted: Sequence[ScenarioResult]
) -> str:
    """Return how many unscored examples were counted as 0, as part of a sentence."""
    zeros = sum(row.scored for row in counted) - sum(row.scored for row in rows)
    if not zeros:
        return ""
    return f", {pluralize(zeros, 'example')} without a score counted as 0"


def check_span(rule: Rule, rows: Sequence[ScenarioResult]) -> RuleResult:
    """Return whether an agent's effective span, over all memory spans, is long enough."""
    reached = effective_span(zero_open_scores(rows))
    if reached.span is None:
        reason = f"{rule.subject} is unknown: {reached.reason}"
        return RuleResult("unmeasurable", reason)
    text = f"{rule.subject} is {rule.amount(reached.span)}"
    if reached.span >= rule.limit:
        return RuleResult("passed", text)
    # The span may be long enough; it was not measured that far.
    if reached.at_least:
        reason = "it is kept at every measured span, so larger ones must be measured"
        return RuleResult("unmeasurable", f"{text} or more: {reason}")
    return RuleResult("failed", f"{text}, not at least {rule.amount(rule.limit)}")


def check_pass_k(trials: Sequence[ScenarioResult], needed: int) -> RuleResult:
    """Return whether an example passes in as many trials as its scenario requires."""
    passed = sum(trial.outcome == "passed" for trial in trials)
    unscored = sum(not trial.scored for trial in trials)
    text = f"{trials[0].id} passes in {passed} of {pluralize(len(trials), 'trial')}"
    if passed >= needed:
        return RuleResult("passed", text)
    # Unscored trials may still pass, so an example fails only if even that would not
    # suffice.
    if passed + unscored < needed:
        return RuleResult("failed", f"{text}, not in {needed}")
    reason = f"{unscored} have no score, {needed} must pass"
    return RuleResult("unmeasurable", f"{text}, {reason}")


def error_text(conversations: Sequence[ConversationResult]) -> str:
    """Return which examples ended in an error of the scenario; "" if none did."""
    examples_by_scenario = Counter[str]()
    for row in _rows_of(conversations):
        if row.outcome == "error" and not row.infrastructure:
            examples_by_scenario[row.scenario] += 1
    if not examples_by_scenario:
        return ""
    names = list(examples_by_scenario)
    name_list = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        name_list += " …"
    examples = pluralize(examples_by_scenario.total(), "example")
    return f"{examples} ended in an error of the scenario: {name_list}"


def _rows_of(conversations: Iterable[ConversationResult]) -> list[ScenarioResult]:
    rows: list[ScenarioResult] = []
    for conversation in conversations:
        rows += conversation.scenarios
    return rows
