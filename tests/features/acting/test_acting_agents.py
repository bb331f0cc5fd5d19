"""Tools reach agents of every kind (chat models, servers, processes), and their calls are returned."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from chat_server import calls as called
from json_server import Post, serving

from pytest_ltm import Ltm, Tools
from pytest_ltm import providers as chat_models
from pytest_ltm.agents import Reply
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.registry import find_agent, source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.model import make_tool
from pytest_ltm.api.storage import AgentFault, Field
from pytest_ltm.testing import run_conversation

pytest.importorskip("httpx2", reason="the extra `http` is not installed")
ARGUMENTS = {"place": "Rossi's", "time": "10:00"}


@pytest.fixture(autouse=True)
def _own_limits() -> None:
    chat_models.share_limits(None)


def offer() -> Tools:
    schema = {"place": "string", "time": "string"}
    return Tools(
        [make_tool("book", schema, returns="booked", description="Books a table.")]
    )


def act(agent: Any, *messages: str) -> tuple[list[str], Tools]:
    """Return the replies to messages that offer a tool, and the tool after the last one."""
    tools = offer()
    with closing(AgentCaller(agent, timeout=None)) as caller:
        replies = [caller.ask(message, tools=tools).text for message in messages]
    return replies, tools


# --- Chat models.


def test_a_chat_model_is_offered_tools_and_told_what_its_calls_came_to(
    chat_server: ChatServer,
) -> None:
    chat_server.next(called(("book", json.dumps(ARGUMENTS))), "It is booked.", "Sure.")
    agent = find_agent(f"openai:m@{chat_server.url}").make()
    with closing(AgentCaller(agent, timeout=None)) as caller:
        tools = offer()
        reply = caller.ask("Book it.", tools=tools)
        assert caller.ask("Is it booked?").text == "Sure."
    assert reply.text == "It is booked."
    assert [call.arguments for call in tools.answered] == [ARGUMENTS]
    assert reply.usage is not None
    assert reply.usage.calls == 2
    first, second, third = chat_server.requests
    assert first.body["tools"][0]["function"]["name"] == "book"
    assert "tools" not in third.body
    roles = [message["role"] for message in second.messages]
    assert roles == ["user", "assistant", "tool"]
    assert second.messages[-1] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": "booked",
    }
    # The call becomes part of later prompts.
    assert [message["role"] for message in third.messages] == [
        *("user", "assistant", "tool", "assistant"),
        "user",
    ]


def test_calls_of_a_chat_model_are_in_its_saved_state(chat_server: ChatServer) -> None:
    chat_server.next(called(("book", json.dumps(ARGUMENTS))), "It is booked.")
    agent: Any = find_agent(f"openai:m@{chat_server.url}").make()
    other: Any = find_agent(f"openai:m@{chat_server.url}").make()
    with closing(agent), closing(other):
        act(agent, "Book it.")
        other.load(agent.save())
        other.reply("And?")
    assert "tool" in [message["role"] for message in chat_server.requests[-1].messages]


def test_a_chat_model_that_is_offered_nothing_is_asked_as_before(
    chat_server: ChatServer,
) -> None:
    agent: Any = find_agent(f"openai:m@{chat_server.url}").make()
    with closing(agent):
        agent.reply("Hi.")
    assert {"tools"} & chat_server.requests[0].body.keys() == set()


def responses(post: Post) -> Any:
    items = post.body["input"]
    usage = {"input_tokens": 5, "output_tokens": 2}
    output: list[dict[str, Any]]
    if items[-1].get("type") == "function_call_output":
        text = {"type": "output_text", "text": f"Result: {items[-1]['output']}"}
        output = [{"type": "message", "content": [text]}]
    else:
        call = {"call_id": "c1", "name": "book", "arguments": json.dumps(ARGUMENTS)}
        output = [{"type": "function_call", **call}]
    return {"status": "completed", "output": output, "usage": usage}


def messages(post: Post) -> Any:
    last = post.body["messages"][-1]["content"]
    usage = {"input_tokens": 5, "output_tokens": 2}
    content: list[dict[str, Any]]
    if isinstance(last, list) and last[0]["type"] == "tool_result":
        results = ", ".join(part["content"] for part in last)
        content = [{"type": "text", "text": f"Result: {results}"}]
        return {"content": content, "stop_reason": "end_turn", "usage": usage}
    content = [
        {"type": "tool_use", "id": f"t{number}", "name": "book", "input": ARGUMENTS}
        for number in range(2)
    ]
    return {"content": content, "stop_reason": "tool_use", "usage": usage}


@pytest.mark.parametrize(
    ("kind", "answer", "count"),
    [("openai-responses", responses, 1), ("anthropic", messages, 2)],
)
def test_other_protocols_pass_tools_and_calls_through(
    kind: str,
    answer: Callable[[Post], Any],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with serving(answer) as server:
        agent = find_agent(f"{kind}:m@{server.url}").make()
        replies, tools = act(agent, "Book it.")
    results = ", ".join(["booked"] * count)
    assert replies == [f"Result: {results}"]
    assert [call.arguments for call in tools.answered] == [ARGUMENTS] * count


# --- Servers and processes.


def bot(post: Post) -> dict[str, Any]:
    body = post.body
    if not body.get("offered") or body["tool_results"]:
        results = [one["result"] for one in body.get("tool_results", ())]
        return {"reply": f"done: {results}"}
    return {"tool_calls": [{"name": "book", "arguments": ARGUMENTS, "id": "1"}]}


@contextmanager
def http_agent(url: str, **parameters: Any) -> Iterator[Any]:
    field = Field(parameters, "bot.yml", "parameters")
    made: Any = source_of_kind(agent_kinds()["http"], url, field).make()
    with closing(made) as agent:
        yield agent


def test_a_server_is_posted_the_tools_in_the_field_that_is_named() -> None:
    with serving(bot) as server, http_agent(server.url, tools="offered") as agent:
        assert agent.reply("Hi.").text == "done: []"
        replies, tools = act(agent, "Book it.")
    assert replies == ["done: ['booked']"]
    assert [call.id for call in tools.answered] == ["1"]
    third, first, second = (post.body for post in server.posts)
    assert first["offered"][0]["name"] == "book"
    assert second["tool_results"] == [{"id": "1", "name": "book", "result": "booked"}]
    assert "offered" not in third


def test_a_server_without_that_field_takes_no_tools_and_is_configured_as_ever() -> None:
    with serving(bot) as server, http_agent(server.url) as agent:
        assert "TakesTools" not in capabilities_of(agent)
        assert (
            not {"tools", "tool_results", "tool_calls"}
            & agent.configuration()["http"].keys()
        )


def test_calls_that_are_none_are_the_servers_fault() -> None:
    def wrong(_: Post) -> dict[str, Any]:
        return {"tool_calls": ["book"]}

    with (
        serving(wrong) as server,
        http_agent(server.url, tools="tools") as agent,
        pytest.raises(AgentFault, match="not a list of"),
    ):
        act(agent, "Book it.")


PROCESS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if not asked.get("tools") or asked["tool_results"]:
        told = [one["result"] for one in asked.get("tool_results", ())]
        print(json.dumps({"reply": f"done: {told}"}), flush=True)
    else:
        call = {"name": "book", "arguments": {"place": "Rossi's", "time": "10:00"}}
        print(json.dumps({"reply": "", "tool_calls": [call]}), flush=True)
"""


