from __future__ import annotations

from pathlib import Path

import journals
import pytest
from journals import fault, header, reply, write

from pytest_ltm.agents import AcceptsHistory, Checkpointable, ShowsRetrieval
from pytest_ltm.agents.replay import (
    JournalReplay,
    nearest_message,
    replay_agent,
    text_difference,
)
from pytest_ltm.api.journal import ConversationRecord, events
from pytest_ltm.api.model import Usage
from pytest_ltm.api.storage import AgentError, AgentFault


def message(number: int, text: str, by: str = "cat/0") -> events.MessageSent:
    return journals.message(number, by, text=text)


def agent_of(*said: events.Event, speaker: str = "cat/0") -> JournalReplay:
    agent = JournalReplay(ConversationRecord.after(said))
    agent.announce(speaker)
    return agent


def test_equal_texts_of_two_examples_have_their_own_replies() -> None:
    agent = agent_of(
        message(0, "Hi."), reply(0, "cat"), message(1, "Hi.", "dog/0"), reply(1, "dog")
    )
    agent.announce("dog/0")
    assert agent.reply("Hi.").text == "dog"


def test_a_state_that_was_saved_says_what_has_been_said() -> None:
    said: list[events.Event] = [
        message(0, "Hi."),
        reply(0, "one"),
        message(1, "Hi."),
        reply(1, "two"),
    ]
    agent = agent_of(*said)
    agent.reply("Hi.")
    other = agent_of(*said)
    other.load(agent.save())
    assert other.reply("Hi.").text == "two"


def test_a_recorded_fault_is_raised_again_as_fatal_as_it_was() -> None:
    agent = agent_of(message(0, "Hi."), fault(0, "gone", fatal=True))
    with pytest.raises(AgentFault, match="gone") as caught:
        agent.reply("Hi.")
    assert caught.value.fatal


def test_a_message_that_nobody_replied_to_is_told_as_such() -> None:
    with pytest.raises(AgentFault, match="without a reply"):
        agent_of(message(0, "Hi.")).reply("Hi.")


def test_what_it_cost_then_is_not_spent_now() -> None:
    agent = agent_of(
        message(0, "Hi."), reply(0, "Ho.", cost_usd=0.5, usage=Usage(input_tokens=3))
    )
    found = agent.reply("Hi.")
    assert (found.cost_usd, found.hypothetical) == (0.5, True)
    assert found.usage is not None
    assert found.usage.input_tokens == 3


def test_it_has_the_capabilities_of_the_recorded_agent_and_can_be_put_back(
    tmp_path: Path,
) -> None:
    facts = events.AgentFacts(
        spec="bot",
        configuration=None,
        capabilities=("ShowsRetrieval",),
        max_message_tokens=77,
    )
    said: list[events.Event] = [
        header(agent=facts),
        message(0, "Hi."),
        reply(0, "Ho.", retrieved=("a", "b")),
    ]
    path = write(tmp_path / "journal.jsonl", *said)
    agent = replay_agent(path)
    assert isinstance(agent, JournalReplay)
    assert isinstance(agent, ShowsRetrieval)
    assert isinstance(agent, Checkpointable)
    assert not isinstance(agent, AcceptsHistory)
    agent.announce("cat/0")
    agent.reply("Hi.")
    assert (agent.retrieved(), agent.max_message_tokens) == (["a", "b"], 77)


def test_what_a_cut_text_held_is_found_again() -> None:
    long, other = "My cat is called Pim. " * 30, "My dog is called Rex."
    agent = agent_of(
        message(0, long),
        reply(0, "Ho."),
        message(2, other),
        reply(2, "Ho."),
        message(4, "And?"),
        reply(4, "Pim.", retrieved=("short", "x" * 199 + "…"), places=((0, 2),)),
    )
    for text in (long, other, "And?"):
        agent.reply(text)
    short, cut = agent._retrieved()
    assert (short, long in cut, agent._in_context()) == ("short", True, [other])


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "message", "exchange": [], "text": "x"}',
        '{"event": "reply", "exchange": {}, "text": "x"}',
        '{"event": "header", "agent": []}',
        '{"event": "reply", "exchange": 0, "text": 7}',
        "[]",
        "{}",
    ],
)
def test_a_hostile_line_is_an_agent_error_that_says_where(
    tmp_path: Path, line: str
) -> None:
    path = write(
        tmp_path / "journal.jsonl",
        header(),
        f"{line}\n",
        message(0, "Hi."),
        reply(0, "Ho."),
    )
    with pytest.raises(AgentError, match=r"not a journal: .*journal\.jsonl, line 2: "):
        replay_agent(path)


def test_the_nearest_message_is_one_of_the_same_example() -> None:
    said = [("dog/0", "What is my cat called today?"), ("cat/0", "My cat is grey.")]
    assert nearest_message(said, "cat/0", "What is my cat called?") == "My cat is grey."


def test_of_two_texts_only_what_differs_is_shown() -> None:
    text = "word " * 100_000
    shown = text_difference(f"{text}teal{text}", f"{text}ochre{text}")
    assert [line[:2] for line in shown.splitlines()] == ["- ", "+ "]
    assert "teal" in shown.splitlines()[0]
    assert "ochre" in shown.splitlines()[1]
    assert len(shown) < 400


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("a", ""),
        ("", "a"),
        ("aa", "aaa"),
        ("abc", "axc"),
        ("a" * 9999, "b" * 9999),
    ],
)
def test_any_two_texts_can_be_contrasted(one: str, other: str) -> None:
    assert len(text_difference(one, other).splitlines()) == 2
    assert len(text_difference(one, other)) < 1000
