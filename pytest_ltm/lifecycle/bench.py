"""Bench: what a test works with: a store made anew, users whom nobody had before, facts, and looks as sentences."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.facts import Fact, FactMaker
from pytest_ltm.lifecycle.row import Row
from pytest_ltm.lifecycle.subject import Hit, NotSupported, Subject

_SHOWN = 80
DAY = timedelta(days=1)
CAPACITY = 300
"""Facts that a store has to hold, where nobody asks for more."""


class Bench:
    """One test's store, chance and row."""

    def __init__(
        self, subject: Subject, rng: random.Random, facts: int = CAPACITY
    ) -> None:
        """`facts`: the number of those among which one is looked for."""
        self.capacity = facts
        self.subject = subject
        self.rng = rng
        self.row = Row()
        self.make_facts = FactMaker(rng)
        self._token = f"{rng.getrandbits(32):08x}"

    def user(self, name: str, session: str = "1") -> Scope:
        """Return a user whom no other test has; equal names are the same user."""
        return Scope(user=f"{name}-{self._token}", session=session)

    def two_users(self) -> tuple[Scope, Scope]:
        """Return two users; NotSupported where the store has one only."""
        if not self.subject.separates_users:
            raise NotSupported(
                "add() and search() take no user, so it is tested as one user"
            )
        return self.user("ann"), self.user("bo")

    def tell(self, facts: Iterable[Fact], scope: Scope) -> None:
        """Tell facts, and let the store settle."""
        for fact in facts:
            self.subject.add(fact.text, scope)
        self.subject.settle(scope)

    def tell_text(self, text: str, scope: Scope, role: str = "user") -> None:
        """Tell a text a day later, and let the store settle."""
        self.subject.pass_time(DAY)
        self.subject.add(text, scope, role=role)
        self.subject.settle(scope)

    def feed_again(self, fact: Fact, scope: Scope) -> None:
        """Tell a fact as it was told at first, at that time, by another door: NotSupported without a time."""
        if not self.subject.takes("add", "at"):
            raise NotSupported("add() takes no time, so nothing tells old from new")
        first_time = self.subject.now - 30 * DAY
        import_scope = Scope(user=scope.user, session="import")
        self.subject.add(fact.text, import_scope, at=first_time)
        self.subject.settle(scope)

    # --- looks: each returns what is wrong, "" if nothing is

    def missing(self, fact: Fact, scope: Scope, question: str = "") -> str:
        """Look whether a fact is found."""
        query = question or fact.question
        hits = self.subject.find(query, scope, fact.value)
        if any(fact.is_in(hit.text) for hit in hits):
            return ""
        served = f"served {shown(hits[0].text)} first" if hits else "served nothing"
        return f"search({query!r}) as {scope.user!r} does not find {fact.text!r}; it {served}"

    def any_missing(self, facts: Iterable[Fact], scope: Scope) -> str:
        """Look whether all of the facts are found."""
        return first_of(self.missing(fact, scope) for fact in facts)

    def present(
        self, fact: Fact, scope: Scope, ownership: str, question: str = ""
    ) -> str:
        """Look whether a fact is found that must not be."""
        query = question or fact.question
        hits = self.subject.search(query, scope, k=20)
        return found_in(hits, fact, f"search({query!r}) as {scope.user!r}", ownership)

    def stale(self, old: Fact, scope: Scope, *newer: Fact) -> str:
        """Look whether an old value is served as one that holds now."""
        hits = self.subject.search(old.question, scope, k=20)
        return asserted_in(hits, old, f"search({old.question!r})", newer)

    @contextmanager
    def look(self, name: str) -> Iterator[None]:
        """Note what the store lacks, in the cell of this look."""
        try:
            yield
        except NotSupported as lack:
            self.row.lacks(name, str(lack))


def found_in(hits: Sequence[Hit], fact: Fact, how: str, ownership: str) -> str:
    """Return what is wrong with records of which one has a fact that must not be there."""
    for hit in hits:
        if fact.is_in(hit.text):
            return f"{how} served {shown(hit.text)}, {ownership}"
    return ""


def asserted_in(hits: Sequence[Hit], old: Fact, how: str, newer: Sequence[Fact]) -> str:
    """Return what is wrong with records of which one asserts an old value as current."""
    for hit in hits:
        if not hit.is_past and old.is_current_in(hit.text, *newer):
            return f"{how} served {shown(hit.text)} as if {old.value} were current"
    return ""


def shown(text: str) -> str:
    """Return a text as evidence, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def first_of(texts: Iterable[str]) -> str:
    """Return the first text that is not empty; "" if all are."""
    return next(filter(None, texts), "")
