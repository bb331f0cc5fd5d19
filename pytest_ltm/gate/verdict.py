"""The verdict of a gate: evaluates every rule for every agent and memory span, and combines the findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from pytest_ltm.api.journal import (
    FAILED,
    PASSED,
    UNMEASURABLE,
    RunResult,
    at_span,
    why_unmeasured,
)
from pytest_ltm.figures.statistics.paired_comparison import COLLAPSES
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.gate.change_rules import check_change, check_span_change
from pytest_ltm.gate.changes import Change, Changes
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.level_rules import (
    check_level,
    check_pass_k,
    check_span,
    error_text,
)
from pytest_ltm.gate.rule_results import Places, RuleResult, State

STATUS: dict[State, int] = {
    "passed": PASSED,
    "failed": FAILED,
    "unmeasurable": UNMEASURABLE,
}
# The metric that covers all memory spans of an agent together.
SPAN = "span"


class Finding(Struct, frozen=True):
    """The finding of one rule for one agent, usually at one memory span."""

    rule: str
    """The rule as the user wrote it."""
    agent: str
    span_label: str
    """The memory span; "" for all spans together."""
    state: State
    sentence: str
    """The finding; ends without a full stop."""
    moved: bool = False
    """Whether it is about a change against the baseline."""

    @property
    def place(self) -> str:
        """The place in words, `mybot at 32k`, or `mybot` for all spans together."""
        if self.span_label:
            return at_span(self.agent, self.span_label)
        return self.agent

    @property
    def text(self) -> str:
        """The sentence, prefixed with the place."""
        return f"{self.place}: {self.sentence}"


class GateVerdict(Struct, frozen=True, kw_only=True):
    """The verdict of a gate on a run."""

    findings: tuple[Finding, ...]
    """Sorted by rule, then agent and span."""
    lost: str = ""
    """Why the whole run cannot be measured, such as an agent that was gone; "" if it can."""

    @property
    def state(self) -> State:
        """The overall state: an unmeasurable rule prevents a pass, and lost examples break no rule."""
        if self.lost:
            return "unmeasurable"
        if self.breaches:
            return "failed"
        return "unmeasurable" if self.unknown else "passed"

    @property
    def breaches(self) -> tuple[Finding, ...]:
        """The findings of rules that failed."""
        return tuple(finding for finding in self.findings if finding.state == "failed")

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """The findings of rules that cannot be evaluated."""
        findings: list[Finding] = []
        for finding in self.findings:
            if finding.state == "unmeasurable":
                findings.append(finding)
        return tuple(findings)

    @property
    def status(self) -> int:
        """The exit status: 0 passed, 1 failed, 75 not measurable."""
        return STATUS[self.state]


def decide_gate(
    run: RunResult,
    rules: Sequence[Rule],
    changes: Changes | None = None,
    *,
    lost_too: str = "",
    allow_blind: bool = False,
) -> GateVerdict:
    """Return the verdict on a run; `lost_too`: another reason why it cannot be measured.

    A rule that would have held whatever the agent lost is blind, and unmeasurable unless `allow_blind`.

    Rules apply to each agent at each memory span. Trials that must pass (`pass_k`) are checked as well, and an example
    that ended in an error of its own breaches the gate, unless a rule allows some.
    """
    places = group_by(
        run.conversations,
        lambda conversation: (conversation.agent, conversation.span_label),
    )
    findings: list[Finding] = []
    for rule in rules:
        findings += _check_rule(rule, run, places, changes, allow_blind=allow_blind)
    findings += _check_trials(run)
    if not any(map(_allows_errors, rules)):
        findings += _find_errors(places)
    reason = why_unmeasured(run) or lost_too
    if not reason and changes and any(rule.against for rule in rules):
        reason = _why_baseline_says_little(changes)
    return GateVerdict(findings=tuple(findings), lost=reason)


def _check_rule(
    rule: Rule,
    run: RunResult,
    places: Places,
    changes: Changes | None,
    *,
    allow_blind: bool,
) -> Iterator[Finding]:
    """Yield the findings of a rule at each agent and memory span."""

    def finding(agent: str, span: str, result: RuleResult) -> Finding:
        decided = result.settle_blindness(allow_blind=allow_blind)
        return Finding(
            rule.text, agent, span, decided.state, decided.sentence, moved=rule.against
        )

    if rule.metric.name == SPAN:
        for agent in dict.fromkeys(agent for agent, _ in places):
            yield finding(agent, "", _check_all_spans(rule, run, agent, changes))
        return
    for (agent, span), conversations in places.items():
        if rule.against:
            result = _check_place(rule, agent, span, places, changes)
        else:
            result = check_level(rule, conversations)
        yield finding(agent, span, result)


def _check_all_spans(
    rule: Rule, run: RunResult, agent: str, changes: Changes | None
) -> RuleResult:
    """Return the result of a rule about the effective span for one agent."""
    if rule.against:
        moved: Sequence[Change] = changes.changes if changes else ()
        return check_span_change(
            rule, [change for change in moved if change.agent == agent]
        )
    return check_span(rule, [row for row in run.scenarios if row.agent == agent])


def _check_place(
    rule: Rule, agent: str, span: str, places: Places, changes: Changes | None
) -> RuleResult:
    """Return the result of a rule about a change at one agent and memory span."""
    change = changes.changes_of_agent(agent, span) if changes else None
    if change is None:
        name = changes.before if changes else "there is no baseline: it"
        return RuleResult("unmeasurable", f"{name} has nothing to compare with here")
    # Each place shown is another chance of a false alarm.
    looks = max(changes.looks if changes else 0, len(places))
    collapses = changes.collapses if changes else COLLAPSES
    return check_change(rule, change, looks=looks, collapses=collapses)


def _check_trials(run: RunResult) -> Iterator[Finding]:
    """Yield a finding for each example that requires a number of passing trials."""
    rows = [row for row in run.scenarios if row.pass_k is not None]
    examples = group_by(
        rows, lambda row: (row.agent, row.span_label, row.scenario, row.example)
    )
    for (agent, span, _, _), trials in examples.items():
        needed = trials[0].pass_k or 1
        result = check_pass_k(trials, needed)
        yield Finding(f"pass_k={needed}", agent, span, result.state, result.sentence)


def _allows_errors(rule: Rule) -> bool:
    """Return whether a rule limits how many examples may end in an error."""
    return rule.metric.name == "errors" and not rule.against and not rule.scope.kind


def _find_errors(places: Places) -> Iterator[Finding]:
    """Yield a breach for each place where examples ended in an error of their own."""
    for (agent, span), conversations in places.items():
        sentence = error_text(conversations)
        if sentence:
            yield Finding("errors:0", agent, span, "failed", sentence)


def _why_baseline_says_little(changes: Changes) -> str:
    """Return what a baseline has lost; "" if it has all of its examples.

    Saved baselines have lost nothing, but run folders may have. Rows are counted once, however many agents of the later
    run are compared with them.
    """
    rows = {}
    for change in changes.changes:
        for row in change.before:
            rows[row.span_label, row.trial, row.id] = row
    lost_count = sum(row.infrastructure for row in rows.values())
    if not lost_count:
        return ""
    cause = "because of agent, judge, user or budget"
    return f"{changes.before} lost {lost_count} of {len(rows)} examples {cause}"
