"""LoCoMo as a user runs it (items, selection, workers, resuming, figures), on small conversations of our own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project
from locomo_files import AUDIT, SECRET, second, talk, written
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

BOT = """
import pathlib
import pytest

HEARD = pathlib.Path(__file__).with_name("heard.txt")

class Bot:
    def __init__(self):
        self.said = []
        self.now = None

    def tell_time(self, now):
        self.now = now

    def reply(self, message):
        stop = HEARD.with_name("stop.txt")
        if stop.exists() and "Lisbon?" in message:
            pytest.exit("stopped")
        with HEARD.open("a", encoding="utf-8") as file:
            file.write(f"{self.now:%Y-%m-%d} {message}\\n")
        self.said.append(message)
        return "quails, Marta" if "birds" in message else f"That was never mentioned, nor {len(self.said)} others."

    def accept(self, message, reply):
        self.reply(message)

    def retrieved(self):
        return ["D1:1", "D2:2"]
"""


@pytest.fixture
def played(project: Project) -> Project:
    """A project with a data file of two conversations and its own agent."""
    written(project.path / "data.json", [talk(), second()])
    project.file(BOT, "bot.py")
    return project


def locomo(project: Project, *args: str, agent: str = "bot:Bot") -> RunResult:
    return project.pytest(
        f"--ltm-agent={agent}", "--ltm-suite=locomo", "?data=data.json", *args
    )


def rows(project: Project) -> dict[str, Any]:
    """Return the examples of the latest run by node id."""
    summary = json.loads(
        (latest_run(project.path) / "summary.json").read_text(encoding="utf-8")
    )
    return {
        row["nodeid"]: row
        for held in summary["conversations"]
        for row in held["examples"]
    }


def test_each_question_is_an_item_named_by_category_and_index(played: Project) -> None:
    result = locomo(played, "--co", "-q")

    result.stdout.fnmatch_lines(
        ["ltm/multi_hop::test_question[[]bot_Bot-all-0.conv_1-0[]]"]
    )
    result.stdout.fnmatch_lines(
        ["ltm/single_hop::test_question[[]bot_Bot-all-0.conv_2-0[]]"]
    )
    assert sum("::test_question[" in line for line in result.outlines) == 7


def test_a_run_scores_f1_and_notes_figures(played: Project) -> None:
    result = locomo(
        played, f"?audit={written(played.path / 'audit.json', AUDIT)}", "-v"
    )
    found = rows(played)
    hops = found["ltm/multi_hop::test_question[bot_Bot-all-0.conv_1-0]"]
    trap = found["ltm/adversarial::test_question[bot_Bot-all-0.conv_1-4]"]

    assert (
        hops["ltm_score"],
        hops["ltm_metric_recall"],
        hops["ltm_metric_f1_corrected"],
    ) == (1.0, 1.0, 1.0)
    # it lacks the official phrase
    assert (trap["ltm_score"], trap["ltm_metric_abstains"]) == (
        0.0,
        1.0,
    )
    text = result.stdout.str()
    assert "7 questions, 1 of them disputed, asked the official way" in text
    assert "people: 87.9 F1" in text
    # the command that repeats a failure's conversation
    assert "&conversations=conv-2" in text
    assert "Further metrics" in text
    assert "; 7 oddities noted\n" in text
    assert "\nltm:   conv-1: question 5: has no evidence\n" in text


def test_the_agent_hears_every_session_at_its_date_and_no_secret(
    played: Project,
) -> None:
    locomo(played, "?conversations=conv-1")
    heard = (played.path / "heard.txt").read_text(encoding="utf-8")

    assert SECRET not in heard
    assert (
        "2024-03-03 [9:05 am on 3 March, 2024] Ines: I have begun to keep quails"
        in heard
    )
    assert "2024-04-21 [7:40 pm on 21 April, 2024] Ines: And I have sold" in heard


def test_interleaved_a_question_comes_before_what_is_told_later(
    played: Project,
) -> None:
    locomo(
        played,
        "?conversations=conv-1",
        "?after=0",
        "-k",
        "open_domain or multi_hop",
    )
    heard = (played.path / "heard.txt").read_text(encoding="utf-8")

    assert heard.index("Would Tomas enjoy") < heard.index("I have sold two quails")


@pytest.mark.parametrize("after", ["", "0", "30"])
def test_a_choice_comes_last_as_its_wrong_answer_is_the_right_one_of_another(
    played: Project, after: str
) -> None:
    locomo(
        played,
        "?conversations=conv-1",
        *([f"?after={after}"] if after else []),
    )
    heard = (played.path / "heard.txt").read_text(encoding="utf-8")

    assert heard.index("Which birds") < heard.index("(b) ")
    assert heard.index("How many quails") < heard.index("(b) ")


def test_one_question_can_be_selected_and_failed_ones_again(played: Project) -> None:
    locomo(played, "-k", "conv_1-0").assert_outcomes(passed=1, deselected=6)
    locomo(played)
    again = locomo(played, "--lf", "--co", "-q")

    assert not any("multi_hop" in line for line in again.outlines)
    assert any("ltm/temporal::test_question" in line for line in again.outlines)


def test_workers_play_a_conversation_each(played: Project) -> None:
    alone = locomo(played)
    before = rows(played)
    spread = locomo(played, "-n2", "-pxdist")

    assert spread.parseoutcomes() == alone.parseoutcomes()
    assert rows(played) == before


def test_an_interrupted_run_is_gone_on_with_and_ends_alike(played: Project) -> None:
    locomo(played)
    undisturbed = rows(played)
    (played.path / "heard.txt").unlink()
    (played.path / "stop.txt").touch()
    stopped = locomo(played)
    told = (
        (played.path / "heard.txt").read_text(encoding="utf-8").count("Elgar in Lisbon")
    )
    (played.path / "stop.txt").unlink()
    played.pytest("--ltm-resume=latest")

    assert stopped.ret == pytest.ExitCode.INTERRUPTED
    assert told == 1
    assert rows(played) == undisturbed


def test_the_same_run_twice_writes_the_same_journals(played: Project) -> None:
    def journals() -> list[bytes]:
        return [
            path.read_bytes()
            for path in sorted(latest_run(played.path).glob("*/journal.jsonl"))
        ]

    locomo(played)
    first = journals()
    locomo(played)

    assert len(first) == 2
    assert journals() == first


def test_ways_of_asking_have_plans_of_their_own(played: Project) -> None:
    def plans() -> set[str]:
        summary = json.loads(
            (latest_run(played.path) / "summary.json").read_text(encoding="utf-8")
        )
        return {held["plan_fingerprint"] for held in summary["conversations"]}

    locomo(played)
    official = plans()
    locomo(played, "?asking=free")

    assert not official & plans()


def test_a_judge_without_a_model_stands_beside_the_f1(played: Project) -> None:
    locomo(played, "--ltm-judge=rules", "-k", "conv_1-0 or conv_1-1")
    found = rows(played)

    assert (
        found["ltm/multi_hop::test_question[bot_Bot-all-0.conv_1-0]"][
            "ltm_metric_judge"
        ]
        == 1.0
    )
    assert (
        found["ltm/temporal::test_question[bot_Bot-all-0.conv_1-1]"]["ltm_metric_judge"]
        == 0.0
    )


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("?conversations=conv-9",), "no conversation 'conv-9'"),
        (("?asking=oficial",), "Did you mean 'official'"),
        (("?audit=nowhere.json",), "nowhere.json: cannot be read"),
        (("?images=nowhere",), "nowhere: no folder of photos"),
        (("?data=nowhere.json",), "download locomo10.json"),
        (("--ltm-span=2k",), "the histories of locomo have their own lengths"),
        (
            ("--ltm-examples=3",),
            "--ltm-examples: the examples of locomo are its questions. --ltm-suite=locomo?conversations",
        ),
        (("?sample=3",), "locomo has no parameter 'sample'"),
    ],
)
def test_wrong_options_end_before_anything_is_run(
    played: Project, args: tuple[str, ...], told: str
) -> None:
    result = locomo(played, *args)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()
    assert not (played.path / "heard.txt").exists()
