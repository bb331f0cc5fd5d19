"""`store:pkg.mod:Class`: a memory store that is not an agent, read by rules; and messages about misbehaving stores."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import AgentError, AgentFault
from pytest_ltm.commands import main

NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)
TRAIN = "My train to Ghent leaves from platform 14."
STORES = '''
import json
import time

SHARED = []


class Plain:
    """Finds all, newest first."""

    def __init__(self, **given):
        self.notes, self.calls, self.given = [], [], given

    def add(self, text, *, role, at, session, user):
        self.calls.append((role, at, session, user))
        self.notes.append(text)
        return len(self.notes) - 1

    def search(self, query, *, k):
        return self.notes[::-1][:k]


class Record:
    def __init__(self, number, text):
        self.id, self.memory, self.metadata = number, text, {"kind": "fact"}


class Objects(Plain):
    def search(self, query, *, k):
        return [Record(number, text) for number, text in enumerate(self.notes)][:k]


class Mappings(Plain):
    def search(self, query, *, k):
        return [{"id": hit.id, "memory": hit.memory, "score": 0.5} for hit in Objects.search(self, query, k=k)]


class PerUser(Plain):
    def search(self, query, *, k, user):
        self.calls.append(("search", user))
        return self.notes[::-1][:k]


class Whole(Plain):
    def search(self, query, *, k):
        return [(n, "altered: " + text, 0.5, None) for n, text in list(enumerate(self.notes))[:k]]

    def reset(self):
        self.notes.clear()

    def save(self):
        return json.dumps(self.notes).encode()

    def load(self, state):
        self.notes = json.loads(state)


class Async(Plain):
    async def add(self, text, *, role, at, session, user):
        return super().add(text, role=role, at=at, session=session, user=user)

    async def search(self, query, *, k):
        return super().search(query, k=k)

    async def aclose(self):
        self.notes.clear()


class Leaky(Plain):
    def __init__(self):
        super().__init__()
        self.notes = SHARED


class Forgetful(Whole):
    def reset(self):
        pass

    def search(self, query, *, k):
        return self.notes[:k]


class Raises(Plain):
    def search(self, query, *, k):
        raise KeyError("no index")


class Full(Async):
    async def add(self, text, **more):
        raise OSError("no room")


class Slow(Plain):
    def search(self, query, *, k):
        time.sleep(5)


class Nothing(Plain):
    def search(self, query, *, k):
        return []


class NoList(Plain):
    def search(self, query, *, k):
        return None


class Greedy(Plain):
    def search(self, query, *, k):
        return self.notes * 20


class Numbers(Plain):
    def search(self, query, *, k):
        return [1, 2]


class Inventive(Plain):
    def search(self, query, *, k):
        return ["The user owns a zeppelin."]


class Keeper:
    """Makes one record of each person, in words of its own, from sessions; settled, they can be found."""

    def __init__(self):
        self.records, self.sessions, self.made, self.log, self.ready = {}, [], [], [], True

    def add_session(self, messages, *, at, session, user):
        self.log.append("add_session")
        self.sessions.append((session, at, [message["content"] for message in messages]))
        self.made, self.ready = [], False
        for message in messages:
            text = message["content"]
            if message["role"] == "user" and text == "Forget him.":
                self.records.clear()
                self.made.append(("deleted", "bo", None))
            elif message["role"] == "user" and "?" not in text:
                what = "changed" if "bo" in self.records else "added"
                self.records["bo"] = "He: " + text.upper()
                self.made.append((what, "bo", self.records["bo"]))

    def written(self):
        return self.made

    def settle(self):
        self.log.append("settle")
        self.ready = True

    def search(self, query, *, k):
        assert self.ready
        return [(key, text, None, None) for key, text in self.records.items()]

    def save(self):
        return json.dumps(self.records).encode()

    def load(self, state):
        self.records = json.loads(state)


class Babbles(Plain):
    def written(self):
        return ["something"]


class NoSearch:
    def add(self, text, *, role, at, session, user): ...


class Narrow:
    def add(self, text): ...

    def search(self, query, *, k): ...
'''


@pytest.fixture(autouse=True)
def _stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "some_stores.py").write_text(STORES)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("some_stores", None)


def made(name: str) -> Any:
    agent: Any = find_agent(f"store:some_stores:{name}").make()
    agent.tell_time(NOON)
    return agent


def asked(agent: Any, message: str) -> Any:
    given: Any = agent.reply(message)
    return asyncio.run(given) if inspect.iscoroutine(given) else given


@pytest.mark.parametrize("name", ["Plain", "Whole", "Async"])
def test_a_store_answers_by_what_it_finds(name: str) -> None:
    agent = made(name)
    for message in (TRAIN, "I had soup."):
        asked(agent, message)
    reply = asked(agent, "From which platform does my train leave?")
    assert "14" in reply.text
    assert reply.hypothetical
    assert TRAIN in agent.retrieved()


def test_both_sides_of_what_is_told_are_added_with_who_and_when() -> None:
    agent = made("Plain")
    agent.accept(TRAIN, "Noted.")
    (user, at, session, who), (assistant, *_) = agent._store.calls
    assert (user, assistant, at, session) == ("user", "assistant", NOON, "1")
    assert who != made("Plain")._user


def test_a_pause_of_more_than_an_hour_begins_another_session() -> None:
    agent = made("Plain")
    for minutes in (0, 59, 120):
        agent.tell_time(NOON + timedelta(minutes=minutes))
        agent.accept(TRAIN, "")
    assert [session for *_, session, _ in agent._store.calls] == ["1", "1", "2"]


def test_a_store_that_takes_sessions_is_handed_them_whole_and_settled_before_it_is_searched() -> (
    None
):
    agent = made("Keeper")
    for minutes, text in (
        (0, "My train leaves from platform 14."),
        (5, "I mean 15."),
        (120, "I had soup."),
    ):
        agent.tell_time(NOON + timedelta(minutes=minutes))
        agent.accept(text, "Noted.")
    asked(agent, "From which platform does my train leave?")
    first, second = agent._store.sessions
    assert first == (
        "1",
        NOON,
        ["My train leaves from platform 14.", "Noted.", "I mean 15.", "Noted."],
    )
    assert second == ("2", NOON + timedelta(minutes=120), ["I had soup.", "Noted."])
    assert agent._store.log == ["add_session", "add_session", "settle"]
    asked(agent, "And now?")
    assert agent._store.log[3:] == ["add_session", "settle"]


def test_a_record_in_the_stores_own_words_stands_for_what_it_was_made_of_as_the_store_says() -> (
    None
):
    agent = made("Keeper")
    agent.accept("Bo lives in Turku.", "Noted.")
    asked(agent, "Where does Bo live?")
    assert agent.retrieved() == ["He: BO LIVES IN TURKU.\nBo lives in Turku.\nNoted."]
    agent.accept("Bo moved to Brno.", "")
    asked(agent, "Where does Bo live?")
    [found] = agent.retrieved()
    assert found.startswith("He: BO MOVED TO BRNO.\n")
    assert {"Bo lives in Turku.", "Bo moved to Brno."} < set(found.splitlines())
    again = made("Keeper")
    again.load(agent.save())
    assert (asked(again, "Where?"), again.retrieved()) == (
        asked(agent, "Where?"),
        agent.retrieved(),
    )
    agent.accept("Forget him.", "")
    asked(agent, "Where does Bo live?")
    assert agent.retrieved() == []
    assert agent._records == {}


def test_what_a_store_says_that_it_wrote_has_to_be_readable() -> None:
    with pytest.raises(
        AgentFault,
        match=r"written\(\) returned 'something'; it returns a list of \('added', id, text\)",
    ):
        made("Babbles").accept(TRAIN, "")


def test_a_search_that_asks_whose_conversation_it_is_is_told() -> None:
    agent = made("PerUser")
    agent.accept(TRAIN, "Noted.")
    asked(agent, "From which platform does my train leave?")
    told = {call[3] for call in agent._store.calls if call[0] == "user"}
    assert {call[1] for call in agent._store.calls if call[0] == "search"} == told


def test_a_model_that_reads_has_its_parameters_in_the_spec() -> None:
    agent: Any = find_agent(
        "store:some_stores:Plain?reader=openai:m@http://localhost:1/v1&max_tokens=40"
    ).make()
    assert agent.configuration()["max_tokens"] == 40


def test_it_has_the_powers_of_its_store() -> None:
    always = {
        "AnswersAlone",
        "AcceptsHistory",
        "TimeAware",
        "ReportsUsage",
        "ShowsRetrieval",
        "Configured",
    }
    assert (
        capabilities_of(made("Plain"))
        == profile_of(find_agent("store:some_stores:Plain")).capabilities
        == always
    )
    both = always | {"Resettable", "Checkpointable"}
    assert (
        capabilities_of(made("Whole"))
        == profile_of(find_agent("store:some_stores:Whole")).capabilities
        == both
    )


def test_saved_and_loaded_it_replies_alike() -> None:
    first, second = made("Whole"), made("Whole")
    asked(first, TRAIN)
    second.load(first.save())
    question = "From which platform does my train leave?"
    assert asked(second, question) == asked(first, question)
    assert second.retrieved() == first.retrieved()


def test_a_file_names_reader_and_the_parameters_of_the_class(tmp_path: Path) -> None:
    file = tmp_path / "store.yml"
    file.write_text(
        "agent: store:some_stores:Plain\nparameters: {k: 3, order: relevance, store: {size: 7}}\n"
    )
    agent: Any = find_agent(str(file)).make()
    assert agent._store.given == {"size": 7}
    assert (agent._reading.k, agent._reading.order) == (3, "relevance")


def test_a_model_may_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    agent: Any = find_agent(
        "store:some_stores:Plain?reader=openai:gpt-4o-mini@http://localhost:1/v1&k=5"
    ).make()
    assert agent.configuration()["thinker"] == "model"
    assert agent.configuration()["reading"]["k"] == 5


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("Nowhere", "has no 'Nowhere'"),
        ("Plain?kk=5", "unknown parameter 'kk'"),
        ("Plain?k=0", "k"),
        ("Plain?reader=opnai:m", "is not a reader"),
        ("SHARED", "is a list. Name a class"),
        ("NoSearch", r"has no search\(query, \*, k\)"),
        (
            "Narrow",
            r"its add\(\) cannot be called as add\(text, \*, role, at, session, user\)",
        ),
    ],
)
def test_what_cannot_be_used_is_told_before_the_run(spec: str, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        find_agent(f"store:some_stores:{spec}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Raises", r"raised in search\(\): KeyError: 'no index'"),
        ("NoList", r"search\(\) returned None; it returns a list of texts"),
        ("Greedy", r"search\(k=10\) returned 40 memories, more than k"),
        ("Numbers", r"search\(\) returned int '1'; each is a text"),
    ],
)
def test_a_store_that_misbehaves_is_a_fault_that_names_it(name: str, said: str) -> None:
    agent = made(name)
    agent.accept(TRAIN, "Noted.")
    with pytest.raises(AgentFault, match=f"store 'some_stores:{name}'.*{said}"):
        asked(agent, "When?")


@pytest.mark.parametrize("name", ["Objects", "Mappings"])
def test_a_search_may_return_records_as_in_the_suite_lifecycle(name: str) -> None:
    agent = made(name)
    agent.accept(TRAIN, "Noted.")

    assert "14" in asked(agent, "From which platform does my train leave?").text
    assert agent.retrieved()[0] == TRAIN


def test_a_store_that_takes_nothing_in_is_a_fault_that_names_it() -> None:
    speaker = AgentCaller(made("Full"), timeout=5, name="full")
    with pytest.raises(
        AgentFault,
        match=r"store 'some_stores:Full' raised in add\(\): OSError: no room",
    ):
        speaker.tell(TRAIN, "Noted.")
    with pytest.raises(AgentFault, match=r"raised in add\(\)"):
        speaker.ask("When?")
    speaker.close()


def test_memories_of_another_conversation_are_noticed_and_named() -> None:
    source = find_agent("store:some_stores:Leaky")
    first, second = source.make(), source.make()
    for agent in (first, second):
        agent.tell_time(NOON)  # type: ignore[attr-defined]
    asked(first, TRAIN)
    with pytest.raises(AgentFault, match="another conversation told it") as found:
        asked(second, "What about my train?")
    assert found.value.leak
    assert "search('What about my train?')" in str(found.value)


def test_a_reset_that_keeps_memories_is_noticed_too() -> None:
    agent = made("Forgetful")
    asked(agent, TRAIN)
    agent.reset()
    with pytest.raises(AgentFault, match="another conversation told it"):
        asked(agent, "What about my train?")


def test_the_same_words_in_two_conversations_are_no_leak() -> None:
    source = find_agent("store:some_stores:Plain")
    for agent in (source.make(), source.make()):
        agent.tell_time(NOON)  # type: ignore[attr-defined]
        asked(agent, TRAIN)
        assert asked(agent, "From which platform does my train leave?").text


@pytest.mark.slow
def test_a_slow_store_is_cut_off_at_the_reply_timeout() -> None:
    speaker = AgentCaller(made("Slow"), timeout=0.2, name="slow")
    with pytest.raises(AgentFault, match=r"did not return from reply\(\) within 0.2 s"):
        speaker.ask("When?")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Nothing", "found nothing in any of 2 searches"),
        (
            "Inventive",
            "returned 2 texts that were never added, such as 'The user owns a zeppelin.'",
        ),
    ],
)
def test_what_is_odd_about_a_store_is_a_notice_at_the_end(name: str, said: str) -> None:
    speaker = AgentCaller(made(name), timeout=5, name="odd")
    speaker.tell(TRAIN, "Noted.")
    for _ in range(2):
        speaker.ask("When?")
    assert said in (speaker.close() or "")


def test_a_good_store_ends_without_a_word() -> None:
    speaker = AgentCaller(made("Async"), timeout=5, name="good")
    speaker.ask(TRAIN)
    speaker.ask("When?")
    assert speaker.close() is None


def test_check_agent_tries_a_store_at_a_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check-agent", "store:some_stores:Whole"]) == 0
    assert "does not know it in another conversation" in capsys.readouterr().out
