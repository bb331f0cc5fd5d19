"""`ltm lab review`: the verdicts that deserve a look, with reasons."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import journals
import pytest
from run_folders import held, played, write_run

from pytest_ltm.api.journal import QuestionResult, RunResult, ScenarioResult, events
from pytest_ltm.api.model import Check
from pytest_ltm.api.storage import LtmError
from pytest_ltm.commands import main
from pytest_ltm.commands.review import Cases, read_cases
from pytest_ltm.gate.changes import GateSide
from pytest_ltm.records import amendments
from pytest_ltm.records.amendments import Amendment


def run_of(
    tmp_path: Path, *rows: ScenarioResult, expected: dict[str, Any] | None = None
) -> Path:
    """Return a run folder; `expected`: by example, the expectation in its definition."""
    path = write_run(tmp_path / "run", held(rows), journals=False)
    planned = [
        {
            "scenario": row.scenario,
            "example": row.example,
            "definition": {"steps": [], "expected": (expected or {}).get(row.id)},
        }
        for row in rows
    ]
    (path / "full~2k~0" / "plan.json").write_text(json.dumps({"examples": planned}))
    return path


def answered(
    number: int, answer: str, score: float | None, **changes: Any
) -> ScenarioResult:
    asked = QuestionResult(
        number=3, text=f"Which colour do I like, number {number}?", answer=answer
    )
    return played("colours", score, example=str(number), questions=(asked,), **changes)


def whys(cases: Cases, number: int = 0) -> list[str]:
    return [why.kind for why in cases.cases[number].why]


# --- the queue


def test_a_verdict_that_nobody_could_give_is_in_the_queue_and_what_was_not_played_is_not(
    tmp_path: Path,
) -> None:
    rows = (
        played(score=None, cause="unscored", reason="two answers in one"),
        played(score=None, example="1", cause="requires"),
        played(example="2"),
    )
    cases = read_cases(run_of(tmp_path, *rows))
    assert [case.row.example for case in cases.cases] == ["0", "2"]
    assert [(case.row.example, case.why[0].text) for case in cases.queue] == [
        ("0", "two answers in one")
    ]


@pytest.mark.parametrize(
    ("score", "threshold", "checks", "near"),
    [
        (0.75, 1.0, 4, True),
        (0.5, 1.0, 4, False),
        (1.0, 1.0, 4, False),
        (0.0, 0.25, 4, False),
        (0.95, 1.0, 0, True),
        (0.8, 1.0, 0, False),
        (0.62, 0.6, 0, True),
    ],
)
def test_near_the_limit_is_what_one_check_or_a_tenth_decides(
    tmp_path: Path, score: float, threshold: float, checks: int, near: bool
) -> None:
    parts = tuple(Check(f"part {i}", i < score * checks) for i in range(checks))
    row = played(
        score=score,
        threshold=threshold,
        checks=parts,
        outcome="passed" if score >= threshold else "failed",
    )
    assert ("near the limit" in whys(read_cases(run_of(tmp_path, row)))) is near


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "score", "calls", "kind"),
    [
        ("Ochre, of course.", 0.0, 0, ["words"]),
        ("Ochre, of course.", 0.0, 1, ["judge and rules"]),
        ("Teal, I think.", 1.0, 1, ["judge and rules"]),
        ("Ochre, of course.", 1.0, 1, []),
        ("Teal, I think.", 0.0, 0, []),
    ],
)
def test_words_against_the_verdict_are_a_reason(
    tmp_path: Path, answer: str, score: float, calls: int, kind: list[str]
) -> None:
    path = run_of(
        tmp_path,
        answered(0, answer, score, judge_calls=calls),
        expected={"colours/0": "ochre"},
    )
    assert whys(read_cases(path)) == kind


def test_votes_of_the_judge_that_differ_are_a_reason(tmp_path: Path) -> None:
    path = run_of(tmp_path, played(judge_calls=3), played(example="1", judge_calls=3))
    asked: list[events.Event] = [
        events.JudgeAsked(
            example=f"colours/{i}",
            name="answer",
            version=1,
            prompt="sha256:1",
            vote=vote,
            reply=said,
        )
        for i, votes in enumerate(
            ("GRADE: no|GRADE: yes|GRADE: no", "GRADE: no|GRADE: no")
        )
        for vote, said in enumerate(votes.split("|"))
    ]
    journals.write(path / "full~2k~0" / "journal.jsonl", journals.header(), *asked)
    cases = read_cases(path)
    assert [(case.row.example, case.why[0].text) for case in cases.queue] == [
        ("0", "the judge's votes: 2 x no, 1 x yes")
    ]


def test_what_moved_by_half_against_a_baseline_is_a_reason_whatever_the_agent_was_called(
    tmp_path: Path,
) -> None:
    path = run_of(tmp_path, played(score=0.0), played(example="1"))
    before = [played(agent="before"), played(example="1", agent="before")]
    side = GateSide(
        name="baseline",
        result=RunResult(run_id="b", conversations=(held(before),)),
        plans=(),
    )
    cases = read_cases(path, side)
    assert [(case.row.example, case.why[0].text) for case in cases.queue] == [
        ("0", "1.00 before, 0.00 now")
    ]


def test_the_queue_begins_with_what_is_most_often_wrong_and_scenarios_take_turns(
    tmp_path: Path,
) -> None:
    rows = [
        *(played("jokes", None, example=str(i), cause="unscored") for i in range(3)),
        played("colours", 0.95, outcome="failed", checks=()),
        played("names", None, cause="ungraded"),
    ]
    ids = [case.row.id for case in read_cases(run_of(tmp_path, *rows)).queue]
    assert ids == ["jokes/0", "names/0", "jokes/1", "jokes/2", "colours/0"]


def test_amended_verdicts_are_reviewed_with_the_automatic_one(tmp_path: Path) -> None:
    path = run_of(tmp_path, played())
    amendments.write_amendment(path, played().nodeid, Amendment(score=0.0, reason="no"))
    assert read_cases(path).cases[0].row.score == 1.0


def test_a_run_without_results_is_refused_and_a_damaged_plan_is_none(
    tmp_path: Path,
) -> None:
    with pytest.raises(LtmError, match="no results to review"):
        read_cases(tmp_path)
    path = run_of(tmp_path, played())
    (path / "full~2k~0" / "plan.json").write_text("{")
    assert read_cases(path).cases[0].definition == {}


def _note_event(
    noted: list[str], _frame: FrameType, event: str, _argument: object
) -> None:
    noted.append(event)


def test_ten_times_the_verdicts_are_some_ten_times_the_calls(tmp_path: Path) -> None:
    counts = []
    for size in (40, 400):
        rows = [
            answered(i, "Teal, I think." if i % 2 else "Ochre.", float(i % 3 == 0))
            for i in range(size)
        ]
        path = run_of(
            tmp_path / str(size), *rows, expected={row.id: "ochre" for row in rows}
        )
        calls: list[str] = []
        sys.setprofile(partial(_note_event, calls))
        try:
            cases = read_cases(path)
            seen = len(cases.queue), len(cases.cases)
        finally:
            sys.setprofile(None)
        assert seen[0] > size * 0.45
        assert seen[1] == size
        counts.append(len(calls))
    assert counts[1] <= 12 * counts[0]


# --- the command


def test_the_command_lists_the_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        played(score=None, example=str(i), cause="unscored", reason="unclear")
        for i in range(3)
    ]
    path = run_of(tmp_path, *rows, played("jokes"), played("jokes", example="1"))
    assert main(["lab", "review", str(path), "--most", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "5 verdicts of run run, 3 deserve a look",
        "       3  unsure: neither rules nor judge could tell",
        " none  ltm/colours::test_colours[full-2k-0-0]",
        "       unsure: unclear",
        " none  ltm/colours::test_colours[full-2k-0-1]",
        "       unsure: unclear",
        "       … and 1 more",
    ]
    assert main(["lab", "review", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["verdicts"], len(told["queue"])) == (5, 3)
    assert told["queue"][0]["why"] == [{"kind": "unsure", "text": "unclear"}]
