"""OpenAI's export: conversations.json, or numbered parts of it, each a list of trees of messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets.converters.chats import (
    ExportedMessage,
    Splitting,
    Talk,
    conversation_files,
    faults_of_export,
    iter_objects,
    utc_time,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# Marks of sources, which nobody reads out.
_CITED = re.compile(r"\s?(?:\ue200[^\ue201]*\ue201|\u3010\d+\u2020[^\u3011]*\u3011)")
_SPOKEN = {"text", "multimodal_text"}


def read_openai(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the conversations, each as the branch that was shown last."""
    number = 0
    for file in conversation_files(path):
        for where, talk in iter_objects(file):
            number += 1
            nodes = talk.get("mapping") if isinstance(talk, dict) else None
            if not isinstance(nodes, dict):
                raise DatasetError(f"{where}: no conversation of OpenAI's export: the field 'mapping' is missing")
            name = str(talk.get("conversation_id") or talk.get("id") or f"conversation-{number}")
            with faults_of_export(where):
                yield Talk(name, list(_shown_branch(talk, nodes, counts)))


def _shown_branch(talk: Mapping[str, Any], nodes: Mapping[str, Any], counts: Counter[str]) -> Iterator[ExportedMessage]:
    """Yield the messages of the branch that was shown last; the others were replaced by edits."""
    leaves = [name for name, node in nodes.items() if not node.get("children")]
    at: Any = talk.get("current_node") or (leaves[-1] if leaves else None)
    path: dict[str, Any] = {}
    while at in nodes and at not in path:  # an edited export may run in a circle
        path[at] = nodes[at].get("message")
        at = nodes[at].get("parent")
    counts["left out: messages in branches that edits replaced"] += sum(
        bool(_text_of(node.get("message"))) for name, node in nodes.items() if name not in path
    )
    when = talk.get("create_time") or None
    every = [float(one["create_time"]) for one in path.values() if one and one.get("create_time")]
    if not every:
        when = when or talk.get("update_time")
    for message in filter(None, reversed(path.values())):
        text, role = _text_of(message), (message.get("author") or {}).get("role")
        if text and role in {"user", "assistant"}:
            if message.get("create_time"):
                when = max(float(when or 0), float(message["create_time"]))
            elif when:
                counts["guessed: times of messages without one, from those around them"] += 1
            spoken = _CITED.sub("", text)
            counts["cut: marks of sources in replies"] += spoken != text
            yield ExportedMessage(utc_time(when) if when else None, "", spoken.strip(), role == "assistant")
        elif message.get("recipient", "all") != "all":
            counts["left out: messages to tools, memory writes and documents"] += 1
        else:
            counts["left out: messages without text, thoughts, or of tools"] += 1


def _text_of(message: Any) -> str:
    """Return what a message says: nothing where it is hidden, for a tool or not speech."""
    message = message or {}
    content = message.get("content") or {}
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if hidden or content.get("content_type") not in _SPOKEN or message.get("recipient", "all") != "all":
        return ""
    parts = [_part_text(part) for part in content.get("parts") or []]
    return "\n".join(filter(None, parts)).strip()


def _part_text(part: Any) -> str:
    if isinstance(part, dict):
        return str(part.get("text") or "") if part.get("content_type") == "audio_transcription" else ""
    return part if isinstance(part, str) else ""
