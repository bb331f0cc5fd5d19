"""Reading baselines, which may come from anywhere: every error names the file, the field and what was expected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import LtmError
from pytest_ltm._fields import Field
from pytest_ltm._gate._baseline import FORMAT
from pytest_ltm._gate._facts import PlanFacts
from pytest_ltm._gate._side import Side
from pytest_ltm._result import ConversationResult, RunResult, ScenarioResult
from pytest_ltm._statistics import FULL_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_WITHOUT = ("error", "skipped")
_CAUSES = ("", "unscored", "requires", "not reached", "agent", "judge", "scenario", "internal")


def load(path: Path, name: str = "") -> Side:
    """Return the baseline in a file; LtmError names the file, the field and what was expected."""
    try:
        data = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise LtmError(f"{path}: no baseline: {error}") from error
    return _side(Field(data, str(path)), name or f"baseline {path.stem!r}")


_TOP = ("format", "agent", "agent_spec", "agent_fingerprint", "plan", "scenarios", "conversations", "rows")


def _side(top: Field, name: str) -> Side:
    found = top.value.get("format") if isinstance(top.value, dict) else None
    if found != FORMAT:
        hint = " It is the summary of a run: name the run's folder." if "summary" in str(found)[:30] else ""
        raise top.fault(f"no baseline of this version: format {found!r}, expected {FORMAT!r}.{hint}")
    fields = top.mapping(required=_TOP)
    agent = fields["agent"].text()
    scenarios = _scenarios(fields["scenarios"])
    held = fields["conversations"].items("conversations")
    places = {(one.child("span").text(), one.child("trial").text()) for one in map(_has_place, held)}
    rows, examples = _rows(fields["rows"], agent, scenarios, places, _memory_spans(held))
    settings = {key: value.json() for key, value in fields["plan"].mapping().items()}
    conversations: list[ConversationResult] = []
    plans: list[PlanFacts] = []
    for one in held:
        place = one.child("span").text(), one.child("trial").text()
        # isolated variants of one scenario share their place: the first conversation has the rows of all
        taken = any(plan.place == place for plan in plans)
        mine = () if taken else tuple(row for row in rows if (row.span_label, row.trial) == place)
        conversation = _held(one, fields, mine)
        conversations.append(conversation)
        plans.append(
            PlanFacts(
                span_label=place[0],
                trial=place[1],
                fingerprint=conversation.plan_fingerprint,
                settings={**settings, "span": conversation.span},
                examples={} if taken else examples.get(place, {}),
            )
        )
    return Side(name=name, result=RunResult(run_id=name, conversations=tuple(conversations)), plans=tuple(plans))


def _has_place(one: Field) -> Field:
    one.mapping(required=("span", "memory_span", "trial", "plan"))
    return one


def _memory_spans(held: Iterable[Field]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for one in held:
        span = one.child("memory_span")
        found[one.child("span").text()] = None if span.value is None else span.whole(least=1)
    return found


def _scenarios(item: Field) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for one in item.items("scenarios"):
        fields = one.mapping(required=("scenario",))
        name = fields.pop("scenario").text()
        if "pass_mark" in fields:
            fields["pass_mark"].number(0, 1)
        if "skills" in fields:
            fields["skills"].texts()
        found[name] = {key: value.json() for key, value in fields.items()}
    return found


_PLACE = ("scenario", "example", "span", "trial", "score")
_OWN = (*_PLACE, "outcome", "cause", "gap", "tokens", "cost_usd")
_Places = dict[tuple[str, str], dict[str, dict[str, object]]]


def _rows(
    item: Field,
    agent: str,
    scenarios: Mapping[str, Mapping[str, Any]],
    places: set[tuple[str, str]],
    spans: Mapping[str, int | None],
) -> tuple[list[ScenarioResult], _Places]:
    """Return the results, and the facts of their examples by span and trial."""
    rows: list[ScenarioResult] = []
    examples: _Places = {}
    for one in item.items("rows"):
        fields = one.mapping(required=_PLACE)
        scenario, example = fields["scenario"].text(), fields["example"].text()
        place = fields["span"].text(), fields["trial"].text()
        if place not in places:
            raise one.fault(f"there is no conversation at span {place[0]!r}, trial {place[1]!r}.")
        own = {key: value.json() for key, value in fields.items() if key not in _OWN}
        facts = {**scenarios.get(scenario, {}), **own}
        known = examples.setdefault(place, {})
        if f"{scenario}/{example}" in known:
            raise one.fault(f"a second row of {scenario}/{example} at span {place[0]!r}, trial {place[1]!r}.")
        known[f"{scenario}/{example}"] = facts
        rows.append(_result(fields, agent, place, spans[place[0]], facts))
    return rows, examples


def _result(
    fields: Mapping[str, Field], agent: str, place: tuple[str, str], span: int | None, facts: Mapping[str, Any]
) -> ScenarioResult:
    score = None if fields["score"].value is None else fields["score"].number(0, 1, "a score")
    mark, skills = facts.get("pass_mark", 1.0), facts.get("skills", ())
    passed = score is not None and score >= min(mark, FULL_MARKS)
    outcome: Any = "passed" if passed else "failed"
    if score is None:
        outcome = _one_of(fields.get("outcome"), _WITHOUT, "skipped")
    cause: Any = _one_of(fields.get("cause"), _CAUSES, "") if score is None else ""
    return ScenarioResult(
        scenario=fields["scenario"].text(),
        example=fields["example"].text(),
        agent=agent,
        span_label=place[0],
        span=span,
        trial=place[1],
        nodeid="",
        outcome=outcome,
        score=score,
        reason="",
        cause=cause,
        pass_mark=mark,
        skills=tuple(skills),
        gap=_maybe_whole(fields.get("gap")),
        tokens=_maybe_whole(fields.get("tokens")) or 0,
        cost_usd=_dollars(fields.get("cost_usd")),
    )


def _held(one: Field, top: Mapping[str, Field], rows: tuple[ScenarioResult, ...]) -> ConversationResult:
    fields = one.mapping()
    span = fields["memory_span"].value
    return ConversationResult(
        agent=top["agent"].text(),
        agent_spec=top["agent_spec"].text(),
        span_label=fields["span"].text(),
        span=span,
        trial=fields["trial"].text(),
        plan_fingerprint=fields["plan"].text("a fingerprint"),
        agent_fingerprint=top["agent_fingerprint"].text("a fingerprint"),
        scenarios=rows,
        tokens=_maybe_whole(fields.get("tokens")) or 0,
        reply_tokens=_maybe_whole(fields.get("reply_tokens")) or 0,
        cost_usd=_dollars(fields.get("cost_usd")),
    )


def _one_of(item: Field | None, words: Sequence[str], default: str) -> str:
    if item is None:
        return default
    if item.value not in words:
        raise item.error("one of " + ", ".join(map(repr, words)))
    return str(item.value)


def _maybe_whole(item: Field | None) -> int | None:
    return None if item is None or item.value is None else item.whole()


def _dollars(item: Field | None) -> float | None:
    return None if item is None or item.value is None else item.number(0, 1e12, "dollars")
