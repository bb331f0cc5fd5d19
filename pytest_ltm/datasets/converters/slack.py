"""Slack's export: a folder with users.json and a folder for each channel, which has a file for each day."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import json_of
from pytest_ltm.datasets.converters.chats import ExportedMessage, Splitting, Talk, utc_time

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

# What kinds of messages say something; the others tell who came and went.
_SPOKEN = {None, "bot_message", "thread_broadcast", "me_message", "file_share"}
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
    for number, message in enumerate(_json_list(file), start=1):
        text = _LINK.sub(lambda result: _link_text(result, people), _text_of(message))
        text = html.unescape(text).strip()
        if message.get("subtype") not in _SPOKEN or not text:
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


def _text_of(message: dict[str, Any]) -> str:
    """Return what a message says: its text, else that of its blocks, else that of what is attached to it."""
    attached = message.get("attachments")
    parts = [one.get("text") or one.get("fallback") for one in attached or [] if isinstance(one, dict)]
    return (
        str(message.get("text") or "")
        or "\n".join(_block_texts(message.get("blocks")))
        or "\n".join(str(part) for part in parts if part)
    )


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


def _link_text(match: re.Match[str], people: dict[Any, str]) -> str:
    target, label = match[1], match[2]
    if target.startswith("@"):
        return f"@{people.get(target[1:]) or label or target[1:]}"
    if target.startswith(("#", "!")):
        return f"{target[0] if target[0] == '#' else '@'}{(label or target[1:]).lstrip('@')}"
    return label or target.removeprefix("mailto:")


def _json_list(file: Path) -> list[dict[str, Any]]:
    rows = json_of(file)
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise DatasetError(f"{file}: expected a JSON list of objects. Export it again")
    return rows
