"""The result of a rule: whether it holds, the sentence that says so, and why it may have been blind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from pytest_ltm.api.journal import ConversationResult, ScenarioResult
from pytest_ltm.figures.memory_measures import MEASURES
from pytest_ltm.gate.gate_rules import Rule

State: TypeAlias = Literal["passed", "failed", "unmeasurable"]
# The conversations of each agent at each memory span.
Places: TypeAlias = Mapping[tuple[str, str], Sequence[ConversationResult]]
# Tolerance for rounding errors in a difference.
SLACK = 1e-9
# Metrics that include examples without a score.
OF_ALL_ROWS = ("unscored", "errors", "cost", "tokens", "reply_tokens")


class RuleResult(Struct, frozen=True):
    """The result of a rule at one place."""

    state: State
    sentence: str
    """The finding; ends without a full stop."""
    blind: str = ""
    """Why the rule would have held whatever the agent lost; "" if it could have failed."""

    def settle_blindness(self, *, allow_blind: bool) -> RuleResult:
        """Return the result, turned unmeasurable if the rule passes blindly and that is not allowed."""
        if self.state != "passed" or not self.blind:
            return self
        text = f"{self.sentence}; blind: {self.blind}"
        if allow_blind:
            return structs.replace(self, sentence=text)
        cure = "(--ltm-compare-blind=allow takes it for passed)"
        return RuleResult("unmeasurable", f"{text} {cure}")


def zero_open_scores(rows: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    """Return the rows with open scores as 0: unknown results raise no mean. Errors have their own rule."""
    return tuple(row if row.outcome == "error" else row.settle_score(0) for row in rows)


def unknown_metric(rule: Rule, no_cost: str, where: str = "") -> RuleResult:
    """Return an unmeasurable result; `no_cost` explains missing costs, `where` names the side."""
    names = {measure.name for measure in MEASURES}
    if rule.metric.unit == "usd":
        reason = no_cost
    elif rule.metric.name.startswith("recall@"):
        reason = "no question has needles, or the agent shows no retrieved texts"
    elif rule.metric.name in names:
        cure = "give it written(), or have its spans received (--ltm-traces)"
        reason = f"the agent says nothing of its memory; {cure}"
    elif rule.metric.tries:
        reason = f"no example has {rule.metric.tries} trials with a score{where}"
    else:
        reason = f"no example has a score{where}"
    return RuleResult("unmeasurable", f"{rule.subject} is unknown: {reason}")
