"""`longmemeval-generate --model --curate`: questions written entirely by a model, and its prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import scripted_author_longmemeval as author

from pytest_ltm.commands import main
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile
from pytest_ltm.lab.longmemeval.modelled import (
    STATEMENTS,
    check_question,
    check_statements,
)
from pytest_ltm.lab.longmemeval.needles import QuestionKind

Capture = pytest.CaptureFixture[str]
CURATED = ("--count", "11", "--model", "scripted_author_longmemeval:write", "--curate")
USER, MULTI = QuestionKind("single-session-user"), QuestionKind("multi-session")
PASS = {"said": "My pass is for line Zebra.", "days": 10, "theme": "work"}


def generated(path: Path, *words: str) -> list[dict[str, Any]]:
    assert main(["data", "longmemeval-generate", "-o", str(path), *words]) == 0
    found: list[dict[str, Any]] = json.loads(path.read_bytes())
    return found


def test_a_model_writes_every_part_of_a_file_that_loads(tmp_path: Path) -> None:
    rows = generated(tmp_path / "made.json", *CURATED)
    records = list(LongMemEvalFile(tmp_path / "made.json").records())

    assert {record.type for record in records} == set(TYPES)
    assert not any(record.notes for record in records)
    assert all(row["curation"]["attribute"] == "the tram pass" for row in rows)
    for record in records:
        least, most = STATEMENTS[record.type]
        assert least <= len(record.answer_sessions) <= most
        assert all(
            sum(turn.has_answer for turn in session.turns) == 1
            for session in record.sessions
        )


def test_a_curated_file_that_was_begun_is_continued(tmp_path: Path) -> None:
    first = generated(tmp_path / "made.json", "--count", "3", *CURATED[2:])
    assert generated(tmp_path / "made.json", "--count", "5", *CURATED[2:])[:3] == first


def test_a_question_that_does_not_hold_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rote, prompts = author.write, list[str]()

    def stumbling(prompt: str) -> str:
        prompts.append(prompt)
        begun = "Write a question" in prompt and "It cannot be used" not in prompt
        return (
            json.dumps({"question": "What is it?", "answer": "x"})
            if begun
            else rote(prompt)
        )

    monkeypatch.setattr(author, "write", stumbling)
    generated(tmp_path / "made.json", "--count", "1", *CURATED[2:])
    assert any("must be asked by the person" in prompt for prompt in prompts)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            {"question": "Which line is it?", "answer": "Zebra"},
            "must be asked by the person",
        ),
        (
            {
                "question": "Which line is my pass for, line Zebra?",
                "answer": "line Zebra",
            },
            "gives its answer away",
        ),
        ({"question": "Did I ask?", "answer": "no"}, "has been asked before"),
        ({"question": "Which line do I take?"}, "required field `answer`"),
        (["Which line do I take?"], "Expected `object`, got `array`"),
    ],
)
def test_what_is_wrong_with_a_question_is_said_to_the_model(
    value: object, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        check_question(value, USER, ["Did I ask?"])


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        (USER, [], "a list of 1 statement"),
        (USER, [PASS, PASS], "a list of 1 statement"),
        (MULTI, [PASS], "a list of 2 to 6 statements"),
        (MULTI, [PASS, PASS], "two statements are the same"),
        (
            MULTI,
            [PASS, {**PASS, "said": "Another pass is for line Yak."}],
            "of the same day",
        ),
        (USER, [{**PASS, "days": 0}], "Expected `int` >= 1"),
        (USER, [{**PASS, "days": True}], "Expected `int`, got `bool`"),
        (USER, [{**PASS, "theme": "zoology"}], "`theme` must be one of"),
        (USER, [{**PASS, "said": ""}], r"at `\$\[0\].said`"),
        (
            USER,
            [{**PASS, "said": "I like trams."}],
            "does not hold the answer 'line Zebra'",
        ),
        (USER, ["My pass is for line Zebra."], "Expected `object`, got `str`"),
    ],
)
def test_what_is_wrong_with_statements_is_said_to_the_model(
    kind: QuestionKind, value: object, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        check_statements(value, kind, "line Zebra")


def test_statements_are_in_the_order_of_their_days() -> None:
    later = {**PASS, "said": "Another pass is for line Yak.", "days": 3}
    assert [
        statement.days for statement in check_statements([later, PASS], MULTI, "2")
    ] == [10, 3]


def test_curating_needs_a_model(tmp_path: Path, capsys: Capture) -> None:
    assert (
        main(
            ["data", "longmemeval-generate", "-o", str(tmp_path / "x.json"), "--curate"]
        )
        == 2
    )
    assert (
        "--curate needs --model: templates have questions of their own"
        in capsys.readouterr().err
    )
