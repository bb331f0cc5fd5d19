"""`data convert`, `data logs-check`, `data logs-redact`: interchange files; nothing leaves the machine."""

from __future__ import annotations

import json
import secrets
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pytest_ltm.api.storage import (
    Appender,
    DatasetError,
    DiskFault,
    ScenarioError,
    duration,
    pluralize,
    read_regular,
    write_whole,
)
from pytest_ltm.commands.arguments import add_flags, add_option, add_output
from pytest_ltm.datasets.converters.chats import read_chats
from pytest_ltm.datasets.converters.messages import Splitting
from pytest_ltm.datasets.converters.shapes import LAYOUTS
from pytest_ltm.datasets.dataset_registry import KINDS, reader_of
from pytest_ltm.datasets.interchange import History, HistoryReader, write_interchange
from pytest_ltm.datasets.logs.log_file import (
    LogsFile,
    SessionOffset,
    iter_numbered_lines,
)
from pytest_ltm.datasets.logs.log_suite import EXAMPLE, file_notes
from pytest_ltm.datasets.logs.redaction import SHORTEST_SALT, Redactor, names_in
from pytest_ltm.figures.statistics.totals import group_by

_FILE = "sessions and questions, JSON lines"
CHAT = "chat"
"""The kind of an export whose form is detected from its content."""
_NEW = "the file to write; an existing one is not overwritten"

# --- logs-check


def add_check_arguments(parser: ArgumentParser) -> None:
    """Add the file."""
    parser.add_argument("file", type=Path, metavar="FILE", help=_FILE)


def check_logs(arguments: Namespace) -> int:
    """Check a file for --ltm-suite=logs: every line, and the consistency of evidence and dates.

    If it is valid, print its contents, and the number of e-mail addresses, phone numbers and keys in it. Exit status 1
    if there are faults.
    """
    file = LogsFile(arguments.file)
    if file.faults:
        print("\n".join(file.faults))
        return 1
    sessions = _list_sessions(file)
    questions = list(
        chain.from_iterable(user.questions.values() for user in file.users.values())
    )
    sizes = pluralize(len(sessions), "session")
    if "" not in file.users:
        sizes += f" of {pluralize(len(file.users), 'user')}"
    turns = sum(session.turns for session in sessions)
    dates = [session.at for session in sessions]
    sizes += f", {pluralize(turns, 'turn')}"
    print(f"{file.path}: {sizes}, {min(dates):%Y-%m-%d} to {max(dates):%Y-%m-%d}")
    for kind, group in sorted(group_by(questions, lambda row: row.kind).items()):
        gold = sum(bool(question.golds) for question in group)
        never = sum(question.never_told for question in group)
        cited = sum(bool(question.evidence) for question in group)
        counts = f"gold answers: {gold}, never told: {never}, with evidence: {cited}"
        print(f"  {kind}: {pluralize(len(group), 'question')}; {counts}")
    notes = [] if questions else [f"no questions yet: add lines such as {EXAMPLE}"]
    notes += file_notes(file)
    # any salt will do: these placeholders are discarded
    text = _redact_lines(file, Redactor(b"only to count"), write=lambda _: None)
    if text:
        notes.append(f"it holds {text}. To take them out: ltm data logs-redact")
    for note in notes:
        print(f"  {note}")
    return 0


def _list_sessions(file: LogsFile) -> list[SessionOffset]:
    return list(
        chain.from_iterable(user.sessions.values() for user in file.users.values())
    )


# --- logs-redact


def add_redact_arguments(parser: ArgumentParser) -> None:
    """Add the files, and the lists of names."""
    parser.add_argument("file", type=Path, metavar="FILE", help=_FILE)
    add_output(parser, "FILE", _NEW, required=True)
    names = "names, one per line; those in lower case match in any case (repeatable)"
    add_option(parser, "--names", "FILE", names, [], type=Path)
    add_flags(parser, keep_speakers="leave the names of speakers that are on no list")
    salt = "the secret that stand-ins are made with, created if missing (default: ltm-logs.salt)"
    add_option(parser, "--salt", "FILE", salt, Path("ltm-logs.salt"))


def redact_logs(arguments: Namespace) -> int:
    """Rewrite a file of logs with placeholders for e-mail addresses, phone numbers, keys, and names.

    Names are those of the speakers and of your lists. Equal texts get equal placeholders, so that questions and gold
    answers still fit. Everything else stays unchanged: read the result.
    """
    file = LogsFile(arguments.file)
    # an unreadable line might hide data that must be removed
    file.check()
    names = list(chain.from_iterable(map(names_in, arguments.names)))
    if not arguments.keep_speakers:
        speakers: set[str] = set()
        for row in _iter_rows(file.path):
            for turn in row.get("turns", ()):
                if "name" in turn:
                    speakers.add(str(turn["name"]))
        names += speakers
    path = arguments.salt
    try:
        if not path.exists():
            write_whole(path, f"{secrets.token_hex(32)}\n".encode())
            # with the salt, names can be guessed by comparing placeholders
            path.chmod(0o600)
            _print_note(
                f"{path}: a new salt. Keep it, and keep it to yourself: with it the stand-ins stay the same"
            )
        salt = read_regular(path).strip()
    except OSError as error:
        raise DatasetError(
            f"--salt: {path}: cannot be read: {error.strerror}"
        ) from error
    if len(salt) < SHORTEST_SALT:
        raise DatasetError(
            f"--salt: {path}: holds fewer than {SHORTEST_SALT} characters, which can be guessed"
        )
    redactor = Redactor(salt, names)
    with _new_file(arguments.output):
        appender = Appender(arguments.output, new=True)
        try:
            text = _redact_lines(
                file,
                redactor,
                lambda row: appender.append(
                    (json.dumps(row, ensure_ascii=False) + "\n").encode()
                ),
            )
            LogsFile(arguments.output).check()
        finally:
            appender.close()
    _print_note(f"{arguments.output}: {text or 'nothing was found to take out'}")
    return 0


