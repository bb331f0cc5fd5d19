"""Chats as people download them, as sessions: whose export it is shows in its content, and silence ends a session."""

from __future__ import annotations

import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_ltm._core.storage.disk import open_regular
from pytest_ltm._core.storage.dotted import lazy
from pytest_ltm._core.storage.errors import DatasetError
from pytest_ltm.datasets._interchange import History, Session, ToolCall, Turn
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.longmemeval.record import iter_list_items
from pytest_ltm.datasets.rows import json_in, json_of

LAYOUTS = (
    "openai",
    "claude",
    "gemini",
    "sharegpt",
    "telegram",
    "discord",
    "slack",
    "whatsapp",
    "langsmith",
    "langfuse",
    "otel",
)
"""Each is read by a function `read_NAME(path, splitting, counts)`."""
UNPACKED = 4_000_000_000
"""Bytes that the files of a zip may have."""
_READ = (".json", ".jsonl", ".txt")


class ExportedMessage(NamedTuple):
    """One message."""

    at: datetime | None
    """None where the export does not say; without a zone where it names none."""
    who: str
    """A name; "" for the user and the assistant of a chat with a model."""
    text: str
    by_model: bool = False
    calls: tuple[ToolCall, ...] = ()


class Talk(NamedTuple):
    """What was said in one conversation, channel or chat."""

    name: str
    messages: Sequence[ExportedMessage]
    room: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How an export is read."""

    gap: timedelta = timedelta(hours=4)
    """A session ends where nothing was said for so long."""
    order: str = ""
    """Of day, month and year in WhatsApp's dates: `dmy`, `mdy` or `ymd`; "": as the file shows."""
    assistants: tuple[str, ...] = ()
    """Names of those who are the assistant."""
    zone: tzinfo | None = None
    """In which times without a zone are read, and all are written; None: UTC, and as they stand."""


def read_chats(
    paths: Sequence[Path], layout: str, splitting: Splitting, counts: Counter[str]
) -> Iterator[History]:
    """Yield the history of exports; DatasetError for what is none.

    `layout`: one of LAYOUTS, or "" to be told by the content. `counts` takes what is
    cut, left out or guessed.
    """
    for path in paths:
        if not path.exists():
            raise DatasetError(f"{path}: there is no such file or folder")
        with _unpacked(path) as place:
            name = layout or layout_of(place)
            # Imported then, as these import this module.
            room = "whatsapp" if name == "whatsapp" else "exports"
            read = lazy(f"{__package__}.{room}:read_{name}")
            yield History(
                _sessions_of(read(place, splitting, counts), splitting, counts)
            )


