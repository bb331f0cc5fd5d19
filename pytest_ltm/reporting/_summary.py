"""`summary.json`: the run in numbers, each defined beside them; and the properties of a pytest item."""

from __future__ import annotations

import csv
import io
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_ltm._disk import write_whole
from pytest_ltm._records import json_text, to_record
from pytest_ltm.reporting._columns import Column, columns
from pytest_ltm.reporting._measures import measures_json
from pytest_ltm.reporting._spans import spans_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ltm._result import ConversationResult, RunResult, ScenarioResult

FORMAT = "pytest-ltm summary 1"

METRICS = {
    "ltm_score": "the share of full marks of one example, 0 to 1; absent where nobody could tell",
    "total": "sum over scenarios of the mean over examples and trials, out of `out_of`",
    "out_of": "number of scenarios with at least one score: the highest total possible",
    "spread": "of the total over 1,000 draws of one example for each scenario: standard deviation (`sd`) and the "
    "range of 95 % of the draws; null where no scenario has two scores",
    "accuracy": "total / out_of, 0 to 1",
    "pass_rate": "share of the examples with a score that pass, with Wilson's interval (95 %) for as many independent "
    "examples as they are worth; null where nothing has a score",
    "pass_k": "over k trials, mean over examples: `all` (pass^k) the chance that all of k pass, `any` (pass@k) that at "
    "least one does; null where there is one trial",
    "effective_spans": "for each agent tested isolated and at spans: the largest span up to which it keeps `share` of "
    "its isolated score, where it surely lies (`low` to `high`), and the curve; `at_least`: it is kept at every span",
    "comparison": "what moved against the baseline: mean score before and after over the same examples; null "
    "without --ltm-compare",
    "gate": "what the gate said when the run ended; null where there was none",
    "ltm_reach": "the LTM score of the paper, in tokens: mean measured span of the examples with full marks",
    "ltm_reach_weighted": "the LTM score of the blog, in tokens: mean over examples of score times measured span",
    "measured_spans": "measured spans of the examples: median, longest, and how many there are",
    "reply_tokens": "verbosity: tokens that the agent generated, by the plan's tokenizer",
    "agent_seconds": "time that the agent took for its replies, added up; null where no timings are kept",
    "tokens_a_second": "reply_tokens / agent_seconds",
    "tests_an_hour": "examples per hour of agent_seconds",
    "ltm_gap": "tokens from the end of the nearest needle's message to the start of the last question's",
    "measured_span": "tokens from an example's start to the start of its last question",
    "overruns": "examples whose measured span is longer than their memory span",
    "tokens": "tokens of all messages and replies by the plan's tokenizer; of an example: those of its own",
    "filler_share": "share of the tokens that belongs to no scenario, 0 to 1",
    "simulated_seconds": "time that passed in the conversations, added up",
    "cost_usd": "what all replies of the agent cost, as far as the agent tells or its price is known; null where not",
    "cost": "of cost_usd: for the scenarios' own messages, for filler (with the history of a data set), and for the "
    "harness (opening and reset messages); `hypothetical`: it is what it would cost, and nothing is spent",
    "usage": "tokens as the agent's provider counts them, all that is sent again included; null where nobody tells",
    "judge": "what the judge was asked, apart from the agent's tokens and cost: calls, tokens and dollars as its "
    "provider told them when the calls were made, perhaps in an earlier run; null where nobody asked it",
    "measures": "figures beside the score, by name: mean over the examples that have it, and by scenario; they earn "
    "nothing",
    "wall_seconds": "time that the run really took",
    "unscored": "examples without a score: in no mean, in no total",
    "amended": "verdicts corrected by hand and counted as corrected; each example keeps the one of the rules",
    "automatic": "of an amended example: score (null: none), reason and outcome that the rules gave",
}
"""What the numbers mean, by their names in `summary.json` and in the items' properties."""


