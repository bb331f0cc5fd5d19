"""The interchange format: its schema, the effect of each field when played, and its scores."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from schemas import interchange_schema

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import (
    Ask,
    Definition,
    Wait,
    from_json,
    to_json,
)
from pytest_ltm.datasets import LOGS, History, Question, Session, ToolCall, Turn
from pytest_ltm.datasets.interchange import (
    FORMAT,
    SCHEMA,
    Header,
    history_lines,
)
from pytest_ltm.datasets.logs.log_file import LogsFile
from pytest_ltm.datasets.logs.log_verdict import LogsAnswer
from pytest_ltm.testing import FakeJudge

PNG = b"\x89PNG\r\n\x1a\n"
WHOLE: list[dict[str, Any]] = [
    {
        "format": FORMAT,
        "version": 2,
        "source": "Rivers",
        "opening": "Listen.",
        "notes": ["cut: 3 lines"],
    },
    {
        "session": "s1",
        "date": "2026-03-02 09:15+01:00",
        "room": "#crew",
        "user": "ann",
        "meta": {"x": 1},
        "turns": [
            {
                "role": "user",
                "content": "The Otter is afloat.",
                "name": "Ilse",
                "date": "2026-03-02 09:20+01:00",
            },
            {
                "role": "user",
                "content": "See.",
                "images": [{"file": "boat.png", "caption": "a green boat"}],
            },
            {
                "role": "assistant",
                "state": "A page.",
                "action": "click(2)",
                "calls": [{"name": "find", "arguments": {"n": 1}, "result": "two"}],
            },
            {"role": "tool", "content": "done"},
        ],
    },
    {
        "question": "Which boat?",
        "id": "boat",
        "kind": "boats",
        "user": "ann",
        "gold": "Otter",
        "asks": "alone",
        "choices": ["Otter", "Heron"],
        "evidence": ["s1_1"],
        "image": "boat.png",
        "after": "s1_2",
        "meta": None,
    },
    {
        "question": "How many?",
        "user": "ann",
        "gold": 12,
        "tolerance": 2,
        "date": "2026-03-03",
        "match": "answer",
    },
    {
        "question": "Who sang?",
        "user": "ann",
        "never_told": True,
        "claims": ["says that nobody did"],
    },
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "boat.png").write_bytes(PNG)
    return tmp_path / "logs.jsonl"


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def definition_of(
    path: Path, question: dict[str, Any], *, judge: str = "rest"
) -> Definition:
    turns = [{"role": "user", "content": "The Otter is afloat."}]
    suite = LOGS.open(
        written(path, {"session": "s1", "turns": turns}, question),
        {"judge": judge},
        seed=0,
    )
    [(thread, example)] = suite.places("question")
    return suite.definition("question", thread, example)


def verdict(
    path: Path, answer: str, judge: Any = None, **question: Any
) -> Score | Unscored:
    return LogsAnswer(definition_of(path, {"question": "What?", **question}), judge)(
        [answer]
    )


def test_the_published_schema_is_that_of_the_classes() -> None:
    made = json.loads(json.dumps(interchange_schema()))
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == made, (
        "python tests/golden/refresh.py schema"
    )


def test_all_that_sessions_hold_is_told_in_words(path: Path) -> None:
    suite = LOGS.open(written(path, *WHOLE), {}, seed=0)
    told = suite.told("ann")
    assert told.opening == "Listen."
    [one] = told.history
    assert one.message == (
        "[2026/03/02 (Mon) 09:15] Ilse at 09:20 in #crew: The Otter is afloat.\n"
        "user in #crew: See.\n[photo: a green boat]"
    )
    assert one.reply == (
        'assistant in #crew: \nState: A page.\nAction: click(2)\n[called find({"n":1}): two]\ntool in #crew: done'
    )
    assert one.images == (str(path.parent / "boat.png"),)
    assert one.pictured == one.asked
    assert suite.notes[0] == "cut: 3 lines"
    assert suite.title.startswith("Rivers: 3 questions")


def test_a_question_says_how_and_when_it_is_asked(path: Path) -> None:
    suite = LOGS.open(written(path, *WHOLE), {}, seed=0)
    definition = suite.definition("boats", "ann", "boat")
    ask = definition.questions[0]
    assert ask.text == "Which boat?\n(A) Otter\n(B) Heron"
    assert (ask.alone, list(ask.images)) == (True, [str(path.parent / "boat.png")])
    assert definition.steps[0] == Wait(), (
        "the second turn is inside the only exchange, which goes on behind it"
    )
    assert definition.expected == ["A"]
    assert from_json(to_json(definition), where="x").questions[0].alone is True


def test_without_dates_sessions_are_told_in_the_order_of_the_file(path: Path) -> None:
    rows = [
        {"session": name, "turns": [{"role": "user", "content": name}]}
        for name in ("b", "a")
    ]
    suite = LOGS.open(
        written(path, *rows, {"question": "Who?", "gold": "b", "after": "b"}),
        {},
        seed=0,
    )
    assert [one.message for one in suite.told("all").history] == ["b", "a"]
    assert suite.definition("question", "all", "q3").steps[0] == Wait(history=1)


def test_rows_made_of_the_public_classes_are_read_again(path: Path) -> None:
    turn = Turn(role="assistant", calls=(ToolCall(name="find", result=[1, 2]),))
    history = History(
        [Session(id="s1", turns=(turn,))],
        [Question(text="What?", gold=("a", 2))],
        user="ann",
    )
    path.write_bytes(
        b"".join(history_lines([history], Header(format="ltm-logs", version=2)))
    )
    file = LogsFile(path)
    assert file.faults == []
    assert file.users["ann"].questions["q3"].golds == ("a", "2")
    assert file.history("ann")[-1].reply == "[called find(): [1,2]]"


FIELDS = [
    (number, (*place, name))
    for number, row in enumerate(WHOLE)
    for place, part in [
        ((), row),
        *((("turns", n), turn) for n, turn in enumerate(row.get("turns", ()))),
    ]
    for name in part
    if name != "meta"
]
WRONG: list[Any] = [None, True, 7, -1.5, "", "\ud800", [], [[]], {}, {"x": {}}, "x" * 9]


@pytest.mark.parametrize(
    ("number", "place"), FIELDS, ids=[f"{n}-{'.'.join(map(str, p))}" for n, p in FIELDS]
)
def test_a_field_of_a_wrong_type_is_right_or_named_with_its_line(
    path: Path, number: int, place: Any
) -> None:
    for value in WRONG:
        rows = copy.deepcopy(WHOLE)
        part: Any = rows[number]
        for step in place[:-1]:
            part = part[step]
        part[place[-1]] = value
        for fault in LogsFile(written(path, *rows)).faults:
            assert fault.startswith(f"{path}:"), fault
            assert "Traceback" not in fault


@pytest.mark.parametrize(
    ("number", "place"), FIELDS, ids=[f"{n}-{'.'.join(map(str, p))}" for n, p in FIELDS]
)
def test_a_field_that_is_missing_is_not_needed_or_named_with_its_line(
    path: Path, number: int, place: Any
) -> None:
    rows = copy.deepcopy(WHOLE)
    part: Any = rows[number]
    for step in place[:-1]:
        part = part[step]
    del part[place[-1]]
    assert all(
        fault.startswith(f"{path}:") for fault in LogsFile(written(path, *rows)).faults
    )


# --- verdicts


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        ({"gold": "B", "choices": ["Otter", "Heron"]}, "Heron", 1.0),
        ({"gold": "Heron", "choices": ["Otter", "Heron"]}, "(a)", 0.0),
        ({"gold": "Heron", "choices": ["Otter", "Heron"]}, "I do not know.", 0.0),
        (
            {"gold": ["A", "B"], "choices": ["Otter", "Heron", "Tern"], "match": "set"},
            "B and A",
            1.0,
        ),
        (
            {"gold": ["A", "B"], "choices": ["Otter", "Heron", "Tern"], "match": "set"},
            "B",
            0.0,
        ),
        ({"gold": "Otter", "match": "exact"}, "the otter", 1.0),
        ({"gold": "Otter", "match": "contains"}, "It is Otter.", 1.0),
        ({"gold": ["a1", "b2"], "match": "sequence"}, "b2; a1", 0.0),
        (
            {"gold": ["Oslo", "Brno"], "match": "recall@2"},
            "1. Brno\n2. Turku\n3. Oslo",
            0.5,
        ),
        ({"gold": 100, "tolerance": 5}, "About 97.", 1.0),
        (
            {"gold": ["The boat", "The race", "The rain"], "match": "order"},
            "boat; rain; race",
            2 / 3,
        ),
    ],
)
def test_what_a_question_names_decides_by_rules_alone(
    path: Path, question: Any, answer: str, value: float
) -> None:
    judge = FakeJudge()
    found = verdict(path, answer, judge, **question)
    assert isinstance(found, Score)
    assert found.value == pytest.approx(value)
    assert judge.asked == []


CLAIMS = {
    "gold": "the Otter, in March",
    "claims": ["states the Otter", "names the month", "is glad about it"],
}


def test_claims_are_open_until_a_judge_grades_them_and_both_sums_stand_side_by_side(
    path: Path,
) -> None:
    definition = definition_of(path, {"question": "Which boat?", **CLAIMS})
    alone = LogsAnswer(definition)
    found = alone(["The Otter."])
    assert isinstance(found, Score)
    assert found.value == pytest.approx(1 / 3)
    assert found.upper == 1
    assert "official" not in alone.metrics("The Otter.")
    judge = FakeJudge({"claim": "Only a part of it. GRADE: partly"})
    graded = LogsAnswer(definition, judge)
    found = graded(["The Otter."])
    assert isinstance(found, Score)
    assert found.value == pytest.approx(2 / 3)
    figures = graded.metrics("The Otter.")
    assert (
        figures["corrected"],
        figures["official"],
        figures["proven"],
    ) == pytest.approx((2 / 3, 1 / 3, 1 / 3))
    assert [one.parts["claim"] for one in judge.asked] == [
        "names the month",
        "is glad about it",
    ]
    assert judge.asked[0].parts["question"] == "Which boat?"


def test_an_answer_that_tells_nothing_meets_no_claim(path: Path) -> None:
    found = verdict(path, "I do not know.", **CLAIMS)
    assert isinstance(found, Score)
    assert (found.value, found.upper) == (0, 0)


def test_an_order_in_other_words_is_open_until_a_judge_says_what_each_line_names(
    path: Path,
) -> None:
    question = {
        "question": "In which order?",
        "gold": ["The seed catalogue", "The rain"],
        "match": "order",
    }
    answer = "the list of plants\nthe rain"
    open_ = LogsAnswer(definition_of(path, question))([answer])
    assert isinstance(open_, Unscored)
    assert open_.cause == "undecided"
    judge = FakeJudge({"order-line": "GRADE: 1"})
    found = LogsAnswer(definition_of(path, question), judge)([answer])
    assert isinstance(found, Score)
    assert (found.value, len(judge.asked)) == (1.0, 1)


def test_full_marks_of_every_match_are_full_marks(path: Path) -> None:
    for question in (
        {"gold": "B", "choices": ["Otter", "Heron"]},
        {"gold": ["A", "B"], "choices": ["x1", "y2"], "match": "set"},
        {"gold": ["Oslo", "Brno"], "match": "set"},
        {"gold": ["Oslo", "Brno"], "match": "sequence"},
        {"gold": ["The boat", "The race"], "match": "order"},
        {"gold": ["Oslo", "Brno"], "match": "recall@5"},
        {"gold": "Oslo", "match": "exact"},
        {"gold": 4, "tolerance": 1},
    ):
        evaluator = LogsAnswer(definition_of(path, {"question": "What?", **question}))
        found = evaluator([evaluator.full_marks])
        assert isinstance(found, Score), question
        assert found.value == 1, question


def test_a_question_with_an_image_shows_it(path: Path) -> None:
    definition = definition_of(
        path, {"question": "Which boat is this?", "gold": "Otter", "image": "boat.png"}
    )
    assert isinstance(definition.steps[-1], Ask)
    assert definition.steps[-1].images == [str(path.parent / "boat.png")]
