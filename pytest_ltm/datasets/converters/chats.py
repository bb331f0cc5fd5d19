"""Downloaded chats as sessions: the content identifies the exporting program, and silence ends a session."""

from __future__ import annotations

import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pytest_ltm.api.storage import DatasetError, lazy
from pytest_ltm.datasets.converters.messages import (
    ExportedMessage,
    Splitting,
    Talk,
    clean_message,
    seconds_of,
)
from pytest_ltm.datasets.converters.shapes import READ, READERS, layout_of
from pytest_ltm.datasets.interchange import History, Session, Turn

UNPACKED = 4_000_000_000
"""The most bytes extracted from a zip."""


def read_chats(
    paths: Sequence[Path], layout: str, splitting: Splitting, counts: Counter[str]
) -> Iterator[History]:
    """Yield the histories of exports; DatasetError for other files.

    `layout`: one of the names of `FORMS`, or "" to detect it from the content. `counts` collects what is cut, left out
    or guessed.
    """
    for path in paths:
        if not path.exists():
            raise DatasetError(f"{path}: there is no such file or folder")
        with _unpacked(path) as place:
            name = layout or layout_of(place, counts)
            module = f"{__package__}.{READERS[name]}"
            read = lazy(f"{module}:read_{name.replace('-', '_')}")
            yield History(
                _sessions_of(read(place, splitting, counts), splitting, counts)
            )


def _sessions_of(
    talks: Iterator[Talk], splitting: Splitting, counts: Counter[str]
) -> Iterator[Session]:
    used: dict[str, int] = {}
    for talk in talks:
        # several chats may share a name, such as that of a person
        used[talk.name] = used.get(talk.name, 0) + 1
        name = talk.name if used[talk.name] == 1 else f"{talk.name}~{used[talk.name]}"
        messages = list(_dated_messages(talk.messages, splitting, counts))
        ordered = sorted(messages, key=lambda message: seconds_of(message.at))
        parts = _split_by_silence(ordered, splitting)
        for number, part in enumerate(parts, start=1):
            start = part[0].at
            yield Session(
                id=f"{name}-{number}",
                date=start.isoformat(sep=" ", timespec="minutes") if start else "",
                turns=tuple(_turn_of(message, splitting) for message in part),
                room=talk.room,
            )


def _dated_messages(
    messages: Iterable[ExportedMessage], splitting: Splitting, counts: Counter[str]
) -> Iterator[ExportedMessage]:
    """Yield the non-empty messages with times in the zone; a missing time is copied from a neighbour."""
    cleaned = [clean_message(message, counts) for message in messages]
    spoken = [message for message in cleaned if message.text or message.calls]
    when = next((message.at for message in spoken if message.at), None)
    for message in spoken:
        if message.at is None and when is None:
            counts[
                "guessed: messages without a time are told in the order of the export"
            ] += 1
        elif message.at is None:
            counts[
                "guessed: times of messages without one, from those around them"
            ] += 1
        when = message.at or when
        yield message._replace(at=_in_zone(when, splitting, counts) if when else None)


def _in_zone(moment: datetime, splitting: Splitting, counts: Counter[str]) -> datetime:
    if moment.tzinfo is not None:
        if splitting.zone:
            return moment.astimezone(splitting.zone)
        return moment
    if splitting.zone is None:
        counts[
            "guessed: times without a zone are taken as UTC (--timezone says which it is)"
        ] += 1
        return moment
    return moment.replace(tzinfo=splitting.zone)


def _split_by_silence(
    messages: Sequence[ExportedMessage], splitting: Splitting
) -> Iterator[Sequence[ExportedMessage]]:
    ends = []
    for number, (former, after) in enumerate(pairwise(messages), start=1):
        silence = seconds_of(after.at) - seconds_of(former.at)
        if silence >= splitting.gap.total_seconds():
            ends.append(number)
    if messages:
        for start, end in pairwise([0, *ends, len(messages)]):
            yield messages[start:end]


def _turn_of(message: ExportedMessage, splitting: Splitting) -> Turn:
    model = message.by_model or message.who in splitting.assistants
    role: Literal["user", "assistant"] = "assistant" if model else "user"
    # an assistant among people is the one under test
    speaker = "" if model else message.who
    return Turn(role=role, name=speaker, content=message.text, calls=message.calls)


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """Yield a file or folder; for a zip, a temporary folder with its texts."""
    if path.suffix.lower() != ".zip":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ltm-export-") as folder:
        try:
            with zipfile.ZipFile(path) as packed:
                files = []
                for member in packed.infolist():
                    if Path(member.filename).suffix.lower() in READ:
                        files.append(member)
                if sum(file.file_size for file in files) > UNPACKED:
                    raise DatasetError(
                        f"{path}: holds more than {UNPACKED:,} bytes. Unpack it, and name what is in it"
                    )
                for file in files:
                    # extract keeps to the folder, whatever the name
                    packed.extract(file, folder)
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
