"""The published transcripts of one conversation, put together: exchanges in the order of their times, each once."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pytest_ltm._transcript import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm._published._rows import Row
    from pytest_ltm._transcript import Kind

_ENTRY = re.compile(r"(?P<by>Test|Agent|System|SYSTEM) \((?P<at>[^)]*)\): ?(?P<text>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Said:
    """One message and its reply as a log tells them."""

    at: datetime
    filler: bool
    message: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """What was said in one conversation, as far as it is published."""

    exchanges: tuple[Exchange, ...]
    """Their places count only the exchanges that are there."""
    questions: Mapping[str, tuple[int, ...]]
    """By example (`colours/0`): the numbers of its questions."""


def talk(rows: Mapping[str, Row], count: Callable[[str], int]) -> Talk:
    """Return the talk of one conversation; `rows`: by example. `count` counts the tokens of a text."""
    owners: dict[_Said, str] = {}
    logs = {name: _exchanges(row.log) for name, row in rows.items() if row.log}
    for name in sorted(logs, key=lambda name: (_listens(rows[name], logs[name]), name)):
        for said in logs[name]:
            owners.setdefault(said, "" if said.filler else name)
    exchanges: list[Exchange] = []
    numbers: dict[_Said, int] = {}
    position = 0
    for said in sorted(owners, key=lambda said: said.at):
        numbers[said] = len(exchanges)
        exchanges.append(_exchange(said, len(exchanges), owners[said], position, count))
        position = exchanges[-1].end
    asked = {name: tuple(numbers[said] for said in _questions(rows[name], logs[name])) for name in logs}
    return Talk(exchanges=tuple(exchanges), questions=asked)


def _listens(row: Row, log: Sequence[_Said]) -> bool:
    """Return whether a log holds exchanges of others: they belong to those, if their logs are there as well."""
    if row.script:
        return any(said.message not in row.script for said in log)
    return any(said.filler for said in log)


def _exchange(said: _Said, number: int, by: str, position: int, count: Callable[[str], int]) -> Exchange:
    kind: Kind = "filler" if said.filler else "say"
    return Exchange(
        number=number,
        by=by,
        kind=kind,
        message=said.message,
        reply=said.reply,
        start=position,
        message_tokens=count(said.message),
        reply_tokens=count(said.reply),
        now=said.at,
    )


def _exchanges(log: Iterable[str]) -> list[_Said]:
    found: list[_Said] = []
    for line in log:
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        if entry["by"] == "Agent":
            if found:
                found[-1] = replace(found[-1], reply=entry["text"])
            continue
        found.append(_Said(_time(entry["at"]), entry["by"] != "Test", entry["text"], ""))
    return found


def _time(text: str) -> datetime:
    """Return a published time, which names no zone, as if it was UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime.fromtimestamp(0, timezone.utc)
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _questions(row: Row, log: Sequence[_Said]) -> list[_Said]:
    """Return the exchanges whose replies were scored, found from the end of the log backwards."""
    found: list[_Said] = []
    left = len(log)
    for reply in reversed(row.responses):
        place = next((at for at in range(left - 1, -1, -1) if log[at].reply == reply), None)
        if place is not None:
            found.append(log[place])
            left = place
    return found[::-1]
