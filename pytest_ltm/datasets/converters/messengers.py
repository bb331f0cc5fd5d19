"""Reads exports of chats between people: Telegram, Messenger and Instagram, Discord, Slack."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pytest_ltm.api.storage import DatasetError, read_text
from pytest_ltm.datasets.converters.assistants import MODEL_ROLES, USER_ROLES
from pytest_ltm.datasets.converters.message_columns import (
    DATE_OF_NUMBERS,
    find_columns,
    flat_row,
    is_notice,
    message_lists,
    page_text,
    plain_text,
    times_of,
)
from pytest_ltm.datasets.converters.messages import (
    ExportedMessage,
    Splitting,
    Talk,
    epoch_time,
    faults_of_export,
    iso_time,
    mark_forwarded,
    mark_quoted,
    utc_time,
)
from pytest_ltm.datasets.converters.shapes import export_files, iter_objects
from pytest_ltm.datasets.rows import load_json

_NOTICES = "left out: messages without text, and notices"
_FORWARDED = "marked: texts of others that were forwarded"

# --- Telegram: result.json, of one chat or of a whole account.


def read_telegram(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the chat of a file, or all chats of an account; HTML pages are one chat per folder."""
    pages: dict[Path, list[Path]] = {}
    for file in export_files(path, "telegram", counts):
        if file.suffix.lower() in {".html", ".htm"}:
            pages.setdefault(file.parent, []).append(file)
            continue
        _, top = next(iter_objects(file, counts))
        with faults_of_export(str(file)):
            chats = top["chats"]["list"] if "chats" in top else [top]
        for number, chat in enumerate(chats, start=1):
            with faults_of_export(f"{file}: chat {number}"):
                messages = list(_telegram_messages(chat["messages"], counts))
                name = str(chat.get("name") or chat.get("type") or f"chat-{number}")
                private = chat.get("type") in (None, "personal_chat", "saved_messages")
                yield Talk(name, messages, "" if private else name)
    for folder, files in pages.items():
        messages = []
        for file in files:
            messages += _page_messages(file, counts)
        yield Talk(folder.name or "chat", messages)


_PAGE_MESSAGE = re.compile(r'<div class="message (?=default|service)')
_PAGE_TIME = re.compile(
    r'title="(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{4}) (?P<clock>[\d:]+)(?: UTC(?P<zone>[+-]\d\d:\d\d))?"'
)
_PAGE_NAME = re.compile(r'<div class="from_name">(.*?)<', re.DOTALL)
_PAGE_TEXT = re.compile(r'<div class="text">(.*?)</div>', re.DOTALL)


def _page_messages(file: Path, counts: Counter[str]) -> Iterator[ExportedMessage]:
    """Yield the messages of a page; a joined message has the sender of the previous one."""
    sender = "somebody"
    for block in _PAGE_MESSAGE.split(read_text(file))[1:]:
        own, _, forwarded = block.partition('<div class="forwarded body">')
        if name := _PAGE_NAME.search(own):
            sender = page_text(name[1])
        text = "\n".join(page_text(match[1]) for match in _PAGE_TEXT.finditer(block))
        time = _PAGE_TIME.search(own)
        if not text or time is None:
            counts["left out: media without a caption, and notices"] += 1
            continue
        if forwarded:
            counts[_FORWARDED] += 1
            source = _PAGE_NAME.search(forwarded)
            text = mark_forwarded(text, page_text(source[1]) if source else "")
        day = f"{time['year']}-{time['month']}-{time['day']}"
        moment = iso_time(f"{day}T{time['clock']}{time['zone'] or ''}")
        yield ExportedMessage(moment, sender, text)


