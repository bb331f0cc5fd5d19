"""LongMemEval as a run: ids, workers, resuming, shared histories, export, invalid options."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project
from longmemeval_files import records, written
from run_folders import latest_run

from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

BOT = '''
class Bot:
    """Knows the kiln and nothing else; keeps what it hears."""

    def __init__(self):
        self.heard = []

    def accept(self, message, reply):
        self.heard.append(message)

    def reply(self, message):
        if "shelves does" in message and any("five shelves" in one for one in self.heard):
            return "It has five shelves."
        return "You never mentioned that." if "parrot" in message else "Noted."

    def tell_time(self, now):
        self.now = now

    def retrieved(self):
        return [one for one in self.heard if "shelves" in one][::-1]
'''


def played(
    project: Project, *options: str, agent: str = "bot:Bot", subprocess: bool = False
) -> RunResult:
    project.file(BOT, "bot.py")
    written(project.path / "data.json", records())
    return project.pytest(
        f"--ltm-agent={agent}",
        "--ltm-suite=longmemeval",
        "?data=data.json",
        *options,
        subprocess=subprocess,
    )


def journal(project: Project, ending: str) -> list[dict[str, Any]]:
    (path,) = (project.path / ".ltm" / "runs").glob(f"*/*{ending}/journal.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_question_is_an_item_with_its_verdict(project: Project) -> None:
    run = played(project, "-v")

    run.assert_outcomes(passed=2, skipped=1)
    run.stdout.fnmatch_lines_random(
        [
            "ltm: data: data.json: 3 questions, each with a history of its own*",
            "ltm/knowledge_update::test_question[[]bot_Bot-all-0.kiln-0[]] PASSED*",
            "ltm/single_session_user::test_question[[]bot_Bot-all-0.moss_abs-0[]] PASSED*",
            "ltm/single_session_preference::test_question[[]bot_Bot-all-0.room-0[]] SKIPPED*",
            "*unscored: a preference is judged by a rubric*",
        ]
    )


def test_sessions_are_told_at_their_dates_and_the_question_at_its_own(
    project: Project,
) -> None:
    played(project, "?ids=kiln")
    events = journal(project, "kiln")
    said = [event for event in events if event["event"] == "message"]

    assert [event["to"][:16] for event in events if event["event"] == "jump"] == [
        "2024-04-01T08:00",
        "2024-05-20T18:30",
        "2024-06-10T09:00",
    ]
    assert (
        said[-1]["text"]
        == "[2024/06/10 (Mon) 09:00] How many shelves does my kiln have?"
    )


def test_figures_and_notes_stand_beside_the_score(project: Project) -> None:
    played(project, "--junitxml=it.xml")
    kiln = {
        one["name"]: one["value"]
        for one in project.results()["knowledge_update"]["metrics"]
    }
    xml = (project.path / "it.xml").read_text(encoding="utf-8")

    assert (
        kiln["right"]
        == kiln["turn_recall_all_5"]
        == kiln["session_recall_all_10"]
        == 1.0
    )
    assert project.results()["single_session_user"]["metrics"][1] == {
        "name": "abstention",
        "value": 1.0,
    }
    assert (
        xml.count(
            'name="ltm_note" value="the question is dated before its last session"'
        )
        == 1
    )


@pytest.mark.parametrize(("history", "named"), [("own", True), ("shared", False)])
def test_a_failure_names_the_command_that_has_its_conversation_alone(
    project: Project, history: str, named: bool
) -> None:
    run = played(project, f"?history={history}", agent="silent")
    [line] = [line for line in run.outlines if "  again: " in line]

    assert (
        "again: pytest --ltm-agent=silent '--ltm-suite=longmemeval?data=data.json&"
        in line
    )
    assert ("&ids=kiln" in line) == named


def test_the_forecast_calls_no_history_filler(project: Project) -> None:
    run = played(project, "--ltm-dry-run", "?ids=kiln", agent="full")

    run.stdout.fnmatch_lines(["of which filler * 0%"])


def test_many_questions_share_one_history_at_a_distance(project: Project) -> None:
    run = played(project, "-v", "?history=shared", "?after=40")

    run.assert_outcomes(passed=2, skipped=1)
    run.stdout.fnmatch_lines(
        [
            "*3 questions, in 1 shared history*",
            "*test_question[[]bot_Bot-all-0.h0-kiln[]]*",
        ]
    )
    gap = project.results()["knowledge_update"]["gap"]
    assert 40 <= gap < 400
    assert (
        sum("green tea" in json.dumps(event) for event in journal(project, "h0")) == 1
    )


def test_an_agent_without_history_is_sent_messages(project: Project) -> None:
    played(project, "?ids=kiln", agent="echo")
    sent = [
        event["text"]
        for event in journal(project, "kiln")
        if event["event"] == "message"
    ]

    assert (
        "[2024/04/01 (Mon) 08:00] I said: How hot should green tea be?\nYou said: About 75 degrees."
        in sent
    )


def test_a_judge_decides_what_no_rule_can(project: Project) -> None:
    run = played(project, "--ltm-judge=always-yes?canaries=off")

    run.assert_outcomes(passed=3)
    assert (
        project.results()["single_session_preference"]["rule"]
        == "judge longmemeval-preference/1+reading/2"
    )
    assert (
        project.results()["knowledge_update"]["rule"] == "longmemeval-rules/1+reading/2"
    )


def test_questions_are_spread_over_workers(project: Project) -> None:
    run = played(project, "-n2", subprocess=True)

    run.assert_outcomes(passed=2, skipped=1)
    assert len(list((project.path / ".ltm" / "data-index").iterdir())) == 1


def test_listing_writes_nothing(project: Project) -> None:
    run = played(project, "--collect-only", "-q")

    run.stdout.fnmatch_lines(
        ["ltm/knowledge_update::test_question[[]bot_Bot-all-0.kiln-0[]]"]
    )
    assert not (project.path / ".ltm").exists()


def test_an_interrupted_run_goes_on(project: Project) -> None:
    played(project, "-x", "--maxfail=1", "?ids=kiln", agent="silent").assert_outcomes(
        failed=1
    )
    played(project, "?ids=kiln,moss_abs")
    results = latest_run(project.path) / "bot_Bot~all~0.kiln" / "results.json"
    before = results.read_bytes()
    text = (
        (results.parent / "journal.jsonl")
        .read_text(encoding="utf-8")
        .splitlines(keepends=True)
    )
    (results.parent / "journal.jsonl").write_text(
        "".join(text[: len(text) // 2]), encoding="utf-8"
    )
    results.unlink()

    project.pytest("--ltm-resume=latest").assert_outcomes(passed=2)
    assert results.read_bytes() == before


def test_answers_are_exported_and_scored_again(
    project: Project,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played(project)
    monkeypatch.chdir(project.path)
    capsys.readouterr()

    assert main(["data", "longmemeval-export", "latest", "-o", "h.jsonl"]) == 0
    assert capsys.readouterr().err == "3 answers\n"
    rows = [
        json.loads(line)
        for line in (project.path / "h.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {row["question_id"]: row["hypothesis"] for row in rows}[
        "kiln"
    ] == "It has five shelves."
    assert main(["data", "longmemeval-score", "h.jsonl", "--data", "data.json"]) == 0
    assert re.search(r"overall +1\.0000 +2 +1\n", capsys.readouterr().out)


def test_the_retrieval_of_a_run_is_measured_at_all_depths(
    project: Project,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played(project)
    monkeypatch.chdir(project.path)
    capsys.readouterr()

    assert main(["data", "longmemeval-retrieval", "latest"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["2", "questions,", "k", "=", "1", "3", "5", "10", "30", "50"]
    # one of two: no turn about the room was retrieved
    assert lines[1] == [
        "session",
        "recall_any",
        *["0.500"] * 6,
    ]
    assert main(["data", "longmemeval-retrieval", "latest", "--json"]) == 0
    rows = {
        row["question_id"]: row["metrics"]
        for row in json.loads(capsys.readouterr().out)["rows"]
    }
    assert rows["kiln"]["turn_recall_all_1"] == 0.0
    assert rows["kiln"]["turn_recall_all_3"] == 1.0


def test_an_agent_that_does_not_tell_has_no_retrieval_to_measure(
    project: Project,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played(project, agent="silent")
    monkeypatch.chdir(project.path)

    assert main(["data", "longmemeval-retrieval", "latest"]) == 2
    assert "needs a method retrieved()" in capsys.readouterr().err


def test_of_several_agents_one_is_exported(
    project: Project,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played(project, "?ids=kiln", agent="bot:Bot,silent")
    monkeypatch.chdir(project.path)
    capsys.readouterr()

    assert main(["data", "longmemeval-export", "latest"]) == 2
    assert "--agent: say whose. Choose from bot_Bot, silent" in capsys.readouterr().err
    assert main(["data", "longmemeval-export", "latest", "--agent=silent"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "question_id": "kiln",
        "hypothesis": "",
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["?types=temporal"],
            "--ltm-suite=longmemeval?types: 'temporal' is not one of single-session-user",
        ),
        (["?history=both"], "'both' is not one of own, shared"),
        (["?data=nowhere.json"], "nowhere.json: cannot be read: No such file"),
        (
            ["--ltm-span=2k"],
            "--ltm-span: the histories of longmemeval have their own lengths",
        ),
    ],
)
def test_wrong_options_end_the_run_before_it_begins(
    project: Project, options: list[str], told: str
) -> None:
    run = played(project, *options)

    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert told in run.stderr.str()


def test_a_record_that_cannot_be_read_ends_its_own_question_only(
    project: Project,
) -> None:
    project.file(BOT, "bot.py")
    data = records()
    data[0]["question_date"] = "someday"
    written(project.path / "data.json", data)
    run = project.pytest(
        "--ltm-agent=bot:Bot", "--ltm-suite=longmemeval", "?data=data.json"
    )

    run.assert_outcomes(passed=1, skipped=1, errors=1)
    run.stdout.fnmatch_lines(
        [
            "ltm: data: data.json: 3 questions, 1 of them cannot be read, each with * 2 oddities noted (-v lists them)",
            "*data.json: kiln*question_date*expected a date such as*",
        ]
    )


@pytest.mark.parametrize(
    "options",
    [[], ["?history=shared", "?after=40"]],
    ids=["own", "shared"],
)
def test_a_recorded_run_is_judged_later(project: Project, options: list[str]) -> None:
    played(project, *options).assert_outcomes(passed=2, skipped=1)
    run = project.pytest("--ltm-rescore=latest", "--ltm-judge=always-yes?canaries=off")

    run.assert_outcomes(passed=3)
    run.stdout.fnmatch_lines(["scored again: run *: 2 verdicts unchanged, 1 moved"])
