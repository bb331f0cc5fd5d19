"""Telegram (result.json) and Discord: exports of DiscordChatExporter, and the package of one's own data."""

from __future__ import annotations

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

_SPOKEN = {"Default", "Reply", "0", "19"}


def read_telegram(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield the chat of a file, or all chats of a whole account."""
    file = path / "result.json" if path.is_dir() else path
    top = json_of(file)
    with faults_of_export(str(file)):
        chats = top["chats"]["list"] if "chats" in top else [top]
    for number, chat in enumerate(chats, start=1):
        with faults_of_export(f"{file}: chat {number}"):
            said = [one for place in chat["messages"] if (one := _telegram_message(place, counts)).text]
            name = str(chat.get("name") or chat.get("type") or f"chat-{number}")
            yield Talk(name, said, "" if chat.get("type") in (None, "personal_chat", "saved_messages") else name)


def _telegram_message(one: dict[str, Any], counts: Counter[str]) -> ExportedMessage:
    parts = one.get("text") or ""
    parts = parts if isinstance(parts, list) else [parts]
    text = "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in parts).strip()
    if one.get("type", "message") != "message" or not text:
        counts["left out: media without a caption, and notices"] += 1
        return ExportedMessage(None, "", "")
    at = utc_time(one["date_unixtime"]) if one.get("date_unixtime") else iso_time(one["date"])
    return ExportedMessage(at, str(one.get("from") or one.get("from_id") or "somebody"), text)


def read_discord(path: Path, _splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield a channel a file; the package of one's own data has only what one said oneself."""
    if path.is_file():
        yield from _discord_channel(path, counts)
        return
    # the package of one's own data keeps who and where beside the messages
    others = ("index.json", "channel.json", "user.json")
    files = sorted(file for file in path.rglob("*.json") if file.name not in others)
    if not files:
        raise DatasetError(f"{path}: no export of Discord: there is no JSON file with messages in it")
    for file in files:
        yield from _discord_channel(file, counts)


def _discord_channel(file: Path, counts: Counter[str]) -> Iterator[Talk]:
    _, top = next(iter_objects(file, 1), ("", {}))
    with faults_of_export(str(file)):
        if isinstance(top, dict) and "messages" in top:
            said = [one for place in top["messages"] if (one := _discord_message(place, counts)).text]
            name = str(top["channel"]["name"])
            yield Talk(name, said, name)
        else:
            rows = [row for _, row in iter_objects(file)]
            texts = [(iso_time(row["Timestamp"]), str(row.get("Contents") or "").strip()) for row in rows]
            counts["left out: messages without text, and notices"] += sum(not text for _, text in texts)
            yield Talk(file.parent.name, [ExportedMessage(at, "", text) for at, text in texts if text])


def _discord_message(one: dict[str, Any], counts: Counter[str]) -> ExportedMessage:
    text = str(one.get("content") or "").strip()
    if str(one.get("type", "Default")) not in _SPOKEN or not text:
        counts["left out: messages without text, and notices"] += 1
        return ExportedMessage(None, "", "")
    author = one["author"]
    return ExportedMessage(iso_time(one["timestamp"]), str(author.get("nickname") or author["name"]), text)
