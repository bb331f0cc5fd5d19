"""What may be another one when a run is re-scored, and what may not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._fields import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._plan import Plan, PlannedExample

FREE = frozenset({"scoring", "judge", "rescored"})
"""Settings of a run that decide how it is scored, and nothing of what is said."""
_FIXED = ("seed", "trial", "span", "tokenizer", "time", "history")


def setting_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each setting that is another one and decides what is said."""
    return [
        f"{name} was {shown(then.get(name))} and is {shown(now.get(name))}."
        for name in {**then, **now}
        if name not in FREE and then.get(name) != now.get(name)
    ]


def plan_differences(recorded: Plan, now: Plan) -> list[str]:
    """Return a sentence for each difference that keeps a conversation from being scored again."""
    then = recorded.to_json()
    today = now.to_json()
    found = [
        f"The plan's {name} was {shown(then[name])} and is {shown(today[name])}."
        for name in _FIXED
        if then[name] != today[name]
    ]
    known = {example.key for example in recorded.examples}
    return found + [f"{example.key} was not recorded." for example in now.examples if example.key not in known]


def rescored_plan(recorded: Plan, now: Plan, *, same_judge: bool) -> Plan:
    """Return the recorded plan, of today's examples, with the rules of today.

    `same_judge`: nobody but the judge of then is heard.
    """
    today = {example.key: example for example in now.examples}
    judge = {} if same_judge else {"judge": now.judge, "judge_votes": now.judge_votes}
    examples = tuple(_rescored(one, today[one.key]) for one in recorded.examples if one.key in today)
    return replace(recorded, examples=examples, scoring=now.scoring, **judge)  # type: ignore[arg-type]


def judge_spec(plan: Plan) -> str:
    """Return the judge's spec in a plan, without the versions of its prompts."""
    return plan.judge.rpartition(" (")[0] or plan.judge


def _rescored(then: PlannedExample, now: PlannedExample) -> PlannedExample:
    return replace(then, version=now.version, skills=now.skills, pass_mark=now.pass_mark)
