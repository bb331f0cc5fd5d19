"""Bench: the equipment of a test: a fresh store, unique users, facts, checks that return sentences."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.row import Row
from pytest_ltm.lifecycle.subject import Hit, NotSupported, Subject
from pytest_ltm.lifecycle.told_facts import Fact, FactMaker

_SHOWN = 80
DAY = timedelta(days=1)
CAPACITY = 300
"""The default number of facts that a store must hold."""


class Bench:
    """The store, random generator and row of one test."""

    def __init__(
        self, subject: Subject, rng: random.Random, facts: int = CAPACITY
    ) -> None:
        """`facts`: the number of facts among which one is searched for."""
        self.capacity = facts
        self.subject = subject
        self.rng = rng
        self.row = Row()
        self.make_facts = FactMaker(rng)
        self._token = f"{rng.getrandbits(32):08x}"

    def user(self, name: str, session: str = "1") -> Scope:
        """Return a user unique to this test; equal names yield the same user."""
        return Scope(user=f"{name}-{self._token}", session=session)

    def two_users(self) -> tuple[Scope, Scope]:
        """Return two users; NotSupported if the store has only one."""
        if not self.subject.separates_users:
            raise NotSupported(
                "add() and search() take no user, so it is tested as one user"
            )
        return self.user("ann"), self.user("bo")

    def tell(self, facts: Iterable[Fact], scope: Scope) -> None:
        """Add facts, and let the store settle."""
        for fact in facts:
            self.subject.add(fact.text, scope)
        self.subject.settle(scope)

    def tell_text(self, text: str, scope: Scope, role: str = "user") -> None:
        """Add a text a day later, and let the store settle."""
        self.subject.pass_time(DAY)
        self.subject.add(text, scope, role=role)
        self.subject.settle(scope)

    def feed_again(self, fact: Fact, scope: Scope) -> None:
        """Add a fact again with its original time in an import session; NotSupported without a time."""
        if not self.subject.takes("add", "at"):
            raise NotSupported("add() takes no time, so old and new texts look alike")
        first_time = self.subject.now - 30 * DAY
        import_scope = Scope(user=scope.user, session="import")
        self.subject.add(fact.text, import_scope, at=first_time)
        self.subject.settle(scope)

    # --- checks: each returns what is wrong, or ""

    def missing(self, fact: Fact, scope: Scope, question: str = "") -> str:
        """Check that a fact is found."""
        query = question or fact.question
        hits = self.subject.find(query, scope, fact.value)
        if any(fact.is_in(hit.text) for hit in hits):
            return ""
        served = f"served {shown(hits[0].text)} first" if hits else "served nothing"
        return f"search({query!r}) as {scope.user!r} does not find {fact.text!r}; it {served}"

    def any_missing(self, facts: Iterable[Fact], scope: Scope) -> str:
        """Check that all of the facts are found."""
        return first_of(self.missing(fact, scope) for fact in facts)

    def present(
        self, fact: Fact, scope: Scope, ownership: str, question: str = ""
    ) -> str:
        """Check that a fact is not found."""
        query = question or fact.question
        hits = self.subject.search(query, scope, k=20)
        return found_in(hits, fact, f"search({query!r}) as {scope.user!r}", ownership)

    def stale(self, old: Fact, scope: Scope, *newer: Fact) -> str:
        """Check that an old value is not served as the current one."""
        hits = self.subject.search(old.question, scope, k=20)
        return asserted_in(hits, old, f"search({old.question!r})", newer)

    @contextmanager
    def look(self, name: str) -> Iterator[Callable[[str], None]]:
        """Return `Row.expect` for this check; its cell also records what the store lacks."""
        try:
            yield partial(self.row.expect, name)
        except NotSupported as lack:
            self.row.lacks(name, str(lack))


def found_in(hits: Sequence[Hit], fact: Fact, how: str, ownership: str) -> str:
    """Return an error message if one of the records contains a fact that must not be there."""
    for hit in hits:
        if fact.is_in(hit.text):
            return f"{how} served {shown(hit.text)}, {ownership}"
    return ""


def asserted_in(hits: Sequence[Hit], old: Fact, how: str, newer: Sequence[Fact]) -> str:
    """Return an error message if one of the records asserts an old value as current."""
    for hit in hits:
        if not hit.is_past and old.is_current_in(hit.text, *newer):
            return f"{how} served {shown(hit.text)} as if {old.value} were current"
    return ""


def shown(text: str) -> str:
    """Return a text as evidence, shortened if it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def first_of(texts: Iterable[str]) -> str:
    """Return the first non-empty text, or ""."""
    return next(filter(None, texts), "")
