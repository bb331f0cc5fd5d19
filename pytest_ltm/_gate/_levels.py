"""Where a metric lies: one number of the rows and conversations of one agent at one memory span."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from pytest_ltm._statistics import accuracy, mean, pass_at_k, pass_hat_k, scores_by_scenario, total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm._gate._metrics import Metric
    from pytest_ltm._gate._rules import Scope
    from pytest_ltm._result import ConversationResult, ScenarioResult

Rows = tuple["ScenarioResult", ...]


def in_scope(rows: Sequence[ScenarioResult], scope: Scope) -> Rows:
    """Return the rows that a rule is about."""
    if scope.kind == "scenario":
        return tuple(row for row in rows if row.scenario == scope.name)
    if scope.kind == "skill":
        return tuple(row for row in rows if scope.name in row.skills)
    return tuple(rows)


def level(
    metric: Metric, rows: Sequence[ScenarioResult], held: Sequence[ConversationResult], *, scoped: bool
) -> float | None:
    """Return the metric's value; None where it cannot be told.

    `rows` are those in scope; `held` their conversations, which count as wholes unless a rule is `scoped`.
    """
    if metric.tries:
        return pass_k(rows, metric.tries, every="^" in metric.name)
    if not scoped and metric.name in _WHOLE:
        return _WHOLE[metric.name](held)
    return _OF_ROWS[metric.name](rows)


def pass_k(rows: Sequence[ScenarioResult], tries: int, *, every: bool) -> float | None:
    """Return the mean over examples of the chance that every (else: at least one) of so many trials passes.

    None if no example has so many trials with a score.
    """
    counts: dict[tuple[str, str, str], list[bool]] = {}
    for row in rows:
        if row.scored:
            counts.setdefault((row.scenario, row.example, row.span_label), []).append(row.outcome == "passed")
    of_one = pass_hat_k if every else pass_at_k
    found = [of_one(len(passes), sum(passes), tries) for passes in counts.values()]
    return mean([chance for chance in found if chance is not None])


def _mean(rows: Sequence[ScenarioResult]) -> float | None:
    return accuracy(scores_by_scenario(rows))


def _total(rows: Sequence[ScenarioResult]) -> float | None:
    scores = scores_by_scenario(rows)
    return total(scores) if scores else None


def _worst(rows: Sequence[ScenarioResult]) -> float | None:
    means = [fsum(values) / len(values) for values in scores_by_scenario(rows).values()]
    return min(means, default=None)


def _pass_rate(rows: Sequence[ScenarioResult]) -> float | None:
    return mean([float(row.outcome == "passed") for row in rows if row.scored])


def _unscored(rows: Sequence[ScenarioResult]) -> float | None:
    return mean([float(not row.scored and row.outcome != "error") for row in rows])


def _errors(rows: Sequence[ScenarioResult]) -> float | None:
    return mean([float(row.outcome == "error") for row in rows])


def _row_cost(rows: Sequence[ScenarioResult]) -> float | None:
    costs = [row.cost_usd for row in rows if row.tokens or row.cost_usd is not None]
    return _all(costs)


def _cost(held: Sequence[ConversationResult]) -> float | None:
    return _all([each.cost_usd for each in held])


def _all(values: Sequence[float | None]) -> float | None:
    """Return the sum; None if there are none or any of them is unknown."""
    known = [value for value in values if value is not None]
    return fsum(known) if known and len(known) == len(values) else None


_OF_ROWS: dict[str, Callable[[Sequence[ScenarioResult]], float | None]] = {
    "mean": _mean,
    "total": _total,
    "worst": _worst,
    "pass_rate": _pass_rate,
    "unscored": _unscored,
    "errors": _errors,
    "cost": _row_cost,
    "tokens": lambda rows: float(sum(row.tokens for row in rows)) if rows else None,
}
_WHOLE: dict[str, Callable[[Sequence[ConversationResult]], float | None]] = {
    "cost": _cost,
    "tokens": lambda held: float(sum(each.tokens for each in held)) if held else None,
    "reply_tokens": lambda held: float(sum(each.reply_tokens for each in held)) if held else None,
}
