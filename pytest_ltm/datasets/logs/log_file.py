"""Files of logs: a session or question per line, read line by line, and the presentation of sessions.

Errors name file, line and field.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, overload

import msgspec
from msgspec import structs

from pytest_ltm.api.model import PastExchange
from pytest_ltm.api.storage import (
    START,
    DatasetError,
    DefinitionError,
    Field,
    did_you_mean,
    open_regular,
)
from pytest_ltm.datasets.interchange import (
    FORMAT,
    MATCHES,
    RECALL_AT,
    VERSION,
    Header,
    OfficialRule,
    Picture,
    Question,
    Session,
    ToolCall,
    Turn,
)
from pytest_ltm.datasets.locomo.samples import ACKNOWLEDGED
from pytest_ltm.datasets.longmemeval.conversations import round_exchanges
from pytest_ltm.datasets.longmemeval.record import (
    HistorySession,
    HistoryTurn,
    format_longmemeval_date,
)
from pytest_ltm.datasets.rows import describe_content, text_or_number

# --- One line: a header, a session or a question. Parsed by hand, not decoded into its
# type, for errors with a remedy.

_ROLES = ("user", "assistant", "tool")
_DAY = timedelta(days=1, seconds=-1)
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,]\d+)?\s?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Date(NamedTuple):
    """A date in the file."""

    at: datetime
    """Aware; UTC if the file names no zone."""
    written: str
    """The form in messages: in the file's zone, without a time if there is none."""
    zone: tzinfo | None = None
    """The zone that the file names."""


class LogQuestion(Question, frozen=True, kw_only=True):
    """A question with the interpretation of its line."""

    line: int
    asked: Date | None
    """When it is asked."""
    golds: tuple[str, ...]
    """The gold answers as texts, for choices their letters. Without them only claims can give a score."""
    options: dict[str, str]
    """The choices by letter."""


def row_of(top: Field) -> dict[str, Any]:
    """Return the fields of a header, session or question; DefinitionError for any other line."""
    fields = top.mapping()
    if sum(name in fields for name in ("session", "question", "format")) != 1:
        raise top.fault(
            "expected either a session (session, date, turns) or a question (question, and what is known of it); "
            f"fields: {', '.join(fields) or 'none'}."
        )
    return fields


def read_header(top: Field) -> Header:
    """Parse the header of a file; DefinitionError for a malformed one."""
    fields = top.mapping(
        ("format", "version", "source", "opening", "notes"),
        required=("format", "version"),
    )
    if fields["format"].value != FORMAT:
        raise fields["format"].error(repr(FORMAT))
    if fields["version"].whole(least=1) > VERSION:
        raise fields["version"].fault(
            f"this pytest-ltm reads versions up to {VERSION}. Install a newer one."
        )
    notes = fields["notes"].texts() if "notes" in fields else ()
    return Header(
        format=FORMAT,
        version=VERSION,
        notes=notes,
        **_texts(fields, "source", "opening"),
    )


def read_session(top: Field) -> Session:
    """Parse the session of a line; DefinitionError for a malformed one."""
    fields = top.mapping(
        ("session", "date", "turns", "user", "room", "meta"),
        required=("session", "turns"),
    )
    turns = fields["turns"].items("turns")
    if not turns:
        raise fields["turns"].fault("holds no turn.")
    if "date" in fields:
        parse_log_date(fields["date"])
    read = tuple(map(_read_turn, turns))
    return Session(
        id=fields["session"].text(),
        turns=read,
        **_texts(fields, "date", "user", "room"),
    )


