"""Chat exports, split into sessions where nobody said anything for a while: layouts of OpenAI, WhatsApp and Slack."""

from __future__ import annotations

import html
import re
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm._storage.rows import json_in, json_of
from pytest_ltm.datasets.longmemeval.record import iter_record_slices, part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


class ExportedMessage(NamedTuple):
    """One message."""

    at: datetime
    who: str
    """A name; "" for the user and the assistant of a chat with a model."""
    text: str
    by_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How an export is read."""

    gap: timedelta
    """A session ends where nothing was said for so long."""
    order: str = ""
    """Of day, month and year in WhatsApp's dates: `dmy`, `mdy` or `ymd`; "": as the file shows."""
    assistants: tuple[str, ...] = ()
    """Names of those who are the assistant."""


def exported_sessions(path: Path, layout: str, splitting: Splitting, left: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the sessions of an export as lines of a file of logs; DatasetError for what is none.

    `layout`: one of LAYOUTS, or "" to be told by the file's form. `left` counts the messages that are left out, by why.
    """
    for name, said in LAYOUTS[layout or layout_of(path)](path, splitting, left):
        ordered = sorted(said, key=lambda one: one.at)
        ends = [n for n, (one, other) in enumerate(pairwise(ordered), start=1) if other.at - one.at >= splitting.gap]
        for number, (start, end) in enumerate(pairwise([0, *ends, len(ordered)] if ordered else []), start=1):
            part = ordered[start:end]
            yield {
                "session": f"{name}-{number}",
                "date": part[0].at.isoformat(sep=" ", timespec="minutes"),
                "turns": [_log_turn(one, splitting.assistants) for one in part],
            }


def _log_turn(one: ExportedMessage, assistants: Sequence[str]) -> dict[str, str]:
    if one.by_model or one.who in assistants:
        return {"role": "assistant", "content": one.text}
    return {"role": "user", **({"name": one.who} if one.who else {}), "content": one.text}


def layout_of(path: Path) -> str:
    """Return the layout that a file or folder seems to have; DatasetError, with the way out, for any other."""
    if path.suffix.lower() == ".zip":
        raise DatasetError(f"{path}: is compressed. Unpack it first, and name what is in it")
    if path.is_dir():
        return "openai" if (path / OPENAI_FILE).is_file() else "slack"
    text = {".json": "openai", ".txt": "whatsapp"}.get(path.suffix.lower(), "")
    if not text:
        raise DatasetError(f"{path}: whose export is it? Say --layout={'|'.join(LAYOUTS)}")
    return text


# --- OpenAI: conversations.json, a list of trees of messages.

OPENAI_FILE = "conversations.json"


def _openai_talks(path: Path, _splitting: Splitting, left: Counter[str]) -> Iterator[tuple[str, list[ExportedMessage]]]:
    file = path / OPENAI_FILE if path.is_dir() else path
    used: Counter[str] = Counter()
    with closing(iter_record_slices(file)) as places:
        for number, place in enumerate(places, start=1):
            where = f"{file}: conversation {number:,}"
            talk = json_in(part_of(file, *place), where)
            nodes = talk.get("mapping") if isinstance(talk, dict) else None
            if not isinstance(nodes, dict):
                raise DatasetError(f"{where}: no conversation of OpenAI's export: the field 'mapping' is missing")
            name = str(talk.get("conversation_id") or talk.get("id") or f"conversation-{number}")
            used[name] += 1
            label = name if used[name] == 1 else f"{name}~{used[name]}"
            try:
                said = list(_shown_branch(talk, nodes, left))
            except (AttributeError, TypeError, ValueError, OverflowError, OSError) as error:
                raise DatasetError(f"{where}: cannot be read: {error}") from error
            yield label, said


def _shown_branch(talk: Mapping[str, Any], nodes: Mapping[str, Any], left: Counter[str]) -> Iterator[ExportedMessage]:
    """Yield the messages of the branch that was shown last; the others were replaced by edits."""
    leaves = [name for name, node in nodes.items() if not node.get("children")]
    at: Any = talk.get("current_node") or (leaves[-1] if leaves else None)
    path: dict[str, Any] = {}
    while at in nodes and at not in path:
        path[at] = nodes[at].get("message")
        at = nodes[at].get("parent")
    left["in branches that edits replaced"] += sum(
        bool(_text_of(node.get("message"))) for name, node in nodes.items() if name not in path
    )
    when = float(talk.get("create_time") or 0)
    for message in reversed(path.values()):
        text, role = _text_of(message), ((message or {}).get("author") or {}).get("role")
        if message and message.get("create_time"):
            when = max(when, float(message["create_time"]))
        if text and role in {"user", "assistant"}:
            yield ExportedMessage(_utc_time(when), "", text, role == "assistant")
        elif message:
            left["without text, or of tools"] += 1


def _text_of(message: Any) -> str:
    message = message or {}
    content = message.get("content") or {}
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if hidden or content.get("content_type") not in {"text", "multimodal_text"}:
        return ""
    return "\n".join(part for part in content.get("parts") or [] if isinstance(part, str)).strip()


def _utc_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=timezone.utc)


# --- Slack: a folder with users.json and a folder for each channel, which has a file for each day.

# What kinds of messages say something; the others tell who came and went.
_QUIET = {None, "bot_message", "thread_broadcast", "me_message", "file_share"}
_LINK = re.compile(r"<([^<>|\s]+)(?:\|([^<>]*))?>")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")


def _slack_talks(path: Path, _splitting: Splitting, left: Counter[str]) -> Iterator[tuple[str, list[ExportedMessage]]]:
    people = {}
    for user in _json_list(path / "users.json") if (path / "users.json").is_file() else []:
        profile = user.get("profile") or {}
        people[user.get("id")] = str(
            profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
        )
    channels = [one for one in sorted(path.iterdir()) if one.is_dir()] if path.is_dir() else []
    days = {one: sorted(day for day in one.iterdir() if _DAY.fullmatch(day.name)) for one in channels}
    if not any(days.values()):
        raise DatasetError(f"{path}: no export of Slack: no folder in it has files such as 2026-03-02.json")
    for channel, files in days.items():
        yield channel.name, [one for file in files for one in _slack_day(file, people, left)]


def _slack_day(file: Path, people: Mapping[Any, str], left: Counter[str]) -> Iterator[ExportedMessage]:
    for number, message in enumerate(_json_list(file), start=1):
        text = _LINK.sub(lambda result: _link_text(result, people), str(message.get("text") or ""))
        text = html.unescape(text).strip()
        if message.get("subtype") not in _QUIET or not text:
            left["without text, or about who came and went"] += 1
            continue
        bot = message.get("username") or (message.get("bot_profile") or {}).get("name")
        who = people.get(message.get("user")) or bot or message.get("user") or "somebody"
        try:
            at = _utc_time(float(message["ts"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DatasetError(f"{file}: message {number}: 'ts' does not hold a time: {message.get('ts')!r}") from error
        yield ExportedMessage(at, str(who), text)


def _link_text(match: re.Match[str], people: Mapping[Any, str]) -> str:
    target, label = match[1], match[2]
    if target.startswith("@"):
        return f"@{people.get(target[1:]) or label or target[1:]}"
    if target.startswith(("#", "!")):
        return f"{target[0] if target[0] == '#' else '@'}{(label or target[1:]).lstrip('@')}"
    return label or target.removeprefix("mailto:")


def _json_list(file: Path) -> list[dict[str, Any]]:
    fieldses = json_of(file)
    if not isinstance(fieldses, list) or not all(isinstance(one, dict) for one in fieldses):
        raise DatasetError(f"{file}: expected a JSON list of objects")
    return fieldses


# --- WhatsApp: a text file. Each telephone writes dates in its own way, so that only the whole file shows which.

ORDERS = {"dmy": (2, 1, 0), "mdy": (2, 0, 1), "ymd": (0, 1, 2)}
"""Where year, month and day stand among a date's three numbers."""
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"))
# What iPhones write before a text that nobody typed.
_UNSAID = "\u200e"
_SPACES = dict.fromkeys(map(ord, "\u202f\u00a0"), " ")
_HEAD = re.compile(
    r"(?P<open>\[)?(?P<one>\d{1,4})(?P<sign>[-./])\s?(?P<two>\d{1,2})(?P=sign)\s?(?P<three>\d{1,4})\.?,?\s{1,3}"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?:\s?(?P<half>[AaPp])\.?\s?[Mm]\.?)?"
    r"(?(open)\]\s?|\s[-\u2013]\s)(?P<rest>.*)",
    re.DOTALL,
)
_BY = re.compile(r"(?P<who>[^:\n]{1,60}): (?P<text>.*)", re.DOTALL)
# What stands before a colon where no name does.
_SYSTEM = re.compile(
    r"\b(?:added|removed|left|joined|created (?:the )?group|changed (?:the|this|their|to)|end-to-end encrypted|"
    r"hat .* geändert|a modifié|cambió)\b"
)
_MEDIA = re.compile(
    r"<[^<>\n:]{0,40}(?:omitted|weggelassen|ausgeschlossen|omitidos?|omitida|absente?|omis(?:es)?)>|"
    r"(?:this message was deleted|you deleted this message|diese nachricht wurde gelöscht)\.?",
    re.IGNORECASE,
)
_EDITED = re.compile(r"\s*<(?:this message was edited|diese nachricht wurde bearbeitet)>\s*$", re.IGNORECASE)


