"""Files of logs: a session or a question a line, read one line at a time; what is wrong names file and line."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm._storage.errors import DatasetError, DefinitionError, did_you_mean
from pytest_ltm._storage.rows import no_list, text_or_number
from pytest_ltm._storage.schema import Field
from pytest_ltm.datasets.longmemeval.record import HistorySession, HistoryTurn, format_longmemeval_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


LONGEST = 50_000_000
"""Bytes that a line may have: one session."""
FAULTS = 100
"""So many faults are looked for."""
KIND = "question"
"""The kind of a question that names none."""
EVERYBODY = "all"
"""The label of the one user of a file that names none."""
_OF_SESSION = ("session", "date", "turns", "user", "meta")
_OF_TURN = ("role", "content", "name")
_OF_QUESTION = ("question", "id", "date", "gold", "never_told", "evidence", "kind", "user", "meta")
_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DAY = timedelta(days=1, seconds=-1)
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,]\d+)?\s?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


class Date(NamedTuple):
    """A date of the file."""

    at: datetime
    """Aware; UTC where the file names no zone."""
    written: str
    """As messages have it: in the zone of the file, without a time where there is none."""


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


@dataclass(frozen=True, slots=True)
class LogQuestion:
    """One question."""

    line: int
    id: str
    """Its own, or `q` and the line."""
    text: str
    kind: str
    gold: tuple[str, ...]
    """Each of them right; none: answers to it have no score."""
    never_told: bool
    """Whether the right answer is that nobody said it."""
    date: Date | None
    """When it is asked."""
    evidence: tuple[str, ...]
    """Ids of sessions, and of turns: the session's, `_` and a number from 1."""


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
        self.disorder = 0
        """How many sessions are earlier than one of the same user before them in the file."""
        self._read()

    def sessions(self, user: str) -> Iterator[HistorySession]:
        """Yield the sessions of a user by date, read anew."""
        with self.path.open("rb") as file:
            for place in self.users[user].sessions.values():
                file.seek(place.start)
                yield read_session(_parse_line(file.read(place.size), f"{self.path}:{place.line}"))

    def digest(self, user: str) -> str:
        """Return the SHA-256 of all sessions of a user, by date."""
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
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
        fields = top.mapping()
        if ("session" in fields) == ("question" in fields):
            raise top.fault(
                "expected either a session (session, date, turns) or a question (question, and what is known of it); "
                f"fields: {', '.join(fields) or 'none'}."
            )
        name = fields["user"].text() if "user" in fields else ""
        if "question" in fields:
            asked, user = read_question(top, line), self.users.setdefault(name, LogUser())
            _reject_repeated_id(user.questions, asked, top, "question")
            user.questions[asked.id] = asked
            return
        session, user = read_session(top), self.users.setdefault(name, LogUser())
        place = SessionOffset(line, start, size, session.id, session.at, len(session.turns))
        _reject_repeated_id(user.sessions, place, top, "session")
        self.disorder += user.latest is not None and place.at < user.latest
        user.latest = max(user.latest or place.at, place.at)
        user.sessions[place.id] = place

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
        for place in user.sessions.values():
            if place.id in known:
                other = known[place.id]
                yield f"{self.path}:{place.line}: {place.id!r} is also the name of a turn of {other.id!r}. Rename it"
        for asked in user.questions.values():
            for one in asked.evidence:
                where = f"{self.path}:{asked.line}: evidence"
                result = user.sessions.get(one) or known.get(one)
                if result is None:
                    near = did_you_mean(one, [*user.sessions, *known])
                    yield f"{where}: no session and no turn{whose} is called {one!r}.{near}"
                elif asked.date and result.at > asked.date.at:
                    yield f"{where}: {one!r} is later than the question, which is of {asked.date.written}"


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
                start += len(raw)
    except IsADirectoryError as error:
        raise DatasetError(f"{path}: is a folder. Name a file; exports are split by ltm data logs-split") from error
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


# --- One line


def read_session(top: Field) -> HistorySession:
    """Return the session of a line; DefinitionError for what is wrong with it."""
    fields = top.mapping(_OF_SESSION, required=("session", "date", "turns"))
    said = fields["turns"].items("turns")
    if not said:
        raise fields["turns"].fault("holds no turn.")
    date = _parse_log_date(fields["date"])
    return HistorySession(fields["session"].text(), date.written, date.at, tuple(map(_parse_log_turn, said)))


def _parse_log_turn(item: Field) -> HistoryTurn:
    fields = item.mapping(_OF_TURN, required=("role", "content"))
    role, content = fields["role"].value, fields["content"].text()
    if role not in ("user", "assistant"):  # a tuple: it may be a list
        raise fields["role"].error("'user' or 'assistant'", " Leave out what tools and system messages say.")
    return HistoryTurn(role, f"{fields['name'].text()}: {content}" if "name" in fields else content)


def read_question(top: Field, line: int) -> LogQuestion:
    """Return the question of a line; DefinitionError for what is wrong with it."""
    fields = top.mapping(_OF_QUESTION, required=("question",))
    gold = _gold_texts(fields["gold"]) if "gold" in fields and fields["gold"].value is not None else ()
    never = "never_told" in fields and fields["never_told"].boolean()
    if never and "evidence" in fields:
        raise fields["evidence"].fault("what was never told has none.")
    return LogQuestion(
        line=line,
        id=text_or_number(fields["id"], empty=False) if "id" in fields else f"q{line}",
        text=fields["question"].text(),
        kind=fields["kind"].name() if "kind" in fields else KIND,
        gold=gold,
        never_told=never,
        date=_parse_log_date(fields["date"], ends=True) if "date" in fields else None,
        evidence=fields["evidence"].texts() if "evidence" in fields else (),
    )


def _gold_texts(item: Field) -> tuple[str, ...]:
    if not isinstance(item.value, list):
        return (text_or_number(item, empty=False),)
    if not item.value:
        raise item.fault("an empty list: leave it out where nobody knows the answer.")
    return tuple(text_or_number(one, empty=False) for one in item.items())


def _parse_log_date(item: Field, *, ends: bool = False) -> Date:
    """Return a date; `ends`: a day without a time means its last second, not its first."""
    match = _DATE.fullmatch(item.text().strip())
    if match is None:
        raise item.error("a date such as '2026-03-02', '2026-03-02 09:15' or '2026-03-02T09:15:00+01:00'")
    day, minute, second, zone = match.groups()
    offset = {None: "+00:00", "Z": "+00:00"}.get(zone) or f"{zone[:3]}:{zone[-2:]}"
    try:
        local = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}{offset}")
        at = local.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise item.error("a date that there is") from None
    shown = format_longmemeval_date(local)
    if minute:
        return Date(at, shown)
    return Date(at + _DAY if ends else at, shown.rpartition(" ")[0])
