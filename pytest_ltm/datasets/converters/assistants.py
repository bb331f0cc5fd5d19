"""Reads exports of chats with models: ChatGPT, Claude, Gemini, Grok, DeepSeek, LibreChat, Open WebUI, lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ltm.api.storage import DatasetError, read_regular
from pytest_ltm.datasets.converters.message_columns import page_text
from pytest_ltm.datasets.converters.messages import (
    REPLACED,
    THOUGHT_PARTS,
    BranchNode,
    ExportedMessage,
    Splitting,
    Talk,
    any_time,
    faults_of_export,
    is_addressed_to_user,
    iso_time,
    message_text,
    seconds_of,
    shown_branch,
    utc_time,
)
from pytest_ltm.datasets.converters.shapes import export_files, iter_objects
from pytest_ltm.datasets.converters.written_dates import named_time

_NO_TEXT = "left out: messages without text, thoughts, or of tools"
_FILES = "left out: attached files"


def _objects(
    path: Path, layout: str, counts: Counter[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the objects of all files in a layout."""
    for file in export_files(path, layout, counts):
        yield from iter_objects(file, counts)


def _read_talks(
    path: Path,
    layout: str,
    counts: Counter[str],
    read_messages: Callable[[Any, Counter[str]], Iterable[ExportedMessage]],
    *names: str,
) -> Iterator[Talk]:
    """Yield a talk for each object in a layout; `names`: the fields that may have its name."""
    objects = _objects(path, layout, counts)
    for number, (where, talk) in enumerate(objects, start=1):
        with faults_of_export(where):
            messages = list(read_messages(talk, counts))
            name = next(filter(None, map(talk.get, names)), f"conversation-{number}")
            yield Talk(str(name), messages)


# --- ChatGPT: conversations.json, or numbered parts of it, each a list of message
# trees.

# Citation marks, and tags with a prefix that the program renders as cards; neither is
# read aloud.
_CITED = re.compile(
    r"\s?(?:\ue200[^\ue201]*\ue201|\u3010\d+\u2020[^\u3011]*\u3011|<(\w+:\w+)\b[^<>]*>.*?</\1>)",
    re.DOTALL,
)
_SPOKEN = {"text", "multimodal_text"}


