"""What a gate can find out once the items are known, before anything is said: names, numbers of trials, plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import LtmError, did_you_mean
from pytest_ltm._gate._changes import check
from pytest_ltm._gate._facts import facts_of
from pytest_ltm._gate._side import Side
from pytest_ltm._result import RunResult
from pytest_ltm._statistics import Pair, compare, compare_scenarios
from pytest_ltm._tokens import counter
from pytest_ltm.plugin._gate_options import WAYS, GateOptions
from pytest_ltm.plugin._planning import filler_for, plan_for
from pytest_ltm.plugin._run import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._gate._facts import PlanFacts
    from pytest_ltm._gate._rules import Rule
    from pytest_ltm.plugin._items import LtmItem
    from pytest_ltm.plugin._run import LtmRun
    from pytest_ltm.plugin._settings import Settings


_MOST_TRIALS = 30
"""So many are looked at to find how many are enough."""


def check_items(known: Sequence[LtmItem], options: GateOptions, settings: Settings) -> None:
    """Raise UsageError for a rule, or a marker's pass_k, that these items can never be measured by."""
    for one in known:
        needed = one.marks.pass_k
        if needed is not None and needed > settings.trials and settings.shard is None:
            raise pytest.UsageError(
                f"{one.scenario}: {needed} trials must pass (pass_k={needed}), and the run has {settings.trials}. "
                f"Add --ltm-trials={needed} or more"
            )
    for rule in options.rules:
        flag = "--ltm-compare-fail" if rule.against else "--ltm-fail-under"
        problem = _unknown(rule, known) or _untold(rule, _compared(known, options))
        if problem:
            raise pytest.UsageError(f"{flag}: {rule.text!r}: {problem}")


def _compared(known: Sequence[LtmItem], options: GateOptions) -> Sequence[LtmItem]:
    """Return the items of trials and spans that the baseline has, too."""
    places = {plan.place for plan in options.before.plans} if options.before else set()
    return [one for one in known if (one.place.span, one.place.conversation[2]) in places]


def _unknown(rule: Rule, known: Sequence[LtmItem]) -> str:
    if not rule.scope.kind:
        return ""
    names = {one.scenario for one in known}
    if rule.scope.kind == "skill":
        names = {skill for one in known for skill in one.marks.skill_letters}
    if rule.scope.name in names:
        return ""
    near = did_you_mean(rule.scope.name, names)
    few = ", ".join(sorted(names)) or "none"
    return f"this run has no {rule.scope.kind} {rule.scope.name!r}.{near} There is {few}"


def _untold(rule: Rule, known: Sequence[LtmItem]) -> str:
    """Return why the test of a rule can never show a drop, even if all examples get a score."""
    if rule.metric.unit != "chance":
        return ""
    places: dict[tuple[str, str], list[Pair]] = {}
    for one in known:
        if _in_scope(rule, one):
            places.setdefault((one.place.agent, one.place.span), []).append(_pair(one))
    for pairs in places.values():
        reason = _too_few(rule, pairs)
        if reason:
            return reason + _cure(rule, pairs)
    return ""


def _too_few(rule: Rule, pairs: Sequence[Pair]) -> str:
    many = compare_scenarios(pairs, alpha=rule.limit).values() if rule.metric.name == "holm" else ()
    found = [*many] or [compare(pairs, alpha=rule.limit)]
    return next((each.reason for each in found if not each.can_tell), "")


def _cure(rule: Rule, pairs: Sequence[Pair]) -> str:
    """Return how many trials are enough."""
    first = [pair for pair in pairs if pair.trial.partition(".")[0] == "0"]
    for trials in range(2, _MOST_TRIALS):
        imagined = [replace(pair, trial=f"{trial}.{pair.trial}") for trial in range(trials) for pair in first]
        if not _too_few(rule, imagined):
            return f": --ltm-trials={trials} is enough, for the baseline, too"
    return ""


def _in_scope(rule: Rule, one: LtmItem) -> bool:
    scope = rule.scope
    if scope.kind == "scenario":
        return one.scenario == scope.name
    return not scope.kind or scope.name in one.marks.skill_letters


def _pair(one: LtmItem) -> Pair:
    place = one.place
    return Pair(
        scenario=one.scenario, example=place.example, span_label=place.span, trial=place.conversation[2],
        before=1.0, after=1.0,
    )  # fmt: skip


def check_plans(known: Sequence[LtmItem], options: GateOptions, run: LtmRun) -> None:
    """Raise UsageError if this run's plans are not those of the baseline, saying in what they differ."""
    if options.before is None or not run.plays:
        return
    after = Side(name="this run", result=RunResult(run_id="", conversations=()), plans=tuple(_plans(known, run)))
    nodes = {one.scenario: one.item.nodeid.partition("[")[0] for one in known}
    try:
        check(options.before, after, replace(WAYS, nodes=nodes), common=options.overlapping)
    except LtmError as error:
        raise pytest.UsageError(f"--ltm-compare: {error}") from error


def _plans(known: Sequence[LtmItem], run: LtmRun) -> Iterator[PlanFacts]:
    settings = run.settings
    tokens = counter(settings.tokenizer)
    for group in grouped(known).values():
        place = group[0].place
        plan, _ = plan_for(group, settings, filler_for(run.config, settings, place.trial, tokens))
        yield facts_of(plan.to_json(), span_label=place.span, trial=place.conversation[2], fingerprint=plan.fingerprint)
