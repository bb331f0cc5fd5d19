"""Fields of published answers are recognized by the words in their names, in files of any origin."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.lab.answer_rows import PublishedAnswers, read_published_answers
from pytest_ltm.lab.row_fields import (
    RowFields,
    grade_in,
    provider_error,
    published_grade,
    text_in,
    words_of,
)

QUESTION, GOLD, SAID = "Where does Ann live?", "Riga", "In Riga."


def read(path: Path) -> PublishedAnswers:
    return read_published_answers([path], None)


# --- Generated names: words of a role, joined in any way, nested or not.

WORDS = {
    "question": ["question", "query", "input", "user input", "the question"],
    "gold": [
        "golden answer",
        "gold answer",
        "expected output",
        "expected",
        "reference",
        "ground truth",
        "target",
        "ideal",
        "correct answer",
        "reference answer",
    ],
    "said": [
        "response",
        "model answer",
        "generated answer",
        "actual output",
        "output",
        "hypothesis",
        "submission",
        "predicted answer",
        "completion",
        "system answer",
    ],
    "grade": ["score", "grade", "llm score", "is correct", "passed", "success"],
}
JOINS = {
    "snake": "_".join,
    "kebab": "-".join,
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "pascal": lambda words: "".join(word.title() for word in words),
}
NOISE = {
    "retrieved_contexts": ["a"],
    "reference_contexts": ["b"],
    "input_tokens": 7,
    "response_time": 0.4,
    "metadata": {"model": "m"},
    "f1": 0.3,
    "reason": "It is right.",
}


@st.composite
def named_rows(draw: st.DrawFn) -> dict[str, Any]:
    """Return a row whose field names consist of words of the roles."""
    join: Callable[[list[str]], str] = JOINS[draw(st.sampled_from(sorted(JOINS)))]
    values = {"question": QUESTION, "gold": GOLD, "said": SAID, "grade": 1}
    row: dict[str, Any] = {}
    for role, value in values.items():
        name = join(draw(st.sampled_from(WORDS[role])).split())
        if draw(st.booleans()) and role != "grade":
            row.setdefault("sample" if role != "said" else "result", {})[name] = value
        else:
            row[name] = value
    noise = draw(st.permutations(sorted(NOISE.items())))
    return dict(noise[:3]) | row


@given(named_rows())
def test_the_words_of_a_name_say_what_a_field_holds(row: dict[str, Any]) -> None:
    fields = RowFields(row)
    assert text_in(fields.question[0].value) == QUESTION
    assert text_in(fields.gold[0].value) == GOLD
    assert text_in(fields.answers[0].value) == SAID
    assert published_grade(fields) == 1.0


@pytest.mark.parametrize("said", ["response", "hypothesis", "model_answer"])
def test_a_bare_answer_is_the_expected_one_beside_another(said: str) -> None:
    fields = RowFields({"question": QUESTION, "answer": GOLD, said: SAID})
    assert (fields.gold[0].value, fields.answers[0].value) == (GOLD, SAID)


@pytest.mark.parametrize("gold", ["reference", "golden_answer", "groundTruth"])
def test_a_bare_answer_is_the_answer_beside_an_expected_one(gold: str) -> None:
    fields = RowFields({"question": QUESTION, "answer": SAID, gold: GOLD})
    assert (fields.gold[0].value, fields.answers[0].value) == (GOLD, SAID)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("expectedOutput", ("expected", "output")),
        ("LLMScore", ("llm", "score")),
        ("judgment_1", ("judgment", "1")),
        ("ground-truth", ("ground", "truth")),
        ("reference_outputs", ("reference", "output")),
        ("success", ("success",)),
    ],
)
def test_names_are_read_as_words(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("value", "grade"),
    [
        (True, 1.0),
        (0.5, 0.5),
        ("CORRECT", 1.0),
        ("I", 0.0),
        ("0.25", 0.25),
        ([True, False], 0.5),
        (7, None),
        ("because", None),
        (None, None),
        ({}, None),
    ],
)
def test_grades_are_shares_or_words(value: Any, grade: float | None) -> None:
    assert grade_in(value) == grade


def test_judgments_side_by_side_are_averaged() -> None:
    row = {"judgments": {"judgment_1": True, "judgment_2": False, "judgment_3": True}}
    assert published_grade(RowFields(row)) == pytest.approx(2 / 3)


# --- Files of evaluation harnesses, with our own texts.

INSPECT = {
    "version": 2,
    "eval": {"task": "memory", "model": "m"},
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": QUESTION},
            ],
            "target": GOLD,
            "messages": [{"role": "user", "content": QUESTION}],
            "output": {
                "model": "m",
                "choices": [{"message": {"role": "assistant", "content": SAID}}],
            },
            "scores": {"match": {"value": "C", "answer": "Riga", "explanation": "x"}},
        }
    ],
}
PROMPTFOO = {
    "results": {
        "version": 3,
        "results": [
            {
                "vars": {"question": QUESTION},
                "prompt": {"raw": f"Answer: {QUESTION}", "label": "p"},
                "response": {"output": SAID, "tokenUsage": {"total": 9}},
                "success": True,
                "score": 1,
                "testCase": {
                    "vars": {"question": QUESTION},
                    "assert": [{"type": "icontains", "value": GOLD}],
                },
                "gradingResult": {"pass": True, "score": 1, "reason": "ok"},
            }
        ],
    }
}
DEEPEVAL = {
    "testCases": [
        {
            "name": "t",
            "input": QUESTION,
            "actualOutput": SAID,
            "expectedOutput": GOLD,
            "success": True,
            "metricsData": [{"name": "x", "score": 0.2}],
        }
    ]
}
LETTA = {
    "sample": {"id": 0, "input": QUESTION, "ground_truth": GOLD},
    "submission": SAID,
    "trajectory": [],
    "grade": {"score": 1.0, "rationale": "ok"},
}
RAGAS = {
    "user_input": QUESTION,
    "retrieved_contexts": ["c"],
    "response": SAID,
    "reference": GOLD,
    "faithfulness": 0.5,
    "answer_correctness_score": 1.0,
}
FILES = {
    "inspect": INSPECT,
    "promptfoo": PROMPTFOO,
    "deepeval": DEEPEVAL,
    "letta": LETTA,
    "ragas": RAGAS,
}


@pytest.mark.parametrize("name", FILES)
def test_results_of_harnesses_are_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(FILES[name]))
    published = read(path)
    assert published.left_out == []
    [answer] = published.answers
    assert (answer.question, answer.gold, answer.reply) == (QUESTION, GOLD, SAID)
    assert answer.grade == 1.0
    assert answer.ruling.verdict == "yes"


def test_a_packed_log_of_inspect_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("header.json", "{}")
        packed.writestr("samples/1_epoch_1.json", json.dumps(INSPECT["samples"][0]))  # type: ignore[index]
    [answer] = read(path).answers
    assert (answer.gold, answer.reply, answer.grade) == (GOLD, SAID, 1.0)


@pytest.mark.parametrize(
    "columns",
    [
        ("question", "ground_truth", "response", "score"),
        ("inputs.question", "reference_outputs.answer", "outputs.answer", "correct"),
        ("Question", "Expected Answer", "Model Answer", "Grade"),
    ],
)
def test_a_table_is_read_by_its_columns(
    tmp_path: Path, columns: tuple[str, ...]
) -> None:
    path = tmp_path / "answers.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerow([QUESTION, GOLD, SAID, "1.0"])
        table.writerow(["When, and where?", "7 May 2023", "On 8 May 2023.", "0"])
    published = read(path)
    assert published.left_out == []
    assert [answer.grade for answer in published.answers] == [1.0, 0.0]
    assert published.answers[1].question == "When, and where?"
    assert published.answers[1].gold == "7 May 2023"


# --- A provider's errors.

ERRORS = [
    "Error: 429 Too Many Requests",
    "openai.RateLimitError: Error code: 429",
    "[ERROR] Request timed out",
    '{"error": {"message": "invalid api key", "code": 401}}',
    "Failed to generate an answer: connection refused",
    "HTTP 503: Service Unavailable",
    "Exception: context length exceeded",
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_in_the_place_of_an_answer_is_counted_and_left_out(
    tmp_path: Path, error: str
) -> None:
    path = tmp_path / "answers.json"
    rows = [
        {"question": QUESTION, "answer": GOLD, "response": error},
        {"question": "Who?", "answer": GOLD, "response": SAID},
    ]
    path.write_text(json.dumps(rows))
    published = read(path)
    assert len(published.answers) == 1
    assert len(published.errors) == 1
    assert "1 row with an error of the provider" in published.left_out[0]


def test_a_missing_answer_beside_an_error_is_one(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    row = {"question": QUESTION, "reference": GOLD, "response": None, "error": "429"}
    path.write_text(json.dumps([row]))
    assert [error.endswith("429") for error in read(path).errors] == [True]


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("Error 404 came up", "Error 404"),
        ("There was an error in her answer of 2023.", "2023"),
        ("She failed to come.", "no"),
        ("In 429 BC.", "430 BC"),
        ("", "Riga"),
    ],
)
def test_an_answer_about_errors_is_an_answer(said: str, gold: str) -> None:
    assert provider_error(RowFields({"question": "Q", "response": said}), gold) == ""


def test_an_error_that_a_grader_names_stands_for_an_empty_answer() -> None:
    grade = {"score": 0.0, "rationale": "Error during agent run: timed out"}
    row = {"input": "Q", "ground_truth": "Lund", "submission": "", "grade": grade}
    assert provider_error(RowFields(row), "Lund") == grade["rationale"]
    assert provider_error(RowFields(row | {"submission": "Oslo"}), "Lund") == ""
    asked = {"question": "Error: 429, what is that?", "response": "", "gold": "busy"}
    assert provider_error(RowFields(asked), "busy") == ""


MESSAGES = [{"role": "assistant", "content": SAID}]


@pytest.mark.parametrize(
    ("row", "grade"),
    [
        (
            {
                "promptIdx": 0,
                "vars": {"question": QUESTION},
                "response": {"output": SAID},
                "assert": [{"value": GOLD}],
                "success": True,
            },
            1.0,
        ),
        (
            {
                "doc": {"question": QUESTION},
                "target": GOLD,
                "filtered_resps": [SAID],
                "resps": [[SAID]],
                "exact_match": 0.0,
            },
            0.0,
        ),
        (
            {
                "item": {"question": QUESTION, "correct_answer": GOLD},
                "sample": {"output": MESSAGES},
                "results": [{"passed": True}],
            },
            1.0,
        ),
        (
            {
                "user_input": QUESTION,
                "response": SAID,
                "reference": GOLD,
                "answer_correctness": 0.5,
            },
            0.5,
        ),
        (
            {
                "inputs.question": QUESTION,
                "outputs.answer": SAID,
                "reference_outputs.answer": GOLD,
                "feedback.correctness": 1,
            },
            1.0,
        ),
    ],
    ids=["promptfoo", "lm-eval", "evals", "ragas", "langsmith"],
)
def test_rows_of_programs_are_read_with_their_grades(
    tmp_path: Path, row: dict[str, Any], grade: float
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    [answer] = read(path).answers
    assert (answer.question, answer.gold, answer.reply) == (QUESTION, GOLD, SAID)
    assert answer.grade == grade


def test_a_list_of_several_answers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"question": QUESTION, "target": GOLD, "resps": [SAID, "In Bonn."]}
    path.write_text(json.dumps(row))
    published = read(path)
    assert not published.answers
    assert "not a text" in published.left_out[0]
