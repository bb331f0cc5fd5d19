"""Plays a script on a memory, and records what it served: the only input of a card's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.memory.pace import percentiles
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.lifecycle.cards.script import ANN, BO, FactLife, Script
from pytest_ltm.lifecycle.subject import Hit, NotSupported, Subject

MOST = 10
"""The number of texts requested per search."""
_SAMPLE = 8  # searches for every such text immediately, to measure the lag
_A_DAY = 10  # texts
_PATIENCE = 3  # misses in a row after which polling stops
DAY = timedelta(days=1)


class Served(Struct, frozen=True):
    """A served text, with the memory's own fields on it."""

    text: str
    at: datetime | None = None
    role: str = ""
    is_past: bool = False


class Look(Struct, frozen=True):
    """One search for a fact, with the results, best first."""

    life: str
    """The name of the fact."""
    way: str
    """One of `before` (its change), `question`, `other words`, `own words`, `across` (by the other user)."""
    served: tuple[int, ...]
    """Indices into the record's texts."""


class Record(Struct, frozen=True):
    """A memory's behaviour on a script."""

    texts: tuple[Served, ...]
    looks: tuple[Look, ...]
    kept: Mapping[str, Mapping[str, tuple[str, ...]]]
    """The result of `export()` or `list()` by user and kind; no kinds if the store has neither."""
    ended_at: datetime
    """The simulated time of the last question."""
    lacks: Mapping[str, str]
    """What could not be measured, and why."""

    def served_to(self, life: FactLife, way: str) -> list[Served]:
        """Return the results of a search; ConfigurationError if the record does not have it."""
        for look in self.looks:
            if (look.life, look.way) == (life.name, way):
                return [self.texts[place] for place in look.served]
        raise ConfigurationError(f"the record has no look at {life.name} by {way!r}")


class CardPlay:
    """Plays a script on one memory."""

    def __init__(self, subject: Subject, script: Script) -> None:
        self.subject = subject
        self.script = script
        is_separate = subject.separates_users
        self.users = (ANN, BO) if is_separate else (ANN,)
        self._places: dict[Served, int] = {}
        self._looks: list[Look] = []
        self._lacks: dict[str, str] = {}
        self._told = self._missed = 0

    def record(self) -> Record:
        """Play the whole script and return the record."""
        self._tell_all()
        lives = self.script.lives_of(*self.users)
        self._change([life for life in lives if life.newer or life.is_withdrawn])
        self._maintain()
        if len(self.users) == 1:
            self._lacks["crossed"] = "add() and search() take no user"
        for life in lives:
            self._ask(life)
        return Record(
            texts=tuple(self._places),
            looks=tuple(self._looks),
            kept={user: self._export(user) for user in self.users},
            ended_at=self.subject.now,
            lacks=self._lacks,
        )

    def _tell_all(self) -> None:
        for user, text in self.script.first_texts(self.users):
            self._tell(user, text)
        self.subject.pass_time(DAY)
        for life in self.script.lives_of(*self.users):
            if life.is_repeated:
                self._tell(life.user, life.told.text)
        self._wait_until_settled()

    def _tell(self, user: str, text: str) -> None:
        if self._told % _A_DAY == 0:
            self.subject.pass_time(DAY)
        self.subject.add(text, self._scope(user))
        if self._told % _SAMPLE == 0:
            self._look_at_once(user, text)
        self._told += 1

    def _look_at_once(self, user: str, text: str) -> None:
        """Search for a text that was just written, to measure the lag."""
        scope = self._scope(user)
        missed = self.subject.usage.missed
        self.subject.settle(scope)
        self.subject.find(text, scope, text.rsplit(" ", 1)[-1].rstrip("."))
        has_missed = self.subject.usage.missed > missed
        self._missed = self._missed + 1 if has_missed else 0
        if self._missed == _PATIENCE:
            self.subject.pace = replace(self.subject.pace, polls=False)

    def _change(self, lives: Sequence[FactLife]) -> None:
        """Search for each changing fact, then replace or withdraw it according to the script."""
        for life in lives:
            self._search(life, "before", life.user, life.told.question)
        self.subject.pass_time(DAY)
        for life in lives:
            if life.newer:
                self._tell(life.user, life.current_text)
        self._wait_until_settled()
        try:
            for life in lives:
                if life.is_withdrawn:
                    self.subject.delete(life.told.text, self._scope(life.user))
        except NotSupported as lack:
            self._lacks["deleted_served"] = str(lack)
        self._wait_until_settled()

    def _maintain(self) -> None:
        if self.subject.can("maintain"):
            for user in self.users:
                self.subject.maintain(self._scope(user))

    def _ask(self, life: FactLife) -> None:
        self._search(life, "question", life.user, life.told.question)
        self._search(life, "other words", life.user, life.told.other_words)
        self._search(life, "own words", life.user, life.current_text)
        for user in self.users:
            if user != life.user:
                self._search(life, "across", user, life.told.question)

    def _search(self, life: FactLife, way: str, user: str, query: str) -> None:
        hits = self.subject.search(query, self._scope(user), k=MOST)[:MOST]
        places = tuple(map(self._place, hits))
        self._looks.append(Look(life.name, way, places))

    def _place(self, hit: Hit) -> int:
        served = Served(hit.text, hit.at, hit.role, hit.is_past)
        return self._places.setdefault(served, len(self._places))

    def _export(self, user: str) -> dict[str, tuple[str, ...]]:
        for power in ("export", "list"):
            if self.subject.can(power):
                texts = {}
                kinds = self.subject.listed(power, self._scope(user))
                for kind, hits in kinds.items():
                    texts[kind] = tuple(hit.text for hit in hits)
                return texts
        return {}

    def _wait_until_settled(self) -> None:
        for user in self.users:
            self.subject.settle(self._scope(user))

    def _scope(self, user: str) -> Scope:
        return Scope(user=f"{user}-of-the-card", session="1")


def measure(subject: Subject, texts: int, size: int | None) -> dict[str, Any]:
    """Return call durations and the lag of writes: values that differ between machines."""
    seconds = subject.usage.seconds
    measured: dict[str, Any] = {}
    for name in ("add", "search"):
        if name in seconds:
            measured[f"{name} in s, p50/p95/p99"] = percentiles(seconds[name])
    measured["write to readable in s, p50/p95/p99"] = percentiles(subject.usage.lags)
    measured["never readable"] = subject.usage.missed
    if size is not None:
        measured["bytes a text"] = round((size_of(subject) or 0) - size) // texts
    try:
        tokens, calls = subject.tokens()
    except NotSupported:
        return measured
    measured["tokens a text"] = round(tokens / texts, 1)
    measured["model calls a text"] = round(calls / texts, 2)
    return measured


def size_of(subject: Subject) -> int | None:
    """Return the store's size in bytes; None if it does not report it."""
    try:
        return subject.size()
    except NotSupported:
        return None


def package_of(store: object) -> str:
    """Return name and version of the package that a store claims to test; "" if it names none."""
    name = getattr(store, "package", "")
    if not isinstance(name, str) or not name:
        return ""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return name
