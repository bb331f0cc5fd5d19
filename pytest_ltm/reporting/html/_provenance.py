"""Where verdicts come from, what a run was made of, and the command that repeats it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._result import ScenarioResult
    from pytest_ltm.reporting._run_folder import Run
    from pytest_ltm.reporting.html._material import Material

_OPTIONS = ("suite", "examples", "trials", "definitions", "filler", "tokenizer", "scoring", "judge", "time")
_DEFAULTS = {"suite": "standard", "trials": 1, "filler": "trivia", "tokenizer": "cl100k_base", "scoring": "current",
             "judge": "none", "time": "simulated"}  # fmt: skip
_OF_THE_PLAN = ("filler", "judge", "judge_votes", "opening")
"""What only a conversation's plan tells."""
BUILT_IN = "ltm/"
"""What the node ids of the built-in suite begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule that decided verdicts."""

    name: str
    """With its version: `colours/1`."""
    scenarios: str
    verdicts: int
    unscored: int
    amended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What one run was made of."""

    run_id: str
    command: str
    facts: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]


def rules(found: Material) -> list[Rule]:
    """Return the rules that decided, by name; rows without one are checks of the scenario itself."""
    by: dict[str, list[ScenarioResult]] = {}
    for row in found.rows:
        if row.result.rule or row.result.scored:
            by.setdefault(row.result.rule, []).append(row.result)
    return [
        Rule(
            name=name or "checks in the scenario",
            scenarios=", ".join(sorted({each.scenario for each in results})),
            verdicts=len(results),
            unscored=sum(not each.scored for each in results),
            amended=sum(each.automatic is not None for each in results),
        )
        for name, results in sorted(by.items())
    ]


def origin(run: Run) -> Origin:
    """Return what a run was made of, from its summary."""
    summary = run.summary
    plan = _mapping(summary.get("plan"))
    facts = {"run folder": run.result.folder, "pytest-ltm": _shown(summary.get("pytest_ltm_version"))}
    first = run.conversations[0].plan()
    facts |= {"seed": _shown(summary.get("seed"))} | {name: _shown(value) for name, value in plan.items()}
    facts |= {name.replace("_", " "): _shown(first.get(name)) for name in _OF_THE_PLAN if name in first}
    wall = summary.get("wall_seconds")
    facts["wall time"] = f"{wall:,.1f} s" if isinstance(wall, int | float) else ""
    return Origin(
        run_id=run.result.run_id,
        command=command(run.result.scenarios, plan, summary.get("seed")) if plan else "",
        facts=tuple((name, text) for name, text in facts.items() if text),
        notices=_notices(run),
    )


def command(rows: Sequence[ScenarioResult], plan: Mapping[str, Any], seed: object) -> str:
    """Return the command that has the same run again; options that have their defaults are left out."""
    words = ["pytest"]
    words += [f"--ltm-agent={_spec(label, str(spec))}" for label, spec in _mapping(plan.get("agents")).items()]
    if plan.get("spans"):
        words.append(f"--ltm-span={','.join(map(str, plan['spans']))}")
    files = sorted({row.nodeid.partition("::")[0] for row in rows} - {""})
    own = [file for file in files if not file.startswith(BUILT_IN)]
    for name in _OPTIONS:
        value = plan.get(name)
        if value not in (None, _DEFAULTS.get(name)):
            words.append(f"--ltm-{name}={value}")
    if own and plan.get("suite") == _DEFAULTS["suite"] and len(own) < len(files):
        words.append(f"--ltm-suite={plan['suite']}")
    if seed not in (None, 0):
        words.append(f"--ltm-seed={seed}")
    return shlex.join([*words, *own])


def _spec(label: str, spec: str) -> str:
    plain = "".join(each if each.isalnum() or each in "_." else "_" for each in spec)
    return spec if plain == label else f"{label}={spec}"


def _notices(run: Run) -> tuple[str, ...]:
    notices = list(run.result.notices)
    for held in run.result.conversations:
        label = f"{held.agent} at {held.span_label}, trial {held.trial}"
        notices += [f"{label}: {text}" for text in held.notes]
    return tuple(notices)


def reasons(found: Material) -> list[tuple[str, str, int]]:
    """Return why examples have no score: cause, reason, how many; most frequent first."""
    missing = [row.result for row in found.rows if not row.result.scored]
    counts = Counter((each.cause or each.outcome, each.reason) for each in missing)
    return [(cause, reason, number) for (cause, reason), number in counts.most_common()]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(name if part in (name, None) else f"{name} ({part})" for name, part in value.items())
    return json.dumps(value, ensure_ascii=False)