def _read_turn(item: Field) -> Turn:
    fields = item.mapping(Turn.__struct_encode_fields__, required=("role",))
    role = fields["role"].value
    if role not in _ROLES:  # a tuple, because the value may be unhashable
        raise fields["role"].error(f"{', '.join(map(repr, _ROLES[:-1]))} or 'tool'")
    if (
        not ({"images", "calls", "state", "action"} & fields.keys())
        and "content" not in fields
    ):
        raise item.fault("the field 'content' is missing.")
    if "date" in fields:
        parse_log_date(fields["date"])
    images = []
    calls = []
    for part in fields["images"].items("images") if "images" in fields else ():
        parts = part.mapping(("file", "caption"))
        if not parts:
            raise part.error("an image with a file, a caption or both")
        images.append(Picture(**_texts(parts, "file", "caption")))
    for part in fields["calls"].items("calls") if "calls" in fields else ():
        parts = part.mapping(("name", "arguments", "result"), required=("name",))
        more = {}
        for name in ("arguments", "result"):
            if name in parts:
                more[name] = parts[name].json()
        calls.append(ToolCall(name=parts["name"].text(), **more))
    texts = _texts(fields, "content", "name", "date", "state", "action")
    return Turn(role=role, images=tuple(images), calls=tuple(calls), **texts)


def _texts(fields: Mapping[str, Field], *names: str) -> dict[str, str]:
    """Return the fields that are present, each a non-empty text."""
    return {name: fields[name].text() for name in names if name in fields}


def read_question(top: Field, line: int) -> LogQuestion:
    """Parse the question of a line; DefinitionError for a malformed one."""
    fields = top.mapping(Question.__struct_encode_fields__, required=("question",))
    golds, options = _read_golds(fields)
    never = "never_told" in fields and fields["never_told"].boolean()
    if never and "evidence" in fields:
        raise fields["evidence"].fault("what was never told has none.")
    if "after" in fields and "date" in fields:
        raise fields["after"].fault("there is a 'date' as well. Leave one of them out.")
    texts: dict[str, Any] = {
        "id": text_or_number(fields["id"], empty=False)
        if "id" in fields
        else f"q{line}"
    }
    texts |= {"kind": fields["kind"].name()} if "kind" in fields else {}
    if "match" in fields:
        texts["match"] = match = fields["match"].value
        if match not in MATCHES and not (
            isinstance(match, str) and RECALL_AT.fullmatch(match)
        ):
            raise fields["match"].error(f"{', '.join(MATCHES)} or recall@K")
        if match != "answer" and not golds:
            raise fields["match"].fault("needs a 'gold' to compare with.")
    if "asks" in fields and fields["asks"].value not in ("alone", "together"):
        raise fields["asks"].error("'alone' or 'together'")
    if "tolerance" in fields:
        try:
            [float(gold) for gold in golds or ("",)]
        except ValueError:
            raise fields["tolerance"].fault(
                "needs a 'gold' that is a number."
            ) from None
        texts["tolerance"] = fields["tolerance"].number(0, 1e12)
    texts |= _texts(fields, "user", "image", "after", "asks")
    if "official" in fields:
        rule = fields["official"].mapping(("rule", "gold"), required=("rule",))
        gold = rule["gold"].texts() if "gold" in rule else ()
        texts["official"] = OfficialRule(rule=rule["rule"].text(), gold=gold)
    return LogQuestion(
        line=line,
        text=fields["question"].text(),
        golds=golds,
        options=options,
        never_told=never,
        claims=fields["claims"].texts() if "claims" in fields else (),
        asked=parse_log_date(fields["date"], ends=True) if "date" in fields else None,
        evidence=fields["evidence"].texts() if "evidence" in fields else (),
        **texts,
    )


