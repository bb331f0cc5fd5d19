"""A recorded run of ours as the agent: the same conversations again, byte for byte, and no key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

SUITE = ("--ltm-suite=standard", "--ltm-examples=1")
BOT = """
from pytest_ltm.agents import Reply, Usage

class Bot:
    def __init__(self):
        self.heard = []

    def reply(self, message):
        if message == "Stumble.":
            raise ValueError("boom")
        self.heard.append(message)
        return Reply(f"{len(self.heard)} {message}", Usage(input_tokens=7, output_tokens=2), 0.25)

    def retrieved(self):
        return [f"m{len(self.heard)}"]
"""
SCENARIOS = """
import pytest

@pytest.mark.ltm(requires=["ShowsRetrieval"])
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.6)
    assert "cat" in ltm.ask("What is my cat called?")
    assert ltm.retrieved

def test_dog(ltm):
    ltm.say("My dog is called Ohm.")
    ltm.wait(span=0.9, time="1h")
    assert "dog" in ltm.ask("What is my dog called?")
"""


def latest(project: Project) -> Path:
    return project.path / ".ltm" / "runs" / (project.path / ".ltm" / "latest").read_text().strip()


def events(run: Path, label: str) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for path in run.glob(f"{label}~*/journal.jsonl"):
        header, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        assert header["event"] == "header"
        for line in lines:
            line.pop("hypothetical", None)
        found[path.parent.name.partition("~")[2]] = lines
    return found


def own(project: Project, *args: str, agent: str = "bot:Bot", subprocess: bool = False) -> Any:
    return project.pytest(
        f"--ltm-agent={agent}", "--ltm-suite=none", "--ltm-span=300,500", "--ltm-trials=2", *args, subprocess=subprocess
    )


def test_a_whole_run_of_the_built_in_suite_is_replayed_each_conversation_its_own(project: Project) -> None:
    project.pytest("--ltm-agent=full,window:2k", "--ltm-span=2k,4k", *SUITE)
    first = latest(project)
    result = project.pytest(f"--ltm-agent=again=replay:{first.name}/window_2k", "--ltm-span=2k,4k", *SUITE)
    assert events(latest(project), "again") == events(first, "window_2k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_the_latest_run_is_replayed_with_trials_by_several_workers(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    first = latest(project)
    result = own(project, "-n2", agent="again=replay:latest", subprocess=True)
    result.assert_outcomes(passed=8)
    assert events(latest(project), "again") == events(first, "bot_Bot")


def test_usage_cost_and_what_was_retrieved_come_with_the_reply(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    own(project, agent="again=replay:latest")
    replies = [one for one in events(latest(project), "again")["300~0"] if one["event"] == "reply"]
    assert {one["cost_usd"] for one in replies} == {0.25}
    assert replies[0]["usage"]["input_tokens"] == 7
    assert replies[0]["retrieved"] == ["m1"]


def test_a_recorded_fault_is_a_fault_again(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS + "\ndef test_fall(ltm):\n    ltm.say('Stumble.')\n")
    own(project)
    result = own(project, agent="again=replay:latest")
    result.assert_outcomes(passed=8, errors=4)
    assert "boom" in result.stdout.str()


def test_a_replayed_run_that_ended_early_is_resumed(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    first = latest(project)
    project.conftest(
        "import pathlib, pytest\n"
        "def pytest_runtest_logreport(report):\n"
        "    once = pathlib.Path(__file__).with_name('once')\n"
        "    if report.when == 'call' and not once.exists():\n"
        "        once.touch()\n"
        "        pytest.exit('stopped')\n"
    )
    own(project, agent="again=replay:latest")
    second = latest(project)
    project.pytest("--ltm-resume=latest")
    assert latest(project) == second
    assert events(second, "again") == events(first, "bot_Bot")


def test_an_example_is_replayed_without_the_others_where_filler_was_told(project: Project) -> None:
    project.file(BOT + "\n    def accept(self, message, reply):\n        self.heard.append(message)\n", "bot.py")
    project.file(SCENARIOS)
    project.ltm(agent="bot:Bot", span="300")
    project.ltm("-k", "dog", agent="replay:latest", span="300").assert_outcomes(passed=1, deselected=1)


def test_filler_that_was_not_recorded_is_told_as_such(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    project.ltm(agent="bot:Bot", span="300")
    result = project.ltm("-k", "dog", agent="replay:latest", span="300")
    assert result.ret == 75
    shown = " ".join(result.stdout.str().split())
    assert "the recording does not hold this filler. Nearest recorded (-) and this one (+): - …" in shown
    assert "How much filler is needed depends on all that is said: replay the whole conversation" in shown


def test_isolated_examples_have_their_own_recordings(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    project.ltm(agent="bot:Bot", span="isolated")
    result = project.ltm(agent="replay:latest", span="isolated")
    result.assert_outcomes(passed=2)


def test_what_was_not_recorded_shows_how_it_differs_within_80_columns(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    project.file(SCENARIOS.replace("called Ohm", "called Volt"))
    result = own(project, "-q", agent="bot=replay:latest")
    result.stdout.fnmatch_lines(
        [
            "*the recording does not hold this message of dog/0. Nearest recorded (-) and this one (+):",
            "*- My dog is called Ohm.",
            "*+ My dog is called Volt.",
            "*put it back, or record it again with the agent itself",
        ]
    )
    assert result.ret == 75


def test_a_span_that_was_not_recorded_says_which_were(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    result = project.ltm("-rs", agent="bot=replay:latest", span="400")
    assert result.ret == 75
    summary = (latest(project) / "summary.json").read_text()
    assert "holds no conversation at '400~0'. It holds 300~0, 300~1, 500~0, 500~1" in summary


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("replay:", "say what is replayed"),
        ("replay:nothing", "there is no run 'nothing'"),
        ("replay:latest", "several agents: echo, silent. Say which, as in replay:*/echo"),
        ("replay:latest/ecko", "Did you mean 'echo'?"),
    ],
)
def test_a_recording_that_cannot_be_meant_is_refused_before_anything_runs(
    project: Project, spec: str, says: str
) -> None:
    project.file("def test_cat(ltm):\n    ltm.say('Cat.')\n    ltm.ask('Cat?')\n")
    project.ltm(agent="echo,silent")
    result = project.ltm(agent=spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{says}*"])
