"""Review of verdicts: the queue, decisions of several people, and what follows from them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import journals
import pytest
from run_folders import held, played, write_run

from pytest_ltm._core.journal import amendments, events
from pytest_ltm._core.journal.amendments import Amendment
from pytest_ltm._core.journal.result import QuestionResult, RunResult, ScenarioResult
from pytest_ltm._core.model.score import Check
from pytest_ltm._core.storage.errors import ConfigurationError, LtmError
from pytest_ltm.commands import main
from pytest_ltm.gate.changes import GateSide
from pytest_ltm.gate.run_loading import read_run
from pytest_ltm.lab.commands.judge_check import load_labelled
from pytest_ltm.web.review import decisions
from pytest_ltm.web.review.decisions import Opinions, new_decision, record_decision
from pytest_ltm.web.review.findings import (
    estimate_error_rates,
    judge_rows,
    reviewer_agreements,
    verdict_rows,
)
from pytest_ltm.web.review.queue import Cases, read_cases


def run_of(
    tmp_path: Path, *rows: ScenarioResult, expected: dict[str, Any] | None = None
) -> Path:
    """Return a run folder; `expected`: what definitions say, by example."""
    path = write_run(tmp_path / "run", held(rows), journals=False)
    planned = [
        {
            "scenario": row.scenario,
            "example": row.example,
            "definition": {"steps": [], "expected": (expected or {}).get(row.id)},
        }
        for row in rows
    ]
    (path / "0~talk" / "plan.json").write_text(json.dumps({"examples": planned}))
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
    journals.write(path / "0~talk" / "journal.jsonl", journals.header(), *asked)
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
    (path / "0~talk" / "plan.json").write_text("{")
    assert read_cases(path).cases[0].expected == ""


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
            seen = len(cases.queue), len(cases.drawn_cases)
        finally:
            sys.setprofile(None)
        assert seen[0] > size * 0.45
        assert seen[1] == size
        counts.append(len(calls))
    assert counts[1] <= 12 * counts[0]


# --- decisions


ROW = played()


def said(
    tmp_path: Path,
    *decided: tuple[str, float | None],
    row: ScenarioResult = ROW,
    settles: bool = False,
) -> Path:
    path = (
        tmp_path / "run"
        if (tmp_path / "run").exists()
        else run_of(tmp_path, ROW, played(example="1"))
    )
    for name, credit in decided:
        reason = "it is not said" if credit is None else ""
        record_decision(
            path, row, name, new_decision(row.nodeid, credit, reason, settles=settles)
        )
    return path


def test_a_decision_that_differs_is_an_amendment_and_the_automatic_verdict_stays(
    tmp_path: Path,
) -> None:
    path = said(tmp_path, ("ann", 0.0))
    row = read_run(path).result.scenarios[0]
    assert (row.score, row.reason) == (0.0, "amended by hand: reviewed by ann")
    assert row.automatic is not None
    assert row.automatic.score == 1.0


def test_a_decision_like_the_automatic_verdict_amends_nothing(tmp_path: Path) -> None:
    assert not amendments.read_amendments(said(tmp_path, ("ann", 1.0)))


def test_the_last_word_of_a_reviewer_counts(tmp_path: Path) -> None:
    path = said(tmp_path, ("ann", 0.0), ("ann", 1.0))
    assert not amendments.read_amendments(path)
    assert Opinions(decisions.read_decisions(path)).credit(ROW.nodeid) == 1.0


def test_reviewers_who_differ_amend_nothing_until_it_is_settled(tmp_path: Path) -> None:
    path = said(tmp_path, ("ann", 0.0), ("bob", 0.5))
    assert not amendments.read_amendments(path)
    assert Opinions(decisions.read_decisions(path)).disputed_answers() == [ROW.nodeid]
    said(tmp_path, ("bob", 0.0), settles=True)
    assert amendments.read_amendments(path)[ROW.nodeid] == Amendment(
        score=0.0, reason="reviewed by bob", by=("bob",)
    )
    assert (
        Opinions(decisions.read_decisions(path)).opinions_on(ROW.nodeid)["bob"].credit
        == 0.5
    )  # kappa is of what both said blindly


def test_an_amendment_of_the_command_stays_unless_reviewers_say_more(
    tmp_path: Path,
) -> None:
    path = said(tmp_path)
    amendments.write_amendment(
        path, ROW.nodeid, Amendment(score=0.25, reason="by hand")
    )
    said(tmp_path, ("ann", None))
    assert amendments.read_amendments(path)[ROW.nodeid].score == 0.25
    said(tmp_path, ("ann", 0.5))
    assert amendments.read_amendments(path)[ROW.nodeid].score == 0.5


def test_a_skip_needs_a_reason_and_is_no_opinion(tmp_path: Path) -> None:
    path = said(tmp_path, ("ann", None), ("bob", 0.0))
    assert amendments.read_amendments(path)[ROW.nodeid].by == ("bob",)
    with pytest.raises(ConfigurationError, match="needs a reason"):
        record_decision(path, ROW, "ann", new_decision(ROW.nodeid, None, " "))


@pytest.mark.parametrize("name", ["", "../ann", "a" * 33, "-x", "ann bob", "änn"])
def test_a_name_that_no_file_could_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="not a reviewer's name"):
        said(tmp_path, (name, 1.0))


def test_a_torn_line_costs_that_line_only(tmp_path: Path) -> None:
    path = said(tmp_path, ("ann", 0.0))
    file = path / "reviews" / "ann.jsonl"
    file.write_text("garbage\n" + file.read_text() + '{"event":"deci')
    assert Opinions(decisions.read_decisions(path)).credit(ROW.nodeid) == 0.0


# --- findings


def opinions(**said_by: Sequence[float | None]) -> Opinions:
    """Return what reviewers say of the answers "0", "1" and so on."""
    return Opinions(
        {
            name: [new_decision(str(i), credit, "-") for i, credit in enumerate(given)]
            for name, given in said_by.items()
        }
    )


def test_kappa_is_of_what_both_graded() -> None:
    # 2x2 of Cohen's textbook form: 20 both right, 15 both wrong, 5 and 10 apart: kappa
    # 0.4 of 50.
    ann = [1.0] * 25 + [0.0] * 25 + [None, 1.0]
    bob = [1.0] * 20 + [0.0] * 5 + [1.0] * 10 + [0.0] * 15 + [1.0, None]
    [found] = reviewer_agreements(opinions(ann=ann, bob=bob))
    assert found.kappa.cases == 50
    assert found.kappa.value == pytest.approx(0.4)


def test_three_reviewers_are_three_pairs() -> None:
    pairs = [
        each.reviewers
        for each in reviewer_agreements(opinions(ann=[1.0], bob=[1.0], eve=[0.0]))
    ]
    assert pairs == [("ann", "bob"), ("ann", "eve"), ("bob", "eve")]


@pytest.mark.slow
def test_the_sample_is_drawn_from_all_and_is_the_same_again(tmp_path: Path) -> None:
    rows = [played(example=str(i)) for i in range(200)]
    path = run_of(tmp_path, *rows)
    drawn = [case.row.example for case in read_cases(path).drawn_cases]
    assert drawn == [case.row.example for case in read_cases(path).drawn_cases]
    assert sorted(map(int, drawn)) == list(range(200))
    assert 60 < sum(map(int, drawn[:50])) / 50 < 140  # not those of the beginning


def test_the_estimate_counts_what_is_wrong_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    rows = [
        played(score=score, example=str(i)) for i, score in enumerate([1.0] * 5 + [0.0])
    ]
    rows.append(played(score=None, example="6", cause="unscored"))
    path = run_of(tmp_path, *rows)
    for i, credit in enumerate([0.0, 1.0, 0.5, None]):
        record_decision(
            path, rows[i], "ann", new_decision(rows[i].nodeid, credit, "because")
        )
    record_decision(path, rows[2], "bob", new_decision(rows[2].nodeid, 1.0))
    record_decision(path, rows[5], "ann", new_decision(rows[5].nodeid, 0.5))
    found = estimate_error_rates(
        read_cases(path).cases, Opinions(decisions.read_decisions(path))
    )
    assert (found.asked, found.reviewed, found.too_much, found.too_little) == (
        7,
        3,
        1,
        1,
    )
    assert (found.disputed, found.skipped, found.unsure, found.open) == (1, 1, 1, 1)
    assert found.rate == pytest.approx(2 / 3)
    assert found.interval.low == pytest.approx(0.2077, abs=1e-4)  # Wilson for 2 of 3


# --- labelled rows


def test_reviewed_answers_are_rows_that_verdict_check_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        answered(0, "Teal.", 1.0),
        answered(1, "Ochre.", 1.0),
        answered(2, "Blue.", None, cause="unscored"),
    ]
    path = run_of(tmp_path, *rows, expected={row.id: "ochre" for row in rows})
    for row, credit in zip(rows, (0.0, 1.0, 0.0), strict=True):
        record_decision(path, row, "ann", new_decision(row.nodeid, credit))
    file = tmp_path / "rows.jsonl"
    file.write_text(
        verdict_rows(read_cases(path), Opinions(decisions.read_decisions(path)))
    )
    assert main(["verdict-check", str(file), "--json"]) == 1
    total = json.loads(capsys.readouterr().out)["total"]
    assert total == {
        "rows": 3,
        "right": 1,
        "too much": 1,
        "too little": 0,
        "undecided": 1,
    }


@pytest.mark.parametrize(
    ("parameters", "expected", "kind"),
    [
        (
            {"category": 4, "sample": "c", "choices": [], "question": "Where?"},
            "Oslo",
            "locomo 4",
        ),
        (
            {
                "ability": "x",
                "wanted_turns": [],
                "type": "single-session-user",
                "id": "q1",
                "question": "Where?",
            },
            "Oslo",
            "longmemeval single-session-user",
        ),
    ],
)
def test_answers_to_questions_of_data_sets_are_ruled_again(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    parameters: dict[str, Any],
    expected: str,
    kind: str,
) -> None:
    row = answered(0, "In Oslo.", 0.0)
    path = run_of(tmp_path, row)
    planned = {
        "scenario": row.scenario,
        "example": "0",
        "definition": {"expected": expected, "parameters": parameters},
    }
    (path / "0~talk" / "plan.json").write_text(json.dumps({"examples": [planned]}))
    record_decision(path, row, "ann", new_decision(row.nodeid, 1.0))
    assert main(["review", str(path), "--rows", str(tmp_path / "rows.jsonl")]) == 0
    capsys.readouterr()
    main(["verdict-check", str(tmp_path / "rows.jsonl"), "--json"])
    assert json.loads(capsys.readouterr().out)["kinds"][kind]["right"] == 1


def test_reviewed_answers_are_a_set_that_judge_check_reads(tmp_path: Path) -> None:
    rows = [
        answered(0, "Teal: \x1b[31m'quoted'\nand more", 1.0),
        answered(1, "Ochre.", 1.0),
        answered(2, "Half.", 1.0),
        played("jokes", questions=()),
    ]
    path = run_of(
        tmp_path,
        *rows,
        expected={"colours/0": "ochre", "colours/1": "ochre", "colours/2": "ochre"},
    )
    for row, credit in zip(rows, (0.0, 1.0, 0.5, 1.0), strict=True):
        record_decision(path, row, "ann", new_decision(row.nodeid, credit))
    text, left_out = judge_rows(
        read_cases(path), Opinions(decisions.read_decisions(path))
    )
    (tmp_path / "set.yml").write_text(text)
    assert {(one.kind, one.answer) for one in load_labelled(tmp_path / "set.yml")} == {
        ("wrong", rows[0].questions[0].answer),
        ("right", "Ochre."),
    }
    assert left_out == 2


def test_the_command_lists_the_queue_and_the_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        played(score=None, example=str(i), cause="unscored", reason="unclear")
        for i in range(3)
    ]
    path = run_of(tmp_path, *rows, played("jokes"), played("jokes", example="1"))
    for name in ("ann", "bob"):
        for credit, example in ((1.0, "0"), (0.0, "1")):
            row = played("jokes", example=example)
            record_decision(path, row, name, new_decision(row.nodeid, credit))
    assert main(["review", str(path), "--most", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "5 verdicts of run run, 3 deserve a look",
        "       3  unsure: neither rules nor judge could tell",
        " none  ltm/colours::test_colours[full-2k-0-0]",
        "       unsure: unclear",
        " none  ltm/colours::test_colours[full-2k-0-1]",
        "       unsure: unclear",
        "       … and 1 more",
        "ann and bob: Cohen's kappa 1.00 (-0.32 to 1.00) over 2 answers that both graded",
        "random sample: 1 of 2 verdicts wrong, 50% (9% to 91%); 1 gave too much, 0 too little",
        "  of 5 drawn: 3 unsure",
    ]
    assert main(["review", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sample"]["wrong"] == 1
