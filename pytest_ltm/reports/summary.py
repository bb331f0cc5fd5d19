"""`summary.json`: the figures of a run with their definitions; and the properties of a pytest item."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import FIELDS, ConversationResult, RunResult, ScenarioResult
from pytest_ltm.api.storage import (
    csv_cell,
    fields_of,
    for_file,
    json_text,
    parse_record,
    to_record,
    write_whole,
)
from pytest_ltm.figures.columns import Column, ScenarioCell, result_columns
from pytest_ltm.figures.figures import figures_json, read_definitions
from pytest_ltm.figures.metrics import metrics_json
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.sentences import spans_json

FORMAT = "pytest-ltm summary 2"
# The fields that features fill.
ADDED = (*FIELDS, "sections")


def user_properties(result: ScenarioResult) -> list[tuple[str, object]]:
    """Return the user properties of an example's pytest item: built-in types only, without unknown values."""
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
    # JUnit readers accept any text as a value, so a missing value is left out.
    return [(name, value) for name, value in values.items() if value is not None]


def summary_json(
    run: RunResult,
    *,
    pytest_ltm_version: str,
    seed: int | str,
    plan: Mapping[str, Any],
    wall_seconds: float | None = None,
    added: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the run as JSON values.

    `plan`: further settings of the run (suite, filler, tokenizer, scoring ...) as JSON values. `added`: fields of
    features; they may be those of `ADDED`.
    """
    added = {"gate": None, "comparison": None} | dict(added or {})
    return {
        "format": FORMAT,
        "run_id": run.run_id,
        "pytest_ltm_version": pytest_ltm_version,
        "seed": seed,
        "plan": dict(plan),
        "wall_seconds": wall_seconds,
        "results": [_column_json(run, column) for column in result_columns(run)],
        "effective_spans": spans_json(run),
        **{name: value for name, value in added.items() if name in ADDED},
        "prechecks": to_record(run.prechecks),
        "conversations": list(map(_conversation_json, run.conversations)),
        "notices": list(run.notices),
        **({"trust": run.trust} if run.trust else {}),
        "metrics": read_definitions(),
    }


def _column_json(run: RunResult, column: Column) -> dict[str, Any]:
    return {
        **fields_of(column, "agent", "span_label", "span"),
        **figures_json(column),
        "scenarios": {name: _cell_json(cell) for name, cell in column.cells.items()},
        "metrics": metrics_json(run, column.agent, column.span_label),
    }


def _cell_json(cell: ScenarioCell) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "mean": cell.mean,
        "scored": len(cell.scores),
        "examples": cell.examples,
    }
    if cell.floor:
        fields["floor"] = cell.floor
    if cell.upper is not None:
        fields["upper"] = cell.upper
    return fields


def rewrite_summary(run: RunResult, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary read from `summary.json` with its numbers updated to the current results.

    Values that the results lack (versions, seed, plan, wall times) are kept.
    """
    # The results lack their own origin, so it must survive an amendment.
    origin: dict[str, Any] = {"pytest_ltm_version": "", "seed": 0, "plan": {}}
    for name in ("pytest_ltm_version", "seed", "plan", "wall_seconds"):
        if name in summary:
            origin[name] = summary[name]
    added = {name: summary[name] for name in ADDED if name in summary}
    return summary_json(run, **origin, added=added)


# The columns of `verdicts.csv`.
VERDICTS = (
    "ltm_agent",
    "ltm_span",
    "ltm_trial",
    "ltm_scenario",
    "ltm_example",
    "outcome",
    "ltm_score",
    "ltm_upper",
    "reason",
    "cause",
    "rule",
    "evidence",
    "automatic_score",
    "automatic_reason",
    "ltm_gap",
    "ltm_told_gap",
    "measured_span",
    "overrun",
    "ltm_tokens",
    "ltm_cost_usd",
    "ltm_cost_estimated",
    "ltm_skills",
    "nodeid",
)
VERDICTS_FILE = "verdicts.csv"


def verdicts_csv(run: RunResult) -> str:
    """Return every verdict as CSV, a line per example below a heading; missing values are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(VERDICTS)
    for row in run.scenarios:
        fields = _example_json(row) | {"rule": row.rule, "evidence": row.evidence}
        if row.automatic is not None:
            fields |= {
                "automatic_score": row.automatic.score,
                "automatic_reason": row.automatic.reason,
            }
        writer.writerow(csv_cell(fields.get(name)) for name in VERDICTS)
    return text.getvalue()


def write_verdicts(folder: Path, run: RunResult) -> None:
    """Write `verdicts.csv` into a run's folder; DiskFault if it cannot be written."""
    write_whole(folder / VERDICTS_FILE, for_file(verdicts_csv(run)))


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write the result of `summary_json` with a checksum of its contents."""
    # From the redacted text: the file contains no secrets, unlike the given values.
    written = parse_record(json_text(dict(summary)))
    sealed = {**written, "sum": summary_checksum(written)}
    write_whole(path, json_text(sealed).encode())


def summary_checksum(summary: Mapping[str, Any]) -> str:
    """Return the checksum of the other fields of `summary.json` (BLAKE2b, 16 bytes).

    Like a journal's checksums it reveals accidents and edits, without a key.
    """
    fields = {name: value for name, value in summary.items() if name != "sum"}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def refresh_summary(run: LoadedRun) -> None:
    """Rewrite `summary.json` and `verdicts.csv` of a run with its amended verdicts, if it has these files."""
    if run.summary:
        write_summary(
            run.path / "summary.json", rewrite_summary(run.result, run.summary)
        )
    if (run.path / VERDICTS_FILE).exists():
        write_verdicts(run.path, run.result)


_OF_CONVERSATION = (
    "agent",
    "agent_spec",
    "span_label",
    "trial",
    "plan_fingerprint",
    "agent_fingerprint",
    "ended",
    "tokens",
    "filler_tokens",
    "reply_tokens",
    "exchanges",
    "simulated_seconds",
    "cost_usd",
    "filler_cost_usd",
    "harness_cost_usd",
    "hypothetical",
)
_OF_EXAMPLE = (
    "nodeid",
    "outcome",
    "reason",
    "cause",
    "measured_span",
    "overrun",
    "skills",
)


def _conversation_json(conversation: ConversationResult) -> dict[str, Any]:
    estimated = {"estimated": True} if conversation.estimated else {}
    usage = None
    if conversation.input_tokens is not None:
        names = ("input_tokens", "output_tokens", "cached_tokens")
        usage = fields_of(conversation, *names) | estimated
    fields = fields_of(conversation, *_OF_CONVERSATION) | {"usage": usage} | estimated
    if conversation.lost_tokens:
        fields["lost"] = {
            "tokens": conversation.lost_tokens,
            "cost_usd": conversation.lost_cost_usd,
        }
    if conversation.mishaps:
        fields["mishaps"] = to_record(conversation.mishaps)
    if conversation.accounts:
        fields["accounts"] = dict(conversation.accounts)
    if conversation.journal:
        fields["journal"] = conversation.journal
    fields["notices"] = list(conversation.notices)
    fields["examples"] = list(map(_example_json, conversation.scenarios))
    return fields


def _example_json(row: ScenarioResult) -> dict[str, Any]:
    fields: dict[str, Any] = dict(user_properties(row))
    for name in _OF_EXAMPLE:
        fields[name] = getattr(row, name)
    fields["skills"] = list(row.skills)
    if row.automatic is not None:
        fields["automatic"] = to_record(row.automatic)
    return fields