@dataclass(slots=True)
class _ChatLine:
    """One message of the file, which may be several of its lines."""

    number: int
    head: re.Match[str]
    rest: list[str]
    raw: str
    """Its first line, with the signs that nobody sees."""


def _whatsapp_talks(
    path: Path, splitting: Splitting, left: Counter[str]
) -> Iterator[tuple[str, list[ExportedMessage]]]:
    chat_lines = _whatsapp_lines(path)
    order = splitting.order or _day_month_order(path, chat_lines)
    name = re.sub(r"[\W\d]+", "-", path.stem).strip("-")  # a chat with somebody unknown is named by a phone number
    yield name or "chat", list(_whatsapp_said(path, chat_lines, order, left))


def _whatsapp_lines(path: Path) -> list[_ChatLine]:
    chat_lines: list[_ChatLine] = []
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            for number, raw in enumerate(file, start=1):
                line = raw.rstrip("\n").translate(_SPACES)
                head = _HEAD.fullmatch(line.translate(_MARKS))
                if head:
                    chat_lines.append(_ChatLine(number, head, [head["rest"]], line))
                elif chat_lines:
                    chat_lines[-1].rest.append(line.translate(_MARKS))
                elif line.strip():
                    raise DatasetError(
                        f"{path}:{number}: no export of WhatsApp: it begins with {line[:40]!r}, not a date"
                    )
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{path}: not UTF-8 (at byte {error.start}). Export it again, or save it as UTF-8"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    if not chat_lines:
        raise DatasetError(f"{path}: is empty")
    return chat_lines