def user_properties(result: ScenarioResult) -> list[tuple[str, object]]:
    """Return the properties of an example's pytest item: built-in types only, what there is not is absent."""
    values: dict[str, object] = {
        "ltm_score": result.score,
        "ltm_scenario": result.scenario,
        "ltm_example": result.example,
        "ltm_agent": result.agent,
        "ltm_span": result.span_label,
        "ltm_trial": result.trial,
        "ltm_gap": result.gap,
        "ltm_tokens": result.tokens,
        "ltm_cost_usd": result.cost_usd,
        "ltm_skills": ",".join(result.skills) or None,
        **{f"ltm_measure_{measure.name}": measure.value for measure in result.measures},
    }
    return [(name, value) for name, value in values.items() if value is not None]


def summary_json(
    run: RunResult,
    *,
    pytest_ltm_version: str,
    seed: int,
    plan: Mapping[str, Any],
    wall_seconds: float | None = None,
    agent_seconds: Mapping[tuple[str, str], float] | None = None,
    gate: Mapping[str, Any] | None = None,
    comparison: Mapping[str, Any] | None = None,
    rescored: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the run as JSON values.

    `agent_seconds`: by agent and span label, what the replies took. `plan`: what else the run was made from (suite,
    filler, tokenizer, scoring ...), JSON values. `gate`, `comparison` and `rescored`: JSON values, where there are any.
    """
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "pytest_ltm_version": pytest_ltm_version,
        "seed": seed,
        "plan": dict(plan),
        "wall_seconds": wall_seconds,
        "results": [
            _column(column)
            | {"measures": measures_json(run, column.agent, column.span_label)}
            | _speed(column, (agent_seconds or {}).get((column.agent, column.span_label)))
            for column in columns(run)
        ],
        "effective_spans": spans_json(run),
        "gate": gate and dict(gate),
        "comparison": comparison and dict(comparison),
        **({} if rescored is None else {"rescored": dict(rescored)}),
        "conversations": [_conversation(each) for each in run.conversations],
        "notices": list(run.notices),
        "metrics": METRICS,
    }


def rewritten(run: RunResult, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary that was read from `summary.json` with the numbers of the run as it is now.

    What cannot be told from the results (versions, seed, plan, wall times) is kept.
    """
    return summary_json(
        run,
        pytest_ltm_version=summary.get("pytest_ltm_version", ""),
        seed=summary.get("seed", 0),
        plan=summary.get("plan", {}),
        wall_seconds=summary.get("wall_seconds"),
        agent_seconds={
            (each["agent"], each["span_label"]): each["agent_seconds"]
            for each in summary.get("results", ())
            if each.get("agent_seconds")
        },
        gate=summary.get("gate"),
        comparison=summary.get("comparison"),
        rescored=summary.get("rescored"),
    )


VERDICTS = (
    "ltm_agent", "ltm_span", "ltm_trial", "ltm_scenario", "ltm_example", "outcome", "ltm_score", "reason", "cause",
    "rule", "evidence", "automatic_score", "automatic_reason", "ltm_gap", "measured_span", "overrun", "ltm_tokens",
    "ltm_cost_usd", "ltm_skills", "nodeid",
)  # fmt: skip
"""The columns of `verdicts.csv`."""


def verdicts_csv(run: RunResult) -> str:
    """Return every verdict as CSV, a line an example, with a heading; empty cells where there is nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(VERDICTS)
    for row in run.scenarios:
        said = _example(row) | {"rule": row.rule, "evidence": row.evidence}
        if row.automatic is not None:
            said |= {"automatic_score": row.automatic.score, "automatic_reason": row.automatic.reason}
        writer.writerow([_tame(said.get(name)) for name in VERDICTS])
    return text.getvalue()


def _tame(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return "" if value is None else value


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write what `summary_json` returned."""
    write_whole(path, json_text(dict(summary)).encode())


def _column(column: Column) -> dict[str, Any]:
    spread = column.spread
    return {
        "agent": column.agent,
        "span_label": column.span_label,
        "span": column.span,
        "total": column.total if column.out_of else None,
        "out_of": column.out_of,
        "spread": spread and {"sd": spread.sd, "low": spread.low, "high": spread.high},
        "accuracy": column.accuracy,
        "pass_rate": _rate(column),
        "pass_k": {"k": column.tries, "all": column.pass_hat, "any": column.pass_at} if column.tries else None,
        "ltm_reach": column.reach,
        "ltm_reach_weighted": column.weighted_reach,
        "measured_spans": {
            "count": len(column.measured_spans),
            "median": median(column.measured_spans) if column.measured_spans else None,
            "longest": max(column.measured_spans, default=None),
        },
        "examples": column.examples,
        "unscored": column.missing,
        "amended": column.amended,
        "overruns": column.overruns,
        "tokens": column.tokens,
        "reply_tokens": column.reply_tokens,
        "filler_share": column.filler_share,
        "exchanges": column.exchanges,
        "simulated_seconds": column.simulated_seconds,
        "cost_usd": column.cost_usd,
        "cost": _cost(column),
        "usage": _usage(column),
        "judge": _judge(column),
        "conversations": column.conversations,
        "scenarios": {
            name: {"mean": cell.mean, "scored": len(cell.scores), "examples": cell.examples}
            for name, cell in column.cells.items()
        },
    }


def _cost(column: Column) -> dict[str, Any] | None:
    if column.cost_usd is None:
        return None
    return {
        "scenarios": column.scenario_cost_usd,
        "filler": column.filler_cost_usd,
        "harness": column.harness_cost_usd,
        "hypothetical": column.hypothetical,
    }


def _usage(held: Column | ConversationResult) -> dict[str, Any] | None:
    if held.input_tokens is None:
        return None
    return {name: getattr(held, name) for name in ("input_tokens", "output_tokens", "cached_tokens")}


def _judge(column: Column) -> dict[str, Any] | None:
    if not column.judge_calls:
        return None
    return {"calls": column.judge_calls, "tokens": column.judge_tokens, "cost_usd": column.judge_cost_usd}


def _rate(column: Column) -> dict[str, Any] | None:
    rate = column.pass_rate
    if rate.share is None:
        return None
    return {
        "share": rate.share,
        "passed": rate.passed,
        "of": rate.of,
        "interval": [rate.interval.low, rate.interval.high],
    }


def _speed(column: Column, seconds: float | None) -> dict[str, Any]:
    return {
        "agent_seconds": seconds,
        "tokens_a_second": column.reply_tokens / seconds if seconds else None,
        "tests_an_hour": column.examples * 3600 / seconds if seconds else None,
    }


def _conversation(held: ConversationResult) -> dict[str, Any]:
    return {
        "agent": held.agent,
        "agent_spec": held.agent_spec,
        "span_label": held.span_label,
        "trial": held.trial,
        "plan_fingerprint": held.plan_fingerprint,
        "agent_fingerprint": held.agent_fingerprint,
        "ended": held.ended,
        "tokens": held.tokens,
        "filler_tokens": held.filler_tokens,
        "reply_tokens": held.reply_tokens,
        "exchanges": held.exchanges,
        "simulated_seconds": held.simulated_seconds,
        "cost_usd": held.cost_usd,
        "filler_cost_usd": held.filler_cost_usd,
        "harness_cost_usd": held.harness_cost_usd,
        "hypothetical": held.hypothetical,
        "usage": _usage(held),
        "notices": list(held.notices),
        "examples": [_example(row) for row in held.scenarios],
    }


def _example(row: ScenarioResult) -> dict[str, Any]:
    return {
        **dict(user_properties(row)),
        "nodeid": row.nodeid,
        "outcome": row.outcome,
        "reason": row.reason,
        "cause": row.cause,
        "measured_span": row.measured_span,
        "overrun": row.overrun,
        "skills": list(row.skills),
        **({} if row.automatic is None else {"automatic": to_record(row.automatic)}),
    }
