"""`ltm data import-answers`: foreign files become a run with rule-based verdicts next to the published grades."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import ABSENT, LOCOMO, LONGMEMEVAL

from pytest_ltm.api.journal import read_results
from pytest_ltm.commands import main
from pytest_ltm.lab import answer_rows
from pytest_ltm.lab.answer_rows import PublishedAnswer, read_published_answers

GOLD = "7 May 2023"
ROW = {
    "question": "When did Ann go?",
    "answer": GOLD,
    "response": "On 7 May 2023.",
    "category": "2",
}


def read(
    path: Path, value: Any, data: Any = None
) -> tuple[list[PublishedAnswer], list[str]]:
    file, known = path / "answers.json", None
    file.write_text(
        value if isinstance(value, str) else json.dumps(value), encoding="utf-8"
    )
    if data is not None:
        known = path / "data.json"
        known.write_text(json.dumps(data), encoding="utf-8")
    published = read_published_answers([file], known)
    return published.answers, published.left_out


def test_locomos_predictions_of_two_models_are_two_systems(tmp_path: Path) -> None:
    qa = {
        "question": "When?",
        "answer": GOLD,
        "category": 2,
        "a_prediction": GOLD,
        "a_f1": 1.0,
        "b_prediction": "2022",
    }
    answers, problems = read(tmp_path, [{"sample_id": "conv-1", "qa": [qa]}])
    assert problems == []
    assert [
        (answer.agent, answer.group, answer.f1, answer.ruling.verdict)
        for answer in answers
    ] == [
        ("a", "conv-1", 1.0, "yes"),
        ("b", "conv-1", None, "no"),
    ]
    assert [answer.official_f1 for answer in answers] == [1.0, 0.0]


@pytest.mark.parametrize("grade", [{"llm_score": 1}, {"llm_score": 0}, {}])
def test_results_by_conversation_carry_their_grade(
    tmp_path: Path, grade: dict[str, int]
) -> None:
    answers, problems = read(tmp_path, {"0": [ROW | grade], "1": [ROW | grade]})
    assert problems == []
    assert [answer.group for answer in answers] == ["0", "1"]
    assert {answer.grade for answer in answers} == {grade.get("llm_score")}
    assert {answer.kind for answer in answers} == {"temporal"}


def test_results_under_results_name_gold_and_category_elsewhere(tmp_path: Path) -> None:
    row = {
        "query_id": "q1",
        "query": "When?",
        "answer": "On 7 May 2023",
        "gold_answers": [GOLD],
        "correct": False,
        "category_axes": {"question_type": ["temporal"]},
    }
    (answer,), problems = read(tmp_path, {"dataset": "locomo", "results": [row]})
    assert problems == []
    assert (answer.gold, answer.reply, answer.kind, answer.grade) == (
        GOLD,
        "On 7 May 2023",
        "temporal",
        0.0,
    )


def test_evaluations_say_correct_or_incorrect(tmp_path: Path) -> None:
    row = {
        "questionId": "q1",
        "questionType": "multi-session",
        "question": "How many?",
        "score": 1,
        "label": "incorrect",
        "hypothesis": "3",
        "groundTruth": "3",
    }
    (answer,), problems = read(
        tmp_path, {"provider": "x", "judge": "j", "evaluations": [row]}
    )
    assert problems == []
    assert (answer.kind, answer.grade, answer.ruling.verdict) == (
        "multi-session",
        0.0,
        "yes",
    )


def test_events_of_a_log_of_openai_evals_are_one_row_a_sample(tmp_path: Path) -> None:
    prompts = [
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where does Ann live?"},
        ],
        "When did Bo move?",
    ]
    matches = [
        {"correct": True, "expected": "Riga", "picked": "Riga", "sampled": "In Riga."},
        {
            "correct": False,
            "expected": "7 May 2023",
            "picked": None,
            "sampled": "On 8 May 2023.",
        },
    ]
    lines: list[dict[str, Any]] = [{"spec": {"eval_name": "match.dev.v0"}}]
    for number, (prompt, match) in enumerate(zip(prompts, matches, strict=True)):
        sampled = {"prompt": prompt, "sampled": [match["sampled"]]}
        for kind, data in (("sampling", sampled), ("match", match)):
            lines.append({"sample_id": f"qa.{number}", "type": kind, "data": data})
    lines.append({"final_report": {"accuracy": 0.5}})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    found = read_published_answers([path], None)
    assert not found.left_out
    rows = [
        (row.id, row.question, row.gold, row.reply, row.grade) for row in found.answers
    ]
    assert rows == [
        ("qa.0", "Where does Ann live?", "Riga", "In Riga.", 1.0),
        ("qa.1", "When did Bo move?", "7 May 2023", "On 8 May 2023.", 0.0),
    ]


@pytest.mark.parametrize("text", ["\ufeff{}\n{}", "[{},{}]", "{}\n\n{}\n"])
def test_hypotheses_are_read_as_lines_or_a_list_and_with_a_mark_at_the_beginning(
    tmp_path: Path, text: str
) -> None:
    rows = [
        json.dumps({"question_id": name, "hypothesis": "Gotland"})
        for name in ("a", "b")
    ]
    for row in rows:
        text = text.replace("{}", row, 1)
    known = [
        {
            "question_id": name,
            "question_type": "single-session-user",
            "question": "Where?",
            "answer": "Gotland",
        }
        for name in ("a", "b")
    ]
    answers, problems = read(tmp_path, text, known)
    assert ([answer.id for answer in answers], problems) == (["a", "b"], [])


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (None, "not an object: None"),
        (7, "not an object: 7"),
        ({**ROW, "response": None}, "response is None, not a text"),
        ({**ROW, "response": ["a"]}, "response is ['a'], not a text"),
        (
            {"question": "When?", "response": "now"},
            "name the data set's file: --data=FILE",
        ),
        (ROW, "a second answer to the same question"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_and_left_out(
    tmp_path: Path, row: object, why: str
) -> None:
    answers, problems = read(tmp_path, [ROW, row])
    assert len(answers) == 1
    assert "answers.json[1]: " in problems[0]
    assert why in problems[0]


def test_an_adversarial_question_needs_no_answer(tmp_path: Path) -> None:
    row = {
        "question": "Q",
        "adversarial_answer": "x",
        "prediction": "Not mentioned in the conversation",
        "category": 5,
    }
    (answer,), _ = read(tmp_path, [row])
    assert (answer.kind, answer.official_f1, answer.ruling.verdict) == (
        "adversarial",
        1.0,
        "yes",
    )


def test_a_question_without_an_answer_may_say_so_by_its_type(tmp_path: Path) -> None:
    row = {
        "id": "q-7",
        "type": "abstention:multi-session",
        "question": "How many harps do I own?",
        "answer": "You did not mention any harps.",
        "hypothesis": "You never told me about harps.",
    }
    answers, _ = read(tmp_path, [row, row | {"id": "q-8", "hypothesis": "Three."}])
    assert [answer.kind for answer in answers] == ["abstention"] * 2
    assert [answer.ruling.verdict for answer in answers] == ["yes", "no"]


def test_a_data_set_that_nests_without_end_knows_no_question(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 5000, encoding="utf-8")
    (tmp_path / "answers.json").write_text(json.dumps([ROW]), encoding="utf-8")
    files = [tmp_path / "answers.json"]
    published = read_published_answers(files, tmp_path / "deep.json")
    assert [answer.gold for answer in published.answers] == [GOLD]


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_rows, "LARGEST", 1_000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b"[" + b" " * 100_000 + b"]"))
    assert main(["data", "import-answers", str(tmp_path / "bomb.json.gz")]) == 2
    (tmp_path / "large.json").write_text(json.dumps([ROW] * 50), encoding="utf-8")
    assert main(["data", "import-answers", str(tmp_path / "large.json")]) == 2


def test_a_run_has_bounds_grades_and_a_page_of_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ROW | {"llm_score": 1},
        ROW | {"question": "When did Bo go?", "response": "In 2021.", "llm_score": 1},
        {
            "question": "Why?",
            "answer": "her aunt's wedding",
            "response": "For family.",
            "category": 3,
            "llm_score": 1,
        },
    ]
    (tmp_path / "answers.json").write_text(json.dumps({"0": rows}), encoding="utf-8")
    assert (
        main(
            [
                "data",
                "import-answers",
                str(tmp_path / "answers.json"),
                "-o",
                str(tmp_path / "run"),
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "100 % right by its judge, 33 to 67 % by rules: 1 answer of 3 differ" in said
    (path,) = (tmp_path / "run").glob("*/results.json")
    results = read_results(path).scenarios
    assert [(row.score, row.upper, row.outcome) for row in results] == [
        (1.0, None, "passed"),
        (0.0, None, "failed"),
        (0.0, 1.0, "skipped"),
    ]
    page = (tmp_path / "run" / "disagreements.md").read_text("utf-8")
    assert "right by its judge, wrong by rules" in page
    assert "In 2021." in page
    assert main(["verify", str(tmp_path / "run")]) == 0


def test_json_has_each_row_in_order_and_the_official_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {
            "question": "a",
            "category": 4,
            "answer": "green lamp",
            "prediction": "the lamp was green",
        },
        {
            "question": "b",
            "category": 5,
            "answer": None,
            "prediction": "It is not mentioned.",
        },
        {"question": "c", "category": 2, "answer": 2021, "prediction": "2020"},
        {"question": "d", "category": 1, "answer": "a, b"},
    ]
    file = tmp_path / "rows.jsonl.gz"
    file.write_bytes(
        gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    )
    assert main(["data", "import-answers", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["f1"] for row in found["rows"]] == [0.8, 1.0, 0.0]
    assert (found["sums"]["all"]["f1"], found["sums"]["temporal"]["wrong"]) == (0.6, 1)
    assert "it has no answer" in found["left_out"][0]


def test_rules_and_judges_are_counted_by_kind_and_by_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        ROW
        | {
            "question": str(number),
            "response": said,
            "label": True,
            "judge_model": judge,
        }
        for number, (said, judge) in enumerate(
            ((GOLD, "a"), ("In 2021.", "b"), (GOLD, "b"))
        )
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    assert main(["data", "import-answers", str(tmp_path / "rows.json")]) == 0
    said = {
        line.split("  ")[0]: line.split()[-1]
        for line in capsys.readouterr().out.splitlines()
    }
    assert (said["judge a"], said["judge b"], said["all"]) == ("0", "1", "1")
    assert any("100 % right by its 2 judges" in line for line in said)


def test_a_forged_run_of_published_answers_is_ruled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.json").write_text(
        json.dumps([ROW, ROW | {"question": "Where?", "category": 4}]), "utf-8"
    )
    assert main(["data", "import-answers", "answers.json", "-o", "forged"]) == 0
    (path,) = (tmp_path / ".ltm" / "runs" / "forged").glob("*/results.json")
    results = json.loads(path.read_text("utf-8"))
    results["scenarios"][0].update(score=0.0, outcome="failed")
    path.write_text(json.dumps(results), encoding="utf-8")
    capsys.readouterr()
    assert main(["verify", "forged"]) == 1
    said = capsys.readouterr().out
    assert "its score is 0.0, and the journal says 1.0" in said
    assert "its score was 0.0, and is 1.0 by the rules" in said


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize(
    ("path", "least"),
    [
        (LOCOMO / "judged_and_f1_dev.jsonl.gz", 4_500),
        (LONGMEMEVAL / "judged_dev.jsonl.gz", 2_100),
    ],
)
def test_published_rows_are_read_and_mostly_agree(path: Path, least: int) -> None:
    if not path.exists():
        pytest.skip(ABSENT)
    answers = read_published_answers([path], None).answers
    assert len(answers) > least
    for answer in answers:
        if answer.f1 is not None:
            official_f1 = answer.official_f1
            assert official_f1 is None or abs(official_f1 - answer.f1) < 1e-5
    decided = []
    for answer in answers[::10]:
        verdict = answer.ruling.verdict
        if answer.grade is not None and verdict != "unscored":
            decided.append((verdict == "yes") == (answer.grade >= 0.5))
    assert sum(decided) / len(decided) > 0.8
