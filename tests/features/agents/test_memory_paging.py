"""A memory managed by the agent itself: its tools, its loop, its queue."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_thinker import Script, calls

from pytest_ltm.agents.memory.paging import (
    STEPS,
    MemoryToolCall,
    Paging,
    Step,
    StepResult,
)
from pytest_ltm.agents.memory.parameters import GROUPS, NAMES
from pytest_ltm.agents.memory.parameters import memory_settings as read
from pytest_ltm.agents.memory.thinker import Rules, prompt_tokens
from pytest_ltm.api.storage import Field
from pytest_ltm.providers.specs import Spec

MONDAY = datetime(2024, 3, 4, 9, tzinfo=timezone.utc)
SEARCH = calls("conversation_search", query="x", request_heartbeat=True)


def fields_of(query: str) -> dict[str, Field]:
    return Spec("memory", "rules", query, "agent").fields(NAMES, groups=GROUPS)


def made(*steps: Any, query: str = "", **lines: Any) -> tuple[Paging, Script]:
    script = Script(step=steps, **lines)
    agent = Paging(read(fields_of(f"preset=memgpt&{query}")), script)
    agent.tell_time(MONDAY)
    return agent, script


def shown(script: Script) -> str:
    """Return the tool results shown in the last requested step."""
    return "\n".join(
        message["content"]
        for message in script.asked[-1].messages
        if message["role"] == "tool"
    )


def test_the_reply_is_all_that_was_said_while_heartbeats_were_asked_for() -> None:
    agent, script = made(
        StepResult(
            (*calls("send_message", message="One moment.").calls, *SEARCH.calls)
        ),
        calls("send_message", message="Here I am."),
    )

    assert agent.reply("Hello.").text == "One moment.\nHere I am."
    assert len(script.asked) == 2


def test_who_says_nothing_gives_an_empty_reply() -> None:
    agent, script = made(StepResult((), "I would rather think."))

    reply = agent.reply("Hello.")

    assert (reply.text, reply.thoughts) == ("", "I would rather think.")
    assert len(script.asked) == 1


def test_who_never_ends_is_ended_after_ten_steps() -> None:
    agent, script = made(*[SEARCH] * 20)

    assert agent.reply("Hello.").text == ""
    assert len(script.asked) == STEPS == agent.calls()["step"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (calls("conversation_serch", query="x"), "Did you mean 'conversation_search'"),
        (StepResult((MemoryToolCall("send_message", None),)), "not a JSON object"),
        (calls("send_message", message=3), "message is a text"),
        (
            calls("core_memory_append", name="humans", content="x"),
            "Choose from persona, human",
        ),
        (
            calls("core_memory_append", name="human", content="x" * 2001),
            "has room for 2000",
        ),
        (
            calls(
                "core_memory_replace",
                name="human",
                old_content="nowhere",
                new_content="",
            ),
            "does not hold 'nowhere'",
        ),
        (calls("conversation_search", query="x", page=-1), "a whole number from 0"),
        (
            calls(
                "conversation_search_date", start_date="March", end_date="2024-03-04"
            ),
            "is a day",
        ),
        (calls("archival_memory_insert"), "content is a text"),
    ],
)
def test_a_call_in_vain_is_told_and_the_agent_goes_on(
    call: StepResult, said: str
) -> None:
    agent, script = made(call, calls("send_message", message="Sorry."))

    assert agent.reply("Hello.").text == "Sorry."
    assert said in shown(script)


def test_core_memory_is_shown_in_every_prompt_once_it_is_written() -> None:
    agent, script = made(
        calls(
            "core_memory_append",
            name="human",
            content="Likes quails.",
            request_heartbeat=True,
        ),
        calls(
            "core_memory_replace",
            name="human",
            old_content="quails",
            new_content="canoes",
        ),
    )
    agent.reply("Hello.")
    agent.reply("Hello again.")

    assert "Likes canoes." in script.asked[-1].prompt()[0]["content"]


def test_core_memory_and_the_queue_before_the_message_are_in_context() -> None:
    agent, _ = made(calls("send_message", message="Hi."))
    agent.reply("Hello.")
    agent.reply("Hello again.")

    persona, human, *queue = agent.in_context()
    assert persona
    assert "name" in human
    assert any(text.endswith("Hello.") for text in queue)
    assert not any("again" in text for text in queue)


def test_messages_are_found_by_words_by_day_and_by_page() -> None:
    agent, script = made(
        calls("conversation_search", query="canoe", request_heartbeat=True),
        calls(
            "conversation_search_date",
            start_date="2024-03-05",
            end_date="2024-03-05",
            request_heartbeat=True,
        ),
        calls(
            "conversation_search_date",
            start_date="2024-03-04",
            end_date="2024-03-10",
            page=1,
        ),
    )
    for day, text in enumerate(
        ("I have a canoe.", "I have a quail.", "I have a shed.")
    ):
        agent.tell_time(MONDAY + timedelta(days=day))
        agent.accept(text, "Fine.")
    agent.reply("What do I have?")

    assert agent.retrieved() == ["I have a canoe.", "I have a quail.", "Fine."]
    assert "I have a quail." in shown(script)


def test_the_archive_is_searched() -> None:
    agent, script = made(
        calls(
            "archival_memory_insert",
            content="The cat is called Odile.",
            request_heartbeat=True,
        ),
        calls("archival_memory_search", query="cat", request_heartbeat=True),
    )
    agent.reply("Hello.")

    assert "called Odile" in shown(script)


def test_the_agent_is_warned_once_and_then_the_oldest_messages_give_way_to_a_summary() -> (
    None
):
    agent, _ = made(query="pressure.window=2000&pressure.warn=0.5&pressure.keep=3")
    warnings = []
    for number in range(14):
        agent.accept(f"Fact {number}: " + "words " * 60, "I see.")
        warnings.append(sum(one["role"] == "system" for one in agent._queue))

    assert max(warnings) == 1
    assert agent.calls()["summary"] >= 1
    assert "Fact 8" in agent._summary
    assert not any("Fact 8:" in one["content"] for one in agent._queue)


def test_the_queue_of_the_paper_is_summed_up_after_a_large_prompt_and_keeps_the_last_exchange() -> (
    None
):
    script = Script()
    agent = Paging(read(fields_of("preset=memgpt-paper&pressure.at=1500")), script)
    agent.tell_time(MONDAY)
    while not agent.calls().get("summary"):
        agent.reply("Which words? " * 40)

    assert [one["role"] for one in agent._queue] == ["user", *["assistant", "tool"] * 2]


def test_by_rules_only_what_asks_is_searched_for_and_the_summary_is_read() -> None:
    agent = Paging(read(fields_of("preset=memgpt")), Rules())
    agent.tell_time(MONDAY)
    agent.accept("My canoe is red.", "Noted.")
    agent.reply("It rains today.")
    assert not any(
        one["role"] == "tool" and "found" in one["content"] for one in agent._queue
    )
    agent.reply("Which colour has my canoe?")
    assert any(
        one["role"] == "tool" and "found" in one["content"] for one in agent._queue
    )

    agent.reset()
    agent.tell_time(MONDAY)
    agent._summary = "My kayak is green."
    assert "green" in agent.reply("What colour is my kayak?").text


@pytest.mark.slow
@given(
    texts=st.lists(
        st.text(st.characters(codec="ascii"), max_size=400), min_size=1, max_size=14
    ),
    window=st.integers(2200, 3000),
)
@settings(max_examples=25, deadline=None)
def test_no_prompt_is_larger_than_the_window(texts: list[str], window: int) -> None:
    agent, script = made(query=f"pressure.window={window}")
    for number, text in enumerate(texts):
        agent.tell_time(MONDAY + timedelta(hours=number))
        agent.accept(text, text[::-1])
        agent.reply(text)

    steps = [task for task in script.asked if isinstance(task, Step)]
    assert max(prompt_tokens(task.prompt()) for task in steps) <= window


def test_by_rules_a_brief_message_takes_two_steps_and_a_long_one_takes_one() -> None:
    agent, _ = made()
    agent.reply("My name is Ines.")
    once = agent.calls()["step"]
    agent.reply("word " * 300)

    assert (once, agent.calls()["step"]) == (2, 3)


def test_by_rules_what_does_not_fit_into_core_memory_goes_into_the_archive_and_is_found() -> (
    None
):
    agent, _ = made(query="notebook=core:60&recent=0")
    for number in range(6):
        agent.reply(f"My cat number {number} is called Odile{number}.")

    assert len(agent._archive.items) >= 3
    agent.reply("cat number 5?")
    assert any("Odile5" in text for text in agent.retrieved())
