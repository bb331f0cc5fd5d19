"""The verdict of a gate: every rule for every agent and memory span, and what they come to together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_ltm._gate._levels import in_scope, level
from pytest_ltm._gate._moves import moved, moved_span
from pytest_ltm._result import lost_examples
from pytest_ltm._statistics import effective_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._gate._changes import Changes
    from pytest_ltm._gate._rules import Rule
    from pytest_ltm._result import ConversationResult, RunResult, ScenarioResult

State: TypeAlias = Literal["held", "breached", "unmeasurable"]
HELD, BREACHED, UNMEASURABLE = 0, 1, 75
"""Exit statuses; 75 is EX_TEMPFAIL: try again."""
STATUS: dict[State, int] = {"held": HELD, "breached": BREACHED, "unmeasurable": UNMEASURABLE}
SPAN = "span"
"""The metric that is about all memory spans of an agent together."""
_SLACK = 1e-9
"""What floating point may add to a difference."""
_WHERE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule for one agent, mostly at one memory span."""

    rule: str
    """As it was written."""
    agent: str
    span_label: str
    """"" where it is about all spans together."""
    state: State
    sentence: str
    """What was found; ends without a full stop."""
    moved: bool = False
    """It is about a change against the baseline."""

    @property
    def text(self) -> str:
        """The sentence with the place before it."""
        place = f"{self.agent} at {self.span_label}" if self.span_label else self.agent
        return f"{place}: {self.sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a gate says of a run."""

    findings: tuple[Finding, ...]
    """In the order of the rules, then agents and spans."""
    lost: str = ""
    """Why the whole run says too little, such as an agent that was gone; "" where it does not."""

    @property
    def state(self) -> State:
        """Nothing that cannot be measured is held, and nothing that was lost is a breach."""
        states = {finding.state for finding in self.findings}
        if self.lost:
            return "unmeasurable"
        return "breached" if "breached" in states else "unmeasurable" if "unmeasurable" in states else "held"

    @property
    def breaches(self) -> tuple[Finding, ...]:
        """The rules that do not hold."""
        return tuple(finding for finding in self.findings if finding.state == "breached")

    @property
    def unknown(self) -> tuple[Finding, ...]:
        """The rules that nobody can tell of."""
        return tuple(finding for finding in self.findings if finding.state == "unmeasurable")

    @property
    def status(self) -> int:
        """The exit status: 0 held, 1 breached, 75 not measurable."""
        return STATUS[self.state]


def lost(run: RunResult) -> str:
    """Return why nothing can be said of a run as a whole; "" if it can."""
    rows = run.scenarios
    gone = sum(row.infrastructure for row in rows)
    if gone:
        return f"{lost_examples(gone, len(rows))}, not through memory"
    return "" if any(row.scored for row in rows) else "nothing has a score"


def judge(run: RunResult, rules: Sequence[Rule], changes: Changes | None = None, *, lost_too: str = "") -> Verdict:
    """Return the verdict on a run; `lost_too`: what else makes it say too little.

    Rules hold for each agent at each memory span. Trials that must pass (`pass_k`) are looked at, too, and an
    example that ended in an error of its own breaches the gate, unless a rule says how many may.
    """
    findings = [finding for rule in rules for finding in _findings(rule, run, changes)]
    findings += _passes(run)
    if not any(rule.metric.name == "errors" and not rule.against and not rule.scope.kind for rule in rules):
        findings += _errors(run)
    return Verdict(findings=tuple(findings), lost=lost(run) or lost_too or _lost_before(rules, changes))


def _lost_before(rules: Sequence[Rule], changes: Changes | None) -> str:
    """Return why a baseline says too little; baselines that are kept are never such, run folders may be."""
    if changes is None or not any(rule.against for rule in rules):
        return ""
    rows = {(row.span_label, row.trial, row.id): row for change in changes.changes for row in change.before}
    gone = sum(row.infrastructure for row in rows.values())
    return f"{changes.before} lost {gone} of {len(rows)} examples through agent, judge or budget" if gone else ""


def _places(run: RunResult) -> dict[tuple[str, str], list[ConversationResult]]:
    found: dict[tuple[str, str], list[ConversationResult]] = {}
    for held in run.conversations:
        found.setdefault((held.agent, held.span_label), []).append(held)
    return found


def _findings(rule: Rule, run: RunResult, changes: Changes | None) -> list[Finding]:
    if rule.metric.name == SPAN:
        return [_span(rule, run, agent, changes) for agent in dict.fromkeys(held.agent for held in run.conversations)]
    if rule.against:
        return _moved(rule, run, changes)
    return [_lies(rule, agent, span, held) for (agent, span), held in _places(run).items()]


