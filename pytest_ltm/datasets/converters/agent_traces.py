"""Chats with Claude, Gemini and others; traces of agents: LangSmith, Langfuse, OpenTelemetry."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._interchange import ToolCall
from pytest_ltm.datasets.converters.chats import (
    ExportedMessage,
    Splitting,
    Talk,
    conversation_files,
    faults_of_export,
    iso_time,
    iter_objects,
    utc_time,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path


_PROMPTED = re.compile(r"^Prompted\s+")
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"</?(?:p|br|li|div|h\d|tr)\b[^<>]*>", re.IGNORECASE)
_MODEL_ROLES = {"gpt", "assistant", "model", "chatgpt", "bing", "bard", "claude", "ai", "bot"}
_USER_ROLES = {"human", "user"}


def read_claude(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the conversations; thoughts and tools are left out, files are named."""
    for file in conversation_files(path):
        for number, (where, talk) in enumerate(iter_objects(file), start=1):
            with faults_of_export(where):
                said = [_claude_message(one, talk, counts) for one in talk["chat_messages"]]
                yield Talk(str(talk.get("uuid") or f"conversation-{number}"), [one for one in said if one.text])


def _claude_message(one: dict[str, Any], talk: dict[str, Any], counts: Counter[str]) -> ExportedMessage:
    parts = one.get("content") or []
    texts = [part.get("text") or "" for part in parts if part.get("type") == "text"]
    counts["left out: thoughts and calls of tools"] += sum(part.get("type") != "text" for part in parts)
    text = "\n".join(filter(None, texts)) or str(one.get("text") or "")
    counts["left out: messages without text"] += not text.strip()
    counts["left out: attached files"] += len(one.get("attachments") or []) + len(one.get("files") or [])
    at = iso_time(one.get("created_at") or talk.get("created_at"))
    return ExportedMessage(at, "", text.strip(), one["sender"] == "assistant")


