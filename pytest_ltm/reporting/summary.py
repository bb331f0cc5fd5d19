"""`summary.json`: the run in numbers, each defined beside them; and the properties of a pytest item."""

from __future__ import annotations

import csv
import io
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_ltm._results.columns import Column, columns, metrics_json, spans_json
from pytest_ltm._storage.disk import write_whole
from pytest_ltm._storage.sanitize import cell, for_file
from pytest_ltm._storage.schema import fields_of, json_text, packaged, to_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ltm._journal.result import ConversationResult, RunResult, ScenarioResult
    from pytest_ltm._results.run_loading import LoadedRun


FORMAT = "pytest-ltm summary 2"

METRICS: Mapping[str, str] = packaged(__file__, "metrics.yml")
"""What the numbers mean, by their names in `summary.json` and in the items' properties."""


def user_properties(result: ScenarioResult) -> list[tuple[str, object]]:
    """Return the properties of an example's pytest item: built-in types only; what is unknown is absent."""
    values: dict[str, object] = {
        "ltm_score": result.score,
        "ltm_upper": result.upper,
        "ltm_scenario": result.scenario,
        "ltm_example": result.example,
        "ltm_agent": result.agent,
        "ltm_span": result.span_label,
        "ltm_trial": result.trial,
        "ltm_gap": result.gap,
        "ltm_told_gap": result.told_gap,
        "ltm_tokens": result.tokens,
        "ltm_cost_usd": result.cost_usd,
        "ltm_cost_estimated": result.estimated or None,
        "ltm_skills": ",".join(result.skills) or None,
        **{f"ltm_metric_{metric.name}": metric.value for metric in result.metrics},
    }
    return [(name, value) for name, value in values.items() if value is not None]