def _read_golds(fields: Mapping[str, Field]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the gold answers of a question, and its choices by letter; with choices, the answers are letters."""
    golds: tuple[str, ...] = ()
    options: dict[str, str] = {}
    if item := fields.get("choices"):
        if isinstance(item.value, list) and 1 < len(item.value) <= len(_LETTERS):
            options = dict(zip(_LETTERS, item.texts(), strict=False))
        elif not isinstance(item.value, dict) or len(item.value) < 2:
            raise item.error(
                f"a list of 2 to {len(_LETTERS)} texts, or an object of texts by letter"
            )
        else:
            options = {letter: entry.text() for letter, entry in item.mapping().items()}
    if "gold" not in fields or fields["gold"].value is None:
        return golds, options
    item = fields["gold"]
    if item.value == []:
        raise item.fault("an empty list: omit the field if the answer is unknown.")
    items = item.items() if isinstance(item.value, list) else [item]
    golds = tuple(text_or_number(entry, empty=False) for entry in items)
    if options:
        # a letter takes precedence over a text: choices may be letters themselves
        by_text = {text: letter for letter, text in options.items()}
        letters = []
        for gold in golds:
            letters.append(gold if gold in options else by_text.get(gold, ""))
        golds = tuple(letters)
        if "" in golds:
            raise item.error(f"one of the choices: {', '.join(options)}")
    return golds, options


def parse_log_date(item: Field, *, ends: bool = False) -> Date:
    """Parse a date; `ends`: a day without a time means its last second, not its first."""
    match = _DATE.fullmatch(item.text().strip())
    if match is None:
        raise item.error(
            "a date such as '2026-03-02', '2026-03-02 09:15' or '2026-03-02T09:15:00+01:00'"
        )
    day, minute, second, zone = match.groups()
    # Python 3.10 parses neither `Z` nor a zone without a colon
    offset = {None: "+00:00", "Z": "+00:00"}.get(zone) or f"{zone[:3]}:{zone[-2:]}"
    try:
        local = datetime.fromisoformat(
            f"{day}T{minute or '00:00'}{second or ':00'}{offset}"
        )
        moment = local.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise item.error("a date that there is") from None
    text = format_longmemeval_date(local)
    zone_info = local.tzinfo if zone else None
    if minute:
        return Date(moment, text, zone_info)
    return Date(moment + _DAY if ends else moment, text.rpartition(" ")[0], zone_info)


# --- Presentation of sessions: turns in words, and a history whose exchanges are read
# on demand.


def turn_text(turn: Turn, room: str = "") -> str:
    """Return the words and actions of a turn as text."""
    if turn.date:
        when = f" at {parse_log_date(Field(turn.date, '')).written.rpartition(' ')[2]}"
    else:
        when = ""
    if turn.name or when or room:
        head = f"{turn.name or turn.role}{when}{f' in {room}' if room else ''}: "
    else:
        head = ""
    parts = [f"{head}{turn.content}"] if turn.content or head else []
    parts += [f"[photo: {image.caption}]" for image in turn.images if image.caption]
    if turn.state:
        parts.append(f"State: {turn.state}")
    if turn.action:
        parts.append(f"Action: {turn.action}")
    for call in turn.calls:
        arguments = "" if call.arguments is None else _json(call.arguments)
        parts.append(
            f"[called {call.name}({arguments}){'' if call.result is None else f': {_json(call.result)}'}]"
        )
    return "\n".join(parts)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def session_date(session: Session) -> Date:
    """Return the date of a session; if no session has one, all begin with the conversation."""
    if session.date:
        return parse_log_date(Field(session.date, session.id))
    return Date(START, "")


def session_exchanges(place: int, session: Session, folder: Path) -> list[PastExchange]:
    """Return a session as exchanges: rounds of user and assistant, or turns of people.

    `place`: its index in the history; `folder`: the folder of its images.
    """
    moment, written, *_ = session_date(session)
    texts = [turn_text(turn, session.room) for turn in session.turns]
    if any(turn.role == "assistant" for turn in session.turns):
        turns = []
        for turn, text in zip(session.turns, texts, strict=True):
            role = "user" if turn.role == "user" else "assistant"
            turns.append(HistoryTurn(role, text))
        spoken = HistorySession(session.id, written, moment, tuple(turns))
        exchanges = list(round_exchanges(place, spoken))
    else:
        exchanges = []
        for number, text in enumerate(texts, start=1):
            # people do not reply to the agent: each turn carries the date, as a
            # retriever may return it alone
            dated = f"[{written}] {text}" if written else text
            name = f"{session.id}_{number}"
            exchanges.append(PastExchange(name, moment, dated, ACKNOWLEDGED, dated))
    photos: dict[str, list[str]] = {}
    for number, turn in enumerate(session.turns, start=1):
        if turn.images:
            files = [str(folder / image.file) for image in turn.images if image.file]
            photos[f"{session.id}_{number}"] = files
    for number, past in enumerate(exchanges if photos else ()):
        images: list[str] = []
        for name in past.ids:
            images += photos.get(name, ())
        if images:
            exchanges[number] = structs.replace(
                past, images=tuple(images), pictured=past.asked
            )
    return exchanges


@dataclass(frozen=True, slots=True)
class SessionOffset:
    """The position of a session in the file, and the data for ordering it."""

    line: int
    start: int
    """In bytes."""
    size: int
    id: str
    at: datetime
    turns: int
    exchanges: int
    """The number of exchanges that present it."""
    dated: bool
    zone: tzinfo = timezone.utc
    """The zone of its date."""

    def is_told_by(self, asked_on: Date) -> bool:
        """Return whether it precedes a question of a date; a naive date is in the session's own zone."""
        return self.at <= self.question_time(asked_on)

    def question_time(self, asked_on: Date) -> datetime:
        """Return when a question of a date is asked after this session."""
        if asked_on.zone:
            return asked_on.at
        return asked_on.at.replace(tzinfo=self.zone)

    @property
    def turn_ids(self) -> list[str]:
        """The ids of its turns."""
        return [f"{self.id}_{number}" for number in range(1, self.turns + 1)]


class ToldSessions(Sequence[PastExchange]):
    """The history of a user as exchanges, with one session at a time in memory."""

    def __init__(
        self,
        places: Sequence[SessionOffset],
        read: Callable[[SessionOffset], list[PastExchange]],
    ) -> None:
        self.places = places
        self._read = read
        self._ends = list(accumulate(place.exchanges for place in places))
        self._last: tuple[int, list[PastExchange]] = (-1, [])

    def __len__(self) -> int:
        """Return the number of exchanges."""
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> PastExchange: ...
    @overload
    def __getitem__(self, place: slice) -> list[PastExchange]: ...
    def __getitem__(self, place: int | slice) -> PastExchange | list[PastExchange]:
        """Return an exchange; IndexError if there is none."""
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        session = bisect_right(self._ends, number)
        if self._last[0] != session:
            self._last = session, self._read(self.places[session])
        return self._last[1][number - self._ends[session]]

    def told_by(self, session: int) -> int:
        """Return the number of exchanges in the first `session` sessions."""
        return self._ends[session - 1] if session else 0

    def told_with(self, name: str) -> int:
        """Return the number of exchanges up to a session or turn, without one that extends beyond it."""
        for session, place in enumerate(self.places):
            if name == place.id:
                return self.told_by(session + 1)
            if name in place.turn_ids:
                numbers = range(self.told_by(session), self.told_by(session + 1))
                number = next(number for number in numbers if name in self[number].ids)
                return number + (self[number].ids[-1] == name)
        raise DatasetError(f"no session and no turn is called {name!r}")

    def told_after(self, turns: Sequence[str]) -> int:
        """Return the number of exchanges up to the last of these turns; all of them if there is none."""
        turn_ids = set(turns)
        for session in reversed(range(len(self.places))):
            # read only sessions that contain one of them: the others may be gigabytes
            if not turn_ids.isdisjoint(self.places[session].turn_ids):
                numbers = range(self.told_by(session), self.told_by(session + 1))
                holding = []
                for number in numbers:
                    if not turn_ids.isdisjoint(self[number].ids):
                        holding.append(number)
                return max(holding) + 1
        return len(self)


# --- The file.

LONGEST = 50_000_000
"""The most bytes of a line, which is one session."""
FAULTS = 100
"""The most faults to report."""
EVERYBODY = "all"
"""The label of the only user of a file without users."""


@dataclass(slots=True)
class LogUser:
    """The logs of one user."""

    sessions: dict[str, SessionOffset] = field(default_factory=dict)
    """By id, in file order until the whole file is read, then by date."""
    questions: dict[str, LogQuestion] = field(default_factory=dict)
    """By id."""
    latest: datetime | None = None
    """The date of the latest session read so far."""


class LogsFile:
    """A file of logs, of which only the questions and the positions of sessions are kept in memory.

    DatasetError if it is unreadable; errors in its lines are listed in `faults`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users: dict[str, LogUser] = {}
        """By name; a file without users has one, named ""."""
        self.faults: list[str] = []
        """A sentence each, with file and line."""
        self.header: Header | None = None
        self.disorder = 0
        """Number of sessions that are earlier than a preceding one of the same user."""
        for line, start, raw in iter_numbered_lines(path):
            if len(self.faults) >= FAULTS:
                return
            try:
                self._take_line(
                    _parse_line(raw, f"{path}:{line}"), line, start, len(raw)
                )
            except (DatasetError, DefinitionError) as error:
                self.faults.append(str(error))
        if not self.users and not self.faults:
            raise DatasetError(f"{path}: holds neither a session nor a question")
        for user in self.users.values():
            # stable: sessions at the same moment, and those of a file without dates,
            # keep their order
            user.sessions = dict(
                sorted(user.sessions.items(), key=lambda item: item[1].at)
            )
        if not self.faults:  # else contents of faulty lines would be missed
            for name, user in self.users.items():
                self.faults += self._at_odds(name, user)

    def history(self, user: str) -> ToldSessions:
        """Return the history of a user, by date; its sessions are read on demand."""
        places = list(self.users[user].sessions.values())
        numbers = {place.line: number for number, place in enumerate(places)}

        def exchanges(place: SessionOffset) -> list[PastExchange]:
            with open_regular(self.path) as file:
                file.seek(place.start)
                session = read_session(
                    _parse_line(file.read(place.size), f"{self.path}:{place.line}")
                )
            return session_exchanges(numbers[place.line], session, self.path.parent)

        return ToldSessions(places, exchanges)

    def digest(self, user: str) -> str:
        """Return the SHA-256 of all sessions of a user, by date."""
        digest = hashlib.sha256()
        with open_regular(self.path) as file:
            # by date, not in file order: reordering the lines does not change the
            # history
            for place in self.users[user].sessions.values():
                file.seek(place.start)
                digest.update(file.read(place.size).strip())
        return digest.hexdigest()

    def check(self) -> None:
        """Raise DatasetError with the first fault, if there is one."""
        if self.faults:
            more = len(self.faults) - 1
            if more:
                remainder = f" There are {more} more: ltm data logs-check {shlex.quote(str(self.path))}"
            else:
                remainder = ""
            raise DatasetError(f"{self.faults[0]}{remainder}")

    def _take_line(self, top: Field, line: int, start: int, size: int) -> None:
        fields = row_of(top)
        if "format" in fields:
            if self.header or self.users:
                raise top.fault(
                    "the header is the first line of a file. Leave the others out."
                )
            self.header = read_header(top)
            return
        name = fields["user"].text() if "user" in fields else ""
        if "question" in fields:
            question = read_question(top, line)
            user = self.users.setdefault(name, LogUser())
            _reject_repeated_id(user.questions, question, top, "question")
            self._check_image(fields.get("image"), question.image)
            user.questions[question.id] = question
            return
        session = read_session(top)
        user = self.users.setdefault(name, LogUser())
        for turn, item in zip(session.turns, fields["turns"].items(), strict=True):
            for picture in turn.images:
                self._check_image(item, picture.file)
        # rendered once to count its exchanges, as their number must be known before
        # playing
        exchange_count = len(session_exchanges(0, session, self.path.parent))
        date = session_date(session)
        place = SessionOffset(
            line,
            start,
            size,
            session.id,
            date.at,
            len(session.turns),
            exchange_count,
            bool(session.date),
            date.zone or timezone.utc,
        )
        _reject_repeated_id(user.sessions, place, top, "session")
        self.disorder += user.latest is not None and place.at < user.latest
        user.latest = max(user.latest or place.at, place.at)
        user.sessions[place.id] = place

    def _check_image(self, item: Field | None, file: str) -> None:
        if item and file and not (self.path.parent / file).is_file():
            raise item.fault(
                f"there is no image {file!r} next to the file. Leave 'file' out: then the caption is sent instead"
            )

    def _at_odds(self, name: str, user: LogUser) -> Iterator[str]:
        """Yield inconsistencies between lines that are valid by themselves."""
        of_user = f" of the user {name!r}" if name else ""
        session_by_turn: dict[str, SessionOffset] = {}
        for place in user.sessions.values():
            session_by_turn |= dict.fromkeys(place.turn_ids, place)
        if "" in self.users and len(self.users) > 1 and not name:
            [first] = [*(user.sessions or user.questions).values()][:1]
            yield f"{self.path}:{first.line}: no 'user', and other lines have one: give it to all lines, or to none"
        if not user.sessions:
            [question] = [*user.questions.values()][:1]
            yield f"{self.path}:{question.line}: there are questions, but no sessions{of_user}"
            return
        undated = [place for place in user.sessions.values() if not place.dated]
        if undated and len(undated) < len(user.sessions):
            missing = (
                f"the field 'date' is missing, and other sessions{of_user} have one"
            )
            yield f"{self.path}:{undated[0].line}: {missing}: give it to all, or to none, which keeps their order"
        for place in user.sessions.values():
            if place.id in session_by_turn:
                owner = session_by_turn[place.id]
                yield f"{self.path}:{place.line}: {place.id!r} is also the name of a turn of {owner.id!r}. Rename it"
        for question in user.questions.values():
            if question.asked and undated:
                yield f"{self.path}:{question.line}: date: no session{of_user} has one to compare it with. Leave it out"
            yield from self._misplaced_ids(question, user, session_by_turn, of_user)

    def _misplaced_ids(
        self,
        question: LogQuestion,
        user: LogUser,
        session_by_turn: Mapping[str, SessionOffset],
        of_user: str,
    ) -> Iterator[str]:
        """Yield errors in the ids that a question refers to."""
        cited_ids = [("evidence", cited_id) for cited_id in question.evidence]
        if question.after:
            cited_ids.append(("after", question.after))
        for name, cited_id in cited_ids:
            where = f"{self.path}:{question.line}: {name}"
            place = user.sessions.get(cited_id) or session_by_turn.get(cited_id)
            if place is None:
                near = did_you_mean(cited_id, [*user.sessions, *session_by_turn])
                yield f"{where}: no session and no turn{of_user} is called {cited_id!r}.{near}"
            elif question.asked and not place.is_told_by(question.asked):
                yield f"{where}: {cited_id!r} is later than the question, which is of {question.asked.written}"


def iter_numbered_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, byte offset and content of each non-blank line; DatasetError if the file is unreadable."""
    try:
        with open_regular(path) as file:
            start = 0
            number = 0
            while raw := file.readline(LONGEST + 1):
                number += 1
                if len(raw) > LONGEST:
                    limit = f"longer than {LONGEST:,} bytes: one session, or one question, a line"
                    raise DatasetError(f"{path}:{number}: {limit}")
                if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise DatasetError(f"{path}:1: is UTF-16. Save it as UTF-8")
                # Windows editors put a byte order mark before the first line
                content = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if content.strip():
                    yield number, start + len(raw) - len(content), content
                # counted, as `tell` costs a system call per line
                start += len(raw)
    except IsADirectoryError as error:
        raise DatasetError(
            f"{path}: is a folder. Name a file; exports are read by ltm data convert"
        ) from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from error


def _parse_line(raw: bytes, where: str) -> Field:
    """Return the object on a line; DatasetError for anything else."""
    start = raw.lstrip()
    if start[:1] == b"[":
        raise DatasetError(
            f"{where}: a JSON list, but each line is an object of its own (JSON lines)"
        )
    if start[:1] != b"{":
        raise DatasetError(f"{where}: not JSON: {describe_content(start[:40])}")
    try:
        return Field(json.loads(raw.decode("utf-8")), where)
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"{where}: not UTF-8 (at byte {error.start} of the line). Save the file as UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:
        # a short line is more likely the first of an object spread over several lines
        # than a truncated one
        if len(start) < _SHORT:
            way_out = "Each line is one whole object"
        else:
            way_out = "Is it cut off?"
        raise DatasetError(f"{where}: not JSON: {error}. {way_out}") from error


_SHORT = 200


def _reject_repeated_id(
    entries: Mapping[str, Any], entry: Any, top: Field, kind: str
) -> None:
    if entry.id in entries:
        raise top.fault(
            f"the {kind} {entry.id!r} is in line {entries[entry.id].line} already. Give each an id of its own."
        )
