"""What a person in the browser is asked and answers, as files in the run folder: a run writes them, a page reads them.

Neither needs the other to be there: a run waits for as long as nobody answers, and an
answer is kept until a run asks.

    people/ann.json                         the person's link, and the label of the column
    people/ann.consent.json                 the nickname, and when the person agreed
    ann~32k~0/person/00007.message.json     what was asked, with what was told before
    ann~32k~0/person/00007.seen.json        how much of that was read, when the message was shown, pauses
    ann~32k~0/person/00007.answer.json      what was answered, and how long it took
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm._core.storage.disk import make_private, write_whole
from pytest_ltm._core.storage.schema import json_text

PEOPLE, BOX = "people", "person"
LONGEST_NICKNAME = 40

S = TypeVar("S", bound=Struct)


class NoReplyMessage(Struct, frozen=True):
    """An exchange that needed no answer."""

    message: str
    reply: str


class HumanPrompt(Struct, frozen=True, kw_only=True):
    """What a person is asked."""

    id: str
    """Of number and text: an answer counts for the message with its id only."""
    number: int
    """Of the exchange, from 1."""
    text: str
    now: datetime | None
    """The conversation's time."""
    told: tuple[NoReplyMessage, ...] = ()
    """What was said since the person's last answer: all of it, or the last of it shortened."""
    more: int = 0
    """How many exchanges before those were left out."""
    filler: str = "shortened"
    """`shortened` or `full`: how filler is shown."""
    notes: str = "forbidden"
    """`allowed`: earlier messages may be read again."""


class ReadReceipt(Struct, frozen=True, kw_only=True):
    """What has happened with a message before it is answered."""

    id: str
    read: int = 0
    """How many of the exchanges that were told have been read."""
    shown: datetime | None = None
    """When the message itself was first shown."""
    paused: datetime | None = None
    """Since when it has been hidden, because the person takes a break."""
    pauses: float = 0.0
    """Seconds of the breaks that are over."""


class HumanAnswer(Struct, frozen=True, kw_only=True):
    """What a person answered."""

    id: str
    text: str
    shown: datetime | None
    answered: datetime
    seconds: float
    """From when it was shown to the answer, without breaks."""


class Consent(Struct, frozen=True, kw_only=True):
    """That a person agreed to take part."""

    nickname: str
    agreed: datetime


class _Person(Struct, frozen=True, kw_only=True):
    label: str
    link: str


class Person(Struct, frozen=True, kw_only=True):
    """Somebody who sits a test: one column of a run."""

    run: Path
    label: str
    link: str
    """The part of the address that only this person knows."""

    @property
    def consent(self) -> Consent | None:
        """Under which nickname the person agreed; None before."""
        return _read_struct(self.run / PEOPLE / f"{self.label}.consent.json", Consent)

    def record_consent(self, nickname: str) -> None:
        """Write down that the person agreed; the first time counts."""
        shown = " ".join(nickname.split())[:LONGEST_NICKNAME]
        _create_once(
            self.run / PEOPLE / f"{self.label}.consent.json",
            Consent(nickname=shown, agreed=wall_time()),
        )

    def begun_boxes(self) -> list[Box]:
        """Return the person's conversations that have begun."""
        return [Box(path) for path in sorted(self.run.glob(f"{self.label}~*/{BOX}"))]

    def waiting_box(self) -> Box | None:
        """Return the conversation in which a message waits for an answer; None where there is none."""
        return next((box for box in self.begun_boxes() if box.open() is not None), None)


def invite_person(run: Path, label: str) -> Person:
    """Return the person of a column, with a link that is made where there is none yet. DiskFault if it is refused."""
    make_private(run / PEOPLE, exist_ok=True)
    path = run / PEOPLE / f"{label}.json"
    _create_once(path, _Person(label=label, link=secrets.token_hex(16)))
    result = _read_struct(path, _Person)
    if result is None:
        raise ValueError(f"{path}: not a person's link")
    return Person(run=run, label=label, link=result.link)


def list_people(run: Path) -> list[Person]:
    """Return the people of a run."""
    held = (
        _read_struct(path, _Person) for path in sorted((run / PEOPLE).glob("*.json"))
    )
    return [
        Person(run=run, label=each.label, link=each.link)
        for each in held
        if each is not None
    ]


def person_of(runs: Sequence[Path], link: str) -> Person | None:
    """Return whose link it is; None if it is nobody's."""
    # In constant time: the link is all that a person has to show.
    everybody = (person for run in runs for person in list_people(run))
    return next(
        (
            each
            for each in everybody
            if hmac.compare_digest(each.link.encode(), link.encode())
        ),
        None,
    )


