"""Files of logs: a session or a question a line, read one line at a time; what is wrong names file and line."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.errors import DatasetError, DefinitionError, did_you_mean
from pytest_ltm._storage.rows import no_list
from pytest_ltm._storage.schema import Field
from pytest_ltm.datasets.logs.log_lines import LogQuestion, read_header, read_question, read_session, row_of
from pytest_ltm.datasets.logs.telling import ToldSessions, session_date, session_exchanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from pytest_ltm._model.filler import PastExchange
    from pytest_ltm.datasets._interchange import Header


LONGEST = 50_000_000
"""Bytes that a line may have: one session."""
FAULTS = 100
"""So many faults are looked for."""
EVERYBODY = "all"
"""The label of the one user of a file that names none."""
_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class SessionOffset:
    """Where a session stands, and what the order of telling takes."""

    line: int
    start: int
    """In bytes."""
    size: int
    id: str
    at: datetime
    turns: int
    exchanges: int
    """In which it is told."""
    dated: bool


@dataclass(slots=True)
class LogUser:
    """Whose logs these are."""

    sessions: dict[str, SessionOffset] = field(default_factory=dict)
    """By id, in the order of the file until all of it is read, then by date."""
    questions: dict[str, LogQuestion] = field(default_factory=dict)
    """By id."""
    latest: datetime | None = None
    """The date of the latest session, among those read so far."""


class LogsFile:
    """A file of logs, of which only the questions and the places of the sessions are kept in memory.

    DatasetError if it cannot be read at all; what is wrong with its lines stands in `faults`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users: dict[str, LogUser] = {}
        """By name; a file without users has one, named ""."""
        self.faults: list[str] = []
        """A sentence each, with file and line."""
        self.header: Header | None = None
        self.disorder = 0
        """How many sessions are earlier than one of the same user before them in the file."""
        self._read()

    def history(self, user: str) -> ToldSessions:
        """Return what is told of a user, by date; read when it is told."""
        places = list(self.users[user].sessions.values())
        numbers = {place.line: number for number, place in enumerate(places)}

        def exchanges(place: SessionOffset) -> list[PastExchange]:
            with self.path.open("rb") as file:
                file.seek(place.start)
                session = read_session(_parse_line(file.read(place.size), f"{self.path}:{place.line}"))
            return session_exchanges(numbers[place.line], session, self.path.parent)

        return ToldSessions(places, exchanges)

    def digest(self, user: str) -> str:
        """Return the SHA-256 of all sessions of a user, by date."""
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            # by date, not as the file has them: its lines may be sorted otherwise without another history
            for place in self.users[user].sessions.values():
                file.seek(place.start)
                digest.update(file.read(place.size).strip())
        return digest.hexdigest()

    def check(self) -> None:
        """Raise DatasetError with what is wrong first, if anything is."""
        if self.faults:
            more = len(self.faults) - 1
            rest = f" There are {more} more: ltm data logs-check {shlex.quote(str(self.path))}" if more else ""
            raise DatasetError(f"{self.faults[0]}{rest}")

    def _read(self) -> None:
        for line, start, raw in iter_numbered_lines(self.path):
            if len(self.faults) >= FAULTS:
                return
            try:
                self._take(_parse_line(raw, f"{self.path}:{line}"), line, start, len(raw))
            except (DatasetError, DefinitionError) as error:
                self.faults.append(str(error))
        if not self.users and not self.faults:
            raise DatasetError(f"{self.path}: holds neither a session nor a question")
        for user in self.users.values():
            user.sessions = dict(sorted(user.sessions.items(), key=lambda item: item[1].at))
        if not self.faults:  # else what a faulty line holds would be missed in others
            self.faults = [fault for name, user in self.users.items() for fault in self._at_odds(name, user)]

    def _take(self, top: Field, line: int, start: int, size: int) -> None:
        fields = row_of(top)
        if "format" in fields:
            if self.header or self.users:
                raise top.fault("the header is the first line of a file. Leave the others out.")
            self.header = read_header(top)
            return
        name = fields["user"].text() if "user" in fields else ""
        if "question" in fields:
            asked, user = read_question(top, line), self.users.setdefault(name, LogUser())
            _reject_repeated_id(user.questions, asked, top, "question")
            self._check_image(fields.get("image"), asked.image)
            user.questions[asked.id] = asked
            return
        session, user = read_session(top), self.users.setdefault(name, LogUser())
        for turn, item in zip(session.turns, fields["turns"].items(), strict=True):
            for picture in turn.images:
                self._check_image(item, picture.file)
        told = len(session_exchanges(0, session, self.path.parent))
        at = session_date(session).at
        place = SessionOffset(line, start, size, session.id, at, len(session.turns), told, bool(session.date))
        _reject_repeated_id(user.sessions, place, top, "session")
        self.disorder += user.latest is not None and place.at < user.latest
        user.latest = max(user.latest or place.at, place.at)
        user.sessions[place.id] = place

    def _check_image(self, item: Field | None, file: str) -> None:
        if item and file and not (self.path.parent / file).is_file():
            raise item.fault(f"there is no image {file!r} beside the file. Leave 'file' out: the caption is told")

    def _at_odds(self, name: str, user: LogUser) -> Iterator[str]:
        """Yield what is wrong with lines that agree with the format, but not with each other."""
        whose = f" of the user {name!r}" if name else ""
        known = {turn: place for place in user.sessions.values() for turn in iter_turn_ids(place)}
        if "" in self.users and len(self.users) > 1 and not name:
            [first] = [*(user.sessions or user.questions).values()][:1]
            yield f"{self.path}:{first.line}: no 'user', and other lines have one: give it to all lines, or to none"
        if not user.sessions:
            [asked] = [*user.questions.values()][:1]
            yield f"{self.path}:{asked.line}: there are questions, but no sessions{whose}"
            return
        undated = [place for place in user.sessions.values() if not place.dated]
        if undated and len(undated) < len(user.sessions):
            missing = f"the field 'date' is missing, and other sessions{whose} have one"
            yield f"{self.path}:{undated[0].line}: {missing}: give it to all, or to none, which keeps their order"
        for place in user.sessions.values():
            if place.id in known:
                other = known[place.id]
                yield f"{self.path}:{place.line}: {place.id!r} is also the name of a turn of {other.id!r}. Rename it"
        for asked in user.questions.values():
            if asked.asked and undated:
                yield f"{self.path}:{asked.line}: date: no session{whose} has one to compare it with. Leave it out"
            yield from self._misplaced_ids(asked, user, known, whose)

    def _misplaced_ids(
        self, asked: LogQuestion, user: LogUser, known: Mapping[str, SessionOffset], whose: str
    ) -> Iterator[str]:
        """Yield what is wrong with the ids that a question names."""
        named = [("evidence", one) for one in asked.evidence] + [("after", asked.after)] * bool(asked.after)
        for name, one in named:
            where = f"{self.path}:{asked.line}: {name}"
            place = user.sessions.get(one) or known.get(one)
            if place is None:
                near = did_you_mean(one, [*user.sessions, *known])
                yield f"{where}: no session and no turn{whose} is called {one!r}.{near}"
            elif asked.asked and place.at > asked.asked.at:
                yield f"{where}: {one!r} is later than the question, which is of {asked.asked.written}"


