"""Exports of chats and traces, but for WhatsApp's: what each program writes, as messages.

Of chats with models (ChatGPT, Claude, Gemini and others), between people (Telegram,
Discord, Slack), and of traces of agents (LangSmith, Langfuse, OpenTelemetry).
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_ltm._core.storage.errors import DatasetError
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
from pytest_ltm.datasets.rows import json_of

# --- ChatGPT: conversations.json, or numbered parts of it, each a list of trees of
# messages.

# Marks of sources, which nobody reads out.
_CITED = re.compile(r"\s?(?:\ue200[^\ue201]*\ue201|\u3010\d+\u2020[^\u3011]*\u3011)")
_SPOKEN = {"text", "multimodal_text"}


def read_openai(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations, each as the branch that was shown last."""
    talks = chain.from_iterable(map(iter_objects, conversation_files(path)))
    for number, (where, talk) in enumerate(talks, start=1):
        nodes = talk.get("mapping") if isinstance(talk, dict) else None
        if not isinstance(nodes, dict):
            raise DatasetError(
                f"{where}: no conversation of OpenAI's export: the field 'mapping' is missing"
            )
        name = str(
            talk.get("conversation_id") or talk.get("id") or f"conversation-{number}"
        )
        with faults_of_export(where):
            yield Talk(name, list(_shown_branch(talk, nodes, counts)))


