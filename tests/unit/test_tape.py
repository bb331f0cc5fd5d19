from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._errors import AgentError, AgentFault
from pytest_ltm.agents import AcceptsHistory, Checkpointable, ShowsRetrieval
from pytest_ltm.agents._replay import JournalReplay, replay
from pytest_ltm.agents._tape import Tape, contrast, nearest

if TYPE_CHECKING:
    from pathlib import Path


def message(number: int, text: str, by: str = "cat/0") -> dict[str, Any]:
    return {"event": "message", "exchange": number, "by": by, "kind": "say", "text": text}


def reply(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"event": "reply", "exchange": number, "text": text, **more}


def agent_of(*events: dict[str, Any], speaker: str = "cat/0") -> JournalReplay:
    agent = JournalReplay(Tape(events))
    agent.ltm_announce(speaker)
    return agent


def test_equal_texts_of_two_examples_have_their_own_replies() -> None:
    agent = agent_of(message(0, "Hi."), reply(0, "cat"), message(1, "Hi.", "dog/0"), reply(1, "dog"))
    agent.ltm_announce("dog/0")
    assert agent.reply("Hi.").text == "dog"


def test_a_state_that_was_saved_says_what_has_been_said() -> None:
    events = [message(0, "Hi."), reply(0, "one"), message(1, "Hi."), reply(1, "two")]
    agent = agent_of(*events)
    agent.reply("Hi.")
    other = agent_of(*events)
    other.load(agent.save())
    assert other.reply("Hi.").text == "two"


def test_a_recorded_fault_is_raised_again_as_fatal_as_it_was() -> None:
    agent = agent_of(message(0, "Hi."), {"event": "fault", "exchange": 0, "text": "gone", "fatal": True})
    with pytest.raises(AgentFault, match="gone") as caught:
        agent.reply("Hi.")
    assert caught.value.fatal


def test_a_message_that_nobody_replied_to_is_told_as_such() -> None:
    with pytest.raises(AgentFault, match="nobody replied"):
        agent_of(message(0, "Hi.")).reply("Hi.")


def test_what_it_cost_then_is_not_spent_now() -> None:
    agent = agent_of(message(0, "Hi."), reply(0, "Ho.", cost_usd=0.5, usage={"input_tokens": 3, "other": "x"}))
    found = agent.reply("Hi.")
    assert (found.cost_usd, found.hypothetical) == (0.5, True)
    assert found.usage is not None
    assert found.usage.input_tokens == 3


def test_it_has_the_powers_of_the_recorded_agent_and_can_be_put_back(tmp_path: Path) -> None:
    header = {"event": "header", "format": 1, "agent": {"powers": ["ShowsRetrieval"], "max_message_tokens": 77}}
    events = [header, message(0, "Hi."), reply(0, "Ho.", retrieved=["a", "b"])]
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    agent = replay(path)
    assert isinstance(agent, JournalReplay)
    assert isinstance(agent, ShowsRetrieval)
    assert isinstance(agent, Checkpointable)
    assert not isinstance(agent, AcceptsHistory)
    agent.ltm_announce("cat/0")
    agent.reply("Hi.")
    assert (agent.retrieved(), agent.max_message_tokens) == (("a", "b"), 77)


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
def test_a_hostile_line_costs_nothing_but_itself_or_is_an_agent_error(tmp_path: Path, line: str) -> None:
    events = [json.dumps({"event": "header", "format": 1}), line]
    path = tmp_path / "journal.jsonl"
    path.write_text("\n".join([*events, json.dumps(message(0, "Hi.")), json.dumps(reply(0, "Ho."))]) + "\n")
    try:
        agent = replay(path)
    except AgentError:
        return
    assert isinstance(agent, JournalReplay)


def test_the_nearest_message_is_one_of_the_same_example() -> None:
    said = [("dog/0", "What is my cat called today?"), ("cat/0", "My cat is grey.")]
    assert nearest(said, "cat/0", "What is my cat called?") == "My cat is grey."


def test_of_two_texts_only_what_differs_is_shown() -> None:
    text = "word " * 100_000
    shown = contrast(f"{text}teal{text}", f"{text}ochre{text}")
    assert [line[:2] for line in shown.splitlines()] == ["- ", "+ "]
    assert "teal" in shown.splitlines()[0]
    assert "ochre" in shown.splitlines()[1]
    assert len(shown) < 400


@pytest.mark.parametrize(
    ("one", "other"), [("", ""), ("a", ""), ("", "a"), ("aa", "aaa"), ("abc", "axc"), ("a" * 9999, "b" * 9999)]
)
def test_any_two_texts_can_be_contrasted(one: str, other: str) -> None:
    assert len(contrast(one, other).splitlines()) == 2
    assert len(contrast(one, other)) < 1000
