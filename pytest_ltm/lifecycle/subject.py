"""Subject: a memory under test, called with the arguments that its methods take."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_ltm.agents.capabilities import closing_method
from pytest_ltm.agents.mcp import Server
from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.agents.memory.scopes import (
    Scope,
    scope_arguments,
    takes_argument,
    takes_scope,
)
from pytest_ltm.agents.memory.stores import TEXT_FIELDS
from pytest_ltm.api.storage import START, LtmError, describe_error

POWERS: Mapping[str, tuple[str, ...]] = {
    "settle": ("settle", "flush", "wait"),
    "maintain": ("maintain", "consolidate", "compact"),
    "delete": ("delete", "forget"),
    "update": ("update",),
    "export": ("export",),
    "restore": ("restore",),
    "list": ("list", "list_all", "get_all"),
    "get": ("get",),
    "size": ("size",),
    "reopen": ("reopen",),
    "usage": ("usage",),
}
"""Optional powers of a store in addition to `add` and `search`, with their method names."""
_RECORD = 4
_BY_QUERY = {"query", "text", "memory", "content"}


class StoreRaised(LtmError):
    """A method of the store raised, or returned an unreadable value."""


class NotSupported(LtmError):
    """The store lacks something that a check needs."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that the store served, with its metadata."""

    text: str
    key: Any = None
    at: datetime | None = None
    role: str = ""
    is_past: bool = False
    """Whether the store marks the text as outdated."""


@dataclass
class Usage:
    """The effort of a store's calls."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Durations in seconds by method."""
    lags: list[float] = field(default_factory=list)
    """Seconds from each write to the first search that found it."""
    missed: int = 0
    """Number of writes that no search found within the limit."""


