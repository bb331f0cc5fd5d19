"""Identifies the fields of a memory's rows (text, id, dates, scope) by their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from typing import Any

from msgspec import Struct

from pytest_ltm.api.storage import ConfigurationError, did_you_mean, load_packaged_yaml
from pytest_ltm.lifecycle.audit.memory_records import Dump, Row

# The share of a field's values that must be of a kind for the field to be of that kind.
_MOST = 0.9
# The range of plausible times in seconds since 1970: 2000 to 2100.
_TIMES = (946_684_800, 4_102_444_800)
# A field counts as links if at least this share of its values are ids of other records.
_SOME = 0.5


@cache
def word_lists() -> Mapping[str, Sequence[str]]:
    """Return the word lists of audit.yml."""
    lists: Mapping[str, Sequence[str]] = load_packaged_yaml(__file__, "audit.yml")
    return lists


class Fields(Struct, frozen=True):
    """The names of the fields; empty if there is none of a kind."""

    text: str
    id: str = ""
    date: str = ""
    """The date of the last change; if that is not named, the date that is latest on average."""
    scope: tuple[str, ...] = ()
    """Fields that separate records: those that differ in one are not compared."""
    links: tuple[str, ...] = ()
    """Fields with ids of other records."""
    uses: str = ""
    """The field with the number or time of retrievals."""


class Memory(Struct, frozen=True):
    """One record of a memory."""

    place: str
    text: str
    id: str = ""
    date: datetime | None = None
    scope: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    is_used: bool | None = None
    """Whether the record was ever retrieved; None if the dump does not say."""


def find_fields(dump: Dump, text: str = "", scope: Sequence[str] = ()) -> Fields:
    """Return the fields of a dump; `text` and `scope`, if given, are used unchanged.

    ConfigurationError if a named field is in no row, or if no field contains texts.
    """
    columns: dict[str, list[Any]] = {}
    for row in dump.rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    for name in (text, *scope):
        if name and name not in columns:
            suggestion = did_you_mean(name, columns)
            raise ConfigurationError(
                f"{dump.name} has no field {name!r}.{suggestion} It has {', '.join(columns)}"
            )
    text = text or _choose_text(columns, dump)
    other_columns = {name: values for name, values in columns.items() if name != text}
    identity = _choose_id(other_columns, len(dump.rows))
    ids = set(_iter_texts(columns[identity])) if identity else set()
    links: list[str] = []
    unlinked_columns: dict[str, Sequence[Any]] = {}
    for name, values in other_columns.items():
        if ids and name != identity and _share_known(values, ids) >= _SOME:
            links.append(name)
        else:
            unlinked_columns[name] = values
    return Fields(
        text,
        identity,
        _choose_date(unlinked_columns),
        tuple(scope) or _choose_scope(unlinked_columns),
        tuple(links),
        _choose_uses(unlinked_columns),
    )


def _choose_text(columns: Mapping[str, Sequence[Any]], dump: Dump) -> str:
    """Return the field with the most words per row."""
    words = {}
    for name, values in columns.items():
        texts = [value for value in values if isinstance(value, str)]
        if texts:
            words[name] = sum(text.count(" ") for text in texts)
    if not words:
        raise ConfigurationError(
            f"{dump.name}: no field holds texts. It has {', '.join(columns) or 'no fields'}"
        )
    return max(words, key=lambda name: words[name])


def _choose_id(columns: Mapping[str, Sequence[Any]], rows: int) -> str:
    """Return the first field that has a unique value in every row."""
    for name, values in columns.items():
        texts = [str(value) for value in values if isinstance(value, (str, int))]
        is_unique = len(texts) == rows == len(set(texts))
        is_short = all(" " not in text.strip() for text in texts)
        if is_unique and is_short and not _are_most(map(read_date, texts)):
            return name
    return ""


def _choose_date(columns: Mapping[str, Sequence[Any]]) -> str:
    dates: dict[str, tuple[bool, float]] = {}
    for name, values in columns.items():
        read = [read_date(value) for value in values]
        if not _are_most(read) or _is_named(name, "use_fields"):
            continue
        times = [date.timestamp() for date in read if date is not None]
        is_changed = _is_named(name, "changed_fields")
        dates[name] = (is_changed, sum(times) / len(times))
    return max(dates, key=lambda name: dates[name], default="")


def _choose_scope(columns: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    scope: list[str] = []
    for name, values in columns.items():
        repeats = len(set(map(str, values))) < max(2, len(values))
        if _is_named(name, "scope_fields") and repeats:
            scope.append(name)
    return tuple(scope)


def _choose_uses(columns: Mapping[str, Sequence[Any]]) -> str:
    for name, values in columns.items():
        are_numbers = all(isinstance(value, (int, float)) for value in values)
        are_dates = _are_most(map(read_date, values))
        if _is_named(name, "use_fields") and (are_numbers or are_dates):
            return name
    return ""


def _is_named(name: str, words: str) -> bool:
    lowered = name.rpartition(".")[2].lower()
    return any(word in lowered for word in word_lists()[words])


def _are_most(values: Iterator[Any] | Sequence[Any]) -> bool:
    listed = list(values)
    count = sum(value is not None for value in listed)
    return bool(listed) and count >= _MOST * len(listed)


def _share_known(values: Sequence[Any], ids: set[str]) -> float:
    texts = list(_iter_texts(values))
    if not texts:
        return 0.0
    return sum(text in ids for text in texts) / len(texts)


def _iter_texts(values: Sequence[Any]) -> Iterator[str]:
    """Yield the values of a column, with lists expanded."""
    for value in values:
        for member in value if isinstance(value, list) else (value,):
            if isinstance(member, (str, int)) and not isinstance(member, bool):
                yield str(member)


def read_date(value: Any) -> datetime | None:
    """Parse a date or time in ISO 8601, or in seconds or milliseconds since 1970; None for other values.

    Without a zone it counts as UTC.
    """
    if isinstance(value, str):
        text = value.strip()
        if text.isdecimal() and len(text) in {10, 13}:
            return read_date(int(text))
        if len(text) < len("2026-01-01") or not text[:4].isdecimal():
            return None
        try:
            date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            return None
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for unit in (1, 1000):
            # not divided first: a number may be too large for that
            if _TIMES[0] * unit <= value <= _TIMES[1] * unit:
                return datetime.fromtimestamp(value / unit, timezone.utc)
    return None


def read_memories(dump: Dump, fields: Fields) -> list[Memory]:
    """Return the records of a dump; a row without a text gets the text ""."""
    memories: list[Memory] = []
    for row, place in zip(dump.rows, dump.places, strict=True):
        memories.append(_read_memory(row, place, fields))
    return memories


def _read_memory(row: Row, place: str, fields: Fields) -> Memory:
    value = row.get(fields.text, "")
    uses = row.get(fields.uses) if fields.uses else None
    links = [row[name] for name in fields.links if name in row]
    return Memory(
        place,
        value if isinstance(value, str) else str(value),
        str(row.get(fields.id, "")) if fields.id else "",
        read_date(row.get(fields.date)) if fields.date else None,
        tuple(str(row.get(name, "")) for name in fields.scope),
        tuple(_iter_texts(links)),
        bool(uses) if fields.uses else None,
    )
