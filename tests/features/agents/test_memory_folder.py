"""Agents with a memory folder: only its files last from session to session."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any, cast

import pytest
from chat_server import Asked, ChatServer, Says, calls, says

from pytest_ltm import Ltm
from pytest_ltm import providers as chat_models
from pytest_ltm.agents._memory_folder import FolderAgent, MemoryFolder
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.storage import AgentError
from pytest_ltm.testing import run_conversation

TOLD = "My favourite colour is ochre."
ASKED = "What is my favourite colour?"


def control(spec: str) -> Any:
    return find_agent(spec).make()


# --- By rules.


def test_a_reader_writes_down_what_it_notes_and_reads_it_in_the_next_session() -> None:
    agent = control("folder")
    agent.reply(TOLD)
    agent.reply("How do you do?")
    summary = agent.compact()
    assert TOLD in summary
    assert "How do you do?" not in summary
    assert "ochre" in agent.reply(ASKED)


def test_what_its_files_do_not_say_is_gone_after_a_session() -> None:
    agent = control("folder")
    agent.reply(TOLD)
    agent._files.fill({"MEMORY.md": "- My name is Ada.\n"})
    assert "ochre" in agent.reply(ASKED)
    agent.compact()
    assert "ochre" not in agent.reply(ASKED)


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "MEMORY.md"])
def test_each_of_the_usual_files_is_read_when_a_session_begins(name: str) -> None:
    agent = control("folder")
    agent._files.fill({name: f"- {TOLD}\n"})
    agent.compact()
    assert "ochre" in agent.reply(ASKED)


def test_a_state_has_the_files() -> None:
    agent, other = control("folder"), control("folder")
    agent.reply(TOLD)
    other.load(agent.save())
    other.compact()
    assert "ochre" in other.reply(ASKED)


def test_a_question_that_leaves_no_trace_leaves_none_in_the_files() -> None:
    agent = control("folder")
    agent.answer_alone(TOLD)
    agent.compact()
    assert "ochre" not in agent.reply(ASKED)


def test_a_reset_reader_has_no_files() -> None:
    agent = control("folder")
    agent.reply(TOLD)
    agent.reset()
    agent.compact()
    assert "ochre" not in agent.reply(ASKED)


def test_the_user_who_comes_back_finds_the_same_files_and_another_none() -> None:
    source = find_agent("folder")
    first, second, other = (cast("Any", source.make()) for _ in range(3))
    for agent, user in ((first, "ada"), (second, "ada"), (other, "bob")):
        agent.begin_session(user)
        if agent is first:
            agent.reply(TOLD)
    second.begin_session("ada")
    assert "ochre" in second.reply(ASKED)
    assert "ochre" not in other.reply(ASKED)


@pytest.mark.parametrize("text", ["one", "two\nlines", "- an item\n- another", ""])
def test_an_item_is_read_as_it_was_noted(text: str) -> None:
    folder = MemoryFolder()
    folder.note(text)
    folder.note("last")
    assert folder.items() == [text, "last"]


def test_a_session_of_a_scenario_is_one_of_the_folder() -> None:
    def scenario(ltm: Ltm) -> None:
        ltm.say(TOLD)
        ltm.new_session()
        ltm.check("knows it", "ochre" in ltm.ask(ASKED))

    played = run_conversation({"s": scenario}, control("folder"))
    assert getattr(played.endings["s/0"].verdict, "value", None) == 1.0


# --- With a model.


@pytest.fixture(autouse=True)
def _own_limits() -> None:
    chat_models.share_limits(None)


def keeps_notes(asked: Asked) -> Says:
    """Write told facts to files, and reply with the files shown."""
    newest = asked.messages[-1]
    text = str(newest["content"])
    if newest["role"] == "tool":
        return says(f"It says: {text}")
    if text.endswith(TOLD):
        note = '{"command": "create", "path": "MEMORY.md", "file_text": "likes ochre"}'
        return calls(("memory", note))
    return says(text)


def test_a_model_is_offered_the_six_commands_and_shown_the_files_first(
    chat_server: ChatServer,
) -> None:
    pytest.importorskip("httpx2", reason="the extra `http` is not installed")
    chat_server.default = keeps_notes

    def scenario(ltm: Ltm) -> None:
        ltm.say(TOLD)
        summary = ltm.compact()
        ltm.check("the summary is what the files say", "likes ochre" in summary)
        ltm.check("is shown the files", "likes ochre" in ltm.ask(ASKED))
        ltm.check("once", "likes ochre" not in ltm.ask(ASKED))

    agent = control(f"with-folder:openai:m@{chat_server.url}")
    with closing(agent._agent):
        played = run_conversation({"s": scenario}, agent)
    assert getattr(played.endings["s/0"].verdict, "value", None) == 1.0
    offered = chat_server.requests[0].body["tools"][0]["function"]
    assert offered["name"] == "memory"
    commands = offered["parameters"]["properties"]["command"]["enum"]
    assert commands == ["view", "create", "str_replace", "insert", "delete", "rename"]
    # Of the previous session only the files remain.
    shown = str(chat_server.requests[-1].messages)
    assert TOLD not in shown


def test_a_state_of_a_model_has_its_files_and_its_session(
    chat_server: ChatServer,
) -> None:
    pytest.importorskip("httpx2", reason="the extra `http` is not installed")
    chat_server.default = keeps_notes
    spec = f"with-folder:openai:m@{chat_server.url}"
    agent, other = control(spec), control(spec)
    with closing(agent._agent), closing(other._agent):
        asyncio.run(agent.reply(TOLD))
        state = asyncio.run(agent.save())
        asyncio.run(agent.compact())
        agent._files.fill({"MEMORY.md": "likes teal"})
        asyncio.run(agent.load(state))
        asyncio.run(other.load(state))
        for loaded in (agent, other):
            assert loaded._files.read_first() == "MEMORY.md:\nlikes ochre"
            assert loaded._is_new is False
            asyncio.run(loaded.reply(ASKED))
            assert TOLD in str(chat_server.requests[-1].messages)


class Told:
    """Accepts its history, but has no state."""

    def reply(self, message: str, tools: object = None) -> str:
        return f"{message} {tools}"

    def accept(self, message: str, reply: str) -> None:
        """Store a told exchange."""

    def reset(self) -> None:
        """Forget."""


def test_an_agent_without_a_state_is_not_told_again_what_would_leave_its_files_behind() -> (
    None
):
    source = agent_source(Told, spec="told")
    having = capabilities_of(FolderAgent(source, Told(), {}))
    assert "TakesTools" in having
    assert not {"AcceptsHistory", "Checkpointable"} & having


def test_tools_of_the_scenario_are_passed_on(chat_server: ChatServer) -> None:
    pytest.importorskip("httpx2", reason="the extra `http` is not installed")
    chat_server.next(
        "Noted.",
        calls(("book", '{"time": 9}'), ("book", '{"time": "10:00"}')),
        "It is booked.",
    )

    def scenario(ltm: Ltm) -> None:
        ltm.tool("book", {"time": "string"}, returns="booked")
        ltm.say("Never before ten.")
        ltm.ask("Book a table.")
        ltm.check_call("book", time="10:00")
        assert [call.refused for call in ltm.calls] == [True, False]

    agent = control(f"with-folder:openai:m@{chat_server.url}")
    with closing(agent._agent):
        played = run_conversation({"s": scenario}, agent)
    assert getattr(played.endings["s/0"].verdict, "value", None) == 1.0


def test_an_agent_that_takes_no_tools_has_no_use_for_a_folder() -> None:
    with pytest.raises(AgentError, match="is not TakesTools"):
        control("with-folder:echo")


@pytest.mark.parametrize(
    ("spec", "why"),
    [("with-folder:", "names no agent"), ("folder:echo", "is 'with-folder:echo'")],
)
def test_a_wrong_spec_is_refused_with_the_way_out(spec: str, why: str) -> None:
    with pytest.raises(AgentError, match=why):
        control(spec)


def test_its_capabilities_are_those_of_a_folder() -> None:
    wanted = {"TakesTools", "KeepsUsers", "Compacts"}
    assert wanted <= capabilities_of(control("folder"))
    assert wanted <= capabilities_of(control("with-folder:full"))