class Subject:
    """A fresh store; close it at the end. `now` is simulated time, which only `pass_time` advances."""

    def __init__(self, make: Callable[[], Any], pace: Pace) -> None:
        self._make = make
        self.pace = pace
        self._loop = asyncio.new_event_loop()
        self.now = START
        self.usage = Usage()
        self._keys: dict[tuple[str, str], list[Any]] = {}
        """The ids that the store gave to a user's text."""
        self._written_at: dict[str, float] = {}
        """When an unfound text was written, in real seconds."""
        self._searched_at = 0.0
        """When the store was last searched, in real seconds."""
        self._lock = threading.Lock()
        self.texts: list[str] = []
        """All texts given to the store."""
        self.store = make()
        self.pass_time(timedelta(0))

    # --- capabilities

    def can(self, power: str) -> bool:
        """Return whether the store has a method for this power."""
        return self._method(power) is not None

    def need(self, power: str) -> None:
        """Raise NotSupported if the store has no method for this power."""
        if not self.can(power):
            raise NotSupported(f"no {power}()")

    def takes(self, power: str, argument: str) -> bool:
        """Return whether the method takes an argument, or a part of the scope."""
        method = self._method(power)
        if method is not None and isinstance(self.store, Server):
            return self.store.tool_takes(
                method.__name__.strip("_").removesuffix("_as"), argument
            )
        is_known = takes_argument(method, argument)
        return is_known or (argument in _SCOPED and takes_scope(method, argument))

    @property
    def separates_users(self) -> bool:
        """Whether both `add` and `search` take a user."""
        return self.takes("add", "user") and self.takes("search", "user")

    def _method(self, power: str) -> Any:
        names = POWERS.get(power, (power,))
        if power == "add" and callable(getattr(self.store, "add_session", None)):
            names = ("add_session",)
        methods = (getattr(self.store, name, None) for name in names)
        return next((method for method in methods if callable(method)), None)

    # --- time

    def pass_time(self, time: timedelta) -> None:
        """Advance simulated time."""
        self.now += time
        if callable(tell := getattr(self.store, "tell_time", None)):
            self._call("tell_time", tell, self.now)

    def settle(self, scope: Scope) -> None:
        """Wait until the store has made its input readable, by its own method and by the pace."""
        if self.can("settle"):
            self._call_in_scope("settle", scope)
        self._sleep(self.pace.wait)

    # --- writing

    def add(
        self,
        text: str,
        speaker: Scope,
        *,
        role: str = "user",
        at: datetime | None = None,
        **more: Any,
    ) -> list[Any]:
        """Add a text; return the ids that the store gave it. `at`: the time of the statement, by default now."""
        scope = self.scope_of(speaker, at)
        self.need("add")
        method = self._method("add")
        with self._lock:
            self.texts.append(text)
            self._written_at.setdefault(text, self.pace.clock.seconds())
        if getattr(method, "__name__", "") == "add_session":
            messages = [{"role": role, "content": text, "at": scope.at}]
            result = self._call(
                "add", method, messages, **scope_arguments(method, scope)
            )
        else:
            arguments = scope_arguments(method, scope) | more
            if takes_argument(method, "role"):
                arguments["role"] = role
            result = self._call("add", method, text, **arguments)
        keys = _keys_of(result) + self._written_keys(scope)
        with self._lock:
            self._keys.setdefault((speaker.user, text), []).extend(keys)
        return keys

    def _written_keys(self, scope: Scope) -> list[Any]:
        """Return the ids of the records created by the last write, if the store reports them."""
        method = getattr(self.store, "written", None)
        if not callable(method):
            return []
        rows = self._call("written", method, **scope_arguments(method, scope))
        keys: list[Any] = []
        for row in rows if isinstance(rows, (list, tuple)) else ():
            if isinstance(row, (list, tuple)) and len(row) == 3:
                kind, key, _ = row
                if kind in {"added", "changed"}:
                    keys.append(key)
        return keys

    def update(self, key: Any, text: str, scope: Scope) -> None:
        """Replace the text of a record."""
        self.need("update")
        self.texts.append(text)
        self._call_in_scope("update", scope, key, text)

    def delete(self, text: str, speaker: Scope, owner: Scope | None = None) -> None:
        """Delete the records made of the owner's text (default: the speaker's), by ids or by the text."""
        self.need("delete")
        keys: list[Any] = []
        if not _takes_query(self._method("delete")):
            keys = self._keys.get(((owner or speaker).user, text), [])
            keys = keys or self._search_keys(text, owner or speaker)
        for key in dict.fromkeys(keys or [text]):
            self._call_in_scope("delete", speaker, key)

    def _search_keys(self, text: str, scope: Scope) -> list[Any]:
        """Return the ids of the search results with exactly this text."""
        hits = self.search(text, scope)
        return [hit.key for hit in hits if hit.text == text and hit.key is not None]

    def maintain(self, scope: Scope) -> None:
        """Run the store's background work to completion."""
        self._call_in_scope("maintain", scope)
        self.settle(scope)

    def reopen(self) -> None:
        """Close and reopen the store with its data: by `reopen()`, or by `save()` and `load()`."""
        store = self.store
        if self.can("reopen"):
            reopened = self._call("reopen", self._method("reopen"))
            self.store = store if reopened is None else reopened
            self.pass_time(timedelta(0))
            return
        save = getattr(store, "save", None)
        load = getattr(store, "load", None)
        if not (callable(save) and callable(load)):
            raise NotSupported("no reopen(), no save() and load()")
        state = self._call("save", save)
        self._close_store()
        self.store = self._make()
        self._call("load", self.store.load, state)
        self.pass_time(timedelta(0))

    def restore(self, backup: Any, scope: Scope) -> None:
        """Restore the result of an earlier `export()`."""
        self._call_in_scope("restore", scope, backup)

    # --- reading

    def search(self, query: str, speaker: Scope, k: int = 10) -> list[Hit]:
        """Return the search results."""
        keywords = {"k": k} if takes_argument(self._method("search"), "k") else {}
        self._searched_at = self.pace.clock.seconds()
        return _hits_of(self._call_in_scope("search", speaker, query, **keywords))

    def find(self, query: str, scope: Scope, value: str, k: int = 10) -> list[Hit]:
        """Search at the run's pace until a text with the value is found; return the last results."""
        hits: list[Hit] = []

        def found() -> bool:
            hits[:] = self.search(query, scope, k)
            return any(value.casefold() in hit.text.casefold() for hit in hits)

        written = [text for text in self._written_at if value in text]
        write_times = [self._written_at.pop(text) for text in written]
        since = max(write_times, default=self.pace.clock.seconds())
        # A text that was not searched for when another search ran may have been
        # readable earlier, so the time until now is not its lag.
        is_first_look = self._searched_at <= since
        lag = self._poll(found, since)
        if write_times and lag is None:
            self.usage.missed += 1
        elif write_times and lag is not None and is_first_look:
            self.usage.lags.append(lag)
        return hits

    def _poll(self, found: Callable[[], bool], since: float) -> float | None:
        """Poll until `found`; return the seconds since `since`, or None past the limit."""
        for pause in self.pace.pauses(since):
            self._sleep(pause)
            if found():
                return self.pace.clock.seconds() - since
        return None

    def _sleep(self, seconds: float) -> None:
        """Let real time pass, during which an async store can work."""
        if not seconds:
            return
        if inspect.iscoroutinefunction(self._method("search")):
            self._loop.run_until_complete(asyncio.sleep(seconds))
        else:
            self.pace.clock.sleep(seconds)

    def listed(self, power: str, scope: Scope) -> dict[str, list[Hit]]:
        """Return the records from `list` or `export`, by kind."""
        return hits_by_kind(self._call_in_scope(power, scope))

    def exported(self, scope: Scope) -> Any:
        """Return the unchanged result of `export()`."""
        return self._call_in_scope("export", scope)

    def get(self, key: Any, scope: Scope) -> str:
        """Return the text of the record with an id; "" if there is none."""
        record = self._call_in_scope("get", scope, key)
        if record is None:
            return ""
        return " ".join(map(str, _texts_within(record)))

    def size(self) -> int:
        """Return the size in bytes, from `size()` or from the file or folder at the store's `path`."""
        if self.can("size"):
            return _whole(self._call("size", self._method("size")), "size() returned")
        path = getattr(self.store, "path", None)
        if not isinstance(path, (str, Path)) or not Path(path).exists():
            raise NotSupported("no size(), and no path to a file or folder")
        if Path(path).is_dir():
            files = [Path(path), *Path(path).rglob("*")]
        else:
            files = [Path(path)]
        return sum(file.stat().st_size for file in files if file.is_file())

    def tokens(self) -> tuple[int, int]:
        """Return the tokens and model calls used so far, as reported by `usage()`."""
        self.need("usage")
        usage = self._call("usage", self._method("usage"))
        parts = usage if isinstance(usage, Mapping) else vars_of(usage)

        def count(name: str) -> int:
            return _whole(parts.get(name, 0), f"usage() has {name}")

        tokens = count("input_tokens") + count("output_tokens")
        return tokens, count("calls")

    def close(self) -> None:
        """Close the store."""
        self._close_store()
        self._loop.close()

    # --- calls

    def scope_of(self, scope: Scope, moment: datetime | None = None) -> Scope:
        """Return a scope with the current simulated time, or with the moment of a statement."""
        return replace(scope, at=moment or self.now)

    def _close_store(self) -> None:
        if name := closing_method(self.store):
            self._call("close", getattr(self.store, name))

    def _call_in_scope(
        self, power: str, scope: Scope, *values: Any, **keywords: Any
    ) -> Any:
        """Call the method of a power with what it takes of a scope; NotSupported if there is none."""
        self.need(power)
        method = self._method(power)
        keywords |= scope_arguments(method, self.scope_of(scope))
        return self._call(power, method, *values, **keywords)

    def _call(self, name: str, method: Any, *values: Any, **keywords: Any) -> Any:
        began = self.pace.clock.seconds()
        try:
            result = method(*values, **keywords)
            if inspect.isawaitable(result):
                result = self._awaited(result)
        except LtmError as error:
            raise StoreRaised(f"{name}(): {error}") from error
        except (Exception, SystemExit, GeneratorExit) as error:
            raise StoreRaised(f"{name}() raised {describe_error(error)}") from error
        took = self.pace.clock.seconds() - began
        self.usage.seconds.setdefault(name, []).append(took)
        return result

    def _awaited(self, awaitable: Any) -> Any:
        async def awaited() -> Any:
            return await awaitable

        if threading.current_thread() is threading.main_thread():
            return self._loop.run_until_complete(awaited())
        return asyncio.run(awaited())