class Box:
    """The messages and answers of one conversation.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # --- what the run does

    def ask(self, message: HumanPrompt) -> None:
        """Put a message in, unless it is there: then it may have been answered meanwhile."""
        make_private(self.folder, exist_ok=True)
        # A resumed run asks again what it asked before.
        before = _read_struct(self._path(message.number, "message"), HumanPrompt)
        if before is None or before.id != message.id:
            _write_struct(self._path(message.number, "message"), message)

    def answer(self, message: HumanPrompt) -> HumanAnswer | None:
        """Return the answer to a message; None while there is none."""
        result = _read_struct(self._path(message.number, "answer"), HumanAnswer)
        return result if result is not None and result.id == message.id else None

    def last_answered(self) -> int:
        """Return the highest number that has an answer; 0 where none has."""
        return max(self._numbers("answer"), default=0)

    # --- what the page does

    def open(self) -> HumanPrompt | None:
        """Return the message that waits for an answer."""
        number = max(self._numbers("message"), default=0)
        message = _read_struct(self._path(number, "message"), HumanPrompt)
        return message if message is not None and self.answer(message) is None else None

    def message_state(self, message: HumanPrompt) -> ReadReceipt:
        """Return what has happened with a message."""
        result = _read_struct(self._path(message.number, "seen"), ReadReceipt)
        return (
            result
            if result is not None and result.id == message.id
            else ReadReceipt(id=message.id)
        )

    def read_on(self, message: HumanPrompt, read: int) -> None:
        """Note that one more exchange has been read, if `read` is how many there were: a second tab changes nothing."""
        seen = self.message_state(message)
        if seen.read == read < len(message.told):
            self._note(message, structs.replace(seen, read=read + 1))

    def show(self, message: HumanPrompt) -> ReadReceipt:
        """Note that the message itself is shown, if it is for the first time."""
        seen = self.message_state(message)
        return (
            seen
            if seen.shown
            else self._note(message, structs.replace(seen, shown=wall_time()))
        )

    def pause(self, message: HumanPrompt) -> None:
        """Begin a break."""
        seen = self.message_state(message)
        if seen.paused is None:
            self._note(message, structs.replace(seen, paused=wall_time()))

    def go_on(self, message: HumanPrompt) -> None:
        """End a break."""
        seen = self.message_state(message)
        if seen.paused is not None:
            took = (wall_time() - seen.paused).total_seconds() if seen.shown else 0.0
            self._note(
                message,
                structs.replace(seen, paused=None, pauses=seen.pauses + max(took, 0.0)),
            )

    def reply(self, message: HumanPrompt, text: str) -> bool:
        """Answer a message; False if it has been answered, be it in another tab."""
        self.go_on(message)
        seen, now = self.message_state(message), wall_time()
        took = (
            now - seen.shown - timedelta(seconds=seen.pauses)
            if seen.shown
            else timedelta(0)
        )
        answer = HumanAnswer(
            id=message.id,
            text=text,
            shown=seen.shown,
            answered=now,
            seconds=max(took.total_seconds(), 0.0),
        )
        path = self._path(message.number, "answer")
        before = _read_struct(path, HumanAnswer)
        if (
            before is not None and before.id != message.id
        ):  # to what stood here before the run was changed
            path.unlink(missing_ok=True)
        return _create_once(path, answer)

    def earlier_exchanges(self) -> Iterator[tuple[HumanPrompt, HumanAnswer]]:
        """Yield what was asked and answered, where the person may read it again."""
        for number in sorted(self._numbers("message")):
            message = _read_struct(self._path(number, "message"), HumanPrompt)
            answer = (
                None
                if message is None or message.notes != "allowed"
                else self.answer(message)
            )
            if message is not None and answer is not None:
                yield message, answer

    def times(self) -> list[float]:
        """Return the seconds that each answer took."""
        answers = (
            _read_struct(self._path(number, "answer"), HumanAnswer)
            for number in self._numbers("answer")
        )
        return [answer.seconds for answer in answers if answer is not None]

    def _note(self, message: HumanPrompt, seen: ReadReceipt) -> ReadReceipt:
        _write_struct(self._path(message.number, "seen"), seen)
        return seen

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"{number:05}.{kind}.json"

    def _numbers(self, kind: str) -> list[int]:
        names = (
            path.name.partition(".")[0] for path in self.folder.glob(f"*.{kind}.json")
        )
        return [int(name) for name in names if name.isdecimal()]


def message_id(number: int, text: str) -> str:
    """Return what a message is known by."""
    return hashlib.sha256(
        f"{number}\n{text}".encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


# --- files


def _read_struct(path: Path, kind: type[S]) -> S | None:
    """Return what a file holds; None where there is none, or nothing of that kind."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError, RecursionError):
        return None


def _write_struct(path: Path, value: Struct) -> None:
    write_whole(path, json_text(msgspec.to_builtins(value)).encode())


def _create_once(path: Path, value: Struct) -> bool:
    """Write a file, whole, if there is none; False if there is."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    _write_struct(beside, value)
    try:
        # It fails where the file exists, so that of two tabs, or of a run and a page,
        # one wins.
        os.link(beside, path)
    except OSError:  # it is there, or this is a file system without links
        if path.exists():
            return False
        beside.replace(path)
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return True