def test_a_process_is_told_the_tools_if_it_says_that_it_takes_them(
    tmp_path: Path,
) -> None:
    script = tmp_path / "bot.py"
    script.write_text(PROCESS)
    field = Field({"capabilities": ["TakesTools"]}, "bot.yml", "parameters")
    agent: Any = source_of_kind(
        agent_kinds()["cmd"], f"{sys.executable} {script}", field
    ).make()
    replies, tools = act(agent, "Book it.")
    assert replies == ["done: ['booked']"]
    assert [call.arguments for call in tools.answered] == [ARGUMENTS]


BOT = """
from pytest_ltm import Call, Reply

class Bot:
    def reply(self, message, tools=None):
        if tools is None:
            return "no tools"
        if tools.results:
            return f"{tools[0].name}: {tools.results[0].result}"
        return Reply("", calls=[Call("book", {"place": "Rossi's", "time": "10:00"})])

class Caller:
    def reply(self, message, tools=None):
        return tools.call("book", place="a", time="b")
"""


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    from pytest_ltm.agents.processes import Processes

    (tmp_path / "acting_bot.py").write_text(BOT)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name: find_agent(
        f"acting_bot:{name}", apart=Processes(every=True, limit=30.0)
    ).make()


def test_an_agent_in_a_process_of_its_own_acts_by_its_replies(
    apart: Callable[[str], Any],
) -> None:
    replies, tools = act(apart("Bot"), "Book it.")
    assert replies == ["book: booked"]
    assert [call.arguments for call in tools.answered] == [ARGUMENTS]


def test_an_agent_in_a_process_of_its_own_calls_at_once(
    apart: Callable[[str], Any],
) -> None:
    replies, tools = act(apart("Caller"), "Book it.")
    assert replies == ["booked"]
    assert [call.arguments for call in tools.answered] == [{"place": "a", "time": "b"}]


# --- Return values of users' agents.


def test_calls_that_are_no_calls_are_refused() -> None:
    class Wrong:
        def reply(self, message: str, tools: object = None) -> Reply:
            return Reply(f"{message} {tools}", calls=["book"])  # type: ignore[list-item]

    with pytest.raises(AgentFault, match="it is a list of Call"):
        act(Wrong(), "Book it.")


def test_calls_that_nobody_asked_for_are_no_reply() -> None:
    from pytest_ltm import Call

    class Eager:
        def reply(self, message: str) -> Reply:
            return Reply("", calls=[Call("book", {"m": message})])

    with (
        closing(AgentCaller(Eager(), timeout=None)) as caller,
        pytest.raises(AgentFault, match="called a tool instead of replying"),
    ):
        caller.ask("Hi.")


def test_the_oracle_makes_the_calls_of_full_marks() -> None:
    from pytest_ltm import Call

    def scenario(ltm: Ltm) -> None:
        ltm.tool("book", {"place": "string", "time": "string"})
        ltm.say("I never eat before ten.")
        ltm.ask("Book Rossi's.", calls=[Call("book", ARGUMENTS)], answer="")
        ltm.check_only_calls(Call("book", ARGUMENTS))

    def control(spec: str) -> Any:
        return find_agent(spec).make()

    for spec, value in (("oracle", 1.0), ("silent", None)):
        played = run_conversation({"s": scenario}, control(spec))
        assert getattr(played.endings["s/0"].verdict, "value", None) == value
