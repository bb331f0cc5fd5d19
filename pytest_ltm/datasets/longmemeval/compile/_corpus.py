"""Sessions from files: JSON lists of records, or of sessions; only one of them in memory at a time."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError, DefinitionError
from pytest_ltm._fields import Field
from pytest_ltm.datasets.longmemeval._slices import slices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

_TURNS = ("turns", "messages")
_IN_MEMORY = 4


class Corpus:
    """A file of sessions; `evidence_only`: of records, only the sessions that they cite.

    Raises DatasetError for a file that holds neither records nor sessions.
    """

    def __init__(self, path: Path, *, evidence_only: bool = False) -> None:
        self.path, self._evidence_only = path, evidence_only
        self._slices = tuple(slices(path))
        if not self._slices:
            raise DatasetError(f"{path}: holds no sessions to fill with")
        self._item = lru_cache(maxsize=_IN_MEMORY)(self._read)
        self._item(0)  # a wrong file is told of at once

    def draws(self, rng: Random) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield every session once, with its id, in a random order that takes one of each record in turn."""
        order = rng.sample(range(len(self._slices)), len(self._slices))
        turn = 0
        while order:
            for place in list(order):
                sessions = self._item(place)
                if turn >= len(sessions):
                    order.remove(place)
                    continue
                yield sessions[(turn + place) % len(sessions)]
            turn += 1

    def _read(self, place: int) -> list[tuple[str, list[dict[str, Any]]]]:
        start, end = self._slices[place]
        with self.path.open("rb") as file:
            file.seek(start)
            raw = file.read(end - start)
        try:
            return self._sessions(Field(json.loads(raw), f"{self.path}: entry {place + 1}"), place)
        except DefinitionError as error:
            raise DatasetError(f"{error} A file of fillers is a JSON list of records or of sessions") from error
        except (ValueError, RecursionError) as error:
            raise DatasetError(f"{self.path}: entry {place + 1}: not JSON: {error}") from error

    def _sessions(self, item: Field, place: int) -> list[tuple[str, list[dict[str, Any]]]]:
        name = f"{self.path.stem}_{place}"
        if isinstance(item.value, list):
            return [(name, _turns(item))]
        fields = item.mapping()
        if "haystack_sessions" in fields:
            return self._of_record(fields, name)
        key = next((key for key in _TURNS if key in fields), None)
        if key is None:
            raise item.error("a record with haystack_sessions, a list of turns, or an object with `turns`")
        given = fields.get("session_id") or fields.get("id")
        return [(str(given.value) if given else name, _turns(fields[key]))]

    def _of_record(self, fields: dict[str, Field], name: str) -> list[tuple[str, list[dict[str, Any]]]]:
        said = fields["haystack_sessions"].items("sessions")
        given = (
            [str(one.value) for one in fields["haystack_session_ids"].items()]
            if "haystack_session_ids" in fields
            else []
        )
        names = given if len(given) == len(said) else [f"{name}_{number}" for number in range(len(said))]
        cited = set(fields["answer_session_ids"].texts()) if "answer_session_ids" in fields else set()
        return [
            (one, _turns(turns))
            for one, turns in zip(names, said, strict=True)
            if not (self._evidence_only and cited) or one in cited
        ]


def _turns(session: Field) -> list[dict[str, Any]]:
    """Return a session's turns without marks: beside another question they are no evidence."""
    return [_turn(turn) for turn in session.items("turns")]


def _turn(item: Field) -> dict[str, Any]:
    fields = item.mapping(required=("role", "content"))
    role, content = fields["role"].value, fields["content"].value
    if role not in {"user", "assistant"}:
        raise fields["role"].error("'user' or 'assistant'")
    if not isinstance(content, str):
        raise fields["content"].error("a text")
    return {"role": role, "content": content}
