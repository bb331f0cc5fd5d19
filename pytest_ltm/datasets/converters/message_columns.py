"""Columns: identifies time, sender and text among the fields of a list of messages, by their values."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.converters.messages import any_time, seconds_of
from pytest_ltm.datasets.converters.written_dates import (
    DATE_AND_TIME,
    fitting_forms,
    named_time,
)

_SAMPLE = 200
"""The number of rows examined."""
_LEAST_ROWS = 2
_DEPTH = 3
_MOSTLY = 0.6
_TIMES = (1_000_000_000, 2_900_000_000)
"""Seconds since 1970 in 2001 and 2061: numbers between them may be times of messages."""
DATE_OF_NUMBERS = re.compile(DATE_AND_TIME)
_TAG = re.compile(r"<[^<>]*>")
_MARKED = re.compile(r"</[a-z]\w*>|<br\b", re.IGNORECASE)
_BREAK = re.compile(r"</?(?:p|br|li|div|h\d|tr)\b[^<>]*>", re.IGNORECASE)
# Names that programs use for the sender, whatever the users' language.
_SENDER = re.compile(
    r"(?:author|sender|from|creator|speaker|role|who|user|name)(?:.?name)?$",
    re.IGNORECASE,
)

_NOTICE = re.compile(r"system|notif|event|call|delet|unsent|hidden", re.IGNORECASE)
_KIND = re.compile(r"type$|kind$|state$|status$", re.IGNORECASE)


class Columns(NamedTuple):
    """The paths of a message's fields."""

    time: str
    sender: str
    text: str


def page_text(page: str) -> str:
    """Return the text of an HTML fragment, a line per block."""
    text = html.unescape(_TAG.sub("", _BREAK.sub("\n", page))).replace("\xa0", " ")
    return re.sub(r"\n\s*\n+", "\n", text).strip()


def plain_text(text: str) -> str:
    """Return a text as displayed, whether or not it contains HTML tags."""
    return page_text(text) if _MARKED.search(text) else text


def flat_row(value: Any, depth: int = _DEPTH, path: str = "") -> dict[str, str]:
    """Return the texts and numbers in an object by path, without those in lists."""
    fields: dict[str, str] = {}
    for name, inner in value.items():
        place = f"{path}{name}"
        if isinstance(inner, Mapping) and depth:
            fields |= flat_row(inner, depth - 1, f"{place}.")
        elif isinstance(inner, str | int | float) and not isinstance(inner, bool):
            fields[place] = str(inner).strip()
    return fields


def is_notice(row: Mapping[str, Any]) -> bool:
    """Return whether fields of a row mark it as a system notice, or as deleted."""
    for name, value in row.items():
        if value is True and _NOTICE.search(name):
            return True
        if _KIND.search(name) and isinstance(value, str) and _NOTICE.search(value):
            return True
    return False


def message_lists(value: Any, name: str = "") -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield each list of objects with the columns of a chat, and the name of its container."""
    if isinstance(value, list):
        rows = [row for row in value if isinstance(row, Mapping)]
        if find_columns([flat_row(row) for row in rows[:_SAMPLE]]):
            yield name, rows
            return
        for row in rows:
            yield from message_lists(row, name)
    elif isinstance(value, Mapping):
        titles = map(value.get, ("title", "name", "displayName", "id"))
        title = next((title for title in titles if isinstance(title, str)), name)
        for inner in value.values():
            if isinstance(inner, list | Mapping):
                yield from message_lists(inner, title)


def _texts_by_column(rows: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for row in rows:
        for name, text in row.items():
            if text:
                columns.setdefault(name, []).append(text)
    return columns


def find_columns(rows: Sequence[Mapping[str, str]]) -> Columns | None:
    """Return the columns of a chat (times, few senders, the wordiest texts), or None for other rows."""
    columns = _texts_by_column(rows)
    enough = max(_LEAST_ROWS, _MOSTLY * len(rows))
    common = {name: texts for name, texts in columns.items() if len(texts) >= enough}
    times = {name: times_of(texts) for name, texts in columns.items()}
    dated = {}
    for name, moments in times.items():
        if moments and name in common:
            dated[name] = moments[0]
    others = {name: texts for name, texts in columns.items() if not times[name]}
    # Edit and read times are later than the time of writing; a name such as `time`
    # proves nothing.
    time = min(dated, key=lambda name: seconds_of(dated[name]), default="")
    text = max(others, key=lambda name: _count_words(others[name]), default="")
    if not time or _count_words(others[text]) <= len(others[text]):
        return None
    said = [row for row in rows if row.get(text)]
    senders = []
    for name in others.keys() - {text}:
        if _are_senders([row.get(name, "") for row in said], others[text]):
            senders.append(name)
    if not senders:
        return None

    def rank(name: str) -> tuple[bool, int, int, str]:
        return (
            _SENDER.search(name) is not None,
            len({*others[name]}),
            -len(name),
            name,
        )

    return Columns(time, max(senders, key=rank), text)


def _count_words(texts: Sequence[str]) -> int:
    """Return the number of words in distinct texts."""
    return sum(len(plain_text(text).split()) for text in {*texts})


def _are_senders(names: Sequence[str], texts: Sequence[str]) -> bool:
    """Return whether `names` may be senders of `texts`: words, and either two or fewer than the texts."""
    known = [name for name in names if name]
    return (
        len(known) >= _MOSTLY * len(names)
        and len({*known}) < max(len({*texts}), _LEAST_ROWS + 1)
        and all(any(map(str.isalpha, name)) for name in known)
    )


def times_of(texts: Sequence[str], order: str = "") -> list[datetime] | None:
    """Return the times in all texts if they share one format, else None.

    `order`: day, month and year in numeric dates; "" for the first that fits.
    """
    matches = [DATE_OF_NUMBERS.fullmatch(text) for text in texts]
    found = [match for match in matches if match]
    if len(found) == len(texts):
        orders = [order] if order else ["mdy", "dmy", "ymd"]
        return next((times for _, times in fitting_forms(found, orders)), None)
    times = []
    for text in texts:
        moment = _time_of(text)
        if moment is None:
            return None
        times.append(moment)
    return times


def _time_of(text: str) -> datetime | None:
    if text.replace(".", "", 1).isdecimal():
        seconds = float(text)
        while seconds >= _TIMES[1]:
            seconds /= 1000
        return any_time(seconds) if seconds >= _TIMES[0] else None
    try:
        return any_time(text)
    except (DatasetError, ValueError, TypeError):
        return named_time(text)
