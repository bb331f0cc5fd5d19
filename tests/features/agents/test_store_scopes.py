"""Users, sessions and times reach a store by every signature it may have; serving them to others fails an example."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.memory.scopes import Scope, scope_arguments, takes_scope
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import AgentError, AgentFault

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)
SCOPE = Scope(user="ann", session="2", agent="tutor", at=NOON)
STORES = """
class Apart:
    def __init__(self):
        self.calls, self.kept = [], []

    def add(self, text, *, role, at, session, user):
        self.calls.append(("add", user, session, at))
        self.kept.append((user, text))

    def search(self, query, *, k, user, at=None):
        self.calls.append(("search", user, at))
        return [text for owner, text in self.kept if owner == user][-k:]


class Anyway(Apart):
    def add(self, text, **scope):
        self.calls.append(("add", scope))
        self.kept.append((scope["user"], text))

    def search(self, query, *, k, **scope):
        self.calls.append(("search", scope))
        return [text for owner, text in self.kept if owner == scope["user"]][-k:]


class Whole(Apart):
    def add(self, text, scope):
        self.calls.append(("add", scope))
        self.kept.append((scope.user, text))

    def search(self, query, *, k, scope):
        self.calls.append(("search", scope))
        return [text for owner, text in self.kept if owner == scope.user][-k:]


class Sessions(Apart):
    def add_session(self, messages, *, at, session, user):
        self.calls.append(("add_session", user, [one["content"] for one in messages]))
        self.kept += [(user, one["content"]) for one in messages]


class Leaks(Apart):
    def search(self, query, *, k, user):
        return [text for _, text in self.kept][-k:]


class Demanding(Apart):
    def search(self, query, *, k, user, tenant):
        return []
"""


@pytest.fixture(autouse=True)
def _stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "scoped_stores.py").write_text(STORES)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("scoped_stores", None)


def stored(name: str) -> Any:
    agent: Any = find_agent(f"store:scoped_stores:{name}").make()
    agent.tell_time(NOON)
    return agent


def by_name(query: str, *, user: str, at: object = None) -> None: ...


def by_keywords(query: str, **more: object) -> None: ...


def as_one(query: str, scope: Scope) -> None: ...


def alone(query: str) -> None: ...


def test_a_method_is_handed_what_it_takes_of_a_scope() -> None:
    assert scope_arguments(by_name, SCOPE) == {"user": "ann", "at": NOON}
    assert scope_arguments(by_keywords, SCOPE) == SCOPE.values()
    assert scope_arguments(as_one, SCOPE) == {"scope": SCOPE}
    assert scope_arguments(alone, SCOPE) == {}
    assert [takes_scope(one, "user") for one in (by_name, as_one, alone)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("name", ["Apart", "Anyway", "Whole"])
def test_each_person_is_another_user_in_add_and_in_search(name: str) -> None:
    agent = stored(name)
    assert "SeparatesUsers" in capabilities_of(agent)
    spec = f"store:scoped_stores:{name}"
    assert "SeparatesUsers" in profile_of(find_agent(spec)).capabilities
    agent.reply("My locker is 71.", user="Ann")
    agent.reply("My locker is 92.", user="Bo")
    agent.reply("Which locker is mine?", user="Ann")
    assert agent.retrieved()[0] == "My locker is 71."
    assert not [text for text in agent.retrieved() if "92" in text]


def test_session_and_time_reach_a_search_that_takes_them() -> None:
    agent = stored("Whole")
    agent.accept("One.", "", user="Ann")
    agent.tell_time(NOON + timedelta(hours=2))
    agent.accept("Two.", "", user="Ann")
    scopes = [scope for _, scope in agent._store.calls]
    assert [scope.session for scope in scopes] == ["1", "2"]
    assert scopes[1].at == NOON + timedelta(hours=2)
    assert len({scope.user for scope in scopes}) == 1


def test_what_was_pending_is_handed_over_as_that_of_who_said_it() -> None:
    agent = stored("Sessions")
    agent.accept("Mine is 71.", "", user="Ann")
    agent.accept("Mine is 92.", "", user="Bo")
    agent.reply("Which?", user="Bo")
    told = [(call[1].split(".")[1], call[2]) for call in agent._store.calls[:2]]
    assert told == [("Ann", ["Mine is 71."]), ("Bo", ["Mine is 92."])]


def test_what_only_another_person_said_is_a_leak_that_names_text_owner_and_search() -> (
    None
):
    agent = stored("Leaks")
    agent.accept("My locker is 71.", "", user="Ann")
    with pytest.raises(AgentFault) as found:
        agent.reply("Which locker?", user="Bo")
    assert found.value.leak
    assert not found.value.fatal
    for part in ("to 'Bo'", "'Ann' told it", "'My locker is 71.'", "'Which locker?'"):
        assert part in str(found.value)


def test_what_both_said_is_no_leak() -> None:
    agent = stored("Leaks")
    agent.accept("We have soup.", "", user="Ann")
    agent.accept("We have soup.", "", user="Bo")
    assert agent.reply("What do we have?", user="Bo").text


def test_a_method_that_needs_more_than_there_is_is_refused_with_its_form() -> None:
    with pytest.raises(AgentError, match=r"search\(query, \*, k, user\)"):
        find_agent("store:scoped_stores:Demanding")
