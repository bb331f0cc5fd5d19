"""longmemeval-score with official files: joining, labels, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from longmemeval_files import records
from longmemeval_files import written as data_file

from pytest_ltm.commands import main

Capture = pytest.CaptureFixture[str]


def lines(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def said(name: str, text: str, **more: object) -> dict[str, Any]:
    return {"question_id": name, "hypothesis": text, **more}


def scored(
    tmp_path: Path,
    capsys: Capture,
    *rows: dict[str, Any],
    options: tuple[str, ...] = ("--json",),
) -> str:
    data = data_file(tmp_path / "data.json", records())
    assert (
        main(
            [
                "data",
                "longmemeval-score",
                lines(tmp_path / "h.jsonl", *rows),
                "--data",
                str(data),
                *options,
            ]
        )
        == 0
    )
    return capsys.readouterr().out


def test_hypotheses_are_joined_with_their_questions_and_missing_ones_named(
    tmp_path: Path, capsys: Capture
) -> None:
    found = json.loads(
        scored(
            tmp_path,
            capsys,
            said("moss_abs", "You never mentioned one."),
            said("kiln", "Three."),
        )
    )

    assert [(row["question_id"], row["verdict"]) for row in found["rows"]] == [
        ("moss_abs", "yes"),
        ("kiln", "no"),
    ]
    assert found["missing"] == ["room"]
    assert found["overall"] == {"accuracy": 0.5, "right": 1, "judged": 2, "unscored": 0}


def test_the_table_tells_how_many_are_missing(tmp_path: Path, capsys: Capture) -> None:
    text = scored(tmp_path, capsys, said("kiln", "Five."), options=())

    assert text.splitlines()[-1] == "2 missing, left out of the means: moss_abs, room"


def test_official_verdicts_are_taken_by_the_official_rule(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = [
        said("kiln", "Who knows?", autoeval_label={"model": "m", "label": True}),
        said("moss_abs", "Moss.", autoeval_label="No."),
        said("room", "This one.", autoeval_label="Yes, it does."),
    ]
    found = json.loads(scored(tmp_path, capsys, *rows, options=("--json", "--labels")))

    assert [row["verdict"] for row in found["rows"]] == ["yes", "no", "yes"]
    assert found["task_averaged"] == pytest.approx(2 / 3)
    assert found["abstention"]["accuracy"] == 0.0


def test_a_judge_decides_what_no_rule_can_or_all(
    tmp_path: Path, capsys: Capture
) -> None:
    rows = [said("kiln", "Three."), said("room", "This one.")]
    rest = json.loads(
        scored(tmp_path, capsys, *rows, options=("--json", "--ltm-judge=always-yes"))
    )
    every = json.loads(
        scored(
            tmp_path,
            capsys,
            *rows,
            options=("--json", "--ltm-judge=always-yes", "--judge-all"),
        )
    )

    assert [row["verdict"] for row in rest["rows"]] == ["no", "yes"]
    assert [row["verdict"] for row in every["rows"]] == ["yes", "yes"]


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ([said("kilm", "Five.")], [], "has no question 'kilm'. Did you mean 'kiln'"),
        (
            [said("kiln", "Five."), said("kiln", "Six.")],
            [],
            "a second answer to 'kiln'; the first is at",
        ),
        ([said("kiln", "Five.")], ["--labels"], "no autoeval_label"),
        (
            [said("kiln", "Five.", label=3)],
            ["--labels"],
            "label: expected true, false or the judge's reply, got 3",
        ),
        ([{"question_id": "kiln"}], [], "the field 'hypothesis' is missing"),
        ([said("kiln", None)], [], "hypothesis: expected a text, got None"),  # type: ignore[arg-type]
        ([], [], "holds no rows"),
    ],
)
def test_what_is_wrong_with_hypotheses_is_told_with_its_place(
    tmp_path: Path,
    capsys: Capture,
    rows: list[dict[str, Any]],
    options: list[str],
    told: str,
) -> None:
    data = data_file(tmp_path / "data.json", records())

    assert (
        main(
            [
                "data",
                "longmemeval-score",
                lines(tmp_path / "h.jsonl", *rows),
                "--data",
                str(data),
                *options,
            ]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert told in error
    assert "h.jsonl" in error


def test_answers_without_their_questions_are_told_of_the_data(
    tmp_path: Path, capsys: Capture
) -> None:
    assert (
        main(
            [
                "data",
                "longmemeval-score",
                lines(tmp_path / "h.jsonl", said("kiln", "Five.")),
            ]
        )
        == 2
    )
    assert (
        "h.jsonl:1: the field 'question_type' is missing. Answers alone need"
        in capsys.readouterr().err
    )
