"""Chats with models beside OpenAI's: Claude, Gemini (Takeout, AI Studio), and lists of turns such as ShareGPT's."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.converters.chats import (
    ExportedMessage,
    Splitting,
    Talk,
    conversation_files,
    faults_of_export,
    iso_time,
    iter_objects,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

_PROMPTED = re.compile(r"^Prompted\s+")
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"</?(?:p|br|li|div|h\d|tr)\b[^<>]*>", re.IGNORECASE)
_MODELS = {"gpt", "assistant", "model", "chatgpt", "bing", "bard", "claude", "ai", "bot"}
_USERS = {"human", "user"}


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
            reply = "\n".join(_html_text(item["html"]) for item in one.get("safeHtmlItem") or []).strip()
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


def _html_text(text: str) -> str:
    return re.sub(r"\n{2,}", "\n", html.unescape(_TAG.sub("", _BREAK.sub("\n", text)))).strip()


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
    if role not in _MODELS | _USERS:
        counts["left out: turns of tools, and of the system"] += 1
        text = ""
    at: datetime | None = iso_time(turn.get("timestamp") or turn.get("created_at"))
    return ExportedMessage(at, "", text, role in _MODELS)


def message_text(content: Any) -> str:
    """Return the text of a message: itself, its parts that are texts, or the field that holds it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(message_text, content)))
    if isinstance(content, dict) and content.get("type") in (None, "text", "output_text", "input_text"):
        return next((message_text(content[name]) for name in ("text", "content") if content.get(name)), "")
    return ""
