"""A recorded run of ours as the agent: the same conversations, byte for byte, without a key."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

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


def events(run: Path, label: str) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for path in run.glob(f"{label}~*/journal.jsonl"):
        header, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        assert header["event"] == "header"
        for line in lines:
            line.pop("hypothetical", None)
            line.pop("sum")
        found[path.parent.name.partition("~")[2]] = lines
    return found


def own(
    project: Project, *args: str, agent: str = "bot:Bot", subprocess: bool = False
) -> Any:
    return project.pytest(
        f"--ltm-agent={agent}",
        "--ltm-suite=none",
        "--ltm-span=300,500",
        "--ltm-trials=2",
        *args,
        subprocess=subprocess,
    )


def test_a_whole_run_of_the_built_in_suite_is_replayed_each_conversation_its_own(
    project: Project,
) -> None:
    project.pytest("--ltm-agent=full,window:2k", "--ltm-span=2k,4k", *SUITE)
    first = latest_run(project.path)
    result = project.pytest(
        f"--ltm-agent=again=replay:{first.name}/window_2k", "--ltm-span=2k,4k", *SUITE
    )
    assert events(latest_run(project.path), "again") == events(first, "window_2k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_the_latest_run_is_replayed_with_trials_by_several_workers(
    project: Project,
) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    first = latest_run(project.path)
    result = own(project, "-n2", agent="again=replay:latest", subprocess=True)
    result.assert_outcomes(passed=8)
    assert events(latest_run(project.path), "again") == events(first, "bot_Bot")


def test_usage_cost_and_what_was_retrieved_come_with_the_reply(
    project: Project,
) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    own(project, agent="again=replay:latest")
    replies = [
        one
        for one in events(latest_run(project.path), "again")["300~0"]
        if one["event"] == "reply"
    ]
    assert {reply["cost_usd"] for reply in replies} == {0.25}
    assert replies[0]["usage"]["input_tokens"] == 7
    assert replies[0]["retrieved"] == ["m1"]
    results = json.loads(
        (latest_run(project.path) / "again~300~0" / "results.json").read_text()
    )
    questions = [
        question for row in results["scenarios"] for question in row["questions"]
    ]
    retrieved = {reply["exchange"]: reply["retrieved"] for reply in replies}
    assert [question["retrieved"] for question in questions] == [
        retrieved[each["number"]] for each in questions
    ]


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
    first = latest_run(project.path)
    project.conftest(
        "import pathlib, pytest\n"
        "def pytest_runtest_logreport(report):\n"
        "    once = pathlib.Path(__file__).with_name('once')\n"
        "    if report.when == 'call' and not once.exists():\n"
        "        once.touch()\n"
        "        pytest.exit('stopped')\n"
    )
    own(project, agent="again=replay:latest")
    second = latest_run(project.path)
    project.pytest("--ltm-resume=latest")
    assert latest_run(project.path) == second
    assert events(second, "again") == events(first, "bot_Bot")


def test_an_example_is_replayed_without_the_others_where_filler_was_told(
    project: Project,
) -> None:
    project.file(
        BOT
        + "\n    def accept(self, message, reply):\n        self.heard.append(message)\n",
        "bot.py",
    )
    project.file(SCENARIOS)
    project.ltm(agent="bot:Bot", span="300")
    project.ltm("-k", "dog", agent="replay:latest", span="300").assert_outcomes(
        passed=1, deselected=1
    )


def test_filler_that_was_not_recorded_is_told_as_such(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    project.ltm("--ltm-filler=trivia", agent="bot:Bot", span="300")
    result = project.ltm(
        "--ltm-filler=trivia", "-k", "dog", agent="replay:latest", span="300"
    )
    assert result.ret == 75
    shown = " ".join(result.stdout.str().split())
    assert (
        "the recording does not hold this filler. Nearest recorded (-) and this one (+): - …"
        in shown
    )
    assert (
        "How much filler is needed depends on all that is said: replay the whole conversation"
        in shown
    )


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
            "*restore them, or record again with the agent itself",
        ]
    )
    assert result.ret == 75


def test_a_span_that_was_not_recorded_says_which_were(project: Project) -> None:
    project.file(BOT, "bot.py")
    project.file(SCENARIOS)
    own(project)
    result = project.ltm("-rs", agent="bot=replay:latest", span="400")
    assert result.ret == 75
    summary = (latest_run(project.path) / "summary.json").read_text()
    assert (
        "holds no conversation at '400~0'. It holds 300~0, 300~1, 500~0, 500~1"
        in summary
    )


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("replay:", "names no recording"),
        ("replay:nothing", "there is no run 'nothing'"),
        (
            "replay:latest",
            "several agents: echo, silent. Say which, as in replay:*/echo",
        ),
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


QUESTION = "What is my favourite colour?"


def published_definitions(project: Project, *colours: tuple[str, str]) -> None:
    """Write a published definitions folder: one example per pair of colours, of which the second counts."""
    project.file(
        "config: {run_name: two}\ndatasets: {args: {memory_span: 500}}\n",
        "published/config.yml",
    )
    for number, (first, second) in enumerate(colours):
        definition = {
            "script": [
                f"My favourite colour is {first}.",
                f"My favourite colour is now {second}.",
                QUESTION,
            ],
            "is_question": [False, False, True],
            "waits": [{"percentage_finished": 45.0}, {"percentage_finished": 90.0}, {}],
            "expected_responses": [second],
        }
        project.file(json.dumps(definition), f"published/Colours/{number}.def.json")


def master_log(project: Project, *exchanges: tuple[str, str, str]) -> None:
    """Write a published log of test ids, messages and replies; filler has the test id ""."""
    events = [
        {"type": kind, "test_id": test_id, "timestamp": 1.0, "data": {"message": text}}
        for test_id, *texts in exchanges
        for kind, text in zip((0, 4) if test_id else (3, 5), texts, strict=True)
    ]
    project.file("\n".join(map(json.dumps, events)), "master.jsonl")


def replayed(project: Project, log: object, definitions: object, *args: str) -> Any:
    return project.pytest(
        f"--ltm-agent=model=replay:{log}",
        f"--ltm-definitions={definitions}",
        "--ltm-scoring=v3.5",
        *args,
    )


def scores(project: Project) -> dict[str, list[float]]:
    """Return the scores by scenario of the latest run, which has a single conversation."""
    (path,) = latest_run(project.path).glob("*/results.json")
    found: dict[str, list[float]] = {}
    for row in json.loads(path.read_text(encoding="utf-8"))["scenarios"]:
        found.setdefault(row["scenario"], []).append(row["score"])
    return found


def test_a_master_log_answers_each_example_with_the_replies_of_its_own_test(
    project: Project,
) -> None:
    published_definitions(project, ("Teal", "Ochre"), ("Lilac", "Amber"))
    master_log(
        project,
        ("", "Who wrote Faust?", "Goethe."),
        ("Colours - 0", "My favourite colour is Teal.", "Teal, then."),
        ("Colours - 0", "My favourite colour is now Ochre.", "Noted."),
        ("Colours - 0", QUESTION, "Ochre."),
        ("Colours - 1", "My favourite colour is: Lilac", "Lilac, then."),
        ("Colours - 1", "My favourite colour is now Amber.", "Noted."),
        ("Colours - 1", "Tell me: what is my favourite colour?", "Amber it is."),
    )
    replayed(project, "master.jsonl", "published", "-k", "colours").assert_outcomes(
        passed=2
    )


def test_no_agent_under_test_is_told_who_speaks(project: Project) -> None:
    project.file(
        "class Bot:\n"
        "    def announce(self, speaker):\n"
        "        raise ValueError(speaker)\n"
        "    def reply(self, message):\n"
        "        return message\n",
        "bot.py",
    )
    project.file(
        "def test_cat(ltm):\n    ltm.say('Cat.')\n    assert ltm.ask('Cat?')\n"
    )
    project.ltm(agent="bot:Bot").assert_outcomes(passed=1)


@pytest.mark.published
def test_a_published_run_is_replayed_to_its_published_scores(project: Project) -> None:
    log = gzip.decompress(
        (GOODAI / "master_log_120k_gpt-4-turbo.jsonl.gz").read_bytes()
    )
    project.file(log.decode(), "master.jsonl")
    replayed(project, "master.jsonl", GOODAI / "definitions" / "Benchmark 3 - 120k")
    means = {name: sum(each) / len(each) for name, each in scores(project).items()}
    published = {
        "chapter_break": 0.33,
        "colours": 0.67,
        "locations_directions": 0,
        "name_list": 0.68,
        "sally_anne": 0.67,
        "shopping_list": 0.73,
        "spy_meeting": 0.56,
        "trigger_response": 1,
    }
    assert {name: round(means[name], 2) for name in published} == published
    assert sum(means[name] for name in published) == pytest.approx(4.624, abs=0.0005)