def read_openai(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations, each as the branch that was shown last."""
    names = ("conversation_id", "id")
    return _read_talks(path, "openai", counts, _openai_messages, *names)


def _openai_messages(
    talk: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    tree = []
    for name, node in talk["mapping"].items():
        parent = str(node.get("parent") or "")
        at = float((node.get("message") or {}).get("create_time") or 0)
        tree.append(BranchNode(str(name), parent, at, node.get("message")))
    branch = shown_branch(tree, talk.get("current_node"))
    shown_ids = {node.id for node in branch}
    hidden = [node for node in tree if node.id not in shown_ids]
    counts[REPLACED] += sum(bool(_openai_text(node.message)) for node in hidden)
    when = talk.get("create_time") or None
    if not any(node.at for node in branch):
        when = when or talk.get("update_time")
    for message in filter(None, (node.message for node in branch)):
        text = _openai_text(message)
        role = (message.get("author") or {}).get("role")
        if text and role in {"user", "assistant"}:
            if message.get("create_time"):
                when = max(float(when or 0), float(message["create_time"]))
            elif when:
                counts[
                    "guessed: times of messages without one, from those around them"
                ] += 1
            spoken = _CITED.sub("", text).strip()
            counts["cut: marks of sources in replies"] += spoken != text
            moment = utc_time(when) if when else None
            yield ExportedMessage(moment, "", spoken, role == "assistant")
        elif message.get("recipient", "all") != "all":
            counts["left out: messages to tools, memory writes and documents"] += 1
        else:
            counts[_NO_TEXT] += 1


def _openai_text(message: Any) -> str:
    """Return the text of a message; empty if it is hidden, addressed to a tool, or not speech."""
    message = message or {}
    content = message.get("content") or {}
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if (
        hidden
        or content.get("content_type") not in _SPOKEN
        or not is_addressed_to_user(message)
    ):
        return ""
    parts = content.get("parts") or []
    return "\n".join(filter(None, map(_openai_part, parts))).strip()


def _openai_part(part: Any) -> str:
    """Return a part that is text or transcribed speech; other parts are pictures and files."""
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        return str(part.get("text") or "")
    return part if isinstance(part, str) else ""


# --- DeepSeek: the same tree, with fragments.


def read_deepseek(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations, each as the branch written last, without thoughts."""
    return _read_talks(path, "deepseek", counts, _deepseek_messages, "id")


def _deepseek_messages(
    talk: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    tree = []
    for name, node in talk["mapping"].items():
        tree.append(_deepseek_node(name, node))
    for message in _shown_messages(tree, None, counts):
        yield from _spoken_fragments(message, counts)


def _deepseek_node(name: str, node: Mapping[str, Any]) -> BranchNode:
    message = node.get("message")
    moment = any_time((message or {}).get("inserted_at"))
    return BranchNode(name, str(node.get("parent") or ""), seconds_of(moment), message)


def _spoken_fragments(
    message: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    moment = any_time(message.get("inserted_at"))
    counts[_FILES] += len(message.get("files") or [])
    for fragment in message.get("fragments") or []:
        kind = fragment.get("type")
        text = str(fragment.get("content") or "").strip()
        if kind in ("REQUEST", "RESPONSE") and text:
            yield ExportedMessage(moment, "", text, kind == "RESPONSE")
        else:
            counts[_NO_TEXT] += 1


def _shown_messages(
    tree: Sequence[BranchNode], current: object, counts: Counter[str]
) -> list[Any]:
    """Return the messages of the branch that was shown, and count the others."""
    branch = shown_branch(tree, current)
    shown_ids = {node.id for node in branch}
    hidden = [node for node in tree if node.id not in shown_ids]
    counts[REPLACED] += sum(bool(node.message) for node in hidden)
    return [node.message for node in branch if node.message]


# --- Claude.


def read_claude(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations, each as the branch shown last, without thoughts and tools."""
    return _read_talks(path, "claude", counts, _claude_messages, "uuid")


def _claude_messages(
    talk: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    rows = _shown_rows(
        talk["chat_messages"],
        ("uuid", "parent_message_uuid", "created_at"),
        talk.get("current_leaf_message_uuid"),
        counts,
    )
    for row in rows:
        message = _claude_message(row, talk, counts)
        counts["left out: messages without text"] += not message.text
        if message.text:
            yield message


def _shown_rows(
    rows: Sequence[Mapping[str, Any]],
    names: tuple[str, str, str],
    current: object,
    counts: Counter[str],
) -> list[Any]:
    """Return the shown branch of messages with parent links, or all of them without any link.

    `names`: the fields for id, parent id and time.
    """
    id_name, parent, time = names
    if not any(row.get(parent) for row in rows):
        return list(rows)
    tree = []
    for row in rows:
        at = seconds_of(any_time(row.get(time)))
        tree.append(
            BranchNode(str(row.get(id_name)), str(row.get(parent) or ""), at, row)
        )
    return _shown_messages(tree, current, counts)


def _claude_message(
    row: Mapping[str, Any], talk: Mapping[str, Any], counts: Counter[str]
) -> ExportedMessage:
    parts = row.get("content") or []
    texts = [part.get("text") or "" for part in parts if part.get("type") == "text"]
    counts["left out: thoughts and calls of tools"] += len(parts) - len(texts)
    # older exports have no parts, only the text
    text = "\n".join(filter(None, texts)) or str(row.get("text") or "")
    attached = [*(row.get("attachments") or []), *(row.get("files") or [])]
    # long pasted text is exported as a file
    pasted = [str(file.get("extracted_content") or "") for file in attached]
    counts[_FILES] += pasted.count("")
    text = "\n".join(filter(None, [text, *pasted]))
    moment = iso_time(row.get("created_at") or talk.get("created_at"))
    return ExportedMessage(moment, "", text.strip(), row["sender"] == "assistant")


# --- Gemini: the activity of Takeout, as JSON or as a page, and prompts of AI Studio.

# In most languages, the announcement of an activity ends with a colon.
_ANNOUNCED = re.compile(
    r"\s*((?:[^\s:\uff1a]+\s+){0,4}[^\s:\uff1a]*)\s?[:\uff1a]\s*(.+)", re.DOTALL
)
_PROMPTED = re.compile(r"Prompted\s+(.+)", re.DOTALL)
_ENGLISH = ("", "Gemini Apps", "Bard")
_NOT_PROMPTS = "left out: activities that are not prompts"


def read_gemini(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the activity of Takeout as one conversation, and each prompt of AI Studio."""
    activities: list[_Activity] = []
    for file in export_files(path, "gemini", counts):
        if file.suffix.lower() in {".html", ".htm"}:
            activities += _page_activities(file)
            continue
        for where, row in iter_objects(file, counts):
            with faults_of_export(where):
                if "chunkedPrompt" in row:
                    chunks = row["chunkedPrompt"]["chunks"]
                    yield Talk(file.stem, list(_studio_messages(chunks, counts)))
                else:
                    activities.append(_row_activity(row))
    if activities:
        yield Talk("gemini", list(_activity_messages(activities, counts)))


def _studio_messages(
    chunks: Iterable[Mapping[str, Any]], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    for chunk in chunks:
        text = str(chunk.get("text") or "").strip()
        if text and not chunk.get("isThought"):
            moment = any_time(chunk.get("createTime"))
            yield ExportedMessage(moment, "", text, chunk["role"] == "model")
        else:
            counts["left out: thoughts, and parts without text"] += 1


class _Activity(NamedTuple):
    """One entry of an account's activity log."""

    header: str
    """The product's name, in the language of the account."""
    title: str
    at: datetime | None
    reply: str


def _row_activity(row: Mapping[str, Any]) -> _Activity:
    pages = [page_text(item["html"]) for item in row.get("safeHtmlItem") or []]
    header = str(row.get("header") or "")
    title = str(row["title"])
    reply = "\n".join(filter(None, pages)).strip()
    return _Activity(header, title.strip(), iso_time(row.get("time")), reply)


def _activity_messages(
    activities: Sequence[_Activity], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    common = _usual_announcement(activities)
    # Takeout lists the newest first
    for header, title, moment, reply in reversed(activities):
        prompt = _prompt_of(header, title, common)
        if not prompt:
            counts[_NOT_PROMPTS] += 1
            continue
        yield ExportedMessage(moment, "", prompt)
        counts["left out: prompts without a reply"] += not reply
        if reply:
            yield ExportedMessage(moment, "", reply, by_model=True)


def _usual_announcement(activities: Iterable[_Activity]) -> str:
    """Return the most common beginning, up to a colon, of titles with a reply; "" without one."""
    answered = [activity.title for activity in activities if activity.reply]
    heads = [match[1] for title in answered if (match := _ANNOUNCED.fullmatch(title))]
    return Counter(heads).most_common(1)[0][0] if heads else ""


def _prompt_of(header: str, title: str, common: str) -> str:
    """Return the user's prompt; "" for other activities."""
    if match := _PROMPTED.fullmatch(title):
        return match[1].strip()
    if header in _ENGLISH and header:
        return ""
    match = _ANNOUNCED.fullmatch(title)
    if common and match and match[1] == common:
        return match[2].strip()
    # the account's language has no such announcement
    return "" if common else title


_CELL = re.compile(
    r'<p class="mdl-typography--title">(?P<header>.*?)</p>.*?'
    r'<div class="content-cell[^"]*body-1">(?P<content>.*?)(?=<div class="content-cell|</div></div>)',
    re.DOTALL,
)


def _page_activities(path: Path) -> Iterator[_Activity]:
    """Yield the activities on a page: a title, a line with the time, and the reply."""
    try:
        page = read_regular(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    for cell in _CELL.finditer(page):
        lines = page_text(cell["content"]).splitlines()
        place, moment = _first_time(lines)
        title = "\n".join(lines[:place])
        reply = "\n".join(lines[place + 1 :])
        yield _Activity(page_text(cell["header"]), title, moment, reply.strip())


def _first_time(lines: Sequence[str]) -> tuple[int, datetime | None]:
    """Return the place of the first line with a time, and the time; the second line if none has one."""
    for place, line in enumerate(lines):
        if moment := named_time(line):
            return place, moment
    return 1, None


# --- Grok.


def read_grok(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations, each as the branch that was shown last."""
    tops = [top for _, top in _objects(path, "grok", counts)]
    with faults_of_export(str(path)):
        talks = list(chain.from_iterable(top["conversations"] for top in tops))
    for number, talk in enumerate(talks, start=1):
        with faults_of_export(f"{path}: conversation {number}"):
            conversation = talk["conversation"]
            rows = _shown_rows(
                [row["response"] for row in talk["responses"]],
                ("_id", "parent_response_id", "create_time"),
                conversation.get("leaf_response_id"),
                counts,
            )
            messages = []
            for row in rows:
                text = str(row.get("message") or "").strip()
                by_model = str(row["sender"]).lower() not in USER_ROLES
                text = _CITED.sub("", text) if by_model else text
                counts[_NO_TEXT] += not text
                moment = any_time(row.get("create_time"))
                if text:
                    messages.append(ExportedMessage(moment, "", text, by_model))
            yield Talk(
                str(conversation.get("id") or f"conversation-{number}"), messages
            )


# --- LibreChat and Open WebUI.


def read_librechat(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations, each as the branch that was written last."""
    return _read_talks(path, "librechat", counts, _librechat_messages, "conversationId")


def _librechat_messages(
    talk: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    rows = _shown_rows(
        list(_with_children(talk["messages"])),
        ("messageId", "parentMessageId", "createdAt"),
        None,
        counts,
    )
    for row in rows:
        parts = _spoken_parts(row.get("content"))
        text = parts or str(row.get("text") or "").strip()
        counts[_NO_TEXT] += not text
        if text:
            moment = any_time(row.get("createdAt"))
            yield ExportedMessage(moment, "", text, not row["isCreatedByUser"])


def _with_children(rows: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Flatten nested messages without recursion."""
    waiting = list(rows)
    while waiting:
        row = waiting.pop(0)
        yield row
        waiting += row.get("children") or []


def _spoken_parts(content: Any) -> str:
    """Return the text parts of a message, without thoughts."""
    if not isinstance(content, list):
        return message_text(content).strip()
    spoken = []
    for part in content:
        if not (isinstance(part, dict) and part.get("type") in THOUGHT_PARTS):
            spoken.append(part)
    return message_text(spoken).strip()


def read_openwebui(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the chats, each as the branch that was shown last."""
    return _read_talks(path, "openwebui", counts, _openwebui_messages, "id")


def _openwebui_messages(
    talk: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    history = talk["chat"]["history"]
    rows = _shown_rows(
        list(history["messages"].values()),
        ("id", "parentId", "timestamp"),
        history.get("currentId"),
        counts,
    )
    return _listed_messages(rows, counts)


# --- Lists of turns, the format of most other programs.

MODEL_ROLES = {
    "gpt",
    "assistant",
    "model",
    "chatgpt",
    "bing",
    "bard",
    "claude",
    "ai",
    "bot",
}
USER_ROLES = {"human", "user"}


def read_sharegpt(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield lists of turns: `conversations` with from and value, or `messages` with role and content."""
    names = ("id", "conversation_id")
    return _read_talks(path, "sharegpt", counts, _sharegpt_messages, *names)


def _sharegpt_messages(
    talk: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    field = "conversations" if "conversations" in talk else "messages"
    return _listed_messages(talk[field], counts)


def _listed_messages(
    turns: Iterable[Mapping[str, Any]], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    for turn in turns:
        role = str(turn["from"] if "from" in turn else turn["role"]).lower()
        text = _spoken_parts(turn["value"] if "value" in turn else turn.get("content"))
        spoken = role in MODEL_ROLES | USER_ROLES and is_addressed_to_user(turn)
        counts["left out: turns of tools, and of the system"] += not spoken
        if spoken and text:
            times = map(turn.get, ("timestamp", "created_at"))
            moment = any_time(next(filter(None, times), None))
            yield ExportedMessage(moment, "", text, role in MODEL_ROLES)
