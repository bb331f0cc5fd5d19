"""Messages of several users: which agents learn the user, what is recorded, and what is replayed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pytest_ltm.scenarios import users_apart

from pytest_ltm import Ask, Definition, Say, Score, Unscored
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.scenarios import from_json, to_json
from pytest_ltm.api.storage import AgentFault, Field
from pytest_ltm.testing import Played, run_conversation


class Apart:
    """Stores messages by user."""

    def __init__(self) -> None:
        self.told: dict[str, list[str]] = {}

    def reply(self, message: str, user: str = "nobody") -> str:
        self.told.setdefault(user, []).append(message)
        return " ".join(self.told[user])

    def accept(self, message: str, reply: str, *, user: str = "nobody") -> None:
        del reply
        self.told.setdefault(user, []).append(message)


class Plain:
    def reply(self, message: str) -> str:
        return message

    def accept(self, message: str, reply: str) -> None: ...


def tells_two(ltm: Any) -> None:
    ltm.say("I like figs.", user="ann")
    ltm.say("I like plums.", user="bob")
    heard = ltm.ask("What do I like?", user="bob")
    ltm.check("knows", "plums" in heard)
    ltm.check("keeps apart", "figs" not in heard)


def played(agent: Any) -> Played:
    return run_conversation({"fruit": tells_two}, agent, span=1_000)


def test_whose_a_message_is_comes_with_it_and_stands_in_the_record() -> None:
    result = played(Apart)
    assert isinstance(found := result.endings["fruit/0"].verdict, Score)
    assert found.value == 1
    assert [one.user for one in result.transcript if one.by] == ["ann", "bob", "bob"]


def test_an_agent_that_cannot_be_told_is_never_a_zero() -> None:
    unscored = played(Plain).endings["fruit/0"].verdict
    assert isinstance(unscored, Unscored)
    assert unscored.cause == "requires"
    assert "its reply() has no parameter `user`" in unscored.reason


def test_what_is_nobodys_message_comes_without_a_user() -> None:
    assert AgentCaller(Apart(), timeout=None).ask("Hello.").text == "Hello."
    agent = Apart()
    AgentCaller(agent, timeout=None).tell("Filler.", "Yes.")
    assert agent.told == {"nobody": ["Filler."]}


def test_a_function_takes_a_user_by_name_by_scope_or_as_keywords() -> None:
    def answer(message: str, *, user: str = "") -> str:
        return f"{user}: {message}"

    agent = agent_source(answer, spec="m:answer").make()
    assert AgentCaller(agent, timeout=None).ask("Hi.", user="ann").text == "ann: Hi."

    def answer_with_keywords(message: str, **more: object) -> str:
        return f"{sorted(more)}: {message}"

    def answer_in_scope(message: str, scope: Scope | None = None) -> str:
        return f"{scope and (scope.user, scope.agent)}: {message}"

    for function, text in (
        (answer_with_keywords, "['agent', 'user']: Hi."),
        (answer_in_scope, "('ann', 'assistant'): Hi."),
    ):
        agent = agent_source(function, spec="m:answer").make()
        assert AgentCaller(agent, timeout=None).ask("Hi.", user="ann").text == text


def test_a_function_that_takes_the_message_alone_takes_no_user() -> None:
    assert "SeparatesUsers" not in capabilities_of(
        agent_source(lambda message: message, spec="m:f").make()
    )


def test_an_agent_that_is_told_again_is_told_whose_it_was_or_says_that_it_cannot_be() -> (
    None
):
    agent = Apart()
    AgentCaller(agent, timeout=None).tell("I like figs.", "Noted.", "ann")
    assert agent.told == {"ann": ["I like figs."]}
    with pytest.raises(
        AgentFault,
        match=r"cannot take the user of a message: its accept\(\) has no parameter `user`",
    ):
        AgentCaller(Plain(), timeout=None).tell("I like figs.", "Noted.", "ann")


def test_a_definition_file_keeps_users() -> None:
    definition = Definition(
        steps=(Say("I like figs.", user="ann"), Ask("What do I like?", user="ann"))
    )
    assert from_json(to_json(definition), where="x.json") == definition
    assert to_json(definition)["steps"][1] == {"ask": "What do I like?", "user": "ann"}


def test_a_process_reads_whose_a_message_is() -> None:
    program = "import sys,json\nfor line in sys.stdin: print(json.dumps({'reply': line.strip()}), flush=True)"
    given = {"capabilities": ["SeparatesUsers"]}
    agent = source_of_kind(
        agent_kinds()["cmd"], f'python -c "{program}"', Field(given, "agent.yml")
    ).make()
    speaker = AgentCaller(agent, timeout=None)
    try:
        assert json.loads(speaker.ask("Hi.", user="ann").text) == {
            "message": "Hi.",
            "user": "ann",
        }
        assert json.loads(speaker.ask("Hi.").text) == {"message": "Hi."}
    finally:
        speaker.close()


def test_a_server_is_told_where_its_settings_name_a_field() -> None:
    for parameters, told in (({"user": "meta.user"}, True), ({}, False)):
        field = Field(parameters, "agent.yml")
        source = source_of_kind(agent_kinds()["http"], "http://localhost:1/chat", field)
        assert ("SeparatesUsers" in profile_of(source).capabilities) is told


def test_users_apart_by_id_names_nobody_who_speaks() -> None:
    for seed in range(30):
        made = users_apart.users_apart(random.Random(seed), {"speakers": "ids"})
        opening, *messages = [
            step for step in made.steps if isinstance(step, (Say, Ask))
        ]
        assert all(message.user in opening.text for message in messages)
        assert not any(message.user in message.text for message in messages)
    with pytest.raises(ValueError, match="speakers is 'named' or 'ids'"):
        users_apart.users_apart(random.Random(0), {"speakers": "id"})
