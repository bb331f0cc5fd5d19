"""Baselines: the results of one agent in a small JSON file, meant to be committed: sorted, one row per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_args

from pytest_ltm.api.journal import (
    LATEST,
    Cause,
    ConversationResult,
    RunResult,
    ScenarioResult,
)
from pytest_ltm.api.scenarios import natural_sort_key
from pytest_ltm.api.storage import (
    ConfigurationError,
    Field,
    LtmError,
    fields_of,
    lazy_pattern,
    read_regular,
    redact_secrets,
)
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by
from pytest_ltm.gate.changes import GateSide
from pytest_ltm.gate.plan_facts import PlanFacts

# The first field of every baseline.
FORMAT = "pytest-ltm baseline 2"
# The folder of baselines, in the project's root.
FOLDER = "ltm_baselines"
_NAME = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
T = TypeVar("T")


def check_name(name: str) -> str:
    """Return the name; ConfigurationError if it is not valid for a baseline."""
    if not _NAME.fullmatch(name) or name == LATEST:
        cure = f"{LATEST!r} means the last run. " if name == LATEST else ""
        raise ConfigurationError(
            f"{name!r} cannot name a baseline. {cure}Use letters, digits, '_', '-' and '.', as in 'main'"
        )
    return name.removesuffix(".json")


def baseline_text(side: GateSide, version: str) -> str:
    """Return the baseline of a side with one agent as text; equal results give equal texts.

    It contains no time and no run id, so the file changes only if a result does.
    """
    conversations = sorted(
        side.result.conversations,
        key=lambda e: (e.span or 0, e.span_label, natural_sort_key(e.trial)),
    )
    facts = {}
    for plan in side.plans:
        for key, value in plan.examples.items():
            facts[plan.span_label, plan.trial, key] = value
    common, own_facts = _by_scenario(facts)

    def place(row: ScenarioResult) -> tuple[Any, ...]:
        return (
            row.scenario,
            natural_sort_key(row.example),
            row.span or 0,
            natural_sort_key(row.span_label),
            natural_sort_key(row.trial),
        )

    rows = sorted(
        chain.from_iterable(conversation.scenarios for conversation in conversations),
        key=place,
    )
    settings = dict(side.plans[0].settings) if side.plans else {}
    # The span is recorded per conversation, as a baseline contains several.
    settings.pop("span", None)
    entries: list[dict[str, Any]] = []
    for conversation in conversations:
        entries.append(_conversation_entry(conversation, side.plans))
    row_entries: list[dict[str, Any]] = []
    for row in rows:
        differing = own_facts.get((row.span_label, row.trial, row.id), {})
        row_entries.append(_row_entry(row) | differing)
    top: dict[str, Any] = {
        "format": FORMAT,
        "pytest_ltm_version": version,
        "agent": conversations[0].agent,
        # The file is meant to be committed, so it must contain no secrets.
        "agent_spec": redact_secrets(conversations[0].agent_spec),
        "agent_fingerprint": conversations[0].agent_fingerprint,
        "plan": settings,
        "scenarios": [{"scenario": name, **common[name]} for name in sorted(common)],
        "conversations": entries,
        "rows": row_entries,
    }
    parts = []
    for name, value in top.items():
        text = _ascii_json(value)
        if value and isinstance(value, list):
            lines = ",\n".join(f"  {_ascii_json(item)}" for item in value)
            text = f"[\n{lines}\n ]"
        parts.append(f' "{name}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _by_scenario(
    facts: Mapping[tuple[str, str, str], Mapping[str, object]],
) -> tuple[dict[str, dict[str, object]], dict[tuple[str, str, str], dict[str, object]]]:
    """Return the facts common to the examples of each scenario, and the other facts of each example."""
    common: dict[str, dict[str, object]] = {}
    own_facts: dict[tuple[str, str, str], dict[str, object]] = {}
    for place in sorted(facts):
        scenario = place[2].rpartition("/")[0]
        mine = dict(facts[place])
        definition = mine.pop("definition", None)
        # Facts shared by all examples of a scenario are written once, so that a change
        # is one line of a diff.
        known_facts = common.setdefault(scenario, mine)
        differing = {
            name: value
            for name, value in mine.items()
            if known_facts.get(name, mine) != value
        }
        own_facts[place] = {"definition": definition, **differing}
    return common, own_facts


def _conversation_entry(
    conversation: ConversationResult, plans: Sequence[PlanFacts]
) -> dict[str, Any]:
    place = (conversation.span_label, conversation.trial)
    fingerprint = conversation.plan_fingerprint
    prints = [plan.fingerprint for plan in plans if plan.place == place]
    if prints and fingerprint not in prints:
        fingerprint = prints[0]
    return {
        "span": conversation.span_label,
        "memory_span": conversation.span,
        "trial": conversation.trial,
        "plan": fingerprint,
        **fields_of(conversation, "tokens", "reply_tokens", "cost_usd"),
    }


def _row_entry(row: ScenarioResult) -> dict[str, Any]:
    fields = {
        **fields_of(row, "scenario", "example"),
        "span": row.span_label,
        **fields_of(row, "trial", "score"),
    }
    if row.score is None:
        fields |= fields_of(row, "outcome", "cause")
    fields |= fields_of(row, "upper", "gap", "tokens", "cost_usd")
    unknown = [name for name, value in fields.items() if value is None]
    for name in unknown:
        if name != "score":
            del fields[name]
    return fields


def _ascii_json(value: object) -> str:
    # escapes keep lone surrogates and control characters harmless in a file that people
    # read as diffs
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


# --- Reading baselines, which may come from anywhere: errors name the file, the field
# and the expected value.


def load_baseline(path: Path, name: str = "") -> GateSide:
    """Read a baseline file; LtmError names the file, the field and the expected value."""
    try:
        content = read_regular(path)
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror})") from error
    return parse_baseline(content, str(path), name or f"baseline {path.stem!r}")


def parse_baseline(content: bytes, where: str, name: str) -> GateSide:
    """Parse the contents of a baseline file; `where` names the file in errors."""
    try:
        data = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise LtmError(f"{where}: not a baseline: {error}") from error
    top = Field(data, where)
    kind = top.value.get("format") if isinstance(top.value, dict) else None
    if kind != FORMAT:
        problem = (
            f"not a baseline of this version: format {kind!r}, expected {FORMAT!r}."
        )
        if "summary" in str(kind)[:30]:
            problem += " It is the summary of a run: name the run's folder."
        raise top.fault(problem)
    fields = top.mapping(required=_TOP)
    agent = fields["agent"].text()
    scenarios = _parse_scenarios(fields["scenarios"])
    needed = ("span", "memory_span", "trial", "plan")
    items: list[Mapping[str, Field]] = []
    for item in fields["conversations"].items("conversations"):
        items.append(item.mapping(required=needed))
    places = [(item["span"].text(), item["trial"].text()) for item in items]
    spans: dict[str, int | None] = {}
    for (span_label, _), entry in zip(places, items, strict=True):
        spans[span_label] = _read_if_given(
            entry["memory_span"], lambda item: item.whole(least=1)
        )
    rows, examples = _parse_rows(fields["rows"], agent, scenarios, places, spans)
    rows_by_place = group_by(rows, lambda row: (row.span_label, row.trial))
    settings = {key: value.json() for key, value in fields["plan"].mapping().items()}
    conversations: list[ConversationResult] = []
    plans: list[PlanFacts] = []
    for entry, place in zip(items, places, strict=True):
        span = entry["memory_span"].value
        fingerprint = entry["plan"].text("a fingerprint")
        conversations.append(
            ConversationResult(
                agent=agent,
                agent_fingerprint=fields["agent_fingerprint"].text("a fingerprint"),
                agent_spec=fields["agent_spec"].text(),
                span_label=place[0],
                span=span,
                trial=place[1],
                plan_fingerprint=fingerprint,
                # isolated variants of one scenario share their place: the first
                # conversation gets the rows of all
                scenarios=tuple(rows_by_place.pop(place, ())),
                **_parse_numbers(entry, "tokens", "reply_tokens", "cost_usd"),
            )
        )
        plans.append(
            PlanFacts(
                span_label=place[0],
                trial=place[1],
                fingerprint=fingerprint,
                settings={**settings, "span": span},
                examples=examples.pop(place, {}),
            )
        )
    return GateSide(
        name=name,
        result=RunResult(run_id=name, conversations=tuple(conversations)),
        plans=tuple(plans),
    )


_TOP = (
    "format",
    "agent",
    "agent_spec",
    "agent_fingerprint",
    "plan",
    "scenarios",
    "conversations",
    "rows",
)


def _parse_scenarios(item: Field) -> dict[str, dict[str, Any]]:
    """Return the facts common to all examples of each scenario, by its name."""
    result: dict[str, dict[str, Any]] = {}
    for scenario_item in item.items("scenarios"):
        fields = scenario_item.mapping(required=("scenario",))
        name = fields.pop("scenario").text()
        if "threshold" in fields:
            fields["threshold"].number(0, 1)
        if "skills" in fields:
            fields["skills"].texts()
        result[name] = {key: value.json() for key, value in fields.items()}
    return result


_PLACE = ("scenario", "example", "span", "trial", "score")
_OWN = (*_PLACE, "upper", "outcome", "cause", "gap", "tokens", "cost_usd")
_Places = dict[tuple[str, str], dict[str, dict[str, object]]]


def _parse_rows(
    item: Field,
    agent: str,
    scenarios: Mapping[str, Mapping[str, Any]],
    places: Collection[tuple[str, str]],
    spans: Mapping[str, int | None],
) -> tuple[list[ScenarioResult], _Places]:
    """Return the results, and the facts of their examples by span and trial."""
    rows: list[ScenarioResult] = []
    examples: _Places = {}
    for row_item in item.items("rows"):
        fields = row_item.mapping(required=_PLACE)
        scenario = fields["scenario"].text()
        example = fields["example"].text()
        place = fields["span"].text(), fields["trial"].text()
        if place not in places:
            raise row_item.fault(
                f"there is no conversation at span {place[0]!r}, trial {place[1]!r}."
            )
        facts = dict(scenarios.get(scenario, {}))
        for key, value in fields.items():
            if key not in _OWN:
                facts[key] = value.json()
        known_examples = examples.setdefault(place, {})
        if f"{scenario}/{example}" in known_examples:
            raise row_item.fault(
                f"a second row of {scenario}/{example} at span {place[0]!r}, trial {place[1]!r}."
            )
        known_examples[f"{scenario}/{example}"] = facts
        rows.append(_parse_result(fields, agent, place, spans[place[0]], facts))
    return rows, examples


def _parse_result(
    fields: Mapping[str, Field],
    agent: str,
    place: tuple[str, str],
    span: int | None,
    facts: Mapping[str, Any],
) -> ScenarioResult:
    score = _read_if_given(fields["score"], _parse_score)
    mark = facts.get("threshold", 1.0)
    skills = facts.get("skills", ())
    if score is None or score < min(mark, FULL_MARKS):
        outcome: Any = "failed"
    else:
        outcome = "passed"
    cause: Any = ""
    if score is None:
        outcome = _one_of(fields.get("outcome"), ("error", "skipped"), "skipped")
        cause = _one_of(fields.get("cause"), get_args(Cause), "")
    values: dict[str, Any] = {
        "scenario": fields["scenario"].text(),
        "example": fields["example"].text(),
        "agent": agent,
        "span": span,
        "span_label": place[0],
        "trial": place[1],
        "outcome": outcome,
        "cause": cause,
        "score": score,
    }
    numbers = _parse_numbers(fields, "upper", "gap", "tokens", "cost_usd")
    return ScenarioResult(
        **values, **numbers, nodeid="", reason="", threshold=mark, skills=tuple(skills)
    )


def _parse_numbers(fields: Mapping[str, Field], *names: str) -> dict[str, Any]:
    """Return the numbers that are present; the others keep their defaults."""
    read = {"upper": _parse_score, "cost_usd": _parse_dollars}
    values: dict[str, Any] = {}
    for name in names:
        value = _read_if_given(fields.get(name), read.get(name, Field.whole))
        if value is not None:
            values[name] = value
    return values


def _one_of(item: Field | None, words: Sequence[str], default: str) -> str:
    if item is None:
        return default
    if item.value not in words:
        raise item.error("one of " + ", ".join(map(repr, words)))
    return str(item.value)


def _read_if_given(item: Field | None, read: Callable[[Field], T]) -> T | None:
    return None if item is None or item.value is None else read(item)


def _parse_dollars(item: Field) -> float:
    return item.number(0, 1e12, "dollars")


def _parse_score(item: Field) -> float:
    return item.number(0, 1, "a score")
