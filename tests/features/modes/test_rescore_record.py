from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from journals import begin, header, judge, message, write

from pytest_ltm.api.journal import Automatic, ScenarioResult, events
from pytest_ltm.api.scenarios import Plan, PlannedExample
from pytest_ltm.api.storage import LtmError
from pytest_ltm.modes.verdict_changes import (
    compare_scorings,
    plan_differences,
    rescored_lines,
    rescored_plan,
    setting_differences,
    verdict_differences,
)
from pytest_ltm.records.playback import Playback


def plan(**more: Any) -> Plan:
    fields: dict[str, Any] = {
        "examples": (PlannedExample(scenario="cat", example="0", version="1"),),
        "seed": 0,
        "trial": 0,
        "span": 2000,
        "tokenizer": "cl100k_base",
        "filler": {},
        "scoring": "current",
        "judge": "none",
        "judge_votes": 1,
        "time": "simulated",
        "opening": "",
    }
    return Plan(**{**fields, **more})


def row(score: float | None = 1.0, **more: Any) -> ScenarioResult:
    outcome = "skipped" if score is None else "passed" if score >= 1 else "failed"
    fields: dict[str, Any] = {
        "scenario": "cat",
        "example": "0",
        "agent": "bot",
        "span_label": "2k",
        "span": 2000,
        "trial": "0",
        "nodeid": "t.py::test_cat[bot-2k-0-0]",
        "outcome": outcome,
        "score": score,
        "reason": "so",
    }
    return ScenarioResult(**{**fields, **more})


def test_a_message_without_a_reply_at_the_end_is_none(tmp_path: Path) -> None:
    playback = Playback.open_playback(
        write(tmp_path / "j", header(), begin("cat/0"), message(0, "cat/0", "ask"))
    )
    assert playback is not None
    playback.skip()
    assert playback.next is None


def test_a_file_that_is_not_there_or_without_a_whole_line_is_no_record(
    tmp_path: Path,
) -> None:
    assert Playback.open_playback(tmp_path / "none") is None
    assert Playback.open_playback(write(tmp_path / "torn", '{"event": "hea')) is None


@pytest.mark.parametrize(
    "line",
    [
        "[]\n",
        "7\n",
        "{\n",
        '{"event": []}\n',
        '{"event": "other"}\n',
        '{"event": "message", "by": 1}\n',
        '{"event": "jump", "to": 7}\n',
        "[" * 100_000 + "\n",
    ],
)
def test_what_is_no_journal_is_an_error_that_says_where(
    tmp_path: Path, line: str
) -> None:
    with pytest.raises(LtmError, match="line 2"):
        Playback.open_playback(write(tmp_path / "j", header(), line))


def test_what_the_judge_said_is_found_by_example_question_and_vote(
    tmp_path: Path,
) -> None:
    judged = [judge("cat/0", "h", 1, reply=text) for text in "ab"]
    playback = Playback.open_playback(write(tmp_path / "j", header(), *judged))
    assert playback is not None
    said = [playback.reply(events.JudgeAsked, "cat/0", "h", 1) for _ in range(3)]
    assert [one and one.reply for one in said] == ["a", "b", "b"]
    assert playback.reply(events.JudgeAsked, "cat/0", "h", 0) is None


def test_scoring_may_change_and_what_is_said_may_not() -> None:
    then = {"seed": 1, "scoring": "current", "judge": "none"}
    assert (
        setting_differences(
            then, {"seed": 1, "scoring": "paper", "judge": "rules", "rescored": "r"}
        )
        == []
    )
    assert setting_differences(then, {**then, "seed": 2}) == ["seed was 1 and is 2."]


def test_a_plan_takes_the_rules_of_now_and_all_else_from_the_record() -> None:
    now = plan(
        scoring="paper",
        judge="rules (answer/1)",
        opening="New.",
        examples=(
            PlannedExample(
                scenario="cat", example="0", version="2", reset="Forget.", threshold=0.5
            ),
        ),
    )
    found = rescored_plan(plan(), now, same_judge=False)
    assert (found.scoring, found.judge, found.opening) == (
        "paper",
        "rules (answer/1)",
        "",
    )
    (example,) = found.examples
    assert (example.version, example.reset, example.threshold) == ("2", "", 0.5)
    assert rescored_plan(plan(), now, same_judge=True).judge == "none"


def test_another_history_or_an_example_that_was_not_recorded_is_a_difference() -> None:
    now = plan(
        history={"file": "x"}, examples=(PlannedExample(scenario="dog", example="0"),)
    )
    assert plan_differences(plan(), now) == [
        "The plan's history was None and is {'file': 'x'}.",
        "dog/0 was not recorded.",
    ]


def test_why_names_what_has_changed() -> None:
    then, now = (
        plan(judge="a (answer/1, jokes/1)"),
        plan(judge="a (answer/1, jokes/2)", scoring="paper"),
    )
    found = verdict_differences(
        row(rule="cat/1", judge_calls=1), row(rule="cat/2"), [then, now]
    )
    assert found == [
        "evaluator cat/1 -> cat/2",
        "scoring current -> paper",
        "prompt jokes/1 -> jokes/2",
    ]


def test_an_amended_verdict_moves_by_its_rules() -> None:
    before = row(0.5, automatic=Automatic(score=0.0, reason="no", outcome="failed"))
    after = row(0.5, automatic=Automatic(score=1.0, reason="yes", outcome="passed"))
    (move,) = compare_scorings("r", [before], [after], plans={}, kept={}).moves
    assert (move.before.score, move.after.score, move.amended) == (0.0, 1.0, True)


def test_a_verdict_that_is_lost_moves_and_one_that_is_new_is_counted() -> None:
    found = compare_scorings(
        "r", [row(1.0)], [row(None), row(1.0, example="1")], plans={}, kept={}
    )
    assert (len(found.moves), found.unknown, found.same) == (1, 1, 0)
    assert rescored_lines(found, 80) == [
        "scored again: run r: 0 verdicts unchanged, 1 moved, 1 scored for the first time",
        "  bot-2k-0 cat/0: 1.00 -> skipped, no score: no version has changed: the code",
        "    that the test uses has, or the judge answered differently",
    ]