def iter_turn_ids(place: SessionOffset) -> Iterator[str]:
    """Yield the ids of the turns of a session."""
    return (f"{place.id}_{number}" for number in range(1, place.turns + 1))


def iter_numbered_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, place in bytes and content of each line that is not blank; DatasetError if it cannot be read."""
    try:
        with path.open("rb") as file:
            start, number = 0, 0
            while raw := file.readline(LONGEST + 1):
                number += 1
                if len(raw) > LONGEST:
                    limit = f"longer than {LONGEST:,} bytes: one session, or one question, a line"
                    raise DatasetError(f"{path}:{number}: {limit}")
                if number == 1 and raw.startswith(_UTF_16):
                    raise DatasetError(f"{path}:1: is UTF-16. Save it as UTF-8")
                content = raw.removeprefix(_MARK) if number == 1 else raw
                if content.strip():
                    yield number, start + len(raw) - len(content), content
                start += len(raw)  # counted, as `tell` costs a system call for each line
    except IsADirectoryError as error:
        raise DatasetError(f"{path}: is a folder. Name a file; exports are read by ltm data convert") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error


def _parse_line(raw: bytes, where: str) -> Field:
    """Return the object that a line holds; DatasetError for anything else."""
    start = raw.lstrip()
    if start[:1] == b"[":
        raise DatasetError(f"{where}: a JSON list, but each line is an object of its own (JSON lines)")
    if start[:1] != b"{":
        raise DatasetError(f"{where}: not JSON: {no_list(start[:40])}")
    try:
        return Field(json.loads(raw.decode("utf-8")), where)
    except UnicodeDecodeError as error:
        raise DatasetError(f"{where}: not UTF-8 (at byte {error.start} of the line). Save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        way_out = "Each line is one whole object" if len(start) < _SHORT else "Is it cut off?"
        raise DatasetError(f"{where}: not JSON: {error}. {way_out}") from error


_SHORT = 200


def _reject_repeated_id(known: Mapping[str, Any], one: Any, top: Field, what: str) -> None:
    if one.id in known:
        raise top.fault(f"the {what} {one.id!r} is in line {known[one.id].line} already. Give each an id of its own.")
