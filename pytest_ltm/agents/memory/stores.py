"""Stored: a conversation over a store that is not an agent.

Texts are added to the store, and its search results are read.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeAlias, cast

from msgspec import structs

from pytest_ltm.agents.capabilities import closing_method
from pytest_ltm.agents.memory.pace import lag_sentence, pace_of_run
from pytest_ltm.agents.memory.reading import (
    MemoryHit,
    NoteReading,
    Role,
    Utterance,
    format_moment,
    read_moment,
)
from pytest_ltm.agents.memory.scopes import (
    Scope,
    has_parameter,
    scope_arguments,
    takes_argument,
    takes_scope,
)
from pytest_ltm.agents.memory.thinker import Replying, Thinker
from pytest_ltm.api.model import Reply, TakesTurns, Usage
from pytest_ltm.api.storage import AgentError, AgentFault, describe_error

VERSION = 2
"""Increase when replies change: part of the fingerprint."""
PAUSE = timedelta(hours=1)
"""A longer pause begins a new session."""
TEXT_FIELDS = ("text", "memory", "content", "value")
"""Fields that may contain the text of a store's record, likeliest first."""
TIME_FIELDS = ("at", "created_at", "timestamp")
"""Fields that may contain the time of a store's record, likeliest first."""
_PARTS = 4
_WRITTEN = 3
_MISSES = 3
"""Misses in a row after which polling stops."""
_SHOWN = 80
# Generators, so that each method exists once: those of a store may be async or not.
P = ParamSpec("P")
Steps: TypeAlias = "Generator[Any, Any, Any]"
"""Calls of a store, which are awaited if necessary."""


def stepwise(method: Callable[P, Steps]) -> Callable[P, Any]:
    """Make a generator method return its result.

    From the first step on that must be awaited, the result is an awaitable.
    """

    @wraps(method)
    def run(*values: P.args, **named: P.kwargs) -> Any:
        steps = method(*values, **named)
        try:
            value = next(steps)
            while not inspect.isawaitable(value):
                value = steps.send(value)
        except StopIteration as end:
            return end.value
        return _await_steps(steps, value)

    return run


async def _await_steps(steps: Steps, value: Any) -> Any:
    while True:
        sent = await value if inspect.isawaitable(value) else value
        try:
            value = steps.send(sent)
        except StopIteration as end:
            return end.value


class Store(Protocol):
    """A memory under test; each method may be async.

    `save() -> bytes` and `load(bytes)` make it restorable.

    Optional: `add_session(messages, *, at, session, user)` instead of `add`,
    `written()`, `settle()` and `delete(id)`.
    """

    def add(
        self, text: str, *, role: str, at: datetime, session: str, user: str
    ) -> Any:
        """Add a text of a user or the assistant, with an aware time; it may return one or more ids."""
        ...

    def search(self, query: str, *, k: int) -> Iterable[Any]:
        """Return the best texts, or `(id, text, score, at)` of each, best first."""
        ...

    def reset(self) -> Any:
        """Forget everything."""
        ...


