"""Exports runs as Inspect logs: an `.eval` file per agent and span, a sample per example and trial."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import ConversationRecord, ScenarioResult
from pytest_ltm.api.model import Exchange, Usage
from pytest_ltm.api.storage import escape_unprintable, fields_of, for_library, to_record
from pytest_ltm.reports.exports.loaded import Results, RunSlice, run_slices
from pytest_ltm.reports.exports.output import ExportTarget, import_library
from pytest_ltm.reports.exports.result_rows import seconds_of
from pytest_ltm.reports.failure import distance_between
from pytest_ltm.reports.html.details import (
    expected_answers,
    own_exchanges,
    plan_definitions,
)
from pytest_ltm.reports.summary import user_properties

SCORER = "ltm"


def outputs(results: Results, to: Path) -> Sequence[ExportTarget]:
    """Return a log per agent and span in the folder `to`; LtmError if inspect_ai is not installed."""
    log = import_library("inspect_ai.log", extra="inspect", user="--to inspect")

    def write(path: Path, part: RunSlice) -> None:
        log.write_eval_log(
            log.EvalLog.model_validate(for_library(_eval_log(part))), str(path)
        )

    targets = []
    for part in run_slices(results):
        task = _PLAIN.sub("-", f"{part.column.agent}-{part.column.span_label}")[
            :80
        ].strip("-.")
        # `inspect view` lists logs by names of this form: time, task, id.
        name = f"{part.begin_time:%Y-%m-%dT%H-%M-%S+00-00}_{task}_{part.id}.eval"
        targets.append(ExportTarget(to / name, partial(write, part=part)))
    return targets


_PLAIN = re.compile(r"[^A-Za-z0-9.]+")


def _eval_log(part: RunSlice) -> dict[str, Any]:
    """Return the log as JSON values; NaN appears only as Inspect's mark for a sample without a score."""
    facts = part.facts()
    column = part.column
    used = Usage(
        input_tokens=column.sum_of("input_tokens") or 0,
        output_tokens=column.sum_of("output_tokens") or 0,
        cached_tokens=column.sum_of("cached_tokens") or 0,
    )
    samples = list(_eval_samples(part))
    figures = part.figures()
    unscored = column.unscored_examples
    # Trials are epochs of one sample, so each id counts once.
    names = list(dict.fromkeys(sample["id"] for sample in samples))
    shown_figures: dict[str, dict[str, Any]] = {}
    other_figures: dict[str, float] = {}
    for name, value in figures.items():
        if name in _SHOWN or "/" in name:
            shown_figures[name] = {"name": name, "value": value}
        else:
            other_figures[name] = value
    causes = [sample["metadata"]["cause"] for sample in samples]
    score = {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": len(samples) - unscored,
        "unscored_samples": unscored,
    }
    return {
        "status": "success" if part.complete else "cancelled",
        "eval": {
            "eval_id": part.id,
            "run_id": part.run.result.run_id,
            "task_id": part.id,
            "created": part.begin_time.isoformat(),
            "task": part.name,
            "dataset": {
                "name": part.run.result.suite or SCORER,
                "samples": len(names),
                "sample_ids": names,
            },
            "model": _model_name(part.column.agent),
            "config": {"epochs": facts["trials"]},
            "packages": {"pytest-ltm": str(facts["pytest_ltm_version"] or "")},
            "metadata": facts,
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples) - causes.count("not reached"),
            "scores": [{**score, "metrics": shown_figures}],
            "metadata": other_figures,
        },
        "stats": {
            "started_at": part.begin_time.isoformat(),
            "completed_at": part.end_time.isoformat(),
            "model_usage": _model_usage(used, column.agent),
        },
        "samples": samples,
    }


# Figures shown in a log's header; counts go into its metadata.
_SHOWN = ("accuracy", "total", "out_of", "pass_rate", "floor")


def _model_name(agent: str) -> str:
    return f"pytest-ltm/{agent}"


def _model_usage(used: Usage, agent: str) -> dict[str, Any]:
    """Return the usage by model; Inspect counts cached input tokens separately."""
    tokens = {
        "input_tokens": used.input_tokens - used.cached_tokens,
        "input_tokens_cache_read": used.cached_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.total,
    }
    return {_model_name(agent): tokens} if used.total else {}