_SCOPED = {"user", "session", "agent", "at"}


def _takes_query(method: object) -> bool:
    """Return whether a delete method takes the text to delete rather than an id."""
    try:
        parameters = list(inspect.signature(method).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return bool(parameters) and parameters[0] in _BY_QUERY


def _whole(value: Any, subject: str) -> int:
    """Return an integer; StoreRaised for any other value."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise StoreRaised(f"{subject} {value!r}; a whole number is expected")
    return value


def vars_of(usage: Any) -> dict[str, Any]:
    """Return the counts of a usage object."""
    names = ("input_tokens", "output_tokens", "calls")
    return {name: getattr(usage, name, 0) for name in names}


def _keys_of(result: Any) -> list[Any]:
    """Return the ids in the result of `add`."""
    if isinstance(result, Mapping):
        result = result.get("id")
    listed = result if isinstance(result, (list, tuple)) else [result]
    return [key for key in listed if key is not None and not isinstance(key, bool)]


def _hits_of(result: Any, method: str = "search") -> list[Hit]:
    """Return the records in the result of a method, in any of the supported forms."""
    if isinstance(result, Mapping):
        lists = [value for value in result.values() if isinstance(value, list)]
        result = lists[0] if len(lists) == 1 else result
    is_list = isinstance(result, Iterable) and not isinstance(
        result, (str, bytes, Mapping)
    )
    if not is_list:
        raise StoreRaised(f"{method}() returned a {type(result).__name__}, not a list")
    return [_hit_of(record) for record in result]


def _hit_of(record: Any) -> Hit:
    if isinstance(record, str):
        return Hit(record)
    if isinstance(record, Mapping):
        text = next((record[key] for key in TEXT_FIELDS if record.get(key)), "")
        moment = record.get("at") or record.get("created_at")
        when = moment if isinstance(moment, datetime) else None
        past = _says_past(record)
        return Hit(str(text), record.get("id"), when, str(record.get("role", "")), past)
    if isinstance(record, Sequence) and len(record) == _RECORD:
        key, text, _, moment = record
        return Hit(str(text), key, moment if isinstance(moment, datetime) else None)
    text = next((getattr(record, name, "") for name in TEXT_FIELDS), "")
    return Hit(str(text or record), getattr(record, "id", None))


def _says_past(record: Mapping[str, Any]) -> bool:
    """Return whether a record's own fields mark it as outdated."""
    ends = any(map(record.get, ("valid_to", "invalid_at", "expired_at")))
    state = str(record.get("status", record.get("state", ""))).casefold()
    is_closed = record.get("current") is False or record.get("active") is False
    return ends or is_closed or state in {"superseded", "retracted", "inactive", "past"}


def hits_by_kind(exported: Any) -> dict[str, list[Hit]]:
    """Return the records of an export by kind; a plain list counts as one kind."""
    if isinstance(exported, (str, bytes)):
        if isinstance(exported, str):
            text = exported
        else:
            text = exported.decode("utf-8", "replace")
        return {"records": [Hit(line) for line in text.splitlines()]}
    if not isinstance(exported, Mapping):
        return {"records": _hits_of(exported, "export")}
    kinds: dict[str, list[Hit]] = {}
    for kind, records in exported.items():
        is_list = isinstance(records, Iterable) and not isinstance(
            records, (str, Mapping)
        )
        hits = kinds[str(kind)] = []
        for record in records if is_list else [records]:
            if _has_text(record):
                hits.append(_hit_of(record))
            else:
                hits.append(Hit(" ".join(_texts_within(record))))
    return kinds


def _has_text(record: Any) -> bool:
    if isinstance(record, Mapping):
        return any(map(record.get, TEXT_FIELDS))
    return isinstance(record, str)


def _texts_within(record: Any) -> Iterator[str]:
    """Yield all texts within a JSON-like value."""
    is_parted = isinstance(record, Iterable) and not isinstance(
        record, (str, bytes, bytearray)
    )
    if not is_parted:
        yield str(record)
        return
    for part in record.values() if isinstance(record, Mapping) else record:
        yield from _texts_within(part)