def _lies(rule: Rule, agent: str, span: str, held: Sequence[ConversationResult]) -> Finding:
    rows = in_scope([row for each in held for row in each.scenarios], rule.scope)
    value = level(rule.metric, rows, held, scoped=bool(rule.scope.kind))
    if value is None:
        return _finding(rule, agent, span, "unmeasurable", _unknown(rule, rows))
    least = rule.metric.higher_is_better
    broken = value < rule.limit - _SLACK if least else value > rule.limit + _SLACK
    amount, limit = rule.amounts(value, rule.limit)
    said = f"{rule.subject} is {amount}"
    if not broken:
        return _finding(rule, agent, span, "held", said)
    return _finding(rule, agent, span, "breached", f"{said}, not {'at least' if least else 'at most'} {limit}")


def _span(rule: Rule, run: RunResult, agent: str, changes: Changes | None) -> Finding:
    """Return a finding about the effective span of an agent, over all memory spans."""
    if rule.against:
        mine = [change for change in changes.changes if change.agent == agent] if changes is not None else []
        return _finding(rule, agent, "", *moved_span(rule, mine))
    found = effective_span([row for row in run.scenarios if row.agent == agent])
    if found.span is None:
        return _finding(rule, agent, "", "unmeasurable", f"{rule.subject} is unknown: {found.reason}")
    said = f"{rule.subject} is {rule.amount(found.span)}"
    if found.span >= rule.limit:
        return _finding(rule, agent, "", "held", said)
    if found.at_least:
        why = "it is kept at every span that was measured, so larger ones must be"
        return _finding(rule, agent, "", "unmeasurable", f"{said} or more: {why}")
    return _finding(rule, agent, "", "breached", f"{said}, not at least {rule.amount(rule.limit)}")


def _unknown(rule: Rule, rows: Sequence[ScenarioResult]) -> str:
    if rule.scope.kind and not rows:
        return f"{rule.subject} is unknown: no example is of {rule.scope.kind} {rule.scope.name!r}"
    if rule.metric.unit == "usd":
        return f"{rule.subject} is unknown: the agent does not tell what all of its replies cost (see --ltm-price)"
    if rule.metric.tries:
        return f"{rule.subject} is unknown: no example has {rule.metric.tries} trials with a score"
    return f"{rule.subject} is unknown: no example has a score"


def _moved(rule: Rule, run: RunResult, changes: Changes | None) -> list[Finding]:
    found = []
    places = _places(run)
    for agent, span in places:
        change = changes.of(agent, span) if changes is not None else None
        if change is None:
            name = changes.before if changes is not None else "there is no baseline: it"
            found.append(_finding(rule, agent, span, "unmeasurable", f"{name} has nothing to compare with here"))
        else:
            state, sentence = moved(rule, change, looks=max(changes.looks, len(places)) if changes else len(places))
            found.append(_finding(rule, agent, span, state, sentence))
    return found


def _finding(rule: Rule, agent: str, span: str, state: State, sentence: str) -> Finding:
    return Finding(rule=rule.text, agent=agent, span_label=span, state=state, sentence=sentence, moved=rule.against)


def _passes(run: RunResult) -> list[Finding]:
    """Return a finding for each example of a scenario that says how many trials must pass."""
    found: dict[tuple[str, str, str, str], list[ScenarioResult]] = {}
    for row in run.scenarios:
        if row.pass_k is not None:
            found.setdefault((row.agent, row.span_label, row.scenario, row.example), []).append(row)
    return [_pass_k(rows) for rows in found.values()]


def _pass_k(rows: Sequence[ScenarioResult]) -> Finding:
    first = rows[0]
    needed = first.pass_k or 1
    passed = sum(row.outcome == "passed" for row in rows)
    open_ = sum(not row.scored for row in rows)
    state: State = "held" if passed >= needed else "breached" if passed + open_ < needed else "unmeasurable"
    of = f"{len(rows)} trial{'s' if len(rows) > 1 else ''}"
    sentence = f"{first.id} passes in {passed} of {of}"
    if state == "breached":
        sentence += f", not in {needed}"
    if state == "unmeasurable":
        sentence += f", {open_} have no score, {needed} must pass"
    return Finding(
        rule=f"pass_k={needed}", agent=first.agent, span_label=first.span_label, state=state, sentence=sentence
    )


def _errors(run: RunResult) -> list[Finding]:
    found = []
    for (agent, span), held in _places(run).items():
        rows = [row for each in held for row in each.scenarios if row.outcome == "error" and not row.infrastructure]
        if rows:
            names = dict.fromkeys(row.scenario for row in rows)
            few = ", ".join(list(names)[:_WHERE]) + (" …" if len(names) > _WHERE else "")
            count = "1 example" if len(rows) == 1 else f"{len(rows)} examples"
            sentence = f"{count} ended in an error of the scenario: {few}"
            found.append(Finding(rule="errors:0", agent=agent, span_label=span, state="breached", sentence=sentence))
    return found
