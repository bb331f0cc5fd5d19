"""Reads traces of agents: LangSmith, Langfuse, and OpenTelemetry's spans."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.converters.messages import (
    ExportedMessage,
    Splitting,
    Talk,
    faults_of_export,
    iso_time,
    message_text,
    utc_time,
)
from pytest_ltm.datasets.converters.shapes import iter_objects
from pytest_ltm.datasets.interchange import ToolCall

_USERS = {"user", "human"}
_MODELS = {"assistant", "ai", "model"}
# Fields in which frameworks store input or output as text.
_TEXTS = (
    "input",
    "output",
    "question",
    "query",
    "prompt",
    "answer",
    "text",
    "result",
    "content",
)


def read_langsmith(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the threads of root runs: the user's last message, and the output."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, run in _rows(path, counts):
        with faults_of_export(where):
            if run.get("parent_run_id"):
                counts["left out: runs inside others"] += 1
                continue
            metadata = (run.get("extra") or {}).get("metadata") or {}
            names = ("thread_id", "session_id", "conversation_id")
            thread = next(
                (metadata[name] for name in names if metadata.get(name)),
                run.get("trace_id") or run["id"],
            )
            talk = talks.setdefault(str(thread), [])
            talk += _exchange(
                run.get("inputs"),
                run.get("outputs"),
                iso_time(run.get("start_time")),
                counts,
            )
    for name, messages in talks.items():
        yield Talk(name, messages)


def read_langfuse(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the sessions of traces, and each trace without a session."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, trace in _rows(path, counts):
        with faults_of_export(where):
            talk = talks.setdefault(
                str(trace.get("sessionId") or trace.get("session_id") or trace["id"]),
                [],
            )
            talk += _exchange(
                _parsed(trace.get("input")),
                _parsed(trace.get("output")),
                iso_time(trace["timestamp"]),
                counts,
            )
    for name, messages in talks.items():
        yield Talk(name, messages)


def read_otel(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations of spans; memory spans become tool calls with the text written or found."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, row in _rows(path, counts):
        with faults_of_export(where):
            for span in _spans_of(row):
                facts = span.get("attributes") or {}
                if not isinstance(facts, dict):
                    facts = _attributes(facts)
                nanoseconds = span.get("startTimeUnixNano") or span.get(
                    "start_time_unix_nano"
                )
                moment = (
                    utc_time(int(nanoseconds) / 1e9)
                    if nanoseconds
                    else iso_time(span.get("start_time"))
                )
                operation = str(facts.get("gen_ai.operation.name") or "")
                name = str(
                    facts.get("gen_ai.conversation.id")
                    or span.get("traceId")
                    or span.get("trace_id")
                    or "spans"
                )
                talk = talks.setdefault(name, [])
                if "memory" in operation:
                    records = _parsed(facts.get("gen_ai.memory.records"))
                    query = facts.get("gen_ai.memory.query.text")
                    call = ToolCall(name=operation, arguments=query, result=records)
                    talk.append(
                        ExportedMessage(moment, "", "", by_model=True, calls=(call,))
                    )
                elif operation in (
                    "chat",
                    "text_completion",
                    "generate_content",
                    "invoke_agent",
                ):
                    prompt = _span_messages(facts, "input", "prompt")
                    came = _span_messages(facts, "output", "completion")
                    talk += _exchange(prompt, came, moment, counts)
                else:
                    counts["left out: spans of neither a model nor a memory"] += 1
    for name, messages in talks.items():
        yield Talk(name, messages)


def _spans_of(row: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Return the spans of a line: the line itself, or those in a collector's batches (OTLP)."""
    if "resourceSpans" not in row:
        return [row]
    batches = []
    for resource in row["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            batches.append(scope["spans"])
    return chain.from_iterable(batches)


def _attributes(pairs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the attributes of a span in a batch, which separates key and typed value."""
    attributes = {}
    for pair in pairs:
        attributes[pair["key"]] = next(iter(pair["value"].values()), None)
    return attributes


def _rows(path: Path, counts: Counter[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(path.glob("*.json*")) if path.is_dir() else [path]:
        for where, row in iter_objects(file, counts):
            if not isinstance(row, dict):
                raise DatasetError(
                    f"{where}: expected an object, a run or trace each. Export it again"
                )
            yield where, row


def _span_messages(facts: dict[str, Any], name: str, older: str) -> Any:
    """Return the messages of a span: as JSON, or in numbered attributes as older instrumentations write them."""
    if f"gen_ai.{name}.messages" in facts:
        return {"messages": _parsed(facts[f"gen_ai.{name}.messages"])}
    rows = []
    for key, content in facts.items():
        if key.startswith(f"gen_ai.{older}.") and key.endswith(".content"):
            role = facts.get(key.removesuffix("content") + "role")
            rows.append({"role": role, "content": content})
    return {"messages": rows}


def _parsed(value: Any) -> Any:
    """Decode a JSON text; return other values unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _exchange(
    sent_messages: Any, came: Any, moment: datetime | None, counts: Counter[str]
) -> list[ExportedMessage]:
    """Return the user's last message, and the reply."""
    message = _last_text(sent_messages, _USERS)
    reply = _last_text(came, _MODELS)
    counts["left out: runs without a text of the user or the model"] += not (
        message and reply
    )
    exchange = [ExportedMessage(moment, "", message)] if message else []
    return [
        *exchange,
        *([ExportedMessage(moment, "", reply, by_model=True)] if reply else []),
    ]


def _last_text(value: Any, roles: set[str]) -> str:
    """Return the last text with one of these roles in an input or output, in the forms of many frameworks."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        for name in ("messages", "generations", "choices"):
            if value.get(name):
                return _last_text(value[name], roles)
        if isinstance(value.get("message"), dict):
            return _last_text([value["message"]], roles)
        texts = (message_text(value[name]) for name in _TEXTS if value.get(name))
        return next(filter(None, map(str.strip, texts)), "")
    rows = value if isinstance(value, list) else []
    return next(filter(None, (_row_text(row, roles) for row in reversed(rows))), "")


def _row_text(row: Any, roles: set[str]) -> str:
    """Return the text of a message without a role, or with one of these roles."""
    if isinstance(row, list):
        return _last_text(row, roles)
    if not isinstance(row, dict):
        return ""
    for wrapping in ("message", "kwargs"):
        row = row[wrapping] if isinstance(row.get(wrapping), dict) else row
    role = str(row.get("role") or row.get("type") or next(iter(roles))).lower()
    if role in roles:
        return message_text(
            row.get("parts") or row.get("content") or row.get("text") or ""
        ).strip()
    return ""
