"""Reads sessions of coding agents: the files of Claude Code and Codex, one event per line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_ltm.datasets.converters.messages import (
    REPLACED,
    BranchNode,
    ExportedMessage,
    Splitting,
    Talk,
    any_time,
    faults_of_export,
    is_addressed_to_user,
    message_text,
    seconds_of,
    shown_branch,
)
from pytest_ltm.datasets.converters.shapes import export_files, iter_objects

_NOT_SPOKEN = "left out: thoughts, tools, and what the program adds"
# Text that programs insert as the user is entirely in tags or brackets.
_ADDED = re.compile(
    r"\s*(?:<(?P<tag>[\w-]+)[^<>]*>.*</[\w-]+>|\[Request interrupted[^\]]*\]|Caveat: .*)\s*",
    re.DOTALL,
)


def read_claude_code(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield a talk per session, without subtasks and replaced branches."""
    for file in export_files(path, "claude-code", counts):
        sessions: dict[str, list[BranchNode]] = {}
        for where, row in iter_objects(file, counts):
            with faults_of_export(where):
                if row.get("uuid") and not row.get("isSidechain"):
                    node = _code_node(row)
                    sessions.setdefault(str(row.get("sessionId")), []).append(node)
        for name, nodes in sessions.items():
            branch = shown_branch(nodes)
            counts[REPLACED] += len(nodes) - len(branch)
            with faults_of_export(f"{file}: session {name}"):
                messages: list[ExportedMessage] = []
                for node in branch:
                    messages += _code_messages(node.message, counts)
                yield Talk(name, messages)


def _code_node(row: Mapping[str, Any]) -> BranchNode:
    # after a summary the conversation continues without a parent
    parent = row.get("parentUuid") or row.get("logicalParentUuid") or ""
    seconds = seconds_of(any_time(row.get("timestamp")))
    return BranchNode(str(row["uuid"]), str(parent), seconds, row)


def _code_messages(
    row: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    message = row.get("message") or {}
    text = message_text(message.get("content") or "").strip()
    added = row.get("isMeta") or row.get("isCompactSummary") or _ADDED.fullmatch(text)
    role = message.get("role")
    if not text or added or role not in ("user", "assistant"):
        counts[_NOT_SPOKEN] += 1
        return
    moment = any_time(row.get("timestamp"))
    yield ExportedMessage(moment, "", text, role == "assistant")


def read_codex(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield a talk per file: the typed messages and the answers."""
    for file in export_files(path, "codex", counts):
        rows = list(iter_objects(file, counts))
        typed = set[str]()
        name = file.stem
        for where, row in rows:
            with faults_of_export(where):
                payload = row.get("payload") or {}
                if payload.get("type") == "user_message":
                    typed.add(str(payload.get("message") or "").strip())
                if row.get("type") == "session_meta":
                    name = str(payload.get("id") or name)
        messages: list[ExportedMessage] = []
        for where, row in rows:
            with faults_of_export(where):
                messages += _codex_messages(row, typed, counts)
        yield Talk(name, messages)


def _codex_messages(
    row: Mapping[str, Any], typed: set[str], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    """Yield the message of a line; `typed`: the messages that the user typed, if the file records them."""
    # older files have the bare message on a line
    message = row.get("payload") or row
    role = message.get("role")
    if message.get("type", "message") != "message" or role not in ("user", "assistant"):
        counts[_NOT_SPOKEN] += 1
        return
    text = message_text(message.get("content") or "").strip()
    added = role == "user" and (
        text not in typed if typed else bool(_ADDED.fullmatch(text))
    )
    if not text or added or not is_addressed_to_user(message):
        counts[_NOT_SPOKEN] += 1
        return
    moment = any_time(row.get("timestamp"))
    yield ExportedMessage(moment, "", text, role == "assistant")