def summary_json(
    run: RunResult,
    *,
    pytest_ltm_version: str,
    seed: int,
    plan: Mapping[str, Any],
    wall_seconds: float | None = None,
    gate: Mapping[str, Any] | None = None,
    comparison: Mapping[str, Any] | None = None,
    rescored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the run as JSON values.

    `plan`: what else the run was made from (suite,
    filler, tokenizer, scoring ...), JSON values. `gate`, `comparison` and `rescored`: JSON values, if any.
    """
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "pytest_ltm_version": pytest_ltm_version,
        "seed": seed,
        "plan": dict(plan),
        "wall_seconds": wall_seconds,
        "results": [
            _column(column) | {"metrics": metrics_json(run, column.agent, column.span_label)} | _speed(column)
            for column in columns(run)
        ],
        "effective_spans": spans_json(run),
        "gate": gate and dict(gate),
        "comparison": comparison and dict(comparison),
        **({} if rescored is None else {"rescored": dict(rescored)}),
        "prechecks": to_record(run.prechecks),
        "conversations": [_conversation(each) for each in run.conversations],
        "notices": list(run.notices),
        "metrics": METRICS,
    }


def rewritten(run: RunResult, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary that was read from `summary.json` with the numbers of the run as it is now.

    What the results do not say (versions, seed, plan, wall times) is kept.
    """
    kept: dict[str, Any] = {"pytest_ltm_version": "", "seed": 0, "plan": {}} | {
        name: summary[name]
        for name in ("pytest_ltm_version", "seed", "plan", "wall_seconds", "gate", "comparison", "rescored")
        if name in summary
    }
    return summary_json(run, **kept)


VERDICTS = (
    "ltm_agent", "ltm_span", "ltm_trial", "ltm_scenario", "ltm_example", "outcome", "ltm_score", "ltm_upper", "reason",
    "cause", "rule", "evidence", "automatic_score", "automatic_reason", "ltm_gap", "ltm_told_gap", "measured_span",
    "overrun", "ltm_tokens", "ltm_cost_usd", "ltm_cost_estimated", "ltm_skills", "nodeid",
)  # fmt: skip
"""The columns of `verdicts.csv`."""
VERDICTS_FILE = "verdicts.csv"


def verdicts_csv(run: RunResult) -> str:
    """Return every verdict as CSV, a line an example, with a heading; empty cells where there is nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(VERDICTS)
    for row in run.scenarios:
        said = _example(row) | {"rule": row.rule, "evidence": row.evidence}
        if row.automatic is not None:
            said |= {"automatic_score": row.automatic.score, "automatic_reason": row.automatic.reason}
        writer.writerow(["" if said.get(name) is None else cell(said[name]) for name in VERDICTS])
    return text.getvalue()


def write_verdicts(folder: Path, run: RunResult) -> None:
    """Write `verdicts.csv` into a run's folder; DiskFault if it cannot be written."""
    write_whole(folder / VERDICTS_FILE, for_file(verdicts_csv(run)))


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write what `summary_json` returned."""
    write_whole(path, json_text(dict(summary)).encode())


def refresh(run: LoadedRun) -> None:
    """Write `summary.json` and `verdicts.csv` anew where the run has them, so that they tell the amended verdicts."""
    if run.summary:
        write_summary(run.path / "summary.json", rewritten(run.result, run.summary))
    if (run.path / VERDICTS_FILE).exists():
        write_verdicts(run.path, run.result)


def _column(column: Column) -> dict[str, Any]:
    spans, rate = column.measured_spans, column.pass_rate
    passed = {
        **fields_of(rate, "share", "passed", "of"),
        "interval": rate.interval and [rate.interval.low, rate.interval.high],
    }
    cost = {
        "scenarios": column.scenario_cost_usd,
        "filler": column.filler_cost_usd,
        "harness": column.harness_cost_usd,
        "hypothetical": column.hypothetical,
        **_flag(column.estimated),
    }
    judge = {
        "calls": column.judge_calls, "tokens": column.judge_tokens, "cost_usd": column.judge_cost_usd,
        **_flag(column.judge_estimated),
    }  # fmt: skip
    user = {
        "calls": column.user_calls, "tokens": column.user_tokens, "cost_usd": column.user_cost_usd,
        **_flag(column.user_estimated),
    }  # fmt: skip
    return {
        **fields_of(column, "agent", "span_label", "span"),
        "total": column.total if column.out_of else None,
        "out_of": column.out_of,
        **({"floor": column.floor} if column.floor else {}),
        "bounds": fields_of(column, "low", "high", "full") if column.out_of else None,
        "spread": column.spread and fields_of(column.spread, "sd", "low", "high"),
        "accuracy": column.accuracy,
        "pass_rate": None if rate.share is None else passed,
        "pass_k": {"k": column.tries, "all": column.pass_hat, "any": column.pass_at} if column.tries else None,
        "ltm_reach": column.reach,
        "ltm_reach_weighted": column.weighted_reach,
        "measured_spans": {
            "count": len(spans),
            "median": median(spans) if spans else None,
            "longest": max(spans, default=None),
        },
        "examples": column.examples,
        "unscored": column.missing,
        **({"open": column.open} if column.open else {}),
        **fields_of(
            column, "amended", "overruns", "tokens", "reply_tokens", "filler_share", "agent_share", "exchanges"
        ),
        **fields_of(column, "simulated_seconds", "cost_usd"),
        "cost": None if column.cost_usd is None else cost,
        "usage": _usage(column),
        **_lost(column),
        "judge": judge if column.judge_calls else None,
        **({"simulated_users": user} if column.user_calls else {}),
        "conversations": column.conversations,
        "scenarios": {
            name: {"mean": cell.mean, "scored": len(cell.scores), "examples": cell.examples}
            | ({"upper": cell.upper} if cell.upper is not None else {})
            | ({"floor": cell.floor} if cell.floor else {})
            for name, cell in column.cells.items()
        },
    }


def _usage(held: Column | ConversationResult) -> dict[str, Any] | None:
    if held.input_tokens is None:
        return None
    efforts = ("tokens_a_reply", "amplification", "calls_a_message", "calls_to_store")
    known = {name: value for name in efforts if (value := getattr(held, name, None)) is not None}
    return {**fields_of(held, "input_tokens", "output_tokens", "cached_tokens"), **known, **_flag(held.estimated)}


def _lost(held: Column | ConversationResult) -> dict[str, Any]:
    return {"lost": {"tokens": held.lost_tokens, "cost_usd": held.lost_cost_usd}} if held.lost_tokens else {}


def _flag(estimated: object) -> dict[str, Any]:
    return {"estimated": True} if estimated else {}


def _speed(column: Column) -> dict[str, Any]:
    seconds = column.pace.asking and column.pace.asking.total
    taken = {"reply_seconds": column.pace.asking, "storing_seconds": column.pace.storing}
    return {
        "agent_seconds": seconds,
        **{name: fields_of(of, "median", "p95") for name, of in taken.items() if of and of.median is not None},
        "tokens_a_second": column.reply_tokens / seconds if seconds else None,
        "tests_an_hour": column.examples * 3600 / seconds if seconds else None,
    }


_OF_CONVERSATION = (
    "agent", "agent_spec", "span_label", "trial", "plan_fingerprint", "agent_fingerprint", "ended", "tokens",
    "filler_tokens", "reply_tokens", "exchanges", "simulated_seconds", "cost_usd", "filler_cost_usd",
    "harness_cost_usd", "hypothetical",
)  # fmt: skip
_OF_EXAMPLE = ("nodeid", "outcome", "reason", "cause", "measured_span", "overrun", "skills")


def _conversation(held: ConversationResult) -> dict[str, Any]:
    return {
        **fields_of(held, *_OF_CONVERSATION),
        "usage": _usage(held),
        **_flag(held.estimated),
        **_lost(held),
        **({"journal": held.journal} if held.journal else {}),
        "notices": list(held.notices),
        "examples": [_example(row) for row in held.scenarios],
    }


def _example(row: ScenarioResult) -> dict[str, Any]:
    automatic = {} if row.automatic is None else fields_of(row, "automatic")
    return {**dict(user_properties(row)), **fields_of(row, *_OF_EXAMPLE), **automatic}
