"""Scenarios read the spoken part of replies, while journal, spans and costs keep them verbatim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

BOT = """
class Bot:
    # Thinks of the colour before it answers, and knows after a resume only what it is told.
    def __init__(self):
        self.heard = []

    def reply(self, message):
        with open("heard.txt", "a") as file:
            file.write(message + "\\n")
        self.accept(message, reply := f"<think>{len(self.heard)} ochre?</think><hm>ochre!</hm>It is teal.")
        return reply

    def accept(self, message, reply):
        self.heard.append(message + reply)
"""
TEST = """
from pytest_ltm import Score

def test_colour(ltm):
    noted = ltm.say("My colour is ochre.")
    ltm.watch(lambda since: Score(float("think" not in since[0].reply), f"heard {since[0].reply!r}"), replies=1)
    ltm.wait(span=0.5)
    answer = ltm.ask("Which colour is mine?")
    ltm.check("says what it said before", answer == noted)
    ltm.check("names ochre", "ochre" in answer)
    ltm.check("came with thoughts", ltm.raw_reply.startswith("<think>"))
"""
RUN = ("--ltm-suite=none", "--ltm-agent=bot:Bot", "--ltm-span=600")
SPEECH = "<hm>ochre!</hm>It is teal."


@pytest.fixture
def thinking(project: Project) -> Project:
    project.file(BOT, "bot.py")
    project.file(TEST)
    return project


def record(project: Project) -> tuple[dict[str, Any], list[str]]:
    """Return the plan of the latest run, and the replies in its journal."""
    [folder] = latest_run(project.path).glob("bot*")
    lines = [
        json.loads(line)
        for line in (folder / "journal.jsonl").read_text("utf-8").splitlines()
    ]
    return json.loads((folder / "plan.json").read_bytes()), [
        one["text"] for one in lines if one["event"] == "reply"
    ]


def checks(project: Project) -> dict[str, bool]:
    return {
        check["label"]: check["ok"] for check in project.results()["colour"]["checks"]
    }


def test_ltm_ask_returns_speech_and_the_journal_keeps_the_raw_reply(
    thinking: Project,
) -> None:
    thinking.pytest(*RUN)

    plan, replies = record(thinking)
    assert plan["reading"] == {
        "thoughts": "strip",
        "tags": [],
        "version": plan["reading"]["version"],
    }
    assert all(reply.startswith("<think>") for reply in replies)
    assert checks(thinking) == {
        "says what it said before": True,
        "names ochre": True,
        "came with thoughts": True,
        f"heard {SPEECH!r}": True,
    }
    assert thinking.results()["colour"]["questions"][-1]["answer"] == SPEECH


def test_failure_texts_show_speech(thinking: Project) -> None:
    thinking.file(TEST + '    ltm.check("is blue", "blue" in answer)\n')

    result = thinking.pytest(*RUN)

    result.stdout.fnmatch_lines([f"*agent: {SPEECH}"])
    result.stdout.no_fnmatch_line("*<think>*")


def test_own_tags_around_thoughts_come_from_the_configuration(
    thinking: Project,
) -> None:
    thinking.file("[pytest]\nltm_thought_tags = hm\n", "pytest.ini")
    thinking.pytest(*RUN)

    assert record(thinking)[0]["reading"]["tags"] == ["hm"]
    assert checks(thinking)["names ochre"] is False


@pytest.mark.parametrize(
    "option", ["--ltm-thoughts=keep", "--ltm-scoring=v3.5", "--ltm-scoring=paper"]
)
def test_thoughts_are_read_where_they_are_kept_and_under_published_rules(
    thinking: Project, option: str
) -> None:
    thinking.pytest(*RUN, option)

    assert "reading" not in record(thinking)[0]
    assert checks(thinking)["says what it said before"] is False


def test_spans_count_raw_replies_whatever_is_read(thinking: Project) -> None:
    def tokens(*more: str) -> int:
        thinking.pytest(*RUN, *more)
        return int(
            json.loads((latest_run(thinking.path) / "summary.json").read_bytes())[
                "results"
            ][0]["reply_tokens"]
        )

    assert tokens("--ltm-count=all") == tokens("--ltm-count=all", "--ltm-thoughts=keep")


# --- Resuming.


def cut(project: Project) -> dict[str, str]:
    """Cut the latest run's journal in half, as a kill would; return the original files."""
    [folder] = latest_run(project.path).glob("bot*")
    files = {
        name: (folder / name).read_text("utf-8")
        for name in ("journal.jsonl", "results.json")
    }
    lines = files["journal.jsonl"].splitlines(keepends=True)
    (folder / "journal.jsonl").write_text("".join(lines[: len(lines) // 2]), "utf-8")
    (folder / "results.json").unlink()
    (latest_run(project.path) / "summary.json").unlink()
    return files


def left(project: Project) -> dict[str, str]:
    [folder] = latest_run(project.path).glob("bot*")
    return {
        name: (folder / name).read_text("utf-8")
        for name in ("journal.jsonl", "results.json")
    }


def without_reading(path: Path) -> None:
    """Turn a recorded run into one from before replies were read for speech."""
    record = json.loads(path.read_bytes())
    del record["settings"]["reading"]
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("option", ["--ltm-thoughts=strip", "--ltm-thoughts=keep"])
def test_a_resumed_run_reads_as_it_did_and_equals_an_undisturbed_one(
    thinking: Project, option: str
) -> None:
    thinking.pytest(*RUN, option)
    expected = cut(thinking)
    # recorded on another day: the record counts
    thinking.file("[pytest]\nltm_thought_tags = hm\n", "pytest.ini")
    thinking.pytest("--ltm-resume=latest")

    assert left(thinking) == expected


def test_a_run_of_before_there_was_a_reading_is_resumed_raw(thinking: Project) -> None:
    thinking.pytest(*RUN, "--ltm-thoughts=keep")
    expected = cut(thinking)
    run = latest_run(thinking.path) / "run.json"
    known = json.loads(run.read_bytes())
    del known["options"]["ltm_thoughts"]
    run.write_text(json.dumps(known))
    thinking.pytest("--ltm-resume=latest")

    assert left(thinking) == expected


def test_another_reading_is_refused_when_a_run_is_resumed(thinking: Project) -> None:
    thinking.pytest(*RUN)
    cut(thinking)

    refused = thinking.pytest("--ltm-resume=latest", "--ltm-thoughts=keep")

    refused.stderr.fnmatch_lines(
        ["*cannot be resumed:*", "*reading was {*strip*} and is None.*"]
    )


def test_another_version_of_the_reading_is_refused_when_a_run_is_resumed(
    thinking: Project,
) -> None:
    thinking.pytest(*RUN)
    cut(thinking)
    run = latest_run(thinking.path) / "run.json"
    known = json.loads(run.read_bytes())
    known["settings"]["reading"]["version"] = "reading/0"
    run.write_text(json.dumps(known))

    thinking.pytest("--ltm-resume=latest").stderr.fnmatch_lines(
        ["*reading was {*reading/0*} and is {*"]
    )


def test_scoring_again_reads_as_recorded_unless_it_is_told_otherwise(
    thinking: Project,
) -> None:
    thinking.pytest(*RUN)
    before = checks(thinking)
    thinking.pytest("--ltm-rescore=latest")
    assert checks(thinking) == before

    thinking.pytest("--ltm-rescore=latest", "--ltm-thoughts=keep")
    assert checks(thinking)["says what it said before"] is False
