"""The commands that score files of answers: output and refusals."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.commands import main

Capture = pytest.CaptureFixture[str]


def written(path: Path, *rows: dict[str, Any]) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(
        gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode()
    )
    return str(path)


def printed(capsys: Capture, *words: str) -> Any:
    assert main(words) == 0
    return json.loads(capsys.readouterr().out)


def test_longmemeval_rows_come_back_in_order_with_their_verdict(
    tmp_path: Path, capsys: Capture
) -> None:
    def row(name: str, kind: str, answer: object, said: str) -> dict[str, Any]:
        return {
            "question_id": name,
            "question_type": kind,
            "question": "Where?",
            "answer": answer,
            "hypothesis": said,
        }

    file = written(
        tmp_path / "rows.jsonl",
        row("a", "multi-session", 4, "There were four."),
        row("b_abs", "multi-session", "unknown", "You never mentioned it."),
        row("c", "single-session-preference", "Likes it quiet.", "Go there."),
        row("d", "knowledge-update", "12 km", "It was 15 km."),
    )
    found = printed(capsys, "data", "longmemeval-score", file, "--json")

    assert [(one["question_id"], one["verdict"]) for one in found["rows"]] == [
        ("a", "yes"),
        ("b_abs", "yes"),
        ("c", "unscored"),
        ("d", "no"),
    ]
    assert found["task_averaged"] == 0.5
    assert found["overall"] == {
        "accuracy": 2 / 3,
        "right": 2,
        "judged": 3,
        "unscored": 1,
    }
    assert found["abstention"]["accuracy"] == 1.0


def test_rankings_come_back_with_metrics_at_every_published_depth(
    tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "rankings.json"
    file.write_text(
        json.dumps(
            [{"corpus_ids": ["f", "g"], "correct_docs": ["g"], "rankings": [0, 1]}]
        )
    )
    (row,) = printed(capsys, "data", "longmemeval-retrieval", str(file))["rows"]

    assert list(row["metrics"]) == ["1", "3", "5", "10", "30", "50"]
    assert row["metrics"]["3"]["ndcg_any"] == 1.0


@pytest.mark.parametrize(
    ("command", "content", "said"),
    [
        ("longmemeval-score", "\n\n", "holds no rows"),
        ("longmemeval-score", "[1]\n", "expected an object"),
        ("longmemeval-score", "{\n", "rows.x:1: not JSON"),
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

    assert main(["data", "longmemeval-score", str(file)]) == 2
    assert "cannot be read" in capsys.readouterr().err
