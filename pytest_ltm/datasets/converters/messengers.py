"""Chats between people: Telegram, Discord and Slack."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import json_of
from pytest_ltm.datasets.converters.chats import (
    ExportedMessage,
    Splitting,
    Talk,
    faults_of_export,
    iso_time,
    iter_objects,
    utc_time,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path


# --- Telegram: result.json, of one chat or of a whole account.


def read_telegram(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the chat of a file, or all chats of a whole account."""
    file = path / "result.json" if path.is_dir() else path
    top = json_of(file)
    with faults_of_export(str(file)):
        chats = top["chats"]["list"] if "chats" in top else [top]
    for number, chat in enumerate(chats, start=1):
        said = []
        with faults_of_export(f"{file}: chat {number}"):
            for one in chat["messages"]:
                parts = one.get("text") or ""
                # a link or a name in bold makes the text a list of parts
                parts = parts if isinstance(parts, list) else [parts]
                text = "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts).strip()
                if one.get("type", "message") != "message" or not text:
                    counts["left out: media without a caption, and notices"] += 1
                    continue
                # `date` is in the telephone's own zone, and names none
                at = utc_time(one["date_unixtime"]) if one.get("date_unixtime") else iso_time(one["date"])
                said.append(ExportedMessage(at, str(one.get("from") or one.get("from_id") or "somebody"), text))
            name = str(chat.get("name") or chat.get("type") or f"chat-{number}")
            yield Talk(name, said, "" if chat.get("type") in (None, "personal_chat", "saved_messages") else name)


# --- Discord: exports of DiscordChatExporter, and the package of one's own data.

# By name as the exporter writes kinds of messages, or by number.
_DISCORD_SPOKEN = {"Default", "Reply", "0", "19"}


def read_discord(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield a channel a file; the package of one's own data has only what one said oneself."""
    # the package of one's own data keeps who and where beside the messages
    others = ("index.json", "channel.json", "user.json")
    inside = sorted(file for file in path.rglob("*.json") if file.name not in others)
    files = [path] if path.is_file() else inside
    if not files:
        raise DatasetError(f"{path}: no export of Discord: there is no JSON file with messages in it")
    for file in files:
        _, top = next(iter_objects(file, 1), ("", {}))
        said = []
        with faults_of_export(str(file)):
            if isinstance(top, dict) and "messages" in top:
                for one in top["messages"]:
                    text = str(one.get("content") or "").strip()
                    if str(one.get("type", "Default")) not in _DISCORD_SPOKEN or not text:
                        counts["left out: messages without text, and notices"] += 1
                        continue
                    who = str(one["author"].get("nickname") or one["author"]["name"])
                    said.append(ExportedMessage(iso_time(one["timestamp"]), who, text))
                yield Talk(str(top["channel"]["name"]), said, str(top["channel"]["name"]))
                continue
            for _, row in iter_objects(file):
                at, text = iso_time(row["Timestamp"]), str(row.get("Contents") or "").strip()
                counts["left out: messages without text, and notices"] += not text
                said += [ExportedMessage(at, "", text)] if text else []
            yield Talk(file.parent.name, said)


# --- Slack: a folder with users.json and a folder for each channel, which has a file for each day.

# What kinds of messages say something; the others tell who came and went.
_SLACK_SPOKEN = {None, "bot_message", "thread_broadcast", "me_message", "file_share"}
_LINK = re.compile(r"<([^<>|\s]+)(?:\|([^<>]*))?>")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")


def read_slack(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the channels; a guest has the name that stands in the message."""
    people = {}
    for user in _json_list(path / "users.json") if (path / "users.json").is_file() else []:
        people[user.get("id")] = _profile_name(user.get("profile")) or str(user.get("real_name") or user.get("name"))
    channels = [one for one in sorted(path.iterdir()) if one.is_dir()] if path.is_dir() else []
    days = {one: sorted(day for day in one.iterdir() if _DAY.fullmatch(day.name)) for one in channels}
    if not any(days.values()):
        raise DatasetError(f"{path}: no export of Slack: no folder in it has files such as 2026-03-02.json")
    for channel, files in days.items():
        messages = [one for file in files for one in _day_messages(file, people, counts)]
        yield Talk(channel.name, messages, f"#{channel.name}")


def _profile_name(profile: Any) -> str:
    profile = profile if isinstance(profile, dict) else {}
    return str(profile.get("display_name") or profile.get("real_name") or "")


def _day_messages(file: Path, people: dict[Any, str], counts: Counter[str]) -> Iterator[ExportedMessage]:
    def link_text(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if target.startswith("@"):
            return f"@{people.get(target[1:]) or label or target[1:]}"
        if target.startswith(("#", "!")):  # a channel, or a group such as `!here`
            return f"{target[0] if target[0] == '#' else '@'}{(label or target[1:]).lstrip('@')}"
        return label or target.removeprefix("mailto:")

    for number, message in enumerate(_json_list(file), start=1):
        attached = [one for one in message.get("attachments") or [] if isinstance(one, dict)]
        shown = [str(part) for one in attached if (part := one.get("text") or one.get("fallback"))]
        # bots often leave the text empty, and say all in blocks or in what is attached
        text = str(message.get("text") or "") or "\n".join(_block_texts(message.get("blocks"))) or "\n".join(shown)
        text = html.unescape(_LINK.sub(link_text, text)).strip()
        if message.get("subtype") not in _SLACK_SPOKEN or not text:
            counts["left out: messages without text, or about who came and went"] += 1
            continue
        bot = message.get("username") or (message.get("bot_profile") or {}).get("name")
        guest = _profile_name(message.get("user_profile"))
        who = people.get(message.get("user")) or guest or bot or message.get("user") or "somebody"
        try:
            at = utc_time(message["ts"])
        except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
            raise DatasetError(f"{file}: message {number}: 'ts' does not hold a time: {message.get('ts')!r}") from error
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
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise DatasetError(f"{file}: expected a JSON list of objects. Export it again")
    return rows