def _shown_branch(
    talk: Mapping[str, Any], nodes: Mapping[str, Any], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    """Yield the messages of the branch that was shown last; the others were replaced by edits."""
    leaves = [name for name, node in nodes.items() if not node.get("children")]
    at: Any = talk.get("current_node") or (leaves[-1] if leaves else None)
    path: dict[str, Any] = {}
    while at in nodes and at not in path:  # an edited export may run in a circle
        path[at] = nodes[at].get("message")
        at = nodes[at].get("parent")
    counts["left out: messages in branches that edits replaced"] += sum(
        bool(_openai_text(node.get("message")))
        for name, node in nodes.items()
        if name not in path
    )
    when = talk.get("create_time") or None
    every = [
        float(one["create_time"])
        for one in path.values()
        if one and one.get("create_time")
    ]
    if not every:
        when = when or talk.get("update_time")
    for message in filter(None, reversed(path.values())):
        text, role = _openai_text(message), (message.get("author") or {}).get("role")
        if text and role in {"user", "assistant"}:
            if message.get("create_time"):
                when = max(float(when or 0), float(message["create_time"]))
            elif when:
                counts[
                    "guessed: times of messages without one, from those around them"
                ] += 1
            spoken = _CITED.sub("", text)
            counts["cut: marks of sources in replies"] += spoken != text
            yield ExportedMessage(
                utc_time(when) if when else None,
                "",
                spoken.strip(),
                role == "assistant",
            )
        elif message.get("recipient", "all") != "all":
            counts["left out: messages to tools, memory writes and documents"] += 1
        else:
            counts["left out: messages without text, thoughts, or of tools"] += 1


def _openai_text(message: Any) -> str:
    """Return what a message says: nothing where it is hidden, for a tool or not speech."""
    message = message or {}
    content = message.get("content") or {}
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if (
        hidden
        or content.get("content_type") not in _SPOKEN
        or message.get("recipient", "all") != "all"
    ):
        return ""
    texts = []
    for part in content.get("parts") or []:
        # beside texts there are pictures, files, and what was said aloud
        aloud = (
            isinstance(part, dict) and part.get("content_type") == "audio_transcription"
        )
        texts.append(
            str(part.get("text") or "")
            if aloud
            else part
            if isinstance(part, str)
            else ""
        )
    return "\n".join(filter(None, texts)).strip()


# --- Other chats with models.

_PROMPTED = re.compile(r"^Prompted\s+")
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"</?(?:p|br|li|div|h\d|tr)\b[^<>]*>", re.IGNORECASE)
_MODEL_ROLES = {
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
_USER_ROLES = {"human", "user"}


def read_claude(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations; thoughts and tools are left out, files are named."""
    for file in conversation_files(path):
        for number, (where, talk) in enumerate(iter_objects(file), start=1):
            messages = []
            with faults_of_export(where):
                for one in talk["chat_messages"]:
                    parts = one.get("content") or []
                    texts = [
                        part.get("text") or ""
                        for part in parts
                        if part.get("type") == "text"
                    ]
                    counts["left out: thoughts and calls of tools"] += len(parts) - len(
                        texts
                    )
                    # older exports have no parts, only the text
                    text = (
                        "\n".join(filter(None, texts)) or str(one.get("text") or "")
                    ).strip()
                    counts["left out: messages without text"] += not text
                    files = len(one.get("attachments") or []) + len(
                        one.get("files") or []
                    )
                    counts["left out: attached files"] += files
                    at = iso_time(one.get("created_at") or talk.get("created_at"))
                    messages.append(
                        ExportedMessage(at, "", text, one["sender"] == "assistant")
                    )
                yield Talk(
                    str(talk.get("uuid") or f"conversation-{number}"),
                    [message for message in messages if message.text],
                )


def read_gemini(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the activity of Takeout as one conversation, or a prompt of AI Studio."""
    messages: list[ExportedMessage] = []
    for where, one in iter_objects(path):
        with faults_of_export(where):
            for chunk in (
                one["chunkedPrompt"]["chunks"] if "chunkedPrompt" in one else ()
            ):
                text = str(chunk.get("text") or "").strip()
                spoken = bool(text) and not chunk.get("isThought")
                counts["left out: thoughts, and parts without text"] += not spoken
                messages += (
                    [ExportedMessage(None, "", text, chunk["role"] == "model")]
                    if spoken
                    else []
                )
            if "chunkedPrompt" in one:
                continue
            at, title = iso_time(one.get("time")), str(one["title"])
            unmarked = (
                _PROMPTED.match(title) is None
            )  # in the languages of other accounts the word is another
            counts[
                "guessed: a title that does not begin with Prompted is what the user said"
            ] += unmarked
            messages.append(ExportedMessage(at, "", _PROMPTED.sub("", title).strip()))
            pages = [
                _BREAK.sub("\n", item["html"]) for item in one.get("safeHtmlItem") or []
            ]
            parts = (html.unescape(_TAG.sub("", page)) for page in pages)
            reply = "\n".join(
                re.sub(r"\n{2,}", "\n", part).strip() for part in parts
            ).strip()
            counts["left out: prompts without a reply"] += not reply
            messages += [ExportedMessage(at, "", reply, by_model=True)] if reply else []
    yield Talk("gemini", messages)


def read_sharegpt(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield lists of turns: `conversations` of from and value, or `messages` of role and content."""
    for number, (where, talk) in enumerate(iter_objects(path), start=1):
        messages = []
        with faults_of_export(where):
            for turn in (
                talk["conversations"] if "conversations" in talk else talk["messages"]
            ):
                role = str(turn["from"] if "from" in turn else turn["role"]).lower()
                text = message_text(
                    turn["value"] if "value" in turn else turn.get("content")
                ).strip()
                spoken = role in _MODEL_ROLES | _USER_ROLES
                counts["left out: turns of tools, and of the system"] += not spoken
                at = iso_time(turn.get("timestamp") or turn.get("created_at"))
                messages += (
                    [ExportedMessage(at, "", text, role in _MODEL_ROLES)]
                    if spoken and text
                    else []
                )
            yield Talk(
                str(
                    talk.get("id")
                    or talk.get("conversation_id")
                    or f"conversation-{number}"
                ),
                messages,
            )


def message_text(content: Any) -> str:
    """Return the text of a message: itself, its parts that are texts, or the field that holds it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(message_text, content)))
    if isinstance(content, dict) and content.get("type") in (
        None,
        "text",
        "output_text",
        "input_text",
    ):
        return next(
            (
                message_text(content[name])
                for name in ("text", "content")
                if content.get(name)
            ),
            "",
        )
    return ""


# --- Telegram: result.json, of one chat or of a whole account.


def read_telegram(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the chat of a file, or all chats of a whole account."""
    file = path / "result.json" if path.is_dir() else path
    top = json_of(file)
    with faults_of_export(str(file)):
        chats = top["chats"]["list"] if "chats" in top else [top]
    for number, chat in enumerate(chats, start=1):
        messages = []
        with faults_of_export(f"{file}: chat {number}"):
            for one in chat["messages"]:
                parts = one.get("text") or ""
                # a link or a name in bold makes the text a list of parts
                parts = parts if isinstance(parts, list) else [parts]
                text = "".join(
                    part if isinstance(part, str) else str(part.get("text") or "")
                    for part in parts
                ).strip()
                if one.get("type", "message") != "message" or not text:
                    counts["left out: media without a caption, and notices"] += 1
                    continue
                # `date` is local time, and names no zone
                at = (
                    utc_time(one["date_unixtime"])
                    if one.get("date_unixtime")
                    else iso_time(one["date"])
                )
                messages.append(
                    ExportedMessage(
                        at,
                        str(one.get("from") or one.get("from_id") or "somebody"),
                        text,
                    )
                )
            name = str(chat.get("name") or chat.get("type") or f"chat-{number}")
            yield Talk(
                name,
                messages,
                ""
                if chat.get("type") in (None, "personal_chat", "saved_messages")
                else name,
            )


# --- Discord: exports of DiscordChatExporter, and the package of one's own data.

# By name as the exporter writes kinds of messages, or by number.
_DISCORD_SPOKEN = {"Default", "Reply", "0", "19"}


def read_discord(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield a channel a file; the package of one's own data has only what one said oneself."""
    # the package of one's own data keeps who and where beside the messages
    others = ("index.json", "channel.json", "user.json")
    inside = sorted(file for file in path.rglob("*.json") if file.name not in others)
    files = [path] if path.is_file() else inside
    if not files:
        raise DatasetError(
            f"{path}: no export of Discord: there is no JSON file with messages in it"
        )
    for file in files:
        _, top = next(iter_objects(file, 1), ("", {}))
        messages = []
        with faults_of_export(str(file)):
            if isinstance(top, dict) and "messages" in top:
                for one in top["messages"]:
                    text = str(one.get("content") or "").strip()
                    if (
                        str(one.get("type", "Default")) not in _DISCORD_SPOKEN
                        or not text
                    ):
                        counts["left out: messages without text, and notices"] += 1
                        continue
                    who = str(one["author"].get("nickname") or one["author"]["name"])
                    messages.append(
                        ExportedMessage(iso_time(one["timestamp"]), who, text)
                    )
                yield Talk(
                    str(top["channel"]["name"]), messages, str(top["channel"]["name"])
                )
                continue
            for _, row in iter_objects(file):
                at, text = (
                    iso_time(row["Timestamp"]),
                    str(row.get("Contents") or "").strip(),
                )
                counts["left out: messages without text, and notices"] += not text
                messages += [ExportedMessage(at, "", text)] if text else []
            yield Talk(file.parent.name, messages)


# --- Slack: a folder with users.json and a folder for each channel, which has a file
# for each day.

# What kinds of messages say something; the others tell who came and went.
_SLACK_SPOKEN = {None, "bot_message", "thread_broadcast", "me_message", "file_share"}
_LINK = re.compile(r"<([^<>|\s]+)(?:\|([^<>]*))?>")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")


def read_slack(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the channels; a guest has the name that stands in the message."""
    people = {}
    for user in (
        _json_list(path / "users.json") if (path / "users.json").is_file() else []
    ):
        people[user.get("id")] = _profile_name(user.get("profile")) or str(
            user.get("real_name") or user.get("name")
        )
    channels = (
        [one for one in sorted(path.iterdir()) if one.is_dir()] if path.is_dir() else []
    )
    days = {
        one: sorted(day for day in one.iterdir() if _DAY.fullmatch(day.name))
        for one in channels
    }
    if not any(days.values()):
        raise DatasetError(
            f"{path}: no export of Slack: no folder in it has files such as 2026-03-02.json"
        )
    for channel, files in days.items():
        messages = [
            message for file in files for message in _day_messages(file, people, counts)
        ]
        yield Talk(channel.name, messages, f"#{channel.name}")


def _profile_name(profile: Any) -> str:
    profile = profile if isinstance(profile, dict) else {}
    return str(profile.get("display_name") or profile.get("real_name") or "")


def _day_messages(
    file: Path, people: dict[Any, str], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    def link_text(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if target.startswith("@"):
            return f"@{people.get(target[1:]) or label or target[1:]}"
        if target.startswith(("#", "!")):  # a channel, or a group such as `!here`
            return f"{target[0] if target[0] == '#' else '@'}{(label or target[1:]).lstrip('@')}"
        return label or target.removeprefix("mailto:")

    for number, message in enumerate(_json_list(file), start=1):
        attached = [
            one for one in message.get("attachments") or [] if isinstance(one, dict)
        ]
        shown = [
            str(part)
            for one in attached
            if (part := one.get("text") or one.get("fallback"))
        ]
        # bots often leave the text empty, and say all in blocks or in what is attached
        text = (
            str(message.get("text") or "")
            or "\n".join(_block_texts(message.get("blocks")))
            or "\n".join(shown)
        )
        text = html.unescape(_LINK.sub(link_text, text)).strip()
        if message.get("subtype") not in _SLACK_SPOKEN or not text:
            counts["left out: messages without text, or about who came and went"] += 1
            continue
        bot = message.get("username") or (message.get("bot_profile") or {}).get("name")
        guest = _profile_name(message.get("user_profile"))
        who = (
            people.get(message.get("user"))
            or guest
            or bot
            or message.get("user")
            or "somebody"
        )
        try:
            at = utc_time(message["ts"])
        except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
            raise DatasetError(
                f"{file}: message {number}: 'ts' does not hold a time: {message.get('ts')!r}"
            ) from error
        yield ExportedMessage(at, str(who), text)


def _block_texts(value: Any) -> Iterator[str]:
    """Yield the texts in blocks, however deep."""
    if isinstance(value, list):
        for one in value:
            yield from _block_texts(one)
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        for name in ("text", "fields", "elements"):
            yield from _block_texts(value.get(name))


def _json_list(file: Path) -> list[dict[str, Any]]:
    rows = json_of(file)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(f"{file}: expected a JSON list of objects. Export it again")
    return rows


# --- Traces of agents.

_USERS, _MODELS = {"user", "human"}, {"assistant", "ai", "model"}
# Fields in which frameworks put what went in, or came out, as a text.
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
    """Yield the threads of root runs: what the user said last, and what came out."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, run in _rows(path):
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
    yield from (Talk(name, messages) for name, messages in talks.items())


def read_langfuse(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the sessions of traces, or each trace that is in none."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, trace in _rows(path):
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
    yield from (Talk(name, messages) for name, messages in talks.items())


def read_otel(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the conversations of spans; those of a memory are calls, with what was written or found."""
    talks: dict[str, list[ExportedMessage]] = {}
    for where, row in _rows(path):
        with faults_of_export(where):
            # one span a line, or batches of them as collectors write them (OTLP), with
            # key and typed value apart
            batches = [
                scope["spans"]
                for resource in row.get("resourceSpans", ())
                for scope in resource["scopeSpans"]
            ]
            for span in (
                chain.from_iterable(batches) if "resourceSpans" in row else [row]
            ):
                facts = span.get("attributes") or {}
                if not isinstance(facts, dict):
                    facts = {
                        fact["key"]: next(iter(fact["value"].values()), None)
                        for fact in facts
                    }
                nanoseconds = span.get("startTimeUnixNano") or span.get(
                    "start_time_unix_nano"
                )
                at = (
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
                    asked = facts.get("gen_ai.memory.query.text")
                    call = ToolCall(name=operation, arguments=asked, result=records)
                    talk.append(
                        ExportedMessage(at, "", "", by_model=True, calls=(call,))
                    )
                elif operation in (
                    "chat",
                    "text_completion",
                    "generate_content",
                    "invoke_agent",
                ):
                    said, came = (
                        _span_messages(facts, "input", "prompt"),
                        _span_messages(facts, "output", "completion"),
                    )
                    talk += _exchange(said, came, at, counts)
                else:
                    counts["left out: spans of neither a model nor a memory"] += 1
    yield from (Talk(name, messages) for name, messages in talks.items())


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(path.glob("*.json*")) if path.is_dir() else [path]:
        for where, row in iter_objects(file):
            if not isinstance(row, dict):
                raise DatasetError(
                    f"{where}: expected an object, a run or trace each. Export it again"
                )
            yield where, row


def _span_messages(facts: dict[str, Any], name: str, older: str) -> Any:
    """Return the messages of a span: as JSON, or in numbered attributes as instrumentations wrote them before."""
    if f"gen_ai.{name}.messages" in facts:
        return {"messages": _parsed(facts[f"gen_ai.{name}.messages"])}
    numbered = [
        key
        for key in facts
        if key.startswith(f"gen_ai.{older}.") and key.endswith(".content")
    ]
    rows = [
        {"role": facts.get(key.removesuffix("content") + "role"), "content": facts[key]}
        for key in numbered
    ]
    return {"messages": rows}


def _parsed(value: Any) -> Any:
    """Return what a text of JSON holds, any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _exchange(
    given: Any, came: Any, at: datetime | None, counts: Counter[str]
) -> list[ExportedMessage]:
    """Return what the user said last, and the reply."""
    said, reply = _last_text(given, _USERS), _last_text(came, _MODELS)
    counts["left out: runs without a text of the user or the model"] += not (
        said and reply
    )
    exchange = [ExportedMessage(at, "", said)] if said else []
    return [
        *exchange,
        *([ExportedMessage(at, "", reply, by_model=True)] if reply else []),
    ]


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
    return next(filter(None, (_row_text(row, roles) for row in reversed(rows))), "")


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
        message_text(
            one.get("parts") or one.get("content") or one.get("text") or ""
        ).strip()
        if role in roles
        else ""
    )
