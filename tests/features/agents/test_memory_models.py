"""Memory systems with a chat model: all presets through the real client, and unreadable responses."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from chat_server import Asked, ChatServer, Says, calls, refuses, says, wrong_schema

from pytest_ltm import providers as model_calls
from pytest_ltm.agents.memory.memories import Range
from pytest_ltm.agents.memory.parameters import PRESETS, preset_file_text
from pytest_ltm.agents.memory.prompts import PROMPTS, load_role_prompts
from pytest_ltm.agents.memory.reading import MemoryHit, Utterance
from pytest_ltm.agents.memory.roles import (
    Describe,
    EventDater,
    Facts,
    Jot,
    Keyphrases,
    Queries,
    Reread,
    Summary,
    TimeRange,
)
from pytest_ltm.agents.memory.thinker import make_thinker
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.registry import find_agent, source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.model import Mishap
from pytest_ltm.api.storage import AgentError, AgentFault, DefinitionError, Field

MONDAY = datetime(2024, 3, 4, 9, tzinfo=timezone.utc)
SAID = (
    Utterance("user", "I keep 4 quails in Porto.", MONDAY),
    Utterance("assistant", "Lovely.", MONDAY),
)
TALK = (
    ("My name is Ines, and I keep four quails.", "Nice to meet you."),
    ("Yesterday I bought a canoe in Porto.", "Where will you keep it?"),
    ("In the shed of my sister Odile.", "The shed it is."),
)
THOUGHTS = {
    "queries": '["quails", "canoe"]',
    "user": '{"reasoning": "Told so.", "user": {"name": "Ines"}, "queries": ["quails"]}',
    "scratchpad": "```\nThe user is Ines.\n```",
    "facts": '[{"fact": "The user keeps quails.", "from": [1]}]',
    "keyphrases": '["quails"]',
    "summary": "Ines keeps quails.",
    "events": '[{"event": "bought a canoe", "from": "2024-03-03", "to": "2024-03-03"}]',
    "range": '{"from": "2024-03-03", "to": "2024-03-10"}',
    "note": "Ines keeps quails.",
    "reply": "You are Ines.",
}
SYSTEMS = {
    PROMPTS[role]["system"].split(".")[0].split("\n")[0]: role
    for role in (*THOUGHTS, "step")
}


@pytest.fixture(autouse=True)
def _own_limits() -> None:
    model_calls.share_limits(None)


def role_of(asked: Asked) -> str:
    system = asked.messages[0]["content"]
    return next(role for begin, role in SYSTEMS.items() if system.startswith(begin))


def thinks(asked: Asked) -> Says:
    """Answer like a model that understands every role."""
    role = role_of(asked)
    if role != "step":
        return says(THOUGHTS[role])
    if asked.messages[-1]["role"] == "user":
        return calls(
            ("conversation_search", '{"query": "quails", "request_heartbeat": true}')
        )
    return calls(("send_message", '{"message": "You are Ines."}'))


@pytest.fixture
def agent(chat_server: ChatServer) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def make(**parameters: Any) -> Any:
        spec = f"openai:m@{chat_server.url}"
        found: Any = source_of_kind(
            agent_kinds()["memory"], spec, Field(parameters, "bot.yml", "parameters")
        ).make()
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


def talk(agent: Any) -> list[Mishap]:
    mishaps: list[Mishap] = []
    for day, exchange in enumerate(TALK):
        agent.tell_time(MONDAY + timedelta(days=day))
        took = agent.accept(*exchange)
        mishaps += [] if took is None else took.mishaps
    agent.tell_time(MONDAY + timedelta(days=4))
    return mishaps


def test_a_preset_in_the_readers_place_is_named_with_its_reader() -> None:
    with pytest.raises(
        AgentError, match=r"Did you mean 'memory:rules\?preset=memgpt'\?"
    ):
        find_agent("memory:memgpt")


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_talks_with_a_model_through_the_real_client(
    name: str, chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.default = thinks
    one = agent(preset=name)
    mishaps = talk(one)
    told = one.calls()
    reply = one.reply("Who keeps quails?")

    assert reply.text == "You are Ines."
    assert [each for each in (*mishaps, *reply.mishaps) if each.times] == []
    assert sum(one.calls().values()) == len(chat_server.requests)
    # these see the whole of it, or its summary
    assert one.retrieved() or name.startswith(
        ("ltm-", "memorybank", "locomo-incremental")
    )
    window = one.configuration()["window"]
    assert all(
        sum(count_tokens(str(m["content"])) for m in request.messages) <= window
        for request in chat_server.requests
    )
    assert one.usage().input_tokens == sum(
        request.prompt_tokens for request in chat_server.requests
    )
    more = {
        role: times - told.get(role, 0)
        for role, times in one.calls().items()
        if times > told.get(role, 0)
    }
    assert more == CALLS[name]


CALLS: dict[str, dict[str, int]] = {
    "ltm-1": {"user": 1, "reply": 1},
    "ltm-2": {"reply": 1},
    "ltm-3": {"scratchpad": 1, "reply": 1},
    "memgpt": {"step": 2},
    "memgpt-paper": {"step": 2},
    "memorybank": {"summary": 4, "reply": 1},
    "longmemeval": {"range": 1, "reply": 1, "facts": 1, "events": 1},
    "longmemeval-facts": {"facts": 1, "reply": 1},
    "longmemeval-plain": {"reply": 1},
    "longmemeval-session": {"facts": 1, "reply": 1},
    "locomo-dialogue": {"reply": 1},
    "locomo-observations": {"facts": 1, "reply": 1},
    "locomo-summaries": {"summary": 1, "reply": 1},
    "locomo-incremental": {"summary": 1, "reply": 1},
    "retrieval": {"reply": 1},
}
"""By preset: the calls for a question asked on another day."""


def test_a_model_that_was_killed_goes_on_where_it_was(
    chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.default = thinks
    first, second = agent(preset="ltm-1"), agent(preset="ltm-1")
    talk(first)
    second.load(first.save())
    for one in (first, second):
        one.reply("Who keeps quails?")

    assert chat_server.requests[-1].messages == chat_server.requests[-3].messages
    assert first.calls() == second.calls()


def test_half_of_a_surrogate_pair_is_sent_as_its_escape(
    chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    one = agent(preset="retrieval")
    one.accept("canoe \ud83d", "")
    one.reply("canoe?")

    assert "canoe \\ud83d" in chat_server.requests[-1].messages[0]["content"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["paper", "code"])
def test_the_date_is_that_of_the_conversation(
    mode: str, chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    one = agent(preset="ltm-2", mode=mode)
    talk(one)
    one.reply("Who keeps quails?")

    *recent, message = chat_server.requests[-1].messages
    assert message["content"].startswith("[2024-03-08 09:00+00:00] Who")
    assert recent[1]["content"].startswith("[4 days, 0:00:00 ago] My name")


# --- Unreadable responses.

TASKS: list[Any] = [
    Queries(message="Who?", last="", count=2),
    Describe(user={}, message="My name is Ines.", last="", count=2, size=100),
    Jot(pad="", message="My name is Ines.", last="", size=100),
    Facts(said=SAID),
    Keyphrases(said=SAID),
    Summary(said=SAID),
    EventDater(said=SAID, now=MONDAY),
    TimeRange(message="What did I do yesterday?", now=MONDAY),
]


FAR = '{"from": "9999-12-31", "to": "9999-12-31"} [{"from": "9999-12-31", "to": "9999-12-31"}]'


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.role)
@pytest.mark.parametrize(
    "words",
    [
        "",
        "I cannot do that.",
        "[[[",
        '{"user": 3}',
        '[{"fact": "A.", "from": 3}]',
        "[1]",
        FAR,
    ],
)
def test_words_that_cannot_be_read_leave_the_task_to_rules(
    task: Any, words: str, chat_server: ChatServer
) -> None:
    chat_server.next(says(words))
    make, _ = make_thinker(f"openai:m@{chat_server.url}", Field({}, "bot.yml"))
    thinker = make()
    try:
        thought = thinker.think(task)
    finally:
        thinker.close()

    if thought.understood:
        assert (task.role, bool(words)) in {("summary", True), ("facts", True)}
    else:
        assert thought.result == task.by_rules()
    assert thought.usage.input_tokens > 0


def test_words_that_cannot_be_read_are_counted(
    chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.default = "No."
    one = agent(preset="ltm-1")
    reply = one.reply("My name is Ines.")

    assert reply.mishaps == (Mishap("notebooks unreadable, rules took over", 1, 1),)
    # each is reported once
    assert [mishap.times for mishap in one.reply("I live in Brno.").mishaps] == [1]
    assert "Ines" in str(one.memory_of("")._user)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "text", "result"),
    [
        (TASKS[0], 'Here: ["a", "b", "c"]', ("a", "b")),
        (TASKS[2], "Sure.\n```txt\nA line.\n```", "A line."),
        (TASKS[5], " Short. ", "Short."),
        (TASKS[7], "{}", None),
        (
            TASKS[7],
            '{"from": "2024-03-01"}',
            Range(
                datetime(2024, 3, 1, tzinfo=timezone.utc),
                datetime(2024, 3, 2, tzinfo=timezone.utc),
            ),
        ),
        (Reread(message="Who?", note=MemoryHit("1", SAID)), '"Nothing."', ""),
    ],
)
def test_words_are_read_generously(
    task: Any, text: str, result: Any, chat_server: ChatServer
) -> None:
    chat_server.next(says(text))
    make, _ = make_thinker(f"openai:m@{chat_server.url}", Field({}, "bot.yml"))
    thinker = make()
    try:
        assert thinker.think(task).result == result
    finally:
        thinker.close()


# --- Tools that a model calls, and shapeless responses.


def test_a_model_that_never_calls_a_tool_gives_empty_replies(
    chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.default = "I would say hello."
    one = agent(preset="memgpt")

    assert one.reply("Hello.").text == ""
    assert one.calls() == {"step": 1}
    assert {
        tool["function"]["name"] for tool in chat_server.requests[0].body["tools"]
    } >= {"send_message"}


def test_a_model_that_loops_is_ended(
    chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.default = calls(
        ("conversation_search", '{"query": "x", "request_heartbeat": true}')
    )
    one = agent(preset="memgpt")

    assert one.reply("Hello.").text == ""
    assert one.calls() == {"step": 10}


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", [("no_such_tool", "{}"), ("send_message", "{{"), ("send_message", "[]")]
)
def test_a_call_that_cannot_be_carried_out_is_told_to_the_model(
    call: tuple[str, str], chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.next(calls(call), calls(("send_message", '{"message": "Hello."}')))

    assert agent(preset="memgpt").reply("Hello.").text == "Hello."
    assert chat_server.requests[1].messages[-1]["content"].startswith("Failed: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "calls", [[None], [{"function": None}], "x", [{"id": 3, "function": {"name": 4}}]]
)
def test_calls_of_no_shape_are_none(
    calls: Any, chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    message = {"role": "assistant", "content": "Hm.", "tool_calls": calls}
    chat_server.next(wrong_schema({"choices": [{"index": 0, "message": message}]}))

    assert agent(preset="memgpt").reply("Hello.").text == ""


def test_what_a_failed_message_took_is_counted(
    chat_server: ChatServer, agent: Callable[..., Any]
) -> None:
    chat_server.next(says(THOUGHTS["user"]), refuses(400))
    one = agent(preset="ltm-1")

    with pytest.raises(AgentFault):
        one.reply("Hello.")
    assert one.usage().input_tokens == chat_server.requests[0].prompt_tokens


# --- Vectors from an endpoint.


def test_vectors_come_from_an_endpoint_and_are_counted(chat_server: ChatServer) -> None:
    chat_server.embeds = lambda text: [float(text.count(letter)) for letter in "abc"]
    parameters = {
        "index": f"openai:e@{chat_server.url}",
        "recent": 0,
        "reading": {"k": 1},
    }
    one: Any = source_of_kind(
        agent_kinds()["memory"], "rules", Field(parameters, "bot.yml")
    ).make()
    for text in ("aaaa", "bbbb", ""):
        one.accept(text, "")
    reply = one.reply("bb")
    before = one.usage()
    one.load(one.save())
    assert one.usage() == before
    one.close()

    assert one.retrieved() == ["bbbb"]
    assert [len(request.body["input"]) for request in chat_server.requests] == [2, 1]
    assert reply.usage.input_tokens > 0
    assert not reply.hypothetical


def test_fewer_vectors_than_texts_are_a_fault(chat_server: ChatServer) -> None:
    parameters = {"index": f"openai:e@{chat_server.url}", "recent": 0}
    chat_server.embeds = lambda _: []
    one: Any = source_of_kind(
        agent_kinds()["memory"], "rules", Field(parameters, "bot.yml")
    ).make()
    one.accept("aaaa", "")

    with pytest.raises(AgentFault, match="vectors for 1 texts"):
        one.reply("bb")
    one.close()


def test_a_model_without_its_key_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    for spec, parameters in (
        ("openai:gpt-4o", {}),
        ("rules", {"index": "openai:text-embedding-3-small"}),
    ):
        with pytest.raises(AgentError, match="OPENAI_API_KEY"):
            source_of_kind(agent_kinds()["memory"], spec, Field(parameters, "bot.yml"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rules?preset=longmemevl", "Did you mean 'longmemeval'"),
        ("rules?valu=turn", "Did you mean 'value'"),
        ("rules?reading=5", r"is a group of parameters.*'reading\.NAME=VALUE'"),
        ("rules?reading.kk=5", "reading.kk: unknown field"),
        ("rules?preset=ltm-1&preset=ltm-2", "given twice"),
        ("rules?value=chunk", "chunk:TOKENS/OVERLAP"),
        ("rules?key=value+fact", "Did you mean 'facts'"),
        ("rules?notebook=core:2000", "go together"),
        ("rules?value=fact&key=facts", "only a turn, a round or a session"),
        ("rules?window=100", "at least 256"),
        ("rules?recent=1.5", "a share of the window"),
        ("rules?temperature=1", "is a parameter of a model"),
        ("rules?prompts=words.yml", "is a parameter of a model"),
        ("rulse", "Did you mean 'rules'"),
        ("", "'rules' or 'openai:MODEL'"),
    ],
)
def test_bad_input_is_told_with_a_way_out(spec: str, said: str) -> None:
    with pytest.raises((AgentError, Exception), match=said):
        source_of_kind(agent_kinds()["memory"], spec, Field({}, "agent"))


# --- Users' own prompts.


def rewritten(texts: Any, role: str) -> Any:
    """Return texts reworded but with the same parts."""
    if isinstance(texts, dict):
        return {name: rewritten(text, f"{role}.{name}") for name, text in texts.items()}
    parts = re.findall(r"\{(\w+)\}", texts)
    return " ".join([f"<{role}>", *(f"[{{{part}}}]" for part in parts), "(end)"])


def pattern_of(text: str) -> str:
    return re.sub(r"\\\{\w+\\\}", "(?s:.*)", re.escape(text))


@pytest.mark.slow
def test_in_each_role_models_are_sent_the_words_of_the_file(
    chat_server: ChatServer, agent: Callable[..., Any], tmp_path: Path
) -> None:
    words = {
        role: rewritten(texts, role)
        for role, texts in PROMPTS.words.items()
        if role != "version"
    }
    file = tmp_path / "words.yml"
    file.write_text(json.dumps(words), encoding="utf-8")

    def thinks_by_mark(asked: Asked) -> Says:
        role = re.match(r"<(\w+)\.", asked.messages[0]["content"])
        assert role is not None
        if role[1] != "step":
            return says(THOUGHTS[role[1]])
        return calls(("send_message", '{"message": "You are Ines."}'))

    chat_server.default = thinks_by_mark
    systems: list[dict[str, Any]] = [
        {"preset": "ltm-1"},
        {"preset": "ltm-3"},
        {"preset": "memgpt"},
        {"preset": "memorybank"},
        {"preset": "longmemeval"},
        {"query": "generated:2", "key": ["keyphrases"], "recent": 0},
        {"reading": {"notes": "per-item"}, "recent": 0},
    ]
    for parameters in systems:
        one = agent(prompts=str(file), **parameters)
        talk(one)
        one.reply("Who keeps quails?")

    seen = set()
    for asked in chat_server.requests:
        system = asked.messages[0]["content"]
        role = system.partition(".")[0].removeprefix("<")
        seen.add(role)
        assert re.match(pattern_of(words[role]["system"]), system)
        if "user" in words[role]:
            assert [message["role"] for message in asked.messages] == ["system", "user"]
            assert re.fullmatch(
                pattern_of(words[role]["user"]), asked.messages[1]["content"]
            )
    assert seen == {*THOUGHTS, "step"}
    assert one.configuration()["prompts"] == {
        "file": "words.yml",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }
    answered = chat_server.requests[-1].messages[0]["content"]
    assert "<reply.notes>" in answered


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("fact: {system: x}", "Did you mean 'facts'"),
        ("facts: {users: x}", "Did you mean 'user'"),
        ("facts: {user: '{said} {name}'}", r"unknown placeholder \{name\}"),
        ("facts: {user: List them.}", r"names none of \{said\}"),
        ("facts: {user: '{said'}", "braces"),
        ("facts: {system: 3}", "a non-empty text"),
        ("summary: {wanted: {days: x}}", "Did you mean 'day'"),
    ],
)
def test_a_file_of_prompts_that_cannot_be_used_is_refused_with_the_place(
    agent: Callable[..., Any], tmp_path: Path, content: str, fault: str
) -> None:
    file = tmp_path / "words.yml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DefinitionError, match=rf"words\.yml.*{fault}"):
        agent(prompts=str(file))


def test_our_own_prompts_are_a_file_that_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "words.yml"
    file.write_text(preset_file_text("prompts"), encoding="utf-8")
    assert load_role_prompts(file).words == PROMPTS.words


def test_json_is_what_the_prompts_ask_for() -> None:
    for role in ("queries", "user", "facts", "keyphrases", "events", "range"):
        assert "JSON" in PROMPTS[role]["user"]
        json.loads(THOUGHTS[role])
