"""`--ltm-count`: the share of the agent's output that counts towards the distance of a question."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Project
from run_folders import latest_run

SUITE = """
def test_talk(ltm):
    ltm.say("My favourite colour is ochre.")
    ltm.wait(span=0.5)
    ltm.check("colour", "ochre" in ltm.ask("Which is my favourite colour?"))
"""
TALKATIVE = """
def talkative(message):
    return "How very kind of you to tell me that. " * 20
"""


@pytest.fixture
def talking(project: Project) -> Project:
    project.file(SUITE)
    project.file(TALKATIVE, "bots.py")
    return project


def conversation(project: Project, name: str = "results") -> dict[str, Any]:
    (path,) = latest_run(project.path).glob(f"*/{name}.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def gap(project: Project) -> dict[str, Any]:
    needle: dict[str, Any] = conversation(project)["scenarios"][0]["questions"][0][
        "needles"
    ][0]
    return needle


def test_talk_does_not_shorten_the_test(talking: Project) -> None:
    # Trivia are about as long as the agent's replies; with shorter messages, the cap
    # would count less of each reply.
    talking.ltm(
        "--ltm-filler=trivia", "--ltm-count=all", agent="bots:talkative", span="1000"
    )
    published = gap(talking)
    talking.ltm("--ltm-filler=trivia", agent="bots:talkative", span="1000")
    capped = gap(talking)

    assert published["told_gap"] < published["gap"] / 2 > 200
    assert capped["told_gap"] > 400
    assert conversation(talking)["scenarios"][0]["overrun"] is False


def test_a_conversation_that_is_mostly_the_agents_own_is_told_of_where_all_of_it_counts(
    talking: Project,
) -> None:
    talking.ltm(
        "--ltm-count=all", agent="bots:talkative", span="1000"
    ).stdout.fnmatch_lines(["*of the tokens are the agent's own*"])
    talking.ltm(agent="bots:talkative", span="1000").stdout.no_fnmatch_line(
        "*of the tokens are the agent's own*"
    )


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ([], "told+4"),
        (["--ltm-scoring=v3.5"], "all"),
        (["--ltm-count=told"], "told+4"),
        (["--ltm-count=told+0"], "told"),
        (["--ltm-count=capped"], "capped"),
    ],
)
def test_the_mode_is_part_of_the_plan(
    talking: Project, options: list[str], count: str
) -> None:
    talking.ltm(*options)

    assert conversation(talking, "plan")["count"] == count


def test_a_recording_is_replayed_with_the_mode_it_was_made_with(
    talking: Project,
) -> None:
    talking.ltm("--ltm-count=capped")
    talking.ltm(agent="replay:latest")

    assert conversation(talking, "plan")["count"] == "capped"


def test_a_run_is_scored_again_with_the_mode_it_was_recorded_with(
    talking: Project,
) -> None:
    talking.ltm("--ltm-count=capped")
    run = latest_run(talking.path)
    words = json.loads((run / "run.json").read_text("utf-8"))
    del words["options"]["ltm_count"]
    words["settings"]["count"] = None
    (run / "run.json").write_text(json.dumps(words), "utf-8")
    talking.pytest("--ltm-rescore=latest")

    assert conversation(talking, "plan")["count"] == "capped"


def test_another_mode_is_a_usage_error(talking: Project) -> None:
    done = talking.ltm("--ltm-count=some")

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--ltm-count*told, capped, all*"])


def test_a_dry_run_reckons_with_replies_of_a_given_length(talking: Project) -> None:
    done = talking.ltm(
        "--ltm-dry-run", "--ltm-assume-reply=500", agent="bots:talkative", span="1000"
    )

    done.stdout.fnmatch_lines(["*assumed reply length: 500 tokens*"])


PAIR = """
import pytest

@pytest.mark.parametrize("topic", ["colour", "drink"])
def test_pair(ltm, topic):
    ltm.say(f"My favourite {topic} is one of many things that I have told you at length today, is it not?")
    ltm.wait(tokens=300)
    ltm.check("asked", bool(ltm.ask(f"Which is my favourite {topic}?")))
"""


def test_between_two_messages_lies_a_distraction_segment_of_filler_alone(
    talking: Project,
) -> None:
    talking.file(PAIR)
    talking.ltm(
        "--ltm-count=filler", "--ltm-filler=trivia", agent="bots:talkative", span="1000"
    )

    journal = (
        next(latest_run(talking.path).glob("*/journal.jsonl"))
        .read_text("utf-8")
        .splitlines()
    )
    kinds = [
        event["kind"]
        for event in map(json.loads, journal)
        if event.get("event") == "message"
    ]
    assert (
        "".join({"filler": "f"}.get(kind, kind[0]) for kind in kinds)
        .replace("ff", "f")
        .replace("ff", "f")
        == "ossfaa"
    )