class Stored(TakesTurns):
    """One conversation.

    AnswersAlone, AcceptsHistory, TimeAware, ReportsUsage, ShowsRetrieval, Configured;
    Resettable and Checkpointable if the store is.
    """

    def __init__(
        self,
        store: Any,
        name: str,
        thinker: Thinker,
        reading: NoteReading,
        heard: dict[int, str],
        settings: Mapping[str, Any],
        *,
        is_shared: bool = False,
    ) -> None:
        """`heard`: by a text's hash, the first user who told it; shared by all conversations of one store.

        `is_shared`: whether the conversations also share the store itself.
        """
        self._store = store
        self._name = name
        self._thinker = thinker
        self._reading = reading
        self._heard = heard
        self._settings = settings
        self._now: datetime | None = None
        self._used = Usage()
        self._lent = is_shared
        """Whether the store belongs to another conversation."""
        self._pace = pace_of_run()
        self._lags: list[float] = []
        """Seconds from a write to the first search that found it."""
        self._missed = self._missed_in_a_row = 0
        """Texts that no search found within the limit."""
        self._begin()
        # On the instance: its members decide which capabilities it has.
        if separates_users(store):
            self.reply, self.accept = self._reply_to, self._accept_from  # type: ignore[method-assign]
        for methods in (
            ("reset",),
            ("save", "load"),
            ("written",),
            ("settle",),
            ("delete",),
        ):
            is_own = not is_shared or methods[0] not in {"reset", "save"}
            for method in methods if is_own and all(map(self._offers, methods)) else ():
                setattr(self, method, getattr(self, f"_{method}"))
        if self._pace.waits:
            self.settle = self._settle

    def _begin(self) -> None:
        # A new user after each reset: texts that a store cannot forget then have no
        # owner.
        self._user = uuid.uuid4().hex
        self._speaker = ""
        """The current speaker of several users; "": the only one."""
        self._owners: dict[str, set[str]] = {}
        """The users who said a text, if several share the conversation."""
        self._utterances: dict[str, Utterance] = {}
        self._by_id: dict[str, Utterance] = {}
        self._records: dict[str, tuple[str, ...]] = {}
        """The records that the store reports, by id: the record's text and its source utterances."""
        self._keys: dict[str, Any] = {}
        """Its ids in their original types."""
        self._rows: list[tuple[Any, Any, Any]] = []
        """Its operations that have not been reported yet."""
        self._session = 1
        self._spoke = cast("datetime | None", None)
        self._pending: list[Utterance] = []
        """The utterances of this session, for a store that takes whole sessions."""
        self._unsettled = False
        self._fresh: tuple[str, float] | None = None
        """The newest text, and when it was written in real seconds."""
        self._found: list[str] = []
        self._query = ""
        """The last search query."""
        self._searches = self._empty = 0
        self._leaks: dict[str, str] = {}
        """Texts just found that belong to another user, with the text of the fault."""
        self._never: list[str] = []
        """Texts that were found but never added."""

    @property
    def store(self) -> Any:
        """The store itself."""
        return self._store

    def tell_time(self, now: datetime) -> None:
        """Set the conversation's time."""
        self._now = now

    def reply(self, message: str) -> Any:
        """Return the reply read from the search results for the message, then add both."""
        return self._replying(message)

    def answer_alone(self, message: str) -> Any:
        """Return the same without adding anything; the store itself may change during a search."""
        return self._replying(message, adds=False)

    def accept(self, message: str, reply: str) -> Any:
        """Add an exchange."""
        return self._accepting(message, reply)

    @stepwise
    def _reply_to(self, message: str, user: str = "") -> Steps:
        """Reply to one of several users, whose texts are kept separate."""
        yield from self._turn_to(user)
        return (yield self._replying(message))

    @stepwise
    def _accept_from(self, message: str, reply: str, user: str = "") -> Steps:
        """Add an exchange with one of several users."""
        yield from self._turn_to(user)
        yield self._accepting(message, reply)

    def _turn_to(self, user: str) -> Steps:
        """Switch to another user; the pending utterances are first added for the previous one."""
        if user != self._speaker:
            yield from self._flush()
            self._speaker = user

    def _scope(self) -> Scope:
        """Return the scope of the current user."""
        user = f"{self._user}.{self._speaker}" if self._speaker else self._user
        return Scope(user=user, session=str(self._session), at=self._now)

    @stepwise
    def _accepting(self, message: str, reply: str) -> Steps:
        if (
            self._spoke is not None
            and self._now is not None
            and self._now - self._spoke > PAUSE
        ):
            yield from self._flush()
            self._session += 1
        self._spoke = self._now
        sides: tuple[tuple[Role, str], ...] = (("user", message), ("assistant", reply))
        for role, text in sides:
            if not text.strip():
                continue
            if self._now is None:
                raise AgentError(
                    f"store {self._name!r} received a text before the time was set"
                )
            utterance = Utterance(role, text, self._now)
            if self._offers("add_session"):
                self._pending.append(utterance)
            else:
                ids = yield self._called(
                    "add", text, **self._role(role), **self._scope_for("add")
                )
                for key in ids if isinstance(ids, (list, tuple)) else [ids]:
                    if isinstance(key, (str, int, uuid.UUID)) and not isinstance(
                        key, bool
                    ):
                        self._by_id[str(key)] = utterance
                yield from self._note_written([utterance])
            # The first counts, even if repeated: a store without ids cannot say which
            # one it found.
            if role == "user" and text not in self._utterances:
                # Only new texts: a repeated acknowledgement could be found before it is
                # written.
                self._fresh = text, self._pace.clock.seconds()
            self._utterances.setdefault(text, utterance)
            # By hash: the mapping is shared by all conversations of a run, whose texts
            # would fill memory.
            self._heard.setdefault(hash(text), self._user)
            if self._speaker:
                self._owners.setdefault(text, set()).add(self._speaker)

    def _role(self, role: Role) -> dict[str, Role]:
        add = getattr(self._store, "add", None)
        is_left_out = has_parameter(add, "scope") and not takes_argument(add, "role")
        return {} if is_left_out else {"role": role}

    def _scope_for(self, method: str, at: datetime | None = None) -> dict[str, Any]:
        """Return the parts of the current user's scope that a method takes; `at`: another time than now."""
        scope = self._scope() if at is None else replace(self._scope(), at=at)
        return scope_arguments(getattr(self._store, method, None), scope)

    def retrieved(self) -> list[str]:
        """Return the texts that the store found for the last message, best first."""
        return list(self._found)

    def usage(self) -> Usage:
        """Return the usage of the reader (for rules, what a model would have used); the store's is unknown."""
        return self._used

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the answers; no secrets."""
        if callable(getattr(self._store, "configuration", None)):
            store_settings = self._store.configuration()
        else:
            store_settings = {}
        return {
            "store": VERSION,
            **self._settings,
            **self._thinker.configuration(),
            **({"pace": str(self._pace)} if self._pace.waits else {}),
            "own": dict(store_settings),
        }

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the reader's endpoint, if there is one."""
        return self._thinker.turn()

    @stepwise
    def close(self) -> Steps:
        """Close the reader, and the store if it can be closed; AgentFault reports anomalies of the store."""
        self._thinker.close()
        name = closing_method(self._store)
        if name and not self._lent:
            yield getattr(self._store, name)()
        lags = lag_sentence(self._lags, self._missed, self._pace.limit)
        lag_text = f". {lags}" if lags else ""
        if self._utterances and self._searches and self._empty == self._searches:
            raise AgentFault(
                f"store {self._name!r} found nothing in any of {self._searches:,} searches{lag_text}"
            )
        if self._never:
            raise AgentFault(
                f"store {self._name!r} returned {len(self._never):,} texts that were never added, such as "
                f"{self._never[0][:_SHOWN]!r}: if it writes its own texts, they do not show its recall{lag_text}"
            )
        if lags:
            raise AgentFault(f"store {self._name!r}: {lags}")

    def ingested(self) -> tuple[Any, ...]:
        """Return the store and its state, for an agent of the same kind that only asks."""
        return self._store, self._user, self._utterances, self._by_id

    def adopt(self, ingested: tuple[Any, ...]) -> None:
        """Adopt another agent's store, which is not closed with this agent."""
        close = getattr(self._store, "close", None)
        if callable(close) and not inspect.iscoroutinefunction(close):
            close()
        self._store, self._user, self._utterances, self._by_id = ingested
        self._lent = True
        for text in self._utterances:
            self._heard.setdefault(hash(text), self._user)

    def _reset(self) -> Any:
        self._begin()
        return self._called("reset")

    def _load(self, state: bytes) -> Any:
        saved = json.loads(state)
        self._user = saved["user"]
        self._now = read_moment(saved["now"])
        self._used = Usage(**saved["used"])
        self._utterances = {}
        for text, role, at in saved["said"]:
            self._utterances[text] = Utterance(role, text, read_moment(at))
        self._by_id = {key: self._utterances[text] for key, text in saved["ids"]}
        self._records = {key: tuple(texts) for key, texts in saved["records"].items()}
        # Older states lack the store's original ids.
        self._keys = saved.get("keys", {})
        self._rows = []
        self._session = saved["session"]
        self._spoke = read_moment(saved["spoke"])
        self._pending = []
        self._unsettled = saved["unsettled"]
        self._speaker = saved.get("speaker", "")
        owners = saved.get("owners", {})
        self._owners = {text: set(names) for text, names in owners.items()}
        for text in self._utterances:
            self._heard.setdefault(hash(text), self._user)
        return self._called("load", b64decode(saved["store"]))

    @stepwise
    def _save(self) -> Steps:
        yield from self._flush()
        state = yield self._called("save")
        if not isinstance(state, (bytes, bytearray)):
            raise AgentFault(
                f"store {self._name!r} saved a {type(state).__name__}; save() returns bytes"
            )
        utterances = []
        for utterance in self._utterances.values():
            at = format_moment(utterance.at)
            utterances.append([utterance.text, utterance.role, at])
        ids = [[key, utterance.text] for key, utterance in self._by_id.items()]
        fields = {
            "user": self._user,
            "now": format_moment(self._now),
            "used": structs.asdict(self._used),
            "said": utterances,
            "ids": ids,
            "records": self._records,
            "keys": self._keys,
            "session": self._session,
            "spoke": format_moment(self._spoke),
            "unsettled": self._unsettled,
            "store": b64encode(state).decode(),
        }
        if self._owners:
            owners = {text: sorted(names) for text, names in self._owners.items()}
            fields |= {"speaker": self._speaker, "owners": owners}
        return json.dumps(fields).encode()

    def _written(self) -> list[tuple[Any, Any, Any]]:
        rows = self._rows
        self._rows = []
        return rows

    @stepwise
    def _settle(self) -> Steps:
        yield from self._flush()
        if self._unsettled and self._offers("settle"):
            yield self._called("settle", **self._scope_for("settle"))
        if self._unsettled and self._pace.waits:
            yield from self._keep_pace()
        self._unsettled = False

    def _keep_pace(self) -> Steps:
        """Wait as the pace requires, or poll until the newest text is found, which shows the lag."""
        yield self._sleep(self._pace.wait)
        fresh = self._fresh
        self._fresh = None
        if fresh is None or not self._pace.polls or self._missed_in_a_row == _MISSES:
            return
        text, since = fresh
        for pause in self._pace.pauses(since):
            yield self._sleep(pause)
            hits = yield self._search(text)
            if self._holds(hits, text):
                self._lags.append(self._pace.clock.seconds() - since)
                self._missed_in_a_row = 0
                return
        self._missed += 1
        self._missed_in_a_row += 1

    def _sleep(self, seconds: float) -> Any:
        """Let real time pass.

        An async store may work in the meantime, so an awaitable is returned for it.
        """
        if seconds and inspect.iscoroutinefunction(
            getattr(self._store, "search", None)
        ):
            return asyncio.sleep(seconds)
        if seconds:
            self._pace.clock.sleep(seconds)
        return None

    def _holds(self, hits: Any, text: str) -> bool:
        """Return whether a search found a text, or a record derived from it."""
        is_list = isinstance(hits, Iterable) and not isinstance(hits, (str, Mapping))
        for hit in hits if is_list else ():
            key, served, _ = _parse_hit(hit)
            utterance = self._by_id.get(str(key))
            sources = self._records.get(str(key), ())
            if text in {served, *sources} or (
                utterance is not None and utterance.text == text
            ):
                return True
        return False

    @stepwise
    def _delete(self, record: str) -> Steps:
        yield from self._flush()
        yield self._called(
            "delete", self._keys.get(record, record), **self._scope_for("delete")
        )
        yield from self._note_written([])

    @stepwise
    def _replying(self, message: str, *, adds: bool = True) -> Steps:
        yield self._settle()
        self._query = message
        result = yield self._search(message)
        # An empty result says nothing about a store that was told nothing.
        self._searches += bool(self._utterances)
        if isinstance(result, (str, bytes, Mapping)) or not isinstance(
            result, Iterable
        ):
            kind = "None" if result is None else f"a {type(result).__name__}"
            raise AgentFault(
                f"store {self._name!r}: search() returned {kind}; it returns a list of texts, or of (id, text, score, "
                "at), and an empty list if it finds nothing"
            )
        listed = list(result)
        k = self._reading.k
        if len(listed) > k:
            raise AgentFault(
                f"store {self._name!r}: search(k={k}) returned {len(listed)} memories, more than k"
            )
        hits = []
        found = []
        rows = []
        for number, entry in enumerate(listed):
            key, text, at = _parse_hit(entry)
            utterance, source = self._recognize(key, text, at, entry)
            hits.append(MemoryHit(str(number), (utterance,)))
            found.append(source)
            rows.append(("found", key, utterance.text))
        self._rows += rows
        self._found = found
        self._raise_leak()
        self._empty += bool(self._utterances) and not hits
        notes = self._reading.choose_notes(hits, self._now)
        task = Replying(
            message=message, now=self._now, notes=notes, reading=self._reading
        )
        try:
            thought = self._thinker.think(task)
        except AgentFault as fault:
            self._used += cast("Usage | None", fault.usage) or Usage()
            raise
        self._used += thought.usage
        if adds:
            yield self._accepting(message, thought.result)
        free = self._thinker.free
        return Reply(
            thought.result,
            thought.usage,
            None,
            free,
            thought.finish_reason,
            thought.thoughts,
        )

    def _flush(self) -> Steps:
        """Add the pending utterances of this session to the store."""
        if self._pending:
            # Emptied first, so that a failing call does not add the session twice.
            pending = self._pending
            self._pending = []
            messages = [
                {"role": utterance.role, "content": utterance.text, "at": utterance.at}
                for utterance in pending
            ]
            scope = self._scope_for("add_session", pending[0].at)
            yield self._called("add_session", messages, **scope)
            yield from self._note_written(pending)

    def _note_written(self, utterances: Sequence[Utterance]) -> Steps:
        """Store which records the store derived from these utterances."""
        self._unsettled = True
        if not self._offers("written"):
            return
        operations = yield self._called("written", **self._scope_for("written"))
        if not isinstance(operations, (list, tuple)):
            operations = [operations]
        for operation in operations:
            is_row = isinstance(operation, (list, tuple)) and len(operation) == _WRITTEN
            kind, key, text = operation if is_row else (None, None, None)
            self._rows.append((kind, key, text))
            self._keys[str(key)] = key if isinstance(key, (str, int)) else str(key)
            if kind == "deleted":
                self._records.pop(str(key), None)
            elif kind in {"added", "changed"} and isinstance(text, str):
                # The text of a changed record is new, but its sources stay.
                is_new = kind == "added"
                sources = () if is_new else self._records.get(str(key), ())[1:]
                new_sources = (utterance.text for utterance in utterances)
                self._records[str(key)] = (text, *sources, *new_sources)
            else:
                raise AgentFault(
                    f"store {self._name!r}: written() returned {str(operation)[:_SHOWN]!r}; it returns a list of "
                    "('added', id, text), ('changed', id, text) and ('deleted', id, None)"
                )

    def _search(self, query: str) -> Any:
        scope = self._scope_for("search")
        return self._called("search", query, k=self._reading.k, **scope)

    def _offers(self, method: str) -> bool:
        return callable(getattr(self._store, method, None))

    def _called(self, method: str, *values: Any, **named: Any) -> Any:
        with self._faults_in(method):
            result = getattr(self._store, method)(*values, **named)

        async def awaited() -> Any:
            with self._faults_in(method):
                return await result

        return awaited() if inspect.isawaitable(result) else result

    @contextmanager
    def _faults_in(self, method: str) -> Iterator[None]:
        try:
            yield
        except AgentFault:
            raise
        except Exception as error:
            raise AgentFault(
                f"store {self._name!r} raised in {method}(): {describe_error(error)}"
            ) from error

    def _recognize(
        self, key: Any, text: Any, at: Any, entry: Any
    ) -> tuple[Utterance, str]:
        """Return the utterance to show for a search result, and the text to search for its needles."""
        added = None if key is None else self._by_id.get(str(key))
        if added is None and isinstance(text, str):
            added = self._utterances.get(text)
        if record := None if key is None else self._records.get(str(key)):
            self._note_leak(record[1:])
            record_text = text if isinstance(text, str) else record[0]
            return Utterance(
                "", record_text, at if isinstance(at, datetime) else None
            ), "\n".join([record_text, *record[1:]])
        if added is not None:
            self._note_leak((added.text,))
            return added, added.text
        if not isinstance(text, str) or not (
            at is None or (isinstance(at, datetime) and at.tzinfo)
        ):
            raise AgentFault(
                f"store {self._name!r}: search() returned {type(entry).__name__} {str(entry)[:_SHOWN]!r}; "
                "each is a text, or (id, text, score, at) with an aware time or None"
            )
        if self._heard.get(hash(text), self._user) != self._user:
            self._leaks[text] = (
                f"store {self._name!r} returned what another conversation told it: {text[:_SHOWN]!r}. It was found by "
                f"search({self._query[:_SHOWN]!r}). Keep apart what each user says, or give each conversation a store "
                "of its own"
            )
            return Utterance("", text, at), text
        self._never.append(text)
        return Utterance("", text, at), text

    def _raise_leak(self) -> None:
        """Raise AgentFault for the longest text of another user: an acknowledgement alone would show little."""
        leaks = self._leaks
        self._leaks = {}
        if leaks:
            fault = AgentFault(leaks[max(leaks, key=len)])
            fault.leak = True
            raise fault

    def _note_leak(self, sources: Sequence[str]) -> None:
        """Record a leak if only other users of this conversation told the sources."""
        owners = set().union(*(self._owners.get(text, set()) for text in sources))
        if not self._speaker or not owners or self._speaker in owners:
            return
        text = sources[0]
        self._leaks[text] = (
            f"store {self._name!r} returned to {self._speaker!r} what {' and '.join(sorted(owners))!r} told it: "
            f"{text[:_SHOWN]!r}. It was found by search({self._query[:_SHOWN]!r}), which was told the user"
        )


def _parse_hit(hit: Any) -> tuple[Any, Any, Any]:
    """Return id, text and time of a search result: a text alone, its parts, or a record with named fields."""
    if isinstance(hit, (tuple, list)) and len(hit) == _PARTS:
        key, text, _, at = hit
        return key, text, at
    find = hit.get if isinstance(hit, Mapping) else partial(getattr, hit)
    texts = [find(name, None) for name in TEXT_FIELDS]
    text = next((value for value in texts if isinstance(value, str)), None)
    if text is None:
        return None, hit, None
    times = [find(name, None) for name in TIME_FIELDS]
    moments = [value for value in times if isinstance(value, datetime) and value.tzinfo]
    return find("id", None), text, moments[0] if moments else None


def separates_users(store: object) -> bool:
    """Return whether a store, or a class of stores, takes the user of texts that it adds and of searches."""
    adds = "add_session" if hasattr(store, "add_session") else "add"
    for method in (adds, "search"):
        if not takes_scope(getattr(store, method, None), "user"):
            return False
    return True
