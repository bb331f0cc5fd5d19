"""Baselines: what one agent earned, as a small JSON file that is meant to be committed: sorted, one row a line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._plan import natural
from pytest_ltm._secrets import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._gate._facts import PlanFacts
    from pytest_ltm._gate._side import Side
    from pytest_ltm._result import ConversationResult, ScenarioResult

FORMAT = "pytest-ltm baseline 1"
"""The first field of every baseline."""
FOLDER = "ltm_baselines"
"""Where baselines stand, in the root folder of the project."""
LATEST = "latest"
"""The word for the last run, which no baseline can be called."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")


def check_name(name: str) -> str:
    """Return the name; ConfigurationError if no baseline can be called so."""
    if not _NAME.fullmatch(name) or name == LATEST:
        cure = f"{LATEST!r} means the last run. " if name == LATEST else ""
        raise ConfigurationError(
            f"{name!r} is no name for a baseline. {cure}Use letters, digits, '_', '-' and '.', as in 'main'"
        )
    return name.removesuffix(".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One row as it is sorted."""

    result: ScenarioResult
    definition: object

    @property
    def order(self) -> tuple[Any, ...]:
        row = self.result
        return row.scenario, natural(row.example), row.span or 0, natural(row.span_label), natural(row.trial)


def dump(side: Side, version: str) -> str:
    """Return the text of the baseline of a side with one agent; equal results give equal text.

    It holds no time and no run id: the file changes only where a result does.
    """
    held = sorted(side.result.conversations, key=lambda one: (one.span or 0, one.span_label, natural(one.trial)))
    facts = {(*plan.place, key): value for plan in side.plans for key, value in plan.examples.items()}
    common, own = _by_scenario(facts)
    rows = [_Row(result=row, definition=own.get(_key(row))) for one in held for row in one.scenarios]
    rows.sort(key=lambda row: row.order)
    settings = dict(side.plans[0].settings) if side.plans else {}
    settings.pop("span", None)
    top: dict[str, Any] = {
        "format": FORMAT,
        "pytest_ltm_version": version,
        "agent": held[0].agent,
        "agent_spec": redacted(held[0].agent_spec),
        "agent_fingerprint": held[0].agent_fingerprint,
        "plan": settings,
        "scenarios": [{"scenario": name, **common[name]} for name in sorted(common)],
        "conversations": [_conversation(one, side.plans) for one in held],
        "rows": [_row(row) for row in rows],
    }
    return _text(top)


def _by_scenario(
    facts: Mapping[tuple[str, str, str], Mapping[str, object]],
) -> tuple[dict[str, dict[str, object]], dict[tuple[str, str, str], dict[str, object]]]:
    """Return what the examples of a scenario have in common, and what each has for itself."""
    common: dict[str, dict[str, object]] = {}
    own: dict[tuple[str, str, str], dict[str, object]] = {}
    for place in sorted(facts):
        scenario = place[2].rpartition("/")[0]
        mine = {name: value for name, value in facts[place].items() if name != "definition"}
        known = common.setdefault(scenario, mine)
        differing = {name: value for name, value in mine.items() if known.get(name, mine) != value}
        own[place] = {"definition": facts[place].get("definition"), **differing}
    return common, own


def _key(row: ScenarioResult) -> tuple[str, str, str]:
    return row.span_label, row.trial, row.id


def _conversation(held: ConversationResult, plans: Sequence[PlanFacts]) -> dict[str, Any]:
    prints = [plan.fingerprint for plan in plans if plan.place == (held.span_label, held.trial)]
    return {
        "span": held.span_label,
        "memory_span": held.span,
        "trial": held.trial,
        "plan": held.plan_fingerprint if held.plan_fingerprint in prints or not prints else prints[0],
        "tokens": held.tokens,
        "reply_tokens": held.reply_tokens,
        "cost_usd": held.cost_usd,
    }


def _row(row: _Row) -> dict[str, Any]:
    result = row.result
    found: dict[str, Any] = {
        "scenario": result.scenario,
        "example": result.example,
        "span": result.span_label,
        "trial": result.trial,
        "score": result.score,
    }
    if result.score is None:
        found |= {"outcome": result.outcome, "cause": result.cause}
    found |= {"gap": result.gap, "tokens": result.tokens, "cost_usd": result.cost_usd}
    return {name: value for name, value in found.items() if value is not None or name == "score"} | (
        row.definition if isinstance(row.definition, dict) else {}
    )


def _text(top: Mapping[str, Any]) -> str:
    """Return JSON with one object a line in every list of the top level."""
    parts = []
    for name, value in top.items():
        if isinstance(value, list):
            lines = ",\n".join(f"  {_json(item)}" for item in value)
            parts.append(f' "{name}": [\n{lines}\n ]' if value else f' "{name}": []')
        else:
            parts.append(f' "{name}": {_json(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: object) -> str:
    # escapes keep half surrogates and terminals harmless in a file that people look at in diffs
    return json.dumps(value, ensure_ascii=True, allow_nan=False)
