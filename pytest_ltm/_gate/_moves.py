"""How a rule of `--ltm-compare-fail` fares: what it looks at before and now, and the sentence that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pytest_ltm._gate._levels import in_scope, level
from pytest_ltm._statistics import compare, compare_scenarios, effective_span, paired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from pytest_ltm._gate._changes import Change, Level
    from pytest_ltm._gate._rules import Rule
    from pytest_ltm._result import ScenarioResult
    from pytest_ltm._statistics import Pair

    Found = tuple[Literal["held", "breached", "unmeasurable"], str]

_SLACK = 1e-9
_WHERE = 3
_OF_ALL_ROWS = ("unscored", "errors", "cost", "tokens", "reply_tokens")
"""Metrics that also examples without a score count for."""


def moved(rule: Rule, change: Change, *, looks: int = 1) -> Found:
    """Return whether the rule holds, and what was found.

    `looks`: at so many agents and memory spans the rule looks in all. A rule about chance shares its limit among them,
    so that the chance of any false alarm is no more than it says (Bonferroni).
    """
    if rule.metric.name == "p":
        return _chance(rule, _pairs(rule, change), change, looks)
    if rule.metric.name == "holm":
        return _chances(rule, _pairs(rule, change), looks)
    return _drop(rule, change)


def moved_span(rule: Rule, mine: Sequence[Change]) -> Found:
    """Return the same for the effective memory span of one agent, over all memory spans in both."""
    both = [pair for change in mine for pair in zip(change.before, change.after, strict=True)]
    scored = [(was, is_) for was, is_ in both if was.scored and is_.scored]
    then = effective_span([was for was, _ in scored])
    now = effective_span([is_ for _, is_ in scored])
    if then.span is None or now.span is None:
        return "unmeasurable", f"{rule.subject} is unknown: {then.reason or now.reason}"
    allowed = rule.limit * then.span if rule.relative else rule.limit
    if now.span == then.span:
        return "held", f"{rule.subject} is {rule.amount(now.span)} as before"
    told = f"{rule.subject} {_verb(now.span - then.span)}{' to '.join(rule.amounts(then.span, now.span))}"
    if then.span - now.span <= allowed + _SLACK:
        return "held", told
    return "breached", told + (f", by more than {rule.allowed}" if rule.limit else "")


def _pairs(rule: Rule, change: Change) -> Sequence[Pair]:
    return paired(in_scope(change.before, rule.scope), in_scope(change.after, rule.scope)).pairs


def _drop(rule: Rule, change: Change) -> Found:
    before, now = _rows(rule, change)
    scoped = bool(rule.scope.kind)
    was = level(rule.metric, before, change.held_before, scoped=scoped)
    is_ = level(rule.metric, now, change.held_after, scoped=scoped)
    if was is None or is_ is None:
        return "unmeasurable", _unknown(rule, was)
    higher = rule.metric.higher_is_better
    loss = was - is_ if higher else is_ - was
    allowed = rule.limit * was if rule.relative else rule.limit
    told = f"{rule.subject} {_verb(is_ - was)}{' to '.join(rule.amounts(was, is_))}"
    if abs(is_ - was) <= _SLACK:
        told = f"{rule.subject} is {rule.amount(is_)} as before"
    if loss <= allowed + _SLACK:
        return "held", told
    than = f", by more than {rule.allowed}" if rule.limit else ""
    return "breached", told + than + _where(rule, change.levels, {row.scenario for row in now})


def _verb(difference: float) -> str:
    return "rose from " if difference > 0 else "dropped from "


def _rows(rule: Rule, change: Change) -> tuple[Sequence[ScenarioResult], Sequence[ScenarioResult]]:
    """Return the examples that count, before and now: for scores those that have one in both."""
    both = list(zip(change.before, change.after, strict=True))
    if rule.metric.name not in _OF_ALL_ROWS:
        both = [(was, is_) for was, is_ in both if was.scored and is_.scored]
    return in_scope([was for was, _ in both], rule.scope), in_scope([is_ for _, is_ in both], rule.scope)


def _unknown(rule: Rule, was: float | None) -> str:
    if rule.metric.unit == "usd":
        whose = "the baseline holds" if was is None else "the agent tells"
        return f"{rule.subject} is unknown: {whose} no cost of all replies (see --ltm-price)"
    if rule.metric.tries:
        return f"{rule.subject} is unknown: no example has {rule.metric.tries} trials with a score in both"
    return f"{rule.subject} is unknown: no example has a score in both"


def _chance(rule: Rule, pairs: Sequence[Pair], change: Change, looks: int) -> Found:
    found = compare(pairs, alpha=rule.limit / looks)
    name = f"the scores{rule.scope.words}"
    if not found.can_tell or found.p_drop is None:
        return "unmeasurable", f"whether {name} dropped cannot be told: {found.reason}"
    difference = found.difference or 0.0
    if not found.dropped:
        return "held", f"{name} moved by {difference:+.2f}, which chance explains (p = {found.p_drop:.3f}{_of(looks)})"
    told = f"{name} dropped by {-difference:.2f}, more than chance explains (p {_p(found.p_drop)}{_of(looks)})"
    return "breached", told + _where(rule, change.levels, {pair.scenario for pair in pairs})


def _of(looks: int) -> str:
    return f", one of {looks} looks" if looks > 1 else ""


def _chances(rule: Rule, pairs: Sequence[Pair], looks: int) -> Found:
    found = compare_scenarios(pairs, alpha=rule.limit / looks)
    dropped = [name for name, one in found.items() if one.dropped]
    if dropped:
        listed = ", ".join(
            f"{name} ({found[name].difference or 0.0:+.2f}, p {_p(found[name].adjusted or 0.0)})" for name in dropped
        )
        return "breached", f"dropped by more than chance explains, corrected for {len(found)} scenarios: {listed}"
    mute = [name for name, one in found.items() if not one.can_tell]
    if mute or not found:
        reason = found[mute[0]].reason if mute else "no example has a score in both runs"
        return "unmeasurable", f"whether single scenarios dropped cannot be told: {reason}"
    return "held", f"none of {len(found)} scenarios dropped by more than chance explains"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"  # noqa: PLR2004 - no more digits are known


def _where(rule: Rule, levels: Mapping[str, Level], among: AbstractSet[str]) -> str:
    """Return the scenarios that lost most, for a rule about scores of them all."""
    if rule.scope.kind == "scenario" or rule.metric.unit in ("usd", "tokens") or rule.metric.name in _OF_ALL_ROWS:
        return ""
    worst = sorted((one.difference, name) for name, one in levels.items() if name in among and one.difference < -_SLACK)
    names = [f"{name} ({levels[name].before:.2f} to {levels[name].after:.2f})" for _, name in worst[:_WHERE]]
    more = f" and {len(worst) - _WHERE} more" if len(worst) > _WHERE else ""
    return f"; most in {', '.join(names)}{more}" if names else ""