def _sessions_of(
    talks: Iterator[Talk], splitting: Splitting, counts: Counter[str]
) -> Iterator[Session]:
    def in_zone(at: datetime | None) -> datetime | None:
        if at is None:
            counts[
                "guessed: messages without a time are told in the order of the export"
            ] += 1
        elif at.tzinfo is None:
            if splitting.zone is None:
                counts[
                    "guessed: times without a zone are taken as UTC (--timezone says which it is)"
                ] += 1
            return at.replace(tzinfo=splitting.zone) if splitting.zone else at
        return at.astimezone(splitting.zone) if at and splitting.zone else at

    used: dict[str, int] = {}
    for talk in talks:
        # several chats may have one name, such as that of a person
        used[talk.name] = used.get(talk.name, 0) + 1
        name = talk.name if used[talk.name] == 1 else f"{talk.name}~{used[talk.name]}"
        messages = [
            message._replace(at=in_zone(message.at)) for message in talk.messages
        ]
        undated = [message for message in messages if message.at is None]
        if undated and len(undated) < len(messages):
            raise DatasetError(
                f"{name}: some of its messages have a time, and others none. Leave it out of the export"
            )
        ordered = (
            messages
            if undated
            else sorted(messages, key=lambda one: one.at.timestamp() if one.at else 0.0)
        )
        ends = [
            number
            for number, (one, other) in enumerate(pairwise(ordered), start=1)
            if one.at and other.at and other.at - one.at >= splitting.gap
        ]
        for number, (start, end) in enumerate(
            pairwise([0, *ends, len(ordered)] if ordered else []), start=1
        ):
            part = ordered[start:end]
            turns = []
            for one in part:
                model = one.by_model or one.who in splitting.assistants
                who = (
                    "" if model else one.who
                )  # an assistant among people is the one who is tested
                role: Literal["user", "assistant"] = "assistant" if model else "user"
                turns.append(
                    Turn(role=role, name=who, content=one.text, calls=one.calls)
                )
            date = (
                part[0].at.isoformat(sep=" ", timespec="minutes") if part[0].at else ""
            )
            yield Session(
                id=f"{name}-{number}", date=date, turns=tuple(turns), room=talk.room
            )


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """Yield a file or folder; of a zip the folder of its texts, which is gone afterwards."""
    if path.suffix.lower() != ".zip":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ltm-export-") as folder:
        try:
            with zipfile.ZipFile(path) as packed:
                files = [
                    one
                    for one in packed.infolist()
                    if Path(one.filename).suffix.lower() in _READ
                ]
                if sum(file.file_size for file in files) > UNPACKED:
                    raise DatasetError(
                        f"{path}: holds more than {UNPACKED:,} bytes. Unpack it, and name what is in it"
                    )
                for file in files:
                    packed.extract(
                        file, folder
                    )  # which keeps to the folder, whatever a name says
        except (
            zipfile.BadZipFile,
            OSError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise DatasetError(
                f"{path}: cannot be unpacked: {error}. Unpack it, and name what is in it"
            ) from error
        inside = [Path(folder, file.filename) for file in files]
        yield inside[0] if len(inside) == 1 else Path(folder)


def layout_of(path: Path) -> str:
    """Return whose export a file or folder is, by its content; DatasetError, with the way out, for any other."""
    if path.is_dir():
        if (file := next(iter(conversation_files(path)), None)) is not None:
            return layout_of(file)
        if any(path.glob("*/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json")):
            return "slack"
        if any(path.rglob("channel.json")):
            return "discord"
        inside = [
            one
            for one in sorted(path.iterdir())
            if one.suffix.lower() in _READ and one.name != "users.json"
        ]
        if not inside:
            raise DatasetError(
                f"{path}: there is no export of a chat in it. Name the file or folder that holds it"
            )
        return layout_of(inside[0])
    if path.suffix.lower() == ".txt":
        return "whatsapp"
    first = (
        next(iter_objects(path, 1), ("", None))[1]
        if path.suffix.lower() in _READ
        else None
    )
    for name, fields in _MARKS.items():
        if isinstance(first, dict) and any(
            set(field) <= first.keys() for field in fields
        ):
            return name
    raise DatasetError(
        f"{path}: whose export is it? Say: ltm data convert {' | '.join(LAYOUTS)}"
    )


# The fields by which a layout is told apart, of the first object in a file: all of one
# of these sets.
_MARKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "claude": (("chat_messages",),),
    "openai": (("mapping",),),
    "gemini": (("title", "products"), ("chunkedPrompt",), ("title", "safeHtmlItem")),
    "telegram": (("messages", "type", "name"), ("chats",)),
    "discord": (("guild", "channel"), ("ID", "Timestamp")),
    "langsmith": (("run_type",),),
    "otel": (("resourceSpans",), ("attributes", "name")),
    "langfuse": (("timestamp", "input"), ("timestamp", "observations")),
    "sharegpt": (("conversations",), ("messages",)),
}


def conversation_files(path: Path) -> list[Path]:
    """Return the files of a folder that hold conversations with a model, by number; the file itself if it is one."""
    return sorted(path.glob("conversations*.json")) if path.is_dir() else [path]


def iter_objects(path: Path, most: int | None = None) -> Iterator[tuple[str, Any]]:
    """Yield place and value of each object: of a JSON list of any size, of JSON lines, or of a file that is one."""
    try:
        with open_regular(path) as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error
    if start[:1] == b"[":
        for where, raw in islice(iter_list_items(path, "conversation"), most):
            yield where, json_in(raw, where)
    elif path.suffix.lower() == ".jsonl":
        for number, _, raw in islice(iter_numbered_lines(path), most):
            yield f"{path}:{number}", json_in(raw, f"{path}:{number}")
    else:
        yield str(path), json_of(path)


@contextmanager
def faults_of_export(where: str) -> Iterator[None]:
    """Make whatever an export's odd form causes a DatasetError that names its place and a way out."""
    try:
        yield
    except (
        AttributeError,
        KeyError,
        IndexError,
        TypeError,
        ValueError,
        OverflowError,
        OSError,
    ) as error:
        reason = (
            f"the field {error} is missing"
            if isinstance(error, KeyError)
            else str(error)
        )
        raise DatasetError(
            f"{where}: cannot be read: {reason}. Export it again, or leave this part out"
        ) from error


def utc_time(seconds: Any) -> datetime:
    """Return the time of so many seconds since 1970."""
    return datetime.fromtimestamp(float(seconds), tz=timezone.utc)


def iso_time(text: Any) -> datetime | None:
    """Return the time that a text of ISO 8601 gives, None for none; ValueError for any other."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise TypeError(f"expected a time, got {text!r}")
    day, sign, rest = text.strip().replace("Z", "+00:00").partition(".")
    fraction = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    return datetime.fromisoformat(
        f"{day}{sign}{fraction[:6].ljust(6, '0') if sign else ''}{rest[len(fraction) :]}"
    )
