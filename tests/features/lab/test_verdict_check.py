"""`verdict-check`: counts for labelled replies and for mutants of correct answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.commands import main
from pytest_ltm.lab.commands.verdict_check import check_verdicts


def colour(number: int, reply: str, credit: float) -> dict[str, Any]:
    return {
        "id": f"c-{number}",
        "scenario": "colours",
        "evaluator": "NamesColour",
        "args": {"expected": "teal"},
        "answers": [reply],
        "credit": credit,
    }


def answer(hypothesis: str, *, label: bool) -> dict[str, Any]:
    return {
        "id": "a",
        "set": "longmemeval",
        "type": "single-session-user",
        "question": "Which city did I move to?",
        "answer": "Ghent",
        "hypothesis": hypothesis,
        "label": label,
    }


ROWS = [
    colour(1, "Teal.", 1),
    colour(2, "It is teal.", 0),
    colour(3, "No idea.", 1),
    answer("You moved to Ghent.", label=True),
]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return path


def test_verdicts_are_counted_by_scenario_and_type_of_question(labelled: Path) -> None:
    counted = check_verdicts(labelled).by_kind()

    assert {
        kind: [one[name] for name in ("rows", "right", "too much", "too little")]
        for kind, one in counted.items()
    } == {
        "colours": [3, 1, 1, 1],
        "longmemeval single-session-user": [1, 1, 0, 0],
    }


def test_the_command_lists_what_is_wrong_and_fails_above_its_limits(
    labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "verdict-check", str(labelled), "--list"]) == 1
    told = capsys.readouterr().out
    assert "c-2: too much: label 0.00, ours 1.00" in told
    assert "breach: right: 2 of 4 (50.0%), limit 95%" in told


def test_a_wrong_answer_is_made_in_many_ways_from_each_gold(labelled: Path) -> None:
    made = check_verdicts(labelled).mutants

    assert {
        "denied",
        "either-or",
        "swapped",
        "dump",
        "quoted in a refusal",
        "another subject",
    } <= {one.mutation for one in made}
    assert {one.kind for one in made} == {"colours", "longmemeval single-session-user"}


def test_json_has_the_counts_and_the_breaches(
    labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["lab", "verdict-check", str(labelled), "--json"])

    told = json.loads(capsys.readouterr().out)
    assert told["kinds"]["colours"]["right"] == 1
    assert told["breaches"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {
                "id": "x",
                "scenario": "colours",
                "evaluator": "NamesColor",
                "args": {},
                "answers": [],
                "credit": 1,
            },
            "there is no evaluator 'NamesColor'. Did you mean 'NamesColour'",
        ),
        ({"id": "x", "set": "locomo"}, "not a labelled row"),
    ],
)
def test_a_row_that_cannot_be_read_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], said: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(row))

    assert main(["lab", "verdict-check", str(path)]) == 2
    assert said in capsys.readouterr().err
