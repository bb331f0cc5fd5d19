"""Runs as logs of Inspect: an `.eval` file for each agent and span, a sample for each example and trial."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_ltm._engine.transcript import gap
from pytest_ltm._export.library import library
from pytest_ltm._export.output import Output
from pytest_ltm._export.parts import parts
from pytest_ltm._record.fold import Record
from pytest_ltm._storage.boundary import for_library, printable
from pytest_ltm._storage.schema import fields_of, to_record
from pytest_ltm.reporting.html.details import definitions
from pytest_ltm.reporting.summary import user_properties
from pytest_ltm.reporting.text import distance, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ltm._engine.result import ScenarioResult
    from pytest_ltm._engine.transcript import Exchange
    from pytest_ltm._export.loaded import Results
    from pytest_ltm._export.parts import Part


SCORER = "ltm"


def outputs(results: Results, to: Path) -> Sequence[Output]:
    """Return a log for each agent and span in the folder `to`; LtmError where inspect_ai is absent."""
    library("inspect_ai.log", extra="inspect", user="--to inspect")
    return [Output(to / _file(part), partial(_write, part)) for part in parts(results)]


def _file(part: Part) -> str:
    """Return the name that `inspect view` lists logs by: time, task, id."""
    task = _PLAIN.sub("-", f"{part.column.agent}-{part.column.span_label}")[:_LONGEST].strip("-.")
    return f"{part.began:%Y-%m-%dT%H-%M-%S+00-00}_{task}_{part.id}.eval"


_PLAIN = re.compile(r"[^A-Za-z0-9.]+")
_LONGEST = 80


def _write(part: Part, path: Path) -> None:
    log = library("inspect_ai.log", extra="inspect", user="")
    log.write_eval_log(log.EvalLog.model_validate(for_library(_log(part))), str(path))


def _log(part: Part) -> dict[str, Any]:
    """Return the log as JSON values; the only NaN is Inspect's sign of a sample without a score."""
    facts, began, usage = part.facts(), part.began.isoformat(), _usage(part)
    samples = list(_samples(part))
    names = list(dict.fromkeys(sample["id"] for sample in samples))
    figures = part.figures()
    shown = {name: {"name": name, "value": value} for name, value in figures.items() if name in _SHOWN or "/" in name}
    unscored = part.column.missing
    score = {"name": SCORER, "scorer": SCORER, "scored_samples": len(samples) - unscored, "unscored_samples": unscored}
    return {
        "status": "success" if part.complete else "cancelled",
        "eval": {
            "eval_id": part.id,
            "run_id": part.run.result.run_id,
            "task_id": part.id,
            "created": began,
            "task": part.name,
            "dataset": {"name": part.run.result.suite or SCORER, "samples": len(names), "sample_ids": names},
            "model": _model(part.column.agent),
            "config": {"epochs": facts["trials"]},
            "packages": {"pytest-ltm": str(facts["pytest_ltm_version"] or "")},
            "metadata": facts,
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{**score, "metrics": shown}],
            "metadata": {name: value for name, value in figures.items() if name not in shown},
        },
        "stats": {"started_at": began, "completed_at": began, "model_usage": usage},
        "samples": samples,
    }


_SHOWN = ("accuracy", "total", "out_of", "pass_rate", "floor")
"""The figures at the head of a log; the others are counts, in its metadata."""


def _model(agent: str) -> str:
    return f"pytest-ltm/{agent}"


def _usage(part: Part) -> dict[str, Any]:
    read, written, cached = part.column.input_tokens, part.column.output_tokens or 0, part.column.cached_tokens or 0
    if read is None:
        return {}
    told = {"input_tokens": read - cached, "input_tokens_cache_read": cached, "output_tokens": written}
    return {_model(part.column.agent): {**told, "total_tokens": read + written}}


def _samples(part: Part) -> Iterator[dict[str, Any]]:
    """Yield a sample for each example; those of further trials are further epochs."""
    epochs: Counter[str] = Counter()
    for held in part.conversations:
        record, known = held.record() or Record(), definitions(held.plan())
        for result in held.result.scenarios:
            epochs[result.id] += 1
            expected = (known.get(result.id) or {}).get("expected")
            target = "" if expected is None else text_of(expected)
            yield _sample(result, record, target) | {"epoch": epochs[result.id]}


def _sample(result: ScenarioResult, record: Record, target: str) -> dict[str, Any]:
    asked = result.questions[-1] if result.questions else None
    messages = list(_messages(result, record))
    first = next((each["content"] for each in messages), "")
    answer = asked.answer if asked else ""
    said = {"role": "assistant", "content": answer}
    return {
        "id": printable(result.id),  # it names a file in the log
        "input": asked.text if asked else first,
        "target": target,
        "messages": messages,
        "output": {"model": _model(result.agent), "choices": [{"message": said}] if asked else []},
        "scores": {
            SCORER: {
                "value": math.nan if result.score is None else result.score,
                "answer": answer,
                "explanation": result.reason,
                "metadata": {
                    "outcome": result.outcome,
                    "rule": result.rule,
                    "evidence": result.evidence,
                    "checks": [to_record(check) for check in result.checks],
                    "amended": result.automatic is not None,
                },
            }
        },
        "metadata": {**dict(user_properties(result)), **fields_of(result, *_FIELDS)},
        "error": _error(result.reason) if result.outcome == "error" else None,
    }


_FIELDS = ("nodeid", "trial", "outcome", "cause", "threshold", "floor", "measured_span", "overrun")


def _error(reason: str) -> dict[str, str]:
    return {"message": reason, "traceback": reason, "traceback_ansi": reason}


def _messages(result: ScenarioResult, record: Record) -> Iterator[dict[str, Any]]:
    """Yield what the example said and was replied; how much lies before a message stands in its metadata."""
    own = [*record.transcript.of(result.id), *(one for one in record.unanswered.values() if one.by == result.id)]
    before: Exchange | None = None
    for said in sorted(own, key=lambda one: one.number):
        after = distance(gap(before, said), said.now - before.now) if before else ""
        facts = {"after": after, "kind": said.kind, "number": said.number, "start": said.start}
        facts |= {"time": said.now.isoformat(), "fault": record.fault(said.number)}
        yield {
            "role": "user",
            "content": said.message,
            "metadata": {name: one for name, one in facts.items() if one != ""},
        }
        if said.number in record.replies:
            yield {"role": "assistant", "content": said.reply, "model": _model(result.agent)}
        before = said