def read_gemini(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the activity of Takeout as one conversation, or a prompt of AI Studio."""
    said: list[ExportedMessage] = []
    for where, one in iter_objects(path):
        with faults_of_export(where):
            if "chunkedPrompt" in one:
                said += _studio_messages(one["chunkedPrompt"]["chunks"], counts)
                continue
            at, title = iso_time(one.get("time")), str(one["title"])
            counts["guessed: a title that does not begin with Prompted is what the user said"] += (
                _PROMPTED.match(title) is None
            )
            said.append(ExportedMessage(at, "", _PROMPTED.sub("", title).strip()))
            parts = (
                html.unescape(_TAG.sub("", _BREAK.sub("\n", item["html"]))) for item in one.get("safeHtmlItem") or []
            )
            reply = "\n".join(re.sub(r"\n{2,}", "\n", part).strip() for part in parts).strip()
            counts["left out: prompts without a reply"] += not reply
            said += [ExportedMessage(at, "", reply, by_model=True)] if reply else []
    yield Talk("gemini", said)


def _studio_messages(chunks: list[dict[str, Any]], counts: Counter[str]) -> Iterator[ExportedMessage]:
    for chunk in chunks:
        text = str(chunk.get("text") or "").strip()
        if chunk.get("isThought") or not text:
            counts["left out: thoughts, and parts without text"] += 1
        else:
            yield ExportedMessage(None, "", text, chunk["role"] == "model")


def read_sharegpt(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield lists of turns: `conversations` of from and value, or `messages` of role and content."""
    for number, (where, talk) in enumerate(iter_objects(path), start=1):
        with faults_of_export(where):
            turns = talk["conversations"] if "conversations" in talk else talk["messages"]
            said = [message for turn in turns if (message := _listed_message(turn, counts)).text]
            yield Talk(str(talk.get("id") or talk.get("conversation_id") or f"conversation-{number}"), said)


def _listed_message(turn: dict[str, Any], counts: Counter[str]) -> ExportedMessage:
    role = str(turn["from"] if "from" in turn else turn["role"]).lower()
    text = message_text(turn["value"] if "value" in turn else turn.get("content")).strip()
    if role not in _MODEL_ROLES | _USER_ROLES:
        counts["left out: turns of tools, and of the system"] += 1
        text = ""
    at: datetime | None = iso_time(turn.get("timestamp") or turn.get("created_at"))
    return ExportedMessage(at, "", text, role in _MODEL_ROLES)


def message_text(content: Any) -> str:
    """Return the text of a message: itself, its parts that are texts, or the field that holds it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(message_text, content)))
    if isinstance(content, dict) and content.get("type") in (None, "text", "output_text", "input_text"):
        return next((message_text(content[name]) for name in ("text", "content") if content.get(name)), "")
    return ""


_USERS, _MODELS = {"user", "human"}, {"assistant", "ai", "model"}
# Fields in which frameworks put what went in, or came out, as a text.
_TEXTS = ("input", "output", "question", "query", "prompt", "answer", "text", "result", "content")


def read_langsmith(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the threads of root runs: what the user said last, and what came out."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, run in _rows(path):
        with faults_of_export(where):
            if run.get("parent_run_id"):
                counts["left out: runs inside others"] += 1
                continue
            metadata = (run.get("extra") or {}).get("metadata") or {}
            names = ("thread_id", "session_id", "conversation_id")
            thread = next((metadata[name] for name in names if metadata.get(name)), run.get("trace_id") or run["id"])
            talk = talks.setdefault(str(thread), [])
            talk += _exchange(run.get("inputs"), run.get("outputs"), iso_time(run.get("start_time")), counts)
    yield from (Talk(name, said) for name, said in talks.items())


def read_langfuse(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the sessions of traces, or each trace that is in none."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, trace in _rows(path):
        with faults_of_export(where):
            talk = talks.setdefault(str(trace.get("sessionId") or trace.get("session_id") or trace["id"]), [])
            talk += _exchange(
                _parsed(trace.get("input")), _parsed(trace.get("output")), iso_time(trace["timestamp"]), counts
            )
    yield from (Talk(name, said) for name, said in talks.items())


def read_otel(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the conversations of spans; those of a memory are calls, with what was written or found."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, span in _spans(path):
        with faults_of_export(where):
            facts = _attributes(span.get("attributes") or {})
            nanoseconds = span.get("startTimeUnixNano") or span.get("start_time_unix_nano")
            at = utc_time(int(nanoseconds) / 1e9) if nanoseconds else iso_time(span.get("start_time"))
            operation = str(facts.get("gen_ai.operation.name") or "")
            name = str(facts.get("gen_ai.conversation.id") or span.get("traceId") or span.get("trace_id") or "spans")
            talk = talks.setdefault(name, [])
            if "memory" in operation:
                records = _parsed(facts.get("gen_ai.memory.records"))
                asked = facts.get("gen_ai.memory.query.text")
                call = ToolCall(name=operation, arguments=asked, result=records)
                talk.append(ExportedMessage(at, "", "", by_model=True, calls=(call,)))
            elif operation in ("chat", "text_completion", "generate_content", "invoke_agent"):
                said, came = _span_messages(facts, "input", "prompt"), _span_messages(facts, "output", "completion")
                talk += _exchange(said, came, at, counts)
            else:
                counts["left out: spans of neither a model nor a memory"] += 1
    yield from (Talk(name, said) for name, said in talks.items())


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(path.glob("*.json*")) if path.is_dir() else [path]:
        for where, row in iter_objects(file):
            if not isinstance(row, dict):
                raise DatasetError(f"{where}: expected an object, a run or trace each. Export it again")
            yield where, row


def _spans(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the spans: one a line, or in batches as collectors write them (OTLP)."""
    for where, row in _rows(path):
        if "resourceSpans" not in row:
            yield where, row
            continue
        with faults_of_export(where):
            spans = [
                span for resource in row["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]
            ]
        yield from ((where, span) for span in spans)


def _attributes(attributes: Any) -> dict[str, Any]:
    """Return attributes by name, also where each is a key and a typed value (OTLP)."""
    if isinstance(attributes, dict):
        return attributes
    return {one["key"]: next(iter(one["value"].values()), None) for one in attributes}


def _span_messages(facts: dict[str, Any], name: str, older: str) -> Any:
    """Return the messages of a span: as JSON, or in numbered attributes as instrumentations wrote them before."""
    if f"gen_ai.{name}.messages" in facts:
        return {"messages": _parsed(facts[f"gen_ai.{name}.messages"])}
    numbered = [key for key in facts if key.startswith(f"gen_ai.{older}.") and key.endswith(".content")]
    rows = [{"role": facts.get(key.removesuffix("content") + "role"), "content": facts[key]} for key in numbered]
    return {"messages": rows}


def _parsed(value: Any) -> Any:
    """Return what a text of JSON holds, any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _exchange(given: Any, came: Any, at: datetime | None, counts: Counter[str]) -> list[ExportedMessage]:
    """Return what the user said last, and the reply."""
    said, reply = _last_text(given, _USERS), _last_text(came, _MODELS)
    counts["left out: runs without a text of the user or the model"] += not (said and reply)
    exchange = [ExportedMessage(at, "", said)] if said else []
    return [*exchange, *([ExportedMessage(at, "", reply, by_model=True)] if reply else [])]


def _last_text(value: Any, roles: set[str]) -> str:
    """Return the last text of one of these roles in what went in or came out, in the forms of many frameworks."""
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
    return next(filter(None, (_row_text(one, roles) for one in reversed(rows))), "")


def _row_text(one: Any, roles: set[str]) -> str:
    """Return the text of a message if it has one of the roles, or none."""
    if isinstance(one, list):
        return _last_text(one, roles)
    if not isinstance(one, dict):
        return ""
    for wrapping in ("message", "kwargs"):
        one = one[wrapping] if isinstance(one.get(wrapping), dict) else one
    role = str(one.get("role") or one.get("type") or next(iter(roles))).lower()
    return (
        message_text(one.get("parts") or one.get("content") or one.get("text") or "").strip() if role in roles else ""
    )
