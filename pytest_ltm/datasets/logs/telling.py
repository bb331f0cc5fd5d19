"""How sessions are told: what turns say in words, and a history whose exchanges are read when they are told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

import msgspec
from msgspec import structs

from pytest_ltm._model.filler import PastExchange
from pytest_ltm._storage.clock import START
from pytest_ltm._storage.schema import Field
from pytest_ltm.datasets.locomo.delivery import ACKNOWLEDGED
from pytest_ltm.datasets.logs.log_lines import Date, parse_log_date
from pytest_ltm.datasets.longmemeval.conversations import round_exchanges
from pytest_ltm.datasets.longmemeval.record import HistorySession, HistoryTurn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_ltm.datasets._interchange import Session, Turn
    from pytest_ltm.datasets.logs.log_file import SessionOffset


def turn_text(turn: Turn, room: str = "") -> str:
    """Return what a turn says and does, in words."""
    when = f" at {parse_log_date(Field(turn.date, '')).written.rpartition(' ')[2]}" if turn.date else ""
    head = f"{turn.name or turn.role}{when}{f' in {room}' if room else ''}: " if turn.name or when or room else ""
    parts = [f"{head}{turn.content}"] if turn.content or head else []
    parts += [f"[photo: {one.caption}]" for one in turn.images if one.caption]
    parts += [f"State: {turn.state}"] * bool(turn.state) + [f"Action: {turn.action}"] * bool(turn.action)
    for call in turn.calls:
        arguments = "" if call.arguments is None else _json(call.arguments)
        parts.append(f"[called {call.name}({arguments}){'' if call.result is None else f': {_json(call.result)}'}]")
    return "\n".join(parts)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def session_date(session: Session) -> Date:
    """Return when a session was; where no session has a date all begin with the conversation."""
    return parse_log_date(Field(session.date, session.id)) if session.date else Date(START, "")


def session_exchanges(place: int, session: Session, folder: Path) -> list[PastExchange]:
    """Return a session as exchanges: the rounds of user and assistant, or what people said.

    `place`: its number in the history; `folder`: where its images are.
    """
    date = session_date(session)
    turns = [
        HistoryTurn("user" if turn.role == "user" else "assistant", turn_text(turn, session.room))
        for turn in session.turns
    ]
    spoken = HistorySession(session.id, date.written, date.at, tuple(turns))
    with_assistant = any(turn.role == "assistant" for turn in turns)
    exchanges = list(round_exchanges(place, spoken) if with_assistant else _turn_exchanges(spoken))
    photos = {
        f"{session.id}_{number}": [str(folder / one.file) for one in turn.images if one.file]
        for number, turn in enumerate(session.turns, start=1)
        if turn.images
    }
    return [_with_photos(one, photos) for one in exchanges] if photos else exchanges


def _turn_exchanges(session: HistorySession) -> Iterator[PastExchange]:
    date = f"[{session.when}] " if session.when else ""
    for number, turn in enumerate(session.turns, start=1):
        text = f"{date}{turn.content}"
        yield PastExchange(f"{session.id}_{number}", session.at, text, ACKNOWLEDGED, text)


def _with_photos(past: PastExchange, photos: dict[str, list[str]]) -> PastExchange:
    files = tuple(file for name in past.ids for file in photos.get(name, ()))
    return structs.replace(past, images=files, pictured=past.asked) if files else past


class ToldSessions(Sequence[PastExchange]):
    """The history of a user: exchanges by number, of which those of one session at a time are in memory."""

    def __init__(self, places: Sequence[SessionOffset], read: Callable[[SessionOffset], list[PastExchange]]) -> None:
        self.places = places
        self._read = read
        self._ends = list(accumulate(place.exchanges for place in places))
        self._last: tuple[int, list[PastExchange]] = (-1, [])

    def __len__(self) -> int:
        """How many exchanges there are."""
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
        """Return how many exchanges have been told when so many sessions have."""
        return self._ends[session - 1] if session else 0
