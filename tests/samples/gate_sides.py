"""Made-up sides of a comparison: results with the plans that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sample_runs

from pytest_ltm.api.journal import ConversationResult, RunResult
from pytest_ltm.gate.changes import CompareHints, GateSide
from pytest_ltm.gate.plan_facts import PlanFacts, facts_of

WAYS = CompareHints(common="--common", choose_agent="Name one", settings=True)
Scores = "Mapping[str, Sequence[float | None]]"
FULL: dict[str, tuple[float, ...]] = {
    "colours": (1.0, 1.0),
    "jokes": (1.0, 0.5),
    "spy": (1.0, 0.75),
}
WORSE: dict[str, tuple[float, ...]] = {
    "colours": (0.0, 0.0),
    "jokes": (1.0, 0.25),
    "spy": (1.0, 0.75),
}


def plan_json(
    scores: Mapping[str, Sequence[float | None]], **settings: Any
) -> dict[str, Any]:
    """Return a plan of these examples."""
    values = {
        "seed": 0,
        "tokenizer": "cl100k_base",
        "scoring": "current",
        "filler": {"filler": "trivia"},
        **settings,
    }
    examples = [
        {
            "scenario": name,
            "example": str(i),
            "version": "1",
            "threshold": 1.0,
            "skills": ["R"],
            "definition": {"n": i},
        }
        for name, column in scores.items()
        for i in range(len(column))
    ]
    return {**values, "trial": 0, "examples": examples}


def held(
    scores: Mapping[str, Sequence[float | None]],
    *,
    agent: str = "mybot",
    span: str = "2k",
    trial: str = "0",
    **more: Any,
) -> tuple[ConversationResult, PlanFacts]:
    """Return a conversation and its plan facts; `plan` overrides fields of the plan."""
    plan = plan_json(scores, span=sample_runs.tokens_of(span), **more.pop("plan", {}))
    for name, value in more.pop("versions", {}).items():
        for example in plan["examples"]:
            example["version"] = (
                value if example["scenario"] == name else example["version"]
            )
    fingerprint = f"sha256:{abs(hash(repr((plan, trial)))):064x}"
    conversation = sample_runs.conversation(
        agent, span, scores, trial=trial, plan_fingerprint=fingerprint, **more
    )
    rows = tuple(replace(row, trial=trial) for row in conversation.scenarios)
    facts = facts_of(plan, span_label=span, trial=trial, fingerprint=fingerprint)
    return replace(conversation, scenarios=rows), facts


def side(
    *parts: tuple[ConversationResult, PlanFacts], name: str = "this run"
) -> GateSide:
    """Return a comparison side with these conversations."""
    result = RunResult(run_id=name, conversations=tuple(part[0] for part in parts))
    return GateSide(name=name, result=result, plans=tuple(part[1] for part in parts))