def _eval_samples(part: RunSlice) -> Iterator[dict[str, Any]]:
    """Yield a sample per example; further trials are further epochs."""
    epochs: Counter[str] = Counter()
    for conversation in part.conversations:
        record = conversation.record() or ConversationRecord()
        timed = seconds_of(conversation.path)
        expected = expected_answers(plan_definitions(conversation.plan()))
        unanswered = [*record.unanswered.values()]
        for result in conversation.result.scenarios:
            epochs[result.id] += 1
            exchanges = own_exchanges(result, record, unanswered)
            seconds: list[float] = []
            for exchange in exchanges:
                if exchange.number in timed:
                    seconds.append(timed[exchange.number])
            yield {
                **_eval_sample(result, record, exchanges, expected.get(result.id, "")),
                "epoch": epochs[result.id],
                "total_time": sum(seconds) if seconds else None,
            }


def _eval_sample(
    result: ScenarioResult,
    record: ConversationRecord,
    exchanges: Sequence[Exchange],
    target: str,
) -> dict[str, Any]:
    question = result.questions[-1] if result.questions else None
    messages = list(_sample_messages(exchanges, record, result.agent))
    used = Usage()
    for exchange in exchanges:
        reply = record.replies.get(exchange.number)
        if reply and reply.usage:
            used += reply.usage
    answer = question.answer if question else ""
    if question:
        choices = [{"message": {"role": "assistant", "content": answer}}]
    else:
        choices = []
    decided = {
        "checks": [to_record(check) for check in result.checks],
        "amended": result.automatic is not None,
    }
    score = {
        # Inspect's own mark for a sample without a score.
        "value": math.nan if result.score is None else result.score,
        "answer": answer,
        "explanation": result.reason,
        "metadata": {**fields_of(result, "outcome", "rule", "evidence"), **decided},
    }
    failed = dict.fromkeys(("message", "traceback", "traceback_ansi"), result.reason)
    return {
        "id": escape_unprintable(result.id),  # becomes a file name in the log
        "input": question.text
        if question
        else next((message["content"] for message in messages), ""),
        "target": target,
        "messages": messages,
        "output": {"model": _model_name(result.agent), "choices": choices},
        "scores": {SCORER: score},
        "model_usage": _model_usage(used, result.agent),
        "metadata": {**dict(user_properties(result)), **fields_of(result, *_FIELDS)},
        "error": failed if result.outcome == "error" else None,
    }


_FIELDS = (
    "nodeid",
    "trial",
    "outcome",
    "cause",
    "threshold",
    "floor",
    "measured_span",
    "overrun",
)


def _sample_messages(
    exchanges: Iterable[Exchange], record: ConversationRecord, agent: str
) -> Iterator[dict[str, Any]]:
    """Yield the messages and replies of an example; the distance before a message is in its metadata."""
    former: Exchange | None = None
    for exchange in exchanges:
        facts = {
            "after": distance_between(former, exchange) if former else "",
            "kind": exchange.kind,
            "number": exchange.number,
            "start": exchange.start,
            "time": exchange.now.isoformat(),
            "fault": record.fault(exchange.number),
        }
        yield {
            "role": "user",
            "content": exchange.message,
            "metadata": {name: value for name, value in facts.items() if value != ""},
        }
        yield from _tool_messages(exchange)
        if exchange.number in record.replies:
            yield {
                "role": "assistant",
                "content": exchange.raw_reply,
                "model": _model_name(agent),
            }
        former = exchange


def _tool_messages(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Yield the tool calls made before a reply, each with its result."""
    for number, call in enumerate(exchange.calls):
        name = {"id": f"{exchange.number}.{number}", "function": call.name}
        tool_call = {**name, "type": "function", "arguments": dict(call.arguments)}
        yield {"role": "assistant", "content": "", "tool_calls": [tool_call]}
        yield {
            "role": "tool",
            "content": call.result,
            "tool_call_id": name["id"],
            "function": call.name,
        }
