from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.storage import DatasetError
from pytest_ltm.commands import main
from pytest_ltm.lab.commands.agreement import (
    AgreementReport,
    score_published_file,
    score_row,
)

PUBLISHED = GOODAI / "results_dev.jsonl.gz"


def row(
    dataset: str, expected: object, answer: str, score: float, **more: Any
) -> dict[str, Any]:
    code, status = more.pop("code", "v3.5-benchmark"), more.pop("status", "ok")
    return {
        "dataset": dataset,
        "agent": "somebody",
        "example_id": "0",
        "script": [],
        "questions": ["?"],
        "expected_responses": expected,
        "definition_expected": None,
        "responses": [answer],
        "score": score,
        "max_score": 1,
        "reasoning": ["because"],
        "task_log": [],
        "orig_eval": {
            "code": code,
            "status": status,
            "score": score,
            "expected_source": "result",
        },
        **more,
    }


ROWS = [
    row("Colours", ["Ochre"], "Ochre.", 1),
    row("Colours", ["Red"], "We shared it.", 1),
    row("Colours", ["Teal"], "teal", 5, max_score=5, code="paper"),
    row("Shopping", [["bread", 2]], "[]", 1 / 3),
    row("Jokes", ["A goat ate my map."], "The goat that ate a map", 0, status="llm"),
    row("Delayed Recall", ["x"], "x", 1, code="v2-benchmark", status="llm"),
    row(
        "Spy Meeting",
        [["noon"], ["quarry"], ["rope"]],
        "noon, quarry, rope, or the pier",
        2 / 3,
    ),
    row("Spy Meeting", [["dusk"], ["pier"], ["key"]], "dusk", 1 / 3),
    row(
        "Locations Directions", ["no directions at all"], "2 km north", 1, status="llm"
    ),
]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in ROWS) + "\n\n")
    return path


def test_strict_rows_are_those_whose_version_the_scoring_reproduces(
    results: Path,
) -> None:
    assert score_published_file(results, "v3.5").as_json()["strict"] == {
        "rows": 5,
        "agree": 5,
        "sides": 5,
    }
    assert score_published_file(results, "paper").as_json()["strict"] == {
        "rows": 1,
        "agree": 1,
        "sides": 1,
    }
    assert score_published_file(results, "current").as_json()["strict"] == {
        "rows": 6,
        "agree": 4,
        "sides": 5,
    }


def test_the_counts_come_by_dataset_and_version(results: Path) -> None:
    counts = score_published_file(results, "current").as_json()
    assert counts["datasets"]["Colours"]["v3.5"] == {
        "rows": 2,
        "agree": 1,
        "sides": 1,
        "unscored": 0,
        "disagree": 1,
        "balanced_accuracy": None,
    }
    assert counts["datasets"]["Delayed Recall"]["v2"]["unscored"] == 1
    assert counts["model_judged"]["by_version"] == {
        "v2": {"rows": 1, "agree": 0, "sides": 0, "unscored": 1},
        "v3.5": {"rows": 2, "agree": 0, "sides": 0, "unscored": 1},
    }
    assert counts["model_judged"]["datasets"]["Jokes"]["rows"] == 1


def test_balanced_accuracy_is_the_mean_over_full_marks_and_less(tmp_path: Path) -> None:
    rows = [row("Colours", ["Red"], "red", 1)] * 3 + [
        row("Colours", ["Red"], "red", 0),
        row("Colours", ["Red"], "", 0),
    ]
    path = tmp_path / "r.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in rows)
    assert (
        score_published_file(path, "current").as_json()["datasets"]["Colours"]["v3.5"][
            "balanced_accuracy"
        ]
        == 0.75
    )