def _whatsapp_said(
    path: Path, chat_lines: Sequence[_ChatLine], order: str, left: Counter[str]
) -> Iterator[ExportedMessage]:
    for line in chat_lines:
        at = _message_time(line.head, order)
        if at is None:
            shown = line.head.group()[:25]
            raise DatasetError(f"{path}:{line.number}: {shown!r} does not fit the order {order}. Try another --dates")
        by = _BY.fullmatch("\n".join(line.rest))
        if by is None or f"{by['who']}: {_UNSAID}" in line.raw or _SYSTEM.search(by["who"]):
            left["of the system, or media"] += 1
            continue
        text = _EDITED.sub("", by["text"]).strip()
        if not text or _MEDIA.fullmatch(text):
            left["of the system, or media"] += 1
            continue
        yield ExportedMessage(at, by["who"].strip().removeprefix("~").strip(), text)


def _message_time(head: re.Match[str], order: str) -> datetime | None:
    parts = (int(head["one"]), int(head["two"]), int(head["three"]))
    year, month, day = (parts[place] for place in ORDERS[order])
    hour, half = int(head["hour"]), (head["half"] or "").lower()
    if half:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + _NOON * (half == "p")
    century = 2000 if year < _TWO_DIGITS else 0
    try:
        return datetime(century + year, month, day, hour, int(head["minute"]), int(head["second"] or 0))  # noqa: DTZ001 - a telephone's own time
    except ValueError:
        return None


_NOON, _TWO_DIGITS = 12, 100


def _day_month_order(path: Path, chat_lines: Sequence[_ChatLine]) -> str:
    """Return the order of day and month that all dates of a file allow; DatasetError where two do, or none.

    Of two the one counts in which the file never goes back by a day.
    """
    known = {order: [_message_time(line.head, order) for line in chat_lines] for order in ORDERS}
    able = {order: [at for at in dates if at] for order, dates in known.items() if None not in dates}
    four = len(chat_lines[0].head["one"]) == len("2026")
    able = {order: dates for order, dates in able.items() if (order == "ymd") == four}
    if chat_lines[0].head["sign"] == "." and "dmy" in able:
        return "dmy"
    if len(able) > 1:
        steady = [order for order, dates in able.items() if all(b - a > -_BACK for a, b in pairwise(dates))]
        able = {order: able[order] for order in steady} if steady else able
    if len(able) == 1:
        return next(iter(able))
    shown = chat_lines[0].head.group()[:20]
    if able:
        raise DatasetError(
            f"{path}:1: {shown!r}: day or month first? No date of the file tells. Say --dates=dmy or mdy"
        )
    raise DatasetError(f"{path}: its dates, such as {shown!r}, are in no order of day and month that holds for all")


_BACK = timedelta(days=1)

LAYOUTS: Mapping[str, Callable[[Path, Splitting, Counter[str]], Iterator[tuple[str, list[ExportedMessage]]]]] = {
    "openai": _openai_talks, "whatsapp": _whatsapp_talks, "slack": _slack_talks,
}  # fmt: skip
"""How each layout is read: name of a talk and what was said in it."""
