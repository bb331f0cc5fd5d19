"""The embedded reader behind the chat server, for comparable scores of whole runs through a real client."""

from __future__ import annotations

import hashlib
import re
import threading
from datetime import datetime, timedelta, timezone
from typing import Any

from chat_server import Asked

from pytest_ltm.agents.reader.reader import make_reader


class Reading:
    """The embedded reader as a stateless server: it has read the messages of the request, and nothing else.

    A request that continues an answered one reuses that reader; the exchanges in
    between are told to it.
    """

    def __init__(self, policy: str, argument: str) -> None:
        self._make = make_reader(policy, argument)
        self._known: dict[str, tuple[Any, _Times]] = {}
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> str:
        said = [
            (message["role"], message["content"])
            for message in asked.messages
            if message["role"] != "system"
        ]
        with self._lock:
            (reader, times), start = self._read_on(_hashes(said))
            for at in range(start, len(said) - 1, 2):
                reader.accept(times.plain(said[at][1], reader), said[at + 1][1])
            reply = str(reader.reply(times.plain(said[-1][1], reader)))
            self._known[_hashes([*said, ("assistant", reply)])[-1]] = reader, times
        return reply

    def _read_on(self, hashes: list[str]) -> tuple[tuple[Any, _Times], int]:
        for length in range(len(hashes) - 1, 0, -2):
            if hashes[length - 1] in self._known:
                return self._known.pop(hashes[length - 1]), length
        return (self._make(), _Times()), 0


def _hashes(said: list[tuple[str, str]]) -> list[str]:
    """Return for each message a fingerprint of the conversation up to it."""
    digest, found = hashlib.sha256(), []
    for role, text in said:
        digest.update(f"{role}\0{text}\0".encode())
        found.append(digest.hexdigest())
    return found


class _Times:
    """Strips time notes from messages and passes the time to the reader, as a model would read them."""

    _NOTE = re.compile(
        r"\[(?:(?P<begin>\d{4}-[^\]]*)|(?:(?P<days>\d+) days?, )?(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d)) ?.*?\] "
    )

    def __init__(self) -> None:
        self._now: datetime | None = None

    def plain(self, text: str, reader: Any) -> str:
        note = self._NOTE.match(text)
        if note is None:
            return text
        if note["begin"]:
            self._now = datetime.fromisoformat(note["begin"])
        else:
            days, hours, minutes, seconds = (
                int(note[name] or 0) for name in ("days", "h", "m", "s")
            )
            passed = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            self._now = (
                self._now or datetime(2024, 1, 1, tzinfo=timezone.utc)
            ) + passed
        reader.tell_time(self._now)
        return text[note.end() :]