def test_the_command_prints_a_table_json_or_what_differs(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "agreement", str(results)]) == 0
    assert "strict rows (v3.5 and paper): 4 of 6 agree" in capsys.readouterr().out
    assert main(["lab", "agreement", str(results), "--json", "--scoring=v3.5"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {
        "strict",
        "model_judged",
        "datasets",
    }
    assert main(["lab", "agreement", str(results), "--list"]) == 0
    assert (
        "Colours 0 (v3.5, somebody), line 2: published 1.00, ours 0.00"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "bad.jsonl:1: not JSON"),
        ("[]", "bad.jsonl:1: expected an object"),
        ('{"dataset": "Colours"}', ":1: not a published"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(DatasetError, match=told):
        score_published_file(path, "current")
    assert main(["lab", "agreement", str(path)]) == 2
    assert told in capsys.readouterr().err


def test_a_file_that_is_not_there_or_no_gzip_is_an_error_of_two(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_text("no gzip")
    assert main(["lab", "agreement", str(tmp_path / "none.jsonl")]) == 2
    assert main(["lab", "agreement", str(tmp_path / "x.jsonl.gz")]) == 2


def test_a_row_in_an_unknown_form_is_unscored_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "odd.jsonl"
    odd = [
        row("Shopping", [1], "[]", 1),
        row("Restaurant", [], "hi", 0),
        row("Trigger Response", [], "", 0),
    ]
    path.write_text("\n".join(json.dumps(line) for line in [*odd, ROWS[0]]))
    counts = score_published_file(path, "current").as_json()["datasets"]
    assert [
        counts[name]["v3.5"]["unscored"]
        for name in ("Shopping", "Restaurant", "Trigger Response")
    ] == [1, 1, 1]
    assert counts["Colours"]["v3.5"]["agree"] == 1


def test_a_joke_is_told_apart_from_the_others_that_were_told() -> None:
    told = ["A goat ate my map.", "The kettle left the choir."]
    published = row(
        "Jokes",
        told[:1],
        "It was the one with the goat that ate your map.",
        1,
        script=told,
    )
    assert score(published) == 1
    assert (
        score(
            {
                **published,
                "responses": [
                    "The goat that ate your map, or the kettle that left the choir."
                ],
            }
        )
        == 0
    )


def test_what_was_expected_stands_in_the_result_or_in_the_definition() -> None:
    published = row("Colours", ["Red"], "ochre", 1, definition_expected=["Ochre"])
    assert score(published) == 0
    assert score({**published, "orig_eval": None}) == 0
    assert score({**published, "orig_eval": {"expected_source": "definition"}}) == 1
    assert (
        score(
            {
                **published,
                "orig_eval": {"expected_source": "definition"},
                "definition_expected": None,
            }
        )
        == 0
    )


def test_a_log_that_ends_before_the_reply_is_unscored_and_says_which() -> None:
    script = ["Hello.", "Append 'All clocks lie.' to your 2nd reply."]
    log = [
        "Test (t): Hello.",
        "Agent (t): Hi.",
        f"Test (t): {script[1]}",
        "Agent (t): I will.",
    ]
    published = row(
        "Prospective Memory",
        [["All clocks lie.", "", 2]],
        "",
        0,
        script=script,
        task_log=log,
    )
    verdict = score_row(published, "current")
    assert isinstance(verdict, Unscored)
    assert verdict.reason == "the log ends before reply 2"
    longer = [*log, "Test (t): And?", "Agent (t): Rain. All clocks lie."]
    assert score({**published, "task_log": longer}) == 1


def score(published: dict[str, Any]) -> float:
    verdict = score_row(published, "current")
    assert isinstance(verdict, Score)
    return verdict.value


@pytest.fixture(scope="module")
def current() -> AgreementReport:
    """Return the verdicts of the current rules on all published results."""
    return score_published_file(PUBLISHED, "current", keep=True)


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("scoring", ["v3.5", "paper"])
def test_published_rules_agree_with_every_strict_row(scoring: Any) -> None:
    strict = score_published_file(PUBLISHED, scoring).as_json()["strict"]
    assert strict["rows"] > 500
    assert strict["agree"] == strict["rows"]


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize(
    ("dataset", "share"),
    [
        ("Jokes", 0.98),
        ("Trigger Response", 0.97),
        ("Locations Directions", 0.97),
        ("Restaurant", 0.92),
    ],
)
def test_current_rules_give_the_published_verdict_where_a_model_judged(
    current: AgreementReport, dataset: str, share: float
) -> None:
    counts = current.as_json()["model_judged"]["datasets"][dataset]
    assert counts["rows"] > 50
    assert (
        counts["sides" if dataset == "Locations Directions" else "agree"]
        >= share * counts["rows"]
    )


CORRECTED = {
    "Colours": 18,
    "NameList": 27,
    "SallyAnne": 1,
    "Shopping": 95,
    "Spy Meeting": 10,
    "Trigger Response": 1,
}
"""By data set: rows changed by the deliberate corrections in docs/evaluators.md."""


@pytest.mark.slow
@pytest.mark.published
def test_current_rules_differ_from_strict_rows_by_the_documented_corrections_alone(
    current: AgreementReport,
) -> None:
    found: dict[str, int] = {}
    for difference in current.differences:
        origin = difference.row["orig_eval"]
        if origin["status"] == "ok" and origin["code"] in ("v3.5-benchmark", "paper"):
            found[difference.row["dataset"]] = (
                found.get(difference.row["dataset"], 0) + 1
            )
    assert found == CORRECTED