def _telegram_messages(
    rows: Iterable[Mapping[str, Any]], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    for row in rows:
        text = _telegram_text(row.get("text") or "").strip()
        if row.get("type", "message") != "message" or not text:
            counts["left out: media without a caption, and notices"] += 1
            continue
        if "forwarded_from" in row:
            counts[_FORWARDED] += 1
            text = mark_forwarded(text, row["forwarded_from"])
        sender = str(row.get("from") or row.get("from_id") or "somebody")
        yield ExportedMessage(_telegram_time(row), sender, text)


def _telegram_text(parts: Any) -> str:
    """Return the text of a message, which is a list of parts if it contains links or bold names."""
    texts = []
    for part in parts if isinstance(parts, list) else [parts]:
        text = part if isinstance(part, str) else str(part.get("text") or "")
        quoted = isinstance(part, dict) and part.get("type") == "blockquote"
        texts.append(f"{mark_quoted(text)}\n" if quoted else text)
    return "".join(texts)


_QUARTER = timedelta(minutes=15)


def _telegram_time(row: Mapping[str, Any]) -> datetime | None:
    """Return when a message was sent, in the zone implied by its local time and UTC."""
    local = iso_time(row.get("date"))
    if not row.get("date_unixtime"):
        if local is None:
            raise KeyError("date")
        return local
    moment = utc_time(row["date_unixtime"])
    if local is None or local.tzinfo is not None:
        return moment
    offset = local.replace(tzinfo=timezone.utc) - moment
    if offset % _QUARTER or abs(offset) > timedelta(hours=14):
        return moment
    return moment.astimezone(timezone(offset))


# --- Messenger and Instagram: a folder per chat, with message_1.json and so on, or a
# file per encrypted chat.


def read_messenger(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the chats; the files of a folder form one chat."""
    chats: dict[Path, list[Any]] = {}
    for file in export_files(path, "messenger", counts):
        _, top = next(iter_objects(file, counts))
        # an encrypted chat has a file of its own, next to the others
        key = file if "threadName" in top else file.parent
        chats.setdefault(key, []).append((file, top))
    for parts in chats.values():
        messages: list[ExportedMessage] = []
        for file, top in parts:
            with faults_of_export(str(file)):
                messages += _messenger_messages(top["messages"], counts)
        first = parts[0][1]
        with faults_of_export(str(parts[0][0])):
            title = first.get("title") or first.get("threadName") or path.stem
            several = len(first["participants"]) > 2
        name = repair_latin(str(title))
        # the newest come first
        yield Talk(name, list(reversed(messages)), name if several else "")


def _messenger_messages(
    rows: Iterable[Mapping[str, Any]], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    for row in rows:
        text = repair_latin(str(row.get("content") or row.get("text") or "")).strip()
        notice = row.get("is_unsent") or row.get("isUnsent") or "call_duration" in row
        is_spoken = str(row.get("type") or "Generic").lower() in _MESSENGER_SPOKEN
        share = row.get("share") or {}
        shared = repair_latin(str(share.get("share_text") or "")).strip()
        if shared and not notice:
            counts[_FORWARDED] += 1
            quoted = mark_forwarded(shared)
            # a share announces itself in words that no one typed
            text = quoted if not share.get("link") else f"{quoted} {share['link']}"
        if notice or not is_spoken or not text or _REACTION.fullmatch(text):
            counts[_NOTICES] += 1
            continue
        sender = repair_latin(str(row.get("sender_name") or row["senderName"]))
        moment = epoch_time(row.get("timestamp_ms") or row["timestamp"])
        yield ExportedMessage(moment, sender, text)


# The text that English accounts get for a reaction.
_REACTION = re.compile(r"(?:Liked|Reacted \S{1,12} to) (?:a|your) message")
_MESSENGER_SPOKEN = {"generic", "share", "text", "link"}


def repair_latin(text: str) -> str:
    """Repair a text whose UTF-8 bytes were decoded as Latin-1."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text


# --- Discord: exports of DiscordChatExporter, and the user's own data package, both as
# JSON or as tables.

# Kinds of messages, by the exporter's name or by number.
_MENTION = re.compile(r"<@!?(\d+)>")
_DISCORD_SPOKEN = {"Default", "Reply", "Forward", "0", "19"}


def read_discord(
    path: Path, splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield a channel per file; the own data package contains only the user's messages."""
    for file in export_files(path, "discord", counts):
        rows = list(iter_objects(file, counts))
        with faults_of_export(str(file)):
            first = rows[0][1]
            if "messages" in first:
                room = str(first["channel"]["name"])
                messages = _discord_messages(first["messages"], counts)
                yield Talk(room, list(messages), room)
            elif "Contents" in first:
                messages = _own_messages(rows, counts)
                yield Talk(file.parent.name, list(messages))
            else:
                name = re.sub(r"\s*\[\d+\]$", "", file.stem)
                messages = _table_messages(rows, splitting, counts)
                yield Talk(name, list(messages), name)


def _discord_messages(
    rows: Iterable[Mapping[str, Any]], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    for row in rows:
        text = str(row.get("content") or "").strip()
        passed_on = row.get("forwardedMessage") or {}
        if forwarded := str(passed_on.get("content") or "").strip():
            counts[_FORWARDED] += 1
            text = "\n".join(filter(None, [text, mark_forwarded(forwarded)]))
        if str(row.get("type", "Default")) not in _DISCORD_SPOKEN or not text:
            counts[_NOTICES] += 1
            continue
        sender = _discord_name(row["author"])
        text = _name_mentioned(text, row.get("mentions") or ())
        yield ExportedMessage(iso_time(row["timestamp"]), sender, text)


def _name_mentioned(text: str, people: Iterable[Mapping[str, Any]]) -> str:
    """Replace the ids of mentioned people by their names."""
    names = {str(person["id"]): _discord_name(person) for person in people}
    return _MENTION.sub(lambda match: f"@{names.get(match[1], match[1])}", text)


def _discord_name(person: Mapping[str, Any]) -> str:
    return str(person.get("nickname") or person["name"])


def _own_messages(
    rows: Iterable[tuple[str, Mapping[str, Any]]], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    for _, row in rows:
        text = str(row.get("Contents") or "").strip()
        counts[_NOTICES] += not text
        if text:
            yield ExportedMessage(iso_time(row["Timestamp"]), "", text)


def _table_messages(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    splitting: Splitting,
    counts: Counter[str],
) -> Iterator[ExportedMessage]:
    """Yield the rows of a table; its dates are ISO 8601, or numeric in one common order."""
    written = [row for _, row in rows]
    dates = [str(row["Date"]).strip() for row in written]
    for row, moment in zip(written, _times_in(dates, splitting, counts), strict=True):
        text = str(row.get("Content") or "").strip()
        counts[_NOTICES] += not text
        if text:
            sender = str(row["Author"]).removesuffix("#0000")
            yield ExportedMessage(moment, sender, text)


def _times_in(
    dates: Sequence[str], splitting: Splitting, counts: Counter[str]
) -> Sequence[datetime]:
    """Return the times of a column; ValueError if they cannot be parsed in one order."""
    times = times_of(dates, splitting.order)
    if times is None:
        raise ValueError(f"no times in one order, such as {dates[0]!r}")
    if DATE_OF_NUMBERS.fullmatch(dates[0]):
        counts["guessed: the order of day and month (--dates says which it is)"] += 1
    return times


# --- Any other list of messages.


def read_list(path: Path, splitting: Splitting, counts: Counter[str]) -> Iterator[Talk]:
    """Yield each list of objects that have a time, a sender and a text, whatever their field names."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.suffix.lower() not in {".json", ".jsonl", ".csv"}:
            continue
        with faults_of_export(str(file)):
            objects = [value for _, value in iter_objects(file, counts)]
            for name, rows in message_lists(objects):
                messages = list(_guessed_messages(rows, splitting, counts))
                yield Talk(name or file.stem, messages)


def _guessed_messages(
    rows: Iterable[Mapping[str, Any]], splitting: Splitting, counts: Counter[str]
) -> Iterator[ExportedMessage]:
    written = list(rows)
    columns = find_columns([flat_row(row) for row in written])
    if columns is None:
        raise ValueError("no fields for time, sender and text")
    flat = [flat_row(row) for row in written if not is_notice(row)]
    spoken = [row for row in flat if row.get(columns.text) and row.get(columns.time)]
    counts[_NOTICES] += len(written) - len(spoken)
    dates = [row[columns.time] for row in spoken]
    for row, moment in zip(spoken, _times_in(dates, splitting, counts), strict=True):
        sender = row.get(columns.sender, "")
        role = sender.lower()
        name = "" if role in MODEL_ROLES | USER_ROLES else sender
        text = plain_text(row[columns.text])
        counts[_NOTICES] += not text
        if text:
            yield ExportedMessage(moment, name, text, role in MODEL_ROLES)


# --- Slack: a folder with users.json and a folder per channel, with a file per day.

# Subtypes of messages with text; the others report who joined and left.
_SLACK_SPOKEN = {None, "bot_message", "thread_broadcast", "me_message", "file_share"}
_LINK = re.compile(r"<([^<>|\s]+)(?:\|([^<>]*))?>")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")


def read_slack(
    path: Path, _splitting: Splitting, counts: Counter[str]
) -> Iterator[Talk]:
    """Yield the channels, or that of one day's file; a guest's name is taken from the message."""
    if path.is_file():
        yield Talk(path.stem, list(_day_messages(path, {}, counts)))
        return
    people = {}
    for user in (
        _json_list(path / "users.json") if (path / "users.json").is_file() else []
    ):
        people[user.get("id")] = _profile_name(user.get("profile")) or str(
            user.get("real_name") or user.get("name")
        )
    channels = [folder for folder in sorted(path.iterdir()) if folder.is_dir()]
    days = {}
    for folder in channels:
        files = [file for file in folder.iterdir() if _DAY.fullmatch(file.name)]
        days[folder] = sorted(files)
    if not any(days.values()):
        raise DatasetError(
            f"{path}: no export of Slack: no folder in it has files such as 2026-03-02.json"
        )
    for channel, files in days.items():
        messages: list[ExportedMessage] = []
        for file in files:
            messages += _day_messages(file, people, counts)
        yield Talk(channel.name, messages, f"#{channel.name}")


def _profile_name(profile: Any) -> str:
    profile = profile if isinstance(profile, dict) else {}
    return str(profile.get("display_name") or profile.get("real_name") or "")


def _day_messages(
    file: Path, people: dict[Any, str], counts: Counter[str]
) -> Iterator[ExportedMessage]:
    def link_text(match: re.Match[str]) -> str:
        target = match[1]
        label = match[2]
        if target.startswith("@"):
            return f"@{people.get(target[1:]) or label or target[1:]}"
        if target.startswith(("#", "!")):  # a channel, or a group such as `!here`
            return f"{target[0] if target[0] == '#' else '@'}{(label or target[1:]).lstrip('@')}"
        return label or target.removeprefix("mailto:")

    rows = _json_list(file)
    guests = {}
    for row in rows:
        guests[row.get("user")] = _profile_name(row.get("user_profile"))
    people = guests | people
    for number, message in enumerate(rows, start=1):
        attachments = message.get("attachments") or []
        attached = [part for part in attachments if isinstance(part, dict)]
        # bots often leave the text empty and put everything into blocks or attachments
        text = (
            str(message.get("text") or "")
            or "\n".join(_block_texts(message.get("blocks")))
            or "\n".join(filter(None, map(_attached_text, attached)))
        )
        text = html.unescape(_LINK.sub(link_text, text)).strip()
        if message.get("subtype") not in _SLACK_SPOKEN or not text:
            counts["left out: messages without text, or about who came and went"] += 1
            continue
        bot = message.get("username") or (message.get("bot_profile") or {}).get("name")
        guest = _profile_name(message.get("user_profile"))
        sender = (
            people.get(message.get("user"))
            or guest
            or bot
            or message.get("user")
            or "somebody"
        )
        try:
            moment = utc_time(message["ts"])
        except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
            raise DatasetError(
                f"{file}: message {number}: 'ts' does not hold a time: {message.get('ts')!r}"
            ) from error
        yield ExportedMessage(moment, str(sender), text)


def _attached_text(attached: dict[str, Any]) -> str:
    """Return the text of an attachment; a forwarded message is marked as such."""
    text = str(attached.get("text") or attached.get("fallback") or "")
    if attached.get("is_share") or attached.get("is_msg_unfurl"):
        return mark_forwarded(text, attached.get("author_name") or "")
    return text


def _block_texts(value: Any) -> Iterator[str]:
    """Yield the texts in blocks at any depth."""
    if isinstance(value, list):
        for block in value:
            yield from _block_texts(block)
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        for name in ("text", "fields", "elements"):
            yield from _block_texts(value.get(name))


def _json_list(file: Path) -> list[dict[str, Any]]:
    rows = load_json(file)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DatasetError(
            f"{file}: expected a JSON list of objects. Name the folder of a whole export"
        )
    return rows
