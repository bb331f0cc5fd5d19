"""Exports runs in the format of Every Eval Ever: an aggregate per agent and span, a line per example and trial.

Files have the paths that its datastore requires: `data/COLLECTION/DEVELOPER/MODEL/UUID.json`. A model card's block of
results is next to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

from pytest_ltm.api.journal import ConversationRecord, ScenarioResult
from pytest_ltm.api.storage import for_file, for_library, json_text, write_output
from pytest_ltm.figures.text import text_of
from pytest_ltm.reports.exports.loaded import Results, RunSlice, run_slices
from pytest_ltm.reports.exports.output import ExportTarget
from pytest_ltm.reports.html.details import expected_answers, plan_definitions
from pytest_ltm.reports.verification import discrepancy_notices

SCHEMA_VERSION = "0.2.2"
# A run does not record which model an agent calls, or how it is deployed.
_UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return an aggregate, its instances and a model card's block per agent and span, all below `to`."""
    targets: list[ExportTarget] = []

    def write_instances(path: Path, part: RunSlice) -> None:
        # Deferred: reading the journals takes long, and another file may be in the way.
        lines: list[str] = []
        for row in instance_rows(part):
            lines.append(json.dumps(for_library(row), ensure_ascii=False) + "\n")
        write_output(path, for_file("".join(lines)))

    for part in run_slices(results):
        aggregate, instances = (to / name for name in _file_names(part))
        label = _plain(
            f"{part.run.result.run_id}-{part.column.agent}-{part.column.span_label}"
        )
        targets += [
            ExportTarget(
                aggregate,
                partial(_write_text, json_text(for_library(aggregate_json(part)))),
            ),
            ExportTarget(instances, partial(write_instances, part=part)),
            ExportTarget(
                to / "model-results" / f"{label}.yml",
                partial(_write_text, model_results(part)),
            ),
        ]
    return targets


def _file_names(part: RunSlice) -> tuple[str, str]:
    """Return the paths of aggregate and instances: UUIDs by format, but stable for a given run."""
    name = UUID(bytes=sha256(part.id.encode()).digest()[:16], version=4)
    folder = f"data/pytest-ltm/{_model_id(part)}"
    return f"{folder}/{name}.json", f"{folder}/{name}_samples.jsonl"


def _write_text(text: str, path: Path) -> None:
    write_output(path, for_file(text))


def aggregate_json(part: RunSlice) -> dict[str, Any]:
    """Return the aggregate of one agent at one span: total, mean of each scenario, other metrics."""
    column = part.column
    facts = part.facts()
    differs = discrepancy_notices([part.run])
    if differs:
        facts["unverified"] = differs
    place = "" if column.span_label == "all" else f" at {column.span_label}"
    total = {"score": column.total, "details": _texts(part.figures())}
    results = [_result(f"{_suite(part)}{place}", total, most=max(column.out_of, 1))]
    for name, cell in column.cells.items():
        if cell.mean is not None:
            more = {} if cell.upper is None else {"upper": cell.upper}
            details = _texts(
                {"scored": len(cell.scores), "examples": cell.examples, **more}
            )
            results.append(
                _result(
                    f"{name}{place}", {"score": cell.mean, "details": details}, most=1
                )
            )
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _evaluation_id(part),
        "retrieved_timestamp": _timestamp(part),
        "evaluation_timestamp": part.begin_time.isoformat(),
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": "pytest-ltm user",
            "evaluator_relationship": "third_party"
            if part.run.result.is_imported
            else "first_party",
        },
        "model_info": {
            "name": column.agent,
            "id": _model_id(part),
            "additional_details": _texts(facts | _UNKNOWN),
        },
        "eval_library": {
            "name": "pytest-ltm",
            "version": str(facts.get("pytest_ltm_version") or version("pytest-ltm")),
        },
        "evaluation_results": results,
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": _file_names(part)[1],
            "total_rows": sum(row.scored for row in part.column.rows),
        },
    }


def _result(name: str, details: dict[str, Any], *, most: int) -> dict[str, Any]:
    config = {
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0,
        "max_score": most,
    }
    data = {"dataset_name": "pytest-ltm", "source_type": "other"}
    return {
        "evaluation_name": name,
        "source_data": data,
        "metric_config": config,
        "score_details": details,
    }


