from __future__ import annotations

import json
from pathlib import Path

import pytest
from journals import filler, header, message, reply, write

from pytest_ltm.agents import AcceptsHistory, Agent
from pytest_ltm.agents.replay import MasterLogReplay, replay_source
from pytest_ltm.api.journal import Event
from pytest_ltm.api.storage import AgentError
from pytest_ltm.fillers import INSTRUCTION, answers_of


def journal(
    path: Path, *exchanges: tuple[str, str], told: tuple[str, str] | None = None
) -> str:
    events: list[Event] = [header()]
    for number, (text, answer) in enumerate(exchanges):
        events += [message(number, "", text=text), reply(number, answer)]
    if told:
        events.append(filler(99, *told))
    return str(write(path, *events))


def said(agent: Agent, message: str) -> str:
    reply = agent.reply(message)
    return reply if isinstance(reply, str) else reply.text


def master_log(path: Path, *exchanges: tuple[str, str, str]) -> str:
    events = []
    for test_id, sent, heard in exchanges:
        events.append(
            {"type": 0, "test_id": test_id, "timestamp": 1.0, "data": {"message": sent}}
        )
        events.append(
            {
                "type": 4,
                "test_id": test_id,
                "timestamp": 2.0,
                "data": {"message": heard},
            }
        )
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    return str(path)


def test_a_journal_gives_equal_messages_their_replies_in_order(tmp_path: Path) -> None:
    agent = replay_source(
        journal(tmp_path / "journal.jsonl", ("hi", "one"), ("hi", "two"))
    ).make()
    assert [said(agent, "hi"), said(agent, "hi")] == ["one", "two"]


def test_a_message_that_was_not_recorded_is_an_error_with_a_diff(
    tmp_path: Path,
) -> None:
    agent = replay_source(
        journal(tmp_path / "journal.jsonl", ("What is my name?", "Ann"), ("Bye", "Bye"))
    ).make()
    with pytest.raises(
        AgentError, match=r"(?s)- What is my name\?.*\+ What is my new name\?"
    ):
        agent.reply("What is my new name?")


def test_more_equal_messages_than_recorded_are_an_error(tmp_path: Path) -> None:
    agent = replay_source(journal(tmp_path / "journal.jsonl", ("hi", "one"))).make()
    agent.reply("hi")
    with pytest.raises(AgentError, match="no further reply to 'hi'"):
        agent.reply("hi")


def test_every_conversation_replays_from_the_start(tmp_path: Path) -> None:
    make = replay_source(journal(tmp_path / "journal.jsonl", ("hi", "one"))).make
    assert said(make(), "hi") == said(make(), "hi") == "one"


def test_filler_that_was_told_is_told_again(tmp_path: Path) -> None:
    with_told = replay_source(
        journal(tmp_path / "a.jsonl", ("hi", "one"), told=("quiz", "[]"))
    ).make()
    without = replay_source(journal(tmp_path / "b.jsonl", ("hi", "one"))).make()
    assert isinstance(with_told, AcceptsHistory)
    assert not isinstance(without, AcceptsHistory)


def test_the_folder_of_a_conversation_stands_for_its_journal(tmp_path: Path) -> None:
    journal(tmp_path / "journal.jsonl", ("hi", "one"))
    assert said(replay_source(str(tmp_path)).make(), "hi") == "one"


def test_a_master_log_answers_by_the_example_that_speaks(tmp_path: Path) -> None:
    log = master_log(
        tmp_path / "log",
        ("Colours - 0", "Which?", "Red."),
        ("Colours - 1", "Which?", "Blue."),
    )
    agent = replay_source(log).make()
    assert isinstance(agent, MasterLogReplay)
    agent.announce("colours/1")
    assert agent.reply("Which?") == "Blue."


def test_a_master_log_falls_back_to_the_nearest_message_of_the_same_test(
    tmp_path: Path,
) -> None:
    log = master_log(
        tmp_path / "log",
        ("Jokes - 0", "A man walks into a bar.", "Ha."),
        ("Jokes - 0", "Which joke did I tell you 3 hours ago?", "The bar one."),
        ("Jokes - 1", "Which joke did I tell you 4 hours ago?", "No idea."),
    )
    agent = replay_source(log).make()
    assert isinstance(agent, MasterLogReplay)
    agent.announce("jokes/0")
    assert agent.reply("Which joke did I tell you 4 hours ago?") == "The bar one."


def test_a_master_log_answers_our_filler_as_it_asks(tmp_path: Path) -> None:
    agent = replay_source(
        master_log(tmp_path / "log", ("Colours - 0", "Which?", "Red."))
    ).make()
    assert isinstance(agent, MasterLogReplay)
    agent.announce("")
    message = f"{INSTRUCTION}\nQ: What is 1 + 1? A: 2\n"
    assert answers_of(message) == ["2"]
    assert json.loads(agent.reply(message)) == ["2"]


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "it is not a file"), ("", "nothing is recorded"), ("{]", "not a journal")],
)
def test_a_file_that_cannot_be_replayed_says_why(
    tmp_path: Path, content: str | None, says: str
) -> None:
    path = tmp_path / "recording"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(AgentError, match=says):
        replay_source(str(path)).make()
