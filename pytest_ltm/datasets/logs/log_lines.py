"""One line of a file of logs: a header, a session or a question; what is wrong names the field and what it may be."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm._storage.rows import text_or_number
from pytest_ltm.datasets._interchange import (
    FORMAT,
    MATCHES,
    RECALL_AT,
    VERSION,
    Header,
    Picture,
    Question,
    Session,
    ToolCall,
    Turn,
)
from pytest_ltm.datasets.longmemeval.record import format_longmemeval_date

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._storage.schema import Field

_ROLES = ("user", "assistant", "tool")
_DAY = timedelta(days=1, seconds=-1)
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,]\d+)?\s?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Date(NamedTuple):
    """A date of the file."""

    at: datetime
    """Aware; UTC where the file names no zone."""
    written: str
    """As messages have it: in the zone of the file, without a time where there is none."""


class LogQuestion(Question, frozen=True, kw_only=True):
    """A question with what its line means."""

    line: int
    asked: Date | None
    """When it is asked."""
    golds: tuple[str, ...]
    """The gold answers as texts; of choices their letters. None: answers have no score, unless there are claims."""
    options: dict[str, str]
    """The choices by letter."""


def read_header(top: Field) -> Header:
    """Return the header of a file; DefinitionError for what is wrong with it."""
    fields = top.mapping(("format", "version", "source", "opening", "notes"), required=("format", "version"))
    if fields["format"].value != FORMAT:
        raise fields["format"].error(repr(FORMAT))
    if fields["version"].whole(least=1) > VERSION:
        raise fields["version"].fault(f"this pytest-ltm reads versions up to {VERSION}. Install a newer one.")
    notes = fields["notes"].texts() if "notes" in fields else ()
    return Header(format=FORMAT, version=VERSION, notes=notes, **_texts(fields, "source", "opening"))


def read_session(top: Field) -> Session:
    """Return the session of a line; DefinitionError for what is wrong with it."""
    fields = top.mapping(("session", "date", "turns", "user", "room", "meta"), required=("session", "turns"))
    turns = fields["turns"].items("turns")
    if not turns:
        raise fields["turns"].fault("holds no turn.")
    if "date" in fields:
        parse_log_date(fields["date"])
    read = tuple(map(_read_turn, turns))
    return Session(id=fields["session"].text(), turns=read, **_texts(fields, "date", "user", "room"))


def _read_turn(item: Field) -> Turn:
    fields = item.mapping(Turn.__struct_encode_fields__, required=("role",))
    role = fields["role"].value
    if role not in _ROLES:  # a tuple: it may be a list
        raise fields["role"].error(f"{', '.join(map(repr, _ROLES[:-1]))} or 'tool'")
    if not ({"images", "calls", "state", "action"} & fields.keys()) and "content" not in fields:
        raise item.fault("the field 'content' is missing.")
    if "date" in fields:
        parse_log_date(fields["date"])
    images = [_read_picture(one) for one in fields["images"].items("images")] if "images" in fields else ()
    calls = [_read_call(one) for one in fields["calls"].items("calls")] if "calls" in fields else ()
    texts = _texts(fields, "content", "name", "date", "state", "action")
    return Turn(role=role, images=tuple(images), calls=tuple(calls), **texts)


def _read_picture(item: Field) -> Picture:
    fields = item.mapping(("file", "caption"))
    if not fields:
        raise item.error("an image with a file, a caption or both")
    return Picture(**_texts(fields, "file", "caption"))


def _read_call(item: Field) -> ToolCall:
    fields = item.mapping(("name", "arguments", "result"), required=("name",))
    more = {name: fields[name].json() for name in ("arguments", "result") if name in fields}
    return ToolCall(name=fields["name"].text(), **more)


def _texts(fields: Mapping[str, Field], *names: str) -> dict[str, str]:
    """Return those of the fields that are there, each a text that says something."""
    return {name: fields[name].text() for name in names if name in fields}


def read_question(top: Field, line: int) -> LogQuestion:
    """Return the question of a line; DefinitionError for what is wrong with it."""
    fields = top.mapping(Question.__struct_encode_fields__, required=("question",))
    options = _read_choices(fields["choices"]) if "choices" in fields else {}
    golds = _gold_texts(fields["gold"]) if "gold" in fields and fields["gold"].value is not None else ()
    if options and golds:
        by_text = {text: letter for letter, text in options.items()}
        letters = tuple(gold if gold in options else by_text.get(gold, "") for gold in golds)
        if "" in letters:
            raise fields["gold"].error(f"one of the choices: {', '.join(options)}")
        golds = letters
    never = "never_told" in fields and fields["never_told"].boolean()
    if never and "evidence" in fields:
        raise fields["evidence"].fault("what was never told has none.")
    if "after" in fields and "date" in fields:
        raise fields["after"].fault("there is a 'date' as well. Leave one of them out.")
    texts: dict[str, Any] = {"id": text_or_number(fields["id"], empty=False) if "id" in fields else f"q{line}"}
    texts |= {"kind": fields["kind"].name()} if "kind" in fields else {}
    texts |= {"match": _read_match(fields["match"], golds)} if "match" in fields else {}
    if "asks" in fields and fields["asks"].value not in ("alone", "together"):
        raise fields["asks"].error("'alone' or 'together'")
    texts |= _texts(fields, "user", "image", "after", "asks")
    return LogQuestion(
        line=line, text=fields["question"].text(), golds=golds, options=options, never_told=never,
        claims=fields["claims"].texts() if "claims" in fields else (),
        tolerance=_read_tolerance(fields["tolerance"], golds) if "tolerance" in fields else 0.0,
        asked=parse_log_date(fields["date"], ends=True) if "date" in fields else None,
        evidence=fields["evidence"].texts() if "evidence" in fields else (), **texts,
    )  # fmt: skip


def _read_choices(item: Field) -> dict[str, str]:
    if isinstance(item.value, list) and 1 < len(item.value) <= len(_LETTERS):
        return dict(zip(_LETTERS, item.texts(), strict=False))
    if not isinstance(item.value, dict) or len(item.value) < 2:
        raise item.error(f"a list of 2 to {len(_LETTERS)} texts, or an object of texts by letter")
    return {letter: one.text() for letter, one in item.mapping().items()}


def _read_match(item: Field, golds: tuple[str, ...]) -> str:
    if item.value not in MATCHES and not (isinstance(item.value, str) and RECALL_AT.fullmatch(item.value)):
        raise item.error(f"{', '.join(MATCHES)} or recall@K")
    if item.value != "answer" and not golds:
        raise item.fault("needs a 'gold' to compare with.")
    return str(item.value)


def _read_tolerance(item: Field, golds: tuple[str, ...]) -> float:
    try:
        [float(gold) for gold in golds or ("",)]
    except ValueError:
        raise item.fault("needs a 'gold' that is a number.") from None
    return item.number(0, 1e12)


def _gold_texts(item: Field) -> tuple[str, ...]:
    if not isinstance(item.value, list):
        return (text_or_number(item, empty=False),)
    if not item.value:
        raise item.fault("an empty list: leave it out where nobody knows the answer.")
    return tuple(text_or_number(one, empty=False) for one in item.items())


def parse_log_date(item: Field, *, ends: bool = False) -> Date:
    """Return a date; `ends`: a day without a time means its last second, in its own zone, not its first."""
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


def row_of(top: Field) -> dict[str, Any]:
    """Return the fields of a line that is a header, a session or a question; DefinitionError for any other."""
    fields = top.mapping()
    if sum(name in fields for name in ("session", "question", "format")) != 1:
        raise top.fault(
            "expected either a session (session, date, turns) or a question (question, and what is known of it); "
            f"fields: {', '.join(fields) or 'none'}."
        )
    return fields