def instance_rows(part: RunSlice) -> Iterator[dict[str, Any]]:
    """Yield a line per example that asked a question and has a score; gaps and trials are metadata."""
    for conversation in part.conversations:
        record = conversation.record() or ConversationRecord()
        expected = expected_answers(plan_definitions(conversation.plan()))
        for row in conversation.result.scenarios:
            if row.score is None:
                continue
            yield {
                "schema_version": SCHEMA_VERSION,
                "evaluation_id": _evaluation_id(part),
                "model_id": _model_id(part),
                "evaluation_name": row.scenario,
                "sample_id": f"{row.span_label}-{row.trial}-{row.example}",
                **_talk(row, record, expected.get(row.id, "")),
                "evaluation": {
                    "score": row.score,
                    "is_correct": row.outcome == "passed",
                },
                "metadata": _texts(
                    {
                        "gap": row.gap,
                        "trial": row.trial,
                        "measured_span": row.measured_span,
                        "upper": row.upper,
                        "reason": row.reason,
                        "rule": row.rule,
                        **{metric.name: metric.value for metric in row.metrics},
                    }
                ),
            }


def _talk(
    row: ScenarioResult, record: ConversationRecord, expected: str
) -> dict[str, Any]:
    """Return the input, the answers and the messages of an example."""
    exchanges = record.transcript.exchanges_of(row.id)
    if row.questions:
        question = row.questions[-1].text
        answer = row.questions[-1].answer
    elif exchanges:
        question = exchanges[-1].message
        answer = exchanges[-1].reply
    else:
        question = row.id
        answer = ""
    texts = []
    for exchange in exchanges:
        texts += [("user", exchange.message), ("assistant", exchange.reply)]
    messages: list[dict[str, Any]] = []
    for turn, (role, text) in enumerate(texts):
        messages.append({"turn_idx": turn, "role": role, "content": text})
    place = max(len(messages) - 1, 0)
    attribution = {
        "turn_idx": place,
        "source": "messages" if messages else "output.raw",
        "extracted_value": answer,
        "extraction_method": "exact",
        "is_terminal": True,
    }
    tokens = (
        sum(exchange.message_tokens for exchange in exchanges),
        sum(exchange.reply_tokens for exchange in exchanges),
    )
    return {
        "interaction_type": "multi_turn" if messages else "single_turn",
        "input": {"raw": question, "reference": [expected]},
        **({"messages": messages} if messages else {"output": {"raw": [answer]}}),
        "answer_attribution": [attribution],
        "token_usage": {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "total_tokens": sum(tokens),
        },
    }


def model_results(part: RunSlice) -> str:
    """Return the results as a `model-index` block in YAML, as model cards use it."""
    column = part.column
    quoted = json.dumps
    lines = ["model-index:", f"- name: {quoted(column.agent)}", "  results:"]
    values = {"mean score": column.accuracy}
    for name, cell in column.cells.items():
        values[name] = cell.mean
    lines += [
        "  - task:",
        "      type: text-generation",
        f"      name: {quoted('long-term memory')}",
        "    dataset:",
        f"      name: {quoted(f'{_suite(part)} at {column.span_label}')}",
        "      type: pytest-ltm",
        "    metrics:",
    ]
    for name, value in values.items():
        if value is not None:
            kind = "accuracy" if name == "mean score" else "score"
            lines += [
                f"    - type: {kind}",
                f"      name: {quoted(name)}",
                f"      value: {round(value, 4)}",
            ]
    return "\n".join(lines) + "\n"


def _suite(part: RunSlice) -> str:
    return part.run.result.suite or "pytest-ltm"


def _model_id(part: RunSlice) -> str:
    return f"pytest-ltm/{_plain(part.column.agent)}"


def _timestamp(part: RunSlice) -> str:
    return str(int(part.begin_time.timestamp()))


def _evaluation_id(part: RunSlice) -> str:
    names = (_suite(part).partition(" ")[0], part.column.span_label, part.column.agent)
    return "/".join(["pytest-ltm", *map(_plain, names), _timestamp(part)])


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).rstrip(".")


def _texts(values: dict[str, Any]) -> dict[str, str]:
    """Return the values as strings, as metadata requires; None is omitted."""
    return {name: text_of(value) for name, value in values.items() if value is not None}
