"""The interchange: what a data set is made of, how it stands in a file, an object a line, and how files become one."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from pytest_ltm.api.scenarios import INDEX_FOLDER
from pytest_ltm.api.storage import Appender, DatasetError, open_regular, read_regular

FORMAT: Literal["ltm-logs"] = "ltm-logs"
SCHEMA = Path(__file__).with_name("logs.schema.json")
"""The published schema of a line."""
VERSION = 2
"""Of the format; files of version 1 have no header, and no field that came with 2."""
MATCHES = ("answer", "exact", "contains", "set", "sequence", "order")
"""What decides on an answer, beside `recall@K`: the first by rules and a judge, the others by rules alone."""
RECALL_AT = re.compile(r"recall@([1-9]\d{0,3})")


class Picture(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """An image in a turn; one with neither file nor caption is none."""

    file: str = ""
    """Where it is, relative to the data; sent to agents that take images."""
    caption: str = ""
    """What it shows, told to all others."""


class ToolCall(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What an assistant called, and what came back."""

    name: str
    arguments: Any = None
    result: Any = None


class Turn(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What one party says or does at a time."""

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    name: str = ""
    """Whose it is, where several people talk."""
    date: str = ""
    """When, if the session's own date does not say enough."""
    images: tuple[Picture, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    state: str = ""
    """What an acting agent saw, such as a page,"""
    action: str = ""
    """and what it did there."""


class Session(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A sub-dialogue."""

    id: str = field(name="session")
    turns: tuple[Turn, ...]
    date: str = ""
    """`2026-03-02 09:15+01:00`; UTC without a zone. Where no session has one they are told in their order."""
    user: str = ""
    """Whose history it belongs to."""
    room: str = ""
    """The group or channel in which it was said."""
    meta: Any = None


class OfficialRule(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What the published code of a data set decides by."""

    rule: str
    """`longmemeval-v2:RULE|NAME=VALUE` or `memoryagentbench:SOURCE`."""
    gold: tuple[str, ...] = ()
    """What it compares with, as published; empty: the gold answers of the question."""


class Question(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A question about a history."""

    text: str = field(name="question")
    id: str = ""
    date: str = ""
    """When it is asked; "": after all sessions."""
    gold: str | float | tuple[str | float, ...] | None = None
    """The right answer, or several each of which is right: as a set or an order, all of them are wanted."""
    choices: tuple[str, ...] | dict[str, str] = ()
    """What to choose from, by letter; `gold` is a letter, or the text of a choice."""
    claims: tuple[str, ...] = ()
    """What an answer should say, a sentence each, for a judge that gives 0, ½ or 1."""
    match: str = "answer"
    """What decides: one of `MATCHES`, or `recall@K`."""
    tolerance: float = 0.0
    """How far a number may be from the gold one."""
    never_told: bool = False
    """Whether the right answer is that nobody said it."""
    after: str = ""
    """Asked when this session or turn has been told, and nothing behind it; in the place of a date."""
    evidence: tuple[str, ...] = ()
    """Ids of sessions, or of turns: `ID_1` is the first turn of `ID`."""
    kind: str = "question"
    """Letters, digits and `_`."""
    user: str = ""
    image: str = ""
    """A file shown with it to agents that take images."""
    asks: Literal["", "alone", "together"] = ""
    """Whether the state after the history is put back behind it; "": as the run says."""
    official: OfficialRule | None = None
    """The published rule whose figure stands beside the score."""
    meta: Any = None


class Header(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The first line of a file, if it has one."""

    format: Literal["ltm-logs"]
    version: int
    source: str = ""
    """Which data set it was made of."""
    opening: str = ""
    """The message that begins a conversation, in the place of ours."""
    notes: tuple[str, ...] = ()
    """What was cut, left out or guessed, a sentence each."""


class History(Struct, frozen=True):
    """What happened to one user, and what is asked about it."""

    sessions: Iterable[Session]
    """Taken once, so that a generator may read them from a file of any size."""
    questions: Iterable[Question] = ()
    """Taken after the sessions."""
    user: str = ""
    """Needed where a data set has several."""


def history_lines(
    histories: Iterable[History], header: Header | None = None
) -> Iterator[bytes]:
    """Yield the lines of a file, one at a time."""
    encode = msgspec.json.Encoder().encode
    if header:
        yield encode(header) + b"\n"
    for history in histories:
        for rows in (history.sessions, history.questions):
            for row in rows:
                yield (
                    encode(msgspec.structs.replace(row, user=history.user or row.user))
                    + b"\n"
                )


def interchange_schema() -> dict[str, Any]:
    """Return the JSON schema of a line."""
    rows, parts = msgspec.json.schema_components([Header, Session, Question])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": list(rows),
        "$defs": parts,
    }


# --- From the files of others to a file of the interchange, kept for the next run.

UNREADABLE = "left out, as it cannot be read: "
"""How a note begins that names a row which no reader could read."""

HistoryReader: TypeAlias = Callable[[Sequence[Path], Counter[str]], Iterable[History]]


def write_interchange(
    target: Path,
    read: HistoryReader,
    paths: Sequence[Path],
    *,
    source: str = "",
    opening: str = "",
) -> Counter[str]:
    """Write the histories of files as one file of the interchange; return what was cut, left out or guessed.

    What fails leaves no file. DatasetError for what cannot be read.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        body = Path(folder) / "body"
        complete = Path(folder) / "whole"
        _write_lines(body, history_lines(read(paths, counts)))
        _check_anything_read(body, counts)
        notes = tuple(
            f"{reason}: {count:,}" for reason, count in sorted((+counts).items())
        )
        notes += tuple(dict.fromkeys(filter(None, map(hub_address, paths))))
        header = Header(
            format=FORMAT, version=VERSION, source=source, opening=opening, notes=notes
        )
        with open_regular(body) as lines:
            _write_lines(complete, chain(history_lines((), header), lines))
        # all of it or nothing: another run may be reading the same place
        complete.replace(target)
    return counts


_SNAPSHOT = re.compile(
    r"(?:^|/)(datasets|models)--([^/]+?)--([^/]+)/snapshots/([0-9a-f]{40})(?:/|$)"
)


def hub_address(path: Path) -> str:
    """Return from which commit of a repository on the Hugging Face hub a path was downloaded; "" if that is not known.

    Its cache has the commit in the path; a folder of one's own has it beside the files.
    """
    if match := _SNAPSHOT.search(path.resolve().as_posix()):
        kind, owner, name, commit = match.groups()
        return f"from the hub: {kind}/{owner}/{name} at {commit}"
    for folder in (path, *path.parents):
        marks = folder / ".cache" / "huggingface" / "download"
        for mark in sorted(marks.rglob("*.metadata"))[:1] if marks.is_dir() else ():
            content = read_regular(mark).decode("utf-8", "replace")
            commit = content.partition("\n")[0].strip()
            return f"from the hub: {folder.name} at {commit}"
    return ""


def _check_anything_read(body: Path, counts: Counter[str]) -> None:
    """Raise DatasetError, with the first reason, where rows could not be read and no session or question was."""
    reasons = [reason for reason in counts if reason.startswith(UNREADABLE)]
    if not reasons:
        return
    with open_regular(body) as lines:
        kinds = {line[:9] for line in lines}
    if len(kinds) < len((b"sessions", b"questions")):
        raise DatasetError(reasons[0].removeprefix(UNREADABLE))


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file, one line in memory at a time."""
    with closing(Appender(path, new=True)) as file:
        for line in lines:
            file.append(line)


CONVERSION = 2
"""Of all converters: raised where one makes something else of the same files, so that they are read again."""
# Where nothing may be written for later: gone with the process.
_temporary: list[tempfile.TemporaryDirectory[str]] = []


def convert_once(
    name: str,
    read: HistoryReader,
    path: Path,
    cache: Path | None,
    *,
    source: str,
    opening: str,
) -> Path:
    """Return the file of the interchange that is made of a file or folder as it is now, if need be made anew.

    `cache`: the folder in which it is kept between runs.
    """
    if cache is None:
        _temporary.append(tempfile.TemporaryDirectory(prefix="ltm-data-"))
        folder = Path(_temporary[-1].name)
    else:
        folder = cache / INDEX_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    # states, not contents: reading files of gigabytes to see that they are the same
    # would take as long as converting
    states = [
        (str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns)
        for file in files
        if file.is_file()
    ]
    digest = hashlib.sha256(repr((CONVERSION, VERSION, states)).encode()).hexdigest()
    target = folder / f"{name}-{digest[:24]}.jsonl"
    if not target.is_file():
        write_interchange(target, read, [path], source=source, opening=opening)
    return target
