"""The commands that score files of answers: what they print, and what they refuse."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._cli import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


def written(path: Path, *rows: dict[str, Any]) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def printed(capsys: Capture, *words: str) -> Any:
    assert main(words) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_locomo_rows_come_back_in_order_with_their_f1(tmp_path: Path, capsys: Capture, name: str) -> None:
    file = written(
        tmp_path / name,
        {"category": 4, "answer": "green lamp", "prediction": "the lamp was green"},
        {"category": 5, "answer": None, "prediction": "It is not mentioned."},
        {"category": 2, "answer": 2021, "prediction": "2020"},
    )
    found = printed(capsys, "data", "locomo-score", file, "--json")

    assert [row["f1"] for row in found["rows"]] == [0.8, 1.0, 0.0]
    assert found["overall"] == {"questions": 3, "f1": 0.6}
    assert found["by_category"]["temporal"] == {"number": 2, "questions": 1, "f1": 0.0}


def test_locomo_means_stand_in_a_table(tmp_path: Path, capsys: Capture) -> None:
    file = written(tmp_path / "rows.jsonl", {"category": 1, "answer": "a, b", "prediction": "b"})

    assert main(["data", "locomo-score", file]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["1", "multi-hop", "1", "0.500"]


def test_longmemeval_rows_come_back_in_order_with_their_verdict(tmp_path: Path, capsys: Capture) -> None:
    def row(name: str, kind: str, answer: object, said: str) -> dict[str, Any]:
        return {
            "question_id": name, "question_type": kind, "question": "Where?", "answer": answer, "hypothesis": said,
        }  # fmt: skip

    file = written(
        tmp_path / "rows.jsonl",
        row("a", "multi-session", 4, "There were four."),
        row("b_abs", "multi-session", "unknown", "You never mentioned it."),
        row("c", "single-session-preference", "Likes it quiet.", "Go there."),
        row("d", "knowledge-update", "Turku", "In Brno."),
    )
    found = printed(capsys, "data", "longmemeval-score", file, "--json")

    assert [(one["question_id"], one["verdict"]) for one in found["rows"]] == [
        ("a", "yes"), ("b_abs", "yes"), ("c", "unscored"), ("d", "no"),
    ]  # fmt: skip
    assert found["task_averaged"] == 0.5
    assert found["overall"] == {"accuracy": 2 / 3, "right": 2, "judged": 3, "unscored": 1}
    assert found["abstention"]["accuracy"] == 1.0


def test_rankings_come_back_with_metrics_at_every_published_depth(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "rankings.json"
    file.write_text(json.dumps([{"corpus_ids": ["f", "g"], "correct_docs": ["g"], "rankings": [0, 1]}]))
    (row,) = printed(capsys, "data", "longmemeval-retrieval", str(file))["rows"]

    assert list(row["metrics"]) == ["1", "3", "5", "10", "30", "50"]
    assert row["metrics"]["3"]["ndcg_any"] == 1.0


@pytest.mark.parametrize(
    ("command", "content", "said"),
    [
        ("locomo-score", '{"category": 4, "answer": "a"}\n', r"rows.x:1: the field 'prediction' is missing"),
        (
            "locomo-score",
            '{"category": 9, "answer": "a", "prediction": "a"}\n',
            "category: expected a number from 1 to 5",
        ),
        ("locomo-score", "[1]\n", "expected an object"),
        ("locomo-score", "{\n", "rows.x:1: not JSON"),
        ("locomo-score", "", "holds no rows"),
        ("longmemeval-score", "\n\n", "holds no rows"),
        (
            "longmemeval-score",
            '{"question_id": "a", "question_type": "multi", "question": "", "answer": 1, "hypothesis": ""}\n',
            "unknown question_type 'multi'",
        ),
        (
            "longmemeval-retrieval",
            '[{"corpus_ids": ["a"], "correct_docs": [], "rankings": [1]}]',
            "there is no id 1 in corpus_ids",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, capsys: Capture, command: str, content: str, said: str
) -> None:
    file = tmp_path / "rows.x"
    file.write_text(content)

    assert main(["data", command, str(file)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_gzip_is_told(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "rows.jsonl.gz"
    file.write_text("no")

    assert main(["data", "locomo-score", str(file)]) == 2
    assert "cannot be read" in capsys.readouterr().err
