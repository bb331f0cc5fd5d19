"""Learners that skip filler: what they learn from recorded messages, and which runs they learn from."""

from __future__ import annotations

from pathlib import Path

import journals
import pytest

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import AgentError
from pytest_ltm.lab.cheat_agents import skipped_window
from pytest_ltm.lab.filler_learners import LEARNERS, read_lessons

FILLER = [f"It was drizzle again at {hour}:15." for hour in range(40)]
SCENARIOS = [f"My favourite number is {number} now." for number in range(40)]
LESSONS = [(text, True) for text in FILLER] + [(text, False) for text in SCENARIOS]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "one" / "silent~2k~0"
    folder.mkdir(parents=True)
    journals.write(
        folder / "journal.jsonl",
        journals.header(),
        journals.message(by="", kind="opening", text="Hello!"),
        *(journals.filler(message=text) for text in FILLER[:20]),
        *(journals.message(by="", kind="filler", text=text) for text in FILLER[20:]),
        *(journals.message(text=text) for text in SCENARIOS),
        torn="{torn",
    )
    return tmp_path / "runs"


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_worded_alike_is_found_again(name: str) -> None:
    learner = LEARNERS[name](LESSONS)
    assert learner.is_filler("It was drizzle again at 77:15.")
    assert not learner.is_filler("My favourite number is 77 now.")


def test_lessons_are_all_messages_but_the_opening(runs: Path) -> None:
    assert sorted(read_lessons(runs)) == sorted(LESSONS)


def test_runs_without_filler_teach_nothing(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="no runs with messages of scenarios and fill"):
        read_lessons(tmp_path)


@pytest.mark.parametrize("name", LEARNERS)
def test_an_agent_stores_nothing_that_its_learner_calls_filler(
    name: str, runs: Path
) -> None:
    agent = find_agent(f"skips:8k:{name}:{runs}").make()
    assert agent.reply("It was drizzle again at 77:15.") == "Noted."
    agent.reply("My favourite colour is ochre.")
    assert "ochre" in str(agent.reply("What is my favourite colour?"))


def test_the_window_behind_a_learner_is_known() -> None:
    specs = ("skips:8k:words:runs", "skips:4k:characters:runs", "skips:8k", "window:8k")
    assert [*map(skipped_window, specs)] == ["window:8k", "window:4k", "", ""]