def _redact_lines(
    file: LogsFile, redactor: Redactor, write: Callable[[Mapping[str, Any]], None]
) -> str:
    """Pass each redacted line to `write`; return a summary of the replacements."""
    redactor.learn_keys(_iter_rows(file.path))
    for row in _iter_rows(file.path):
        write(redactor.row(row))
    counts = sorted(redactor.counts.items())
    return ", ".join(f"{kind}: {count:,}" for kind, count in counts)


def _iter_rows(path: Path) -> Iterator[dict[str, Any]]:
    for _, _, raw in iter_numbered_lines(path):
        yield json.loads(raw)


# --- convert


def add_convert_arguments(parser: ArgumentParser) -> None:
    """Add the kind, the files, the new file, and the options for chats."""
    kinds = [CHAT, *LAYOUTS, *KINDS]
    text = f"whose files they are; {CHAT}: an export of a chat that its content tells"
    parser.add_argument(
        "kind", metavar="KIND", choices=kinds, help=f"{text}. One of {', '.join(kinds)}"
    )
    parser.add_argument(
        "files",
        type=Path,
        metavar="FILE",
        nargs="+",
        help="files or folders; of chats also the zip",
    )
    add_output(parser, "FILE", _NEW, required=True)
    add_option(
        parser, "--gap", "TIME", "the silence that ends a session (default: 4h)", "4h"
    )
    orders = "WhatsApp: order of day, month, year (default: as the whole file fits)"
    parser.add_argument(
        "--dates", default="", choices=["dmy", "mdy", "ymd"], help=orders
    )
    add_option(
        parser, "--assistant", "NAME", "a speaker who is the assistant (repeatable)", []
    )
    zone = "chats: the zone of times that name none, in which all are written, such as Europe/Berlin (default: UTC)"
    add_option(parser, "--timezone", "ZONE", zone)


def convert_data(arguments: Namespace) -> int:
    """Convert the files of another benchmark, or a chat export, into one file for --ltm-suite=logs.

    A table shows what was cut, left out or guessed. --ltm-suite=KIND plays the files of a benchmark without this step.
    """
    with _new_file(arguments.output):
        source, opening, read = _reader_of(arguments)
        counts = write_interchange(
            arguments.output, read, arguments.files, source=source, opening=opening
        )
        file = LogsFile(arguments.output)
        file.check()
    sessions = _list_sessions(file)
    turns = sum(session.turns for session in sessions)
    question_count = sum(len(user.questions) for user in file.users.values())
    text = f"{pluralize(len(sessions), 'session')}, {pluralize(turns, 'turn')}"
    _print_note(f"{arguments.output}: {text}, {pluralize(question_count, 'question')}")
    for reason, count in sorted((+counts).items()):
        _print_note(f"{count:>9,}  {reason}")
    if not question_count:
        _print_note(
            f"next: ltm data logs-redact, and lines that ask something, such as {EXAMPLE}"
        )
    return 0


def _reader_of(arguments: Namespace) -> tuple[str, str, HistoryReader]:
    """Return source name, opening message and reader for a kind of files."""
    if arguments.kind in KINDS:
        _, source, opening = KINDS[arguments.kind]
        return source, opening, reader_of(arguments.kind)
    try:
        gap = duration(arguments.gap)
    except (ScenarioError, OverflowError, ValueError) as error:
        raise DatasetError(
            f"--gap: expected a duration such as 4h or 30m, got {arguments.gap!r}"
        ) from error
    try:
        zone = ZoneInfo(arguments.timezone) if arguments.timezone else None
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        reason = f"--timezone: there is no zone {arguments.timezone!r}. Name one such as Europe/Berlin"
        raise DatasetError(reason) from error
    splitting = Splitting(
        gap=gap, order=arguments.dates, assistants=tuple(arguments.assistant), zone=zone
    )
    layout = "" if arguments.kind == CHAT else arguments.kind

    def read(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
        for history in read_chats(paths, layout, splitting, counts):
            sessions = iter(history.sessions)
            first = next(sessions, None)
            if first is None:
                raise DatasetError(f"{arguments.files[0]}: it contains no messages")
            yield History(chain((first,), sessions))

    return "", "", read


@contextmanager
def _new_file(path: Path) -> Iterator[None]:
    """Ensure that a new file is written in the block, and removed on failure."""
    if path.exists():
        raise DatasetError(
            f"-o: {path} exists already, and is not overwritten. Name another file, or delete it"
        )
    try:
        yield
    except BaseException as error:
        # half a file would pass for a whole one; but a file created by another process
        # must stay
        if not isinstance(error.__cause__, FileExistsError):
            path.unlink(missing_ok=True)
        if (
            isinstance(error, (DiskFault, FileNotFoundError))
            and not path.parent.is_dir()
        ):
            raise DatasetError(
                f"-o: {path}: cannot be written. Is there such a folder?"
            ) from error
        raise


def _print_note(text: str) -> None:
    print(text, file=sys.stderr)
