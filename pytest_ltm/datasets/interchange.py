"""The interchange format: the parts of a data set as JSON lines, and the conversion of files to it."""

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
"""The version of the format; files of version 1 have no header, and none of the fields added in 2."""
MATCHES = ("answer", "exact", "contains", "set", "sequence", "order")
"""The matching rules in addition to `recall@K`: the first uses rules and a judge, the others only rules."""
RECALL_AT = re.compile(r"recall@([1-9]\d{0,3})")


class _Part(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of the types in a line: defaults are left out, and unknown fields refused."""


class Picture(_Part, frozen=True, kw_only=True):
    """An image in a turn, with a file, a caption or both."""

    file: str = ""
    """The path relative to the data; sent to agents that accept images."""
    caption: str = ""
    """A description, sent to all other agents."""


class ToolCall(_Part, frozen=True, kw_only=True):
    """A tool call of an assistant, with its result."""

    name: str
    arguments: Any = None
    result: Any = None


class Turn(_Part, frozen=True, kw_only=True):
    """One utterance or action of one party."""

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    name: str = ""
    """The speaker, if several people talk."""
    date: str = ""
    """The time, if the session's date is not precise enough."""
    images: tuple[Picture, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    state: str = ""
    """The state that an acting agent observed, such as a page."""
    action: str = ""
    """The action that the agent took there."""


class Session(_Part, frozen=True, kw_only=True):
    """A sub-dialogue."""

    id: str = field(name="session")
    turns: tuple[Turn, ...]
    date: str = ""
    """Such as `2026-03-02 09:15+01:00`; UTC without a zone. Sessions without any dates are played in order."""
    user: str = ""
    """The user whose history it belongs to."""
    room: str = ""
    """The group or channel of the conversation."""
    meta: Any = None


class OfficialRule(_Part, frozen=True, kw_only=True):
    """The rule by which a data set's published code decides."""

    rule: str
    """Either `longmemeval-v2:RULE|NAME=VALUE` or `memoryagentbench:SOURCE`."""
    gold: tuple[str, ...] = ()
    """The published answers to compare with; empty for the gold answers of the question."""


class Question(_Part, frozen=True, kw_only=True):
    """A question about a history."""

    text: str = field(name="question")
    id: str = ""
    date: str = ""
    """When it is asked; "" for after all sessions."""
    gold: str | float | tuple[str | float, ...] | None = None
    """The right answer, or alternatives; for a set or an order, all of them are required."""
    choices: tuple[str, ...] | dict[str, str] = ()
    """The choices by letter; `gold` is a letter, or the text of a choice."""
    claims: tuple[str, ...] = ()
    """Statements that an answer should make, graded by a judge as 0, ½ or 1."""
    match: str = "answer"
    """The matching rule: one of `MATCHES`, or `recall@K`."""
    tolerance: float = 0.0
    """The tolerance of a numeric answer."""
    never_told: bool = False
    """Whether the right answer is that it was never mentioned."""
    after: str = ""
    """The session or turn right after which it is asked, in place of a date."""
    evidence: tuple[str, ...] = ()
    """Ids of sessions or of turns: `ID_1` is the first turn of `ID`."""
    kind: str = "question"
    """The kind of question, in letters, digits and `_`."""
    user: str = ""
    image: str = ""
    """An image file sent with the question to agents that accept images."""
    asks: Literal["", "alone", "together"] = ""
    """Whether the agent is restored after it, `alone`, or not, `together`; "" for the run's setting."""
    official: OfficialRule | None = None
    """The published rule whose figure is reported next to the score."""
    meta: Any = None


class Header(_Part, frozen=True, kw_only=True):
    """The first line of a file, if it has one."""

    format: Literal["ltm-logs"]
    version: int
    source: str = ""
    """The data set that the file was made from."""
    opening: str = ""
    """The message that opens a conversation, in place of ours."""
    notes: tuple[str, ...] = ()
    """What was cut, left out or guessed, a sentence each."""


class History(Struct, frozen=True):
    """The sessions of one user, and the questions about them."""

    sessions: Iterable[Session]
    """Consumed once, so that a generator may read a file of any size."""
    questions: Iterable[Question] = ()
    """Consumed after the sessions."""
    user: str = ""
    """Required if a data set has several users."""


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


# --- Converting files to an interchange file, which is kept for the next run.

UNREADABLE = "left out, as it cannot be read: "
"""The prefix of notes on unreadable rows."""

HistoryReader: TypeAlias = Callable[[Sequence[Path], Counter[str]], Iterable[History]]


def write_interchange(
    target: Path,
    read: HistoryReader,
    paths: Sequence[Path],
    *,
    source: str = "",
    opening: str = "",
) -> Counter[str]:
    """Write the histories of files as one interchange file; return what was cut, left out or guessed.

    A failure leaves no file. DatasetError for unreadable files.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        body = Path(folder) / "body"
        complete = Path(folder) / "whole"
        _write_lines(body, history_lines(read(paths, counts)))
        _check_anything_read(body, counts)
        notes = []
        for reason, count in sorted((+counts).items()):
            notes.append(f"{reason}: {count:,}")
        notes += dict.fromkeys(filter(None, map(hub_address, paths)))
        header = Header(
            format=FORMAT,
            version=VERSION,
            source=source,
            opening=opening,
            notes=tuple(notes),
        )
        with open_regular(body) as lines:
            _write_lines(complete, chain(history_lines((), header), lines))
        # all or nothing: another run may be reading the same path
        complete.replace(target)
    return counts


_SNAPSHOT = re.compile(
    r"(?:^|/)(datasets|models)--([^/]+?)--([^/]+)/snapshots/([0-9a-f]{40})(?:/|$)"
)


def hub_address(path: Path) -> str:
    """Return the Hugging Face repository and commit that a path was downloaded from, or "" if unknown.

    The hub's cache has the commit in the path; a user's folder has it in a file.
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
    """Raise DatasetError with the first reason if rows were unreadable and no session or question was read."""
    reasons = [reason for reason in counts if reason.startswith(UNREADABLE)]
    if not reasons:
        return
    with open_regular(body) as lines:
        kinds = {line[:9] for line in lines}
    if len(kinds) < len((b"sessions", b"questions")):
        raise DatasetError(reasons[0].removeprefix(UNREADABLE))


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file, keeping one line in memory at a time."""
    with closing(Appender(path, new=True)) as file:
        for line in lines:
            file.append(line)


CONVERSION = 2
"""The version of all converters, raised when one changes its output, so that files are converted again."""
# For runs without a cache: removed when the process ends.
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
    """Return the interchange file of a file or folder in its current state, converting it if necessary.

    `cache`: the folder that keeps it between runs.
    """
    if cache is None:
        _temporary.append(tempfile.TemporaryDirectory(prefix="ltm-data-"))
        folder = Path(_temporary[-1].name)
    else:
        folder = cache / INDEX_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    # file states, not contents: comparing gigabytes would take as long as converting
    # them
    states = []
    for file in files:
        if file.is_file():
            status = file.stat()
            states.append((str(file.resolve()), status.st_size, status.st_mtime_ns))
    digest = hashlib.sha256(repr((CONVERSION, VERSION, states)).encode()).hexdigest()
    target = folder / f"{name}-{digest[:24]}.jsonl"
    if not target.is_file():
        write_interchange(target, read, [path], source=source, opening=opening)
    return target
