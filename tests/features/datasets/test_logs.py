"""Users' own logs: the contents of a file, the messages and questions made from it, and the verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import Ask, Definition, Wait
from pytest_ltm.api.storage import ConfigurationError, DatasetError
from pytest_ltm.datasets import LOGS
from pytest_ltm.datasets.logs import log_file as _file
from pytest_ltm.datasets.logs.log_file import LogsFile
from pytest_ltm.datasets.logs.log_suite import LogsSuite
from pytest_ltm.datasets.logs.log_verdict import LogsAnswer
from pytest_ltm.testing import FakeJudge


def turn(content: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def session(
    name: str = "s1", date: str = "2026-03-02 09:15", *turns: Any, **more: Any
) -> dict[str, Any]:
    return {
        "session": name,
        "date": date,
        "turns": list(turns) or [turn("My cat is called Mo.")],
        **more,
    }


MON = session(
    "mon",
    "2026-03-02 09:15",
    turn("My cat is called Mo."),
    turn("A fine name.", "assistant"),
)
WED = session(
    "wed", "2026-03-04", turn("Off to Oslo.", name="Ann"), turn("Have fun!", name="Ben")
)
CAT = {
    "question": "What is my cat called?",
    "id": "cat",
    "gold": "Mo",
    "evidence": ["mon_1"],
    "kind": "pets",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs.jsonl"


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def opened(path: Path, *rows: Any, **options: str) -> LogsSuite:
    return cast("LogsSuite", LOGS.open(written(path, *rows), options, seed=0))


def the_only(suite: LogsSuite, entry: str = "question") -> Definition:
    [(thread, example)] = suite.places(entry)
    return suite.definition(entry, thread, example)


# --- messages and questions


def test_rounds_are_told_with_both_sides_and_people_by_name(path: Path) -> None:
    suite = opened(path, WED, MON, CAT)
    told = suite.told("all").history
    assert [(one.message, one.reply) for one in told] == [
        ("[2026/03/02 (Mon) 09:15] My cat is called Mo.", "A fine name."),
        ("[2026/03/04 (Wed)] Ann: Off to Oslo.", "I have read it."),
        ("[2026/03/04 (Wed)] Ben: Have fun!", "I have read it."),
    ]
    assert [one.ids for one in told] == [("mon_1", "mon_2"), ("wed_1",), ("wed_2",)]
    assert suite.notes == ("sessions out of order: 1; they are played by date",)


def test_kinds_are_the_scenarios_and_users_the_conversations(path: Path) -> None:
    rows = [
        session(user="ann"),
        session(user="ben@x"),
        {**CAT, "evidence": [], "user": "ann"},
    ]
    suite = opened(path, *rows, {"question": "Who?", "user": "ben@x"})
    assert [entry.name for entry in suite.suite.entries] == ["pets", "question"]
    assert suite.places("pets") == [("ann", "cat")]
    assert suite.places("question") == [("ben_x", "q4")]
    assert suite.alone("ben_x") == {"users": "ben@x"}


@pytest.mark.parametrize(
    ("more", "options", "waits"),
    [
        ({}, {}, [Wait(history=3)]),
        ({"date": "2026-03-03"}, {}, [Wait(history=1)]),
        ({"date": "2026-03-02"}, {}, [Wait(history=1)]),
        ({"date": "2026-03-04T01:00:00+01:00"}, {}, [Wait(history=3)]),
        ({}, {"after": "2k"}, [Wait(history=1), Wait(tokens=2000)]),
    ],
)
def test_a_question_is_asked_at_its_date_before_what_comes_later(
    path: Path, more: Mapping[str, str], options: Mapping[str, str], waits: Any
) -> None:
    definition = the_only(opened(path, MON, WED, {**CAT, **more}, **options), "pets")
    assert list(definition.steps[:-1]) == waits


def test_a_question_after_all_sessions_waits_until_its_date(path: Path) -> None:
    definition = the_only(
        opened(path, MON, {**CAT, "date": "2026-03-02 10:15"}), "pets"
    )
    assert definition.steps[1] == Wait(time=timedelta(hours=1))
    assert (
        cast("Ask", definition.steps[-1]).text
        == "[2026/03/02 (Mon) 10:15] What is my cat called?"
    )


def test_evidence_that_is_a_session_means_all_of_its_turns(path: Path) -> None:
    definition = the_only(opened(path, MON, {**CAT, "evidence": ["mon"]}), "pets")
    assert cast("Ask", definition.steps[-1]).about == ("mon_1", "mon_2")


def test_options_choose_questions(path: Path) -> None:
    rows = [MON, CAT, {"question": "And my dog?", "id": "dog", "never_told": True}]
    assert [
        entry.name for entry in opened(path, *rows, kinds="pets").suite.entries
    ] == ["pets"]
    with pytest.raises(
        ConfigurationError,
        match=r"--ltm-suite=logs.ids: .* has no 'dogs'. Did you mean 'dog'",
    ):
        opened(path, *rows, ids="dogs")
    with pytest.raises(ConfigurationError, match="together they leave no question"):
        opened(path, *rows, ids="dog", kinds="pets")


def test_the_fingerprint_changes_with_the_sessions_and_not_with_the_order_of_lines(
    path: Path,
) -> None:
    described = [
        opened(path, *rows).told("all").described
        for rows in ([MON, WED, CAT], [CAT, WED, MON])
    ]
    assert described[0] == described[1]
    assert opened(path, MON, CAT).told("all").described != described[0]


# --- errors in a file: found before anything is sent, with their line

FAULTS = {
    "no kind of line": ([{"date": "2026-03-02"}], ":1: expected either a session"),
    "a typing error": ([session(turn=1)], ":1: turn: unknown field"),
    "no date": (
        [{"session": "a", "turns": [turn("x")]}, MON],
        ":1: the field 'date' is missing, and other sessions",
    ),
    "no turns field": (
        [{"session": "a", "date": "2026-03-02"}],
        ":1: the field 'turns' is missing",
    ),
    "a date of nothing dated": (
        [
            {"session": "a", "turns": [turn("x")]},
            {**CAT, "evidence": [], "date": "2026-03-03"},
        ],
        ":2: date: no session has one to compare it with",
    ),
    "a header of tomorrow": (
        [{"format": "ltm-logs", "version": 99}, MON],
        ":1: version: this pytest-ltm reads versions",
    ),
    "a header of others": (
        [{"format": "other", "version": 1}, MON],
        ":1: format: expected 'ltm-logs'",
    ),
    "a second header": (
        [MON, {"format": "ltm-logs", "version": 2}],
        ":2: the header is the first line",
    ),
    "an image that is nowhere": (
        [session("a", "2026-03-02", turn("x", images=[{"file": "a.png"}]))],
        ":1: turns[0]: there is no image 'a.png'",
    ),
    "an image of nothing": (
        [session("a", "2026-03-02", turn("x", images=[{}]))],
        ":1: turns[0].images[0]: expected an",
    ),
    "a call of nothing": (
        [session("a", "2026-03-02", turn("x", calls=[{}]))],
        ":1: turns[0].calls[0]: the field 'name'",
    ),
    "one choice": (
        [MON, {**CAT, "choices": ["Mo"]}],
        ":2: choices: expected a list of 2 to 26 texts",
    ),
    "gold that is no choice": (
        [MON, {**CAT, "choices": ["Al", "Bo"]}],
        ":2: gold: expected one of the choices: A, B",
    ),
    "a match of nothing": (
        [MON, {**CAT, "match": "fuzzy"}],
        ":2: match: expected answer, exact, contains",
    ),
    "a match without gold": (
        [MON, {"question": "Who?", "match": "set"}],
        ":2: match: needs a 'gold'",
    ),
    "a tolerance of words": (
        [MON, {**CAT, "tolerance": 1}],
        ":2: tolerance: needs a 'gold' that is a number",
    ),
    "asked somehow": (
        [MON, {**CAT, "asks": "twice"}],
        ":2: asks: expected 'alone' or 'together'",
    ),
    "a date in words": (
        [session("a", "2 March 2026")],
        ":1: date: expected a date such as",
    ),
    "no such day": (
        [session("a", "2026-02-30")],
        ":1: date: expected a date that there is",
    ),
    "no turns": (
        [{"session": "a", "date": "2026-03-02", "turns": []}],
        ":1: turns: holds no turn",
    ),
    "another role": (
        [session("a", "2026-03-02", turn("x", "system"))],
        ":1: turns[0].role: expected 'user', 'assi",
    ),
    "nothing said": (
        [session("a", "2026-03-02", turn(" "))],
        ":1: turns[0].content: expected a non-empty text",
    ),
    "half a character": (
        [session("a", "2026-03-02", turn("\ud800"))],
        ":1: turns[0].content: half of a surrogate",
    ),
    "an id twice": ([MON, MON], ":2: the session 'mon' is in line 1 already"),
    "a question's id twice": (
        [MON, CAT, CAT],
        ":3: the question 'cat' is in line 2 already",
    ),
    "evidence of nothing": (
        [MON, {**CAT, "evidence": ["mon_3"]}],
        ":2: evidence: no session and no turn is called",
    ),
    "evidence of others": (
        [
            session(user="a"),
            session("s2", user="b"),
            {**CAT, "user": "a", "evidence": ["s2"]},
        ],
        ":3: evidence: no session and no turn of the user 'a' is called 's2'",
    ),
    "evidence to come": (
        [MON, WED, {**CAT, "date": "2026-03-03", "evidence": ["wed"]}],
        ":3: evidence: 'wed' is later than the question, which is of 2026/03/03 (Tue)",
    ),
    "evidence of nothing told": (
        [MON, {**CAT, "never_told": True}],
        ":2: evidence: what was never told has none",
    ),
    "no golds": ([MON, {**CAT, "gold": []}], ":2: gold: an empty list"),
    "a kind with blanks": (
        [MON, {**CAT, "kind": "my pets"}],
        ":2: kind: expected a name of letters",
    ),
    "some without a user": (
        [session(user="a"), session("s2")],
        ":2: no 'user', and other lines have one",
    ),
    "nobody's question": (
        [session(user="a"), {"question": "Who?", "user": "b"}],
        ":2: there are questions, but no",
    ),
    "a session named like a turn": (
        [session("a"), session("a_1")],
        ":2: 'a_1' is also the name of a turn of 'a'",
    ),
}


@pytest.mark.parametrize(("rows", "fault"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong_is_said_with_file_and_line(
    path: Path, rows: Any, fault: str
) -> None:
    found = LogsFile(written(path, *rows)).faults
    assert len(found) == 1
    assert found[0].startswith(f"{path}{fault}")
    with pytest.raises(DatasetError) as raised:
        LOGS.open(path, {}, seed=0)
    assert str(raised.value) == found[0]


def test_all_that_is_wrong_is_counted(path: Path) -> None:
    written(path, {"x": 1}, {"y": 1}, {"z": 1})
    with pytest.raises(
        DatasetError, match=r":1: .* There are 2 more: ltm data logs-check"
    ):
        LOGS.open(path, {}, seed=0)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", ": holds neither a session nor a question"),
        (b"\n \r\n", ": holds neither a session nor a question"),
        (b"[{}]", ":1: a JSON list, but each line is an object of its own"),
        (b"\x1f\x8b\x08", ":1: not JSON: it is compressed"),
        ('{"a": 1}'.encode("utf-16"), ":1: is UTF-16. Save it as UTF-8"),
        (
            '{"session": "é"}'.encode("latin-1"),
            ":1: not UTF-8 (at byte 13 of the line)",
        ),
        (b'{"session": "a",\n"date": ', ":1: not JSON"),
    ],
)
def test_what_is_no_file_of_logs_is_said_with_the_way_out(
    path: Path, content: bytes, fault: str
) -> None:
    path.write_bytes(content)
    with pytest.raises(DatasetError) as raised:
        LOGS.open(path, {}, seed=0)
    assert str(raised.value).startswith(f"{path}{fault}")


def test_marks_and_line_ends_of_other_systems_are_read(path: Path) -> None:
    rows = "\r\n".join(
        json.dumps(row, ensure_ascii=False)
        for row in (MON, {**WED, "session": "mié"}, CAT)
    )
    path.write_bytes(b"\xef\xbb\xbf" + rows.encode())
    suite = cast("LogsSuite", LOGS.open(path, {}, seed=0))
    assert [one.ids[0] for one in suite.told("all").history] == [
        "mon_1",
        "mié_1",
        "mié_2",
    ]


def test_a_line_without_end_is_not_read_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_file, "LONGEST", 1000)
    path.write_text("x" * 5000)
    with pytest.raises(DatasetError, match=r":1: longer than 1,000 bytes"):
        LOGS.open(path, {}, seed=0)


def test_no_file_and_no_question_say_what_to_do(path: Path) -> None:
    with pytest.raises(
        DatasetError,
        match=r"give --ltm-suite='logs.data=FILE.jsonl', or make one of a chat export",
    ):
        LOGS.open(None, {}, seed=0)
    with pytest.raises(DatasetError, match="holds no question: add lines such as"):
        opened(path, MON)


# --- verdicts


def judged(path: Path, answer: str, **question: Any) -> Score | Unscored:
    return LogsAnswer(
        the_only(opened(path, MON, {"question": "What is my cat called?", **question}))
    )([answer])


@pytest.mark.parametrize(
    ("question", "answer", "value"),
    [
        ({"gold": "Mo"}, "Your cat is called Mo.", 1.0),
        ({"gold": "Mo"}, "Your cat is called Felix.", 0.0),
        ({"gold": ["Moses", "Mo"]}, "It is Mo.", 1.0),
        ({"gold": 3}, "3", 1.0),
        ({"never_told": True}, "You never told me that.", 1.0),
        ({"never_told": True}, "Your cat is called Mo.", 0.0),
    ],
)
def test_rules_score_what_they_can_tell(
    path: Path, question: Any, answer: str, value: float
) -> None:
    found = judged(path, answer, **question)
    assert isinstance(found, Score)
    assert found.value == value


@pytest.mark.parametrize("answer", ["Mo", "", "I do not know."])
def test_without_a_gold_answer_nothing_is_scored(path: Path, answer: str) -> None:
    assert judged(path, answer) == Unscored(
        "unmeasurable: the file gives no gold answer", evidence=answer
    )


def test_full_marks_are_full_marks(path: Path) -> None:
    for question in ({"gold": "Mo"}, {"gold": ["Mo", "Moses"]}, {"never_told": True}):
        evaluator = LogsAnswer(
            the_only(
                opened(path, MON, {"question": "What is my cat called?", **question})
            )
        )
        found = evaluator([evaluator.full_marks])
        assert isinstance(found, Score)
        assert found.value == 1


@pytest.mark.slow
def test_figures_stand_beside_the_score(path: Path) -> None:
    evaluator = LogsAnswer(
        the_only(opened(path, MON, WED, {**CAT, "evidence": ["mon_1", "wed"]}), "pets")
    )
    assert evaluator.metrics("It is Mo", ["wed_2"]) == {
        "f1": 0.5,
        "contains": 1.0,
        "recall": 0.5,
    }
    assert evaluator.metrics("Felix", ["mon_1", "wed_1"]) == {
        "f1": 0.0,
        "contains": 0.0,
        "recall": 1.0,
    }


GRADED = {"longmemeval-answer": "GRADE: yes", "longmemeval-abstention": "GRADE: yes"}


@pytest.mark.parametrize(
    ("question", "judges", "verdict"),
    [
        ({"gold": "Mo"}, "rest", (0.0, "longmemeval-rules/1", 0)),
        ({"gold": ["Mo", "Moses"]}, "all", (1.0, "judge longmemeval-answer/1", 1)),
        ({"never_told": True}, "all", (1.0, "judge longmemeval-abstention/1", 1)),
        ({}, "all", (None, "", 0)),
    ],
)
def test_a_judge_decides_the_rest_or_all_and_never_without_a_gold_answer(
    path: Path, question: Any, judges: str, verdict: Any
) -> None:
    judge = FakeJudge(GRADED)
    suite = opened(
        path, MON, {"question": "What is my cat called?", **question}, judge=judges
    )
    found = LogsAnswer(the_only(suite), judge)(["Your cat is called Felix."])
    assert (
        found.value if isinstance(found, Score) else None,
        found.rule,
        len(judge.asked),
    ) == verdict


CHINESE = {"question": "我在哪里上大学？", "gold": "东京大学"}


@pytest.mark.parametrize(
    "question", [CHINESE, {"question": "我的狗叫什么名字？", "never_told": True}]
)
def test_a_no_that_is_not_proven_is_open_and_goes_to_the_judge(
    path: Path, question: Any
) -> None:
    suite, answer = opened(path, MON, question), "你在东京大学上学。"

    assert isinstance(open_ := LogsAnswer(the_only(suite))([answer]), Unscored)
    assert open_.cause == "undecided"
    judge = FakeJudge(GRADED)
    assert isinstance(decided := LogsAnswer(the_only(suite), judge)([answer]), Score)
    assert (decided.value, len(judge.asked)) == (1.0, 1)


@pytest.mark.parametrize("date", ["2024-03-10", "2024-03-10 23:45"])
@pytest.mark.parametrize("zone", ["-05:00", "+00:00", "+09:00", "+05:45"])
def test_a_questions_day_ends_in_the_sessions_own_zone(
    tmp_path: Path, zone: str, date: str
) -> None:
    rows = [
        session("a", f"2024-03-10T23:30:00{zone}", turn("My locker is number 41.")),
        session("b", f"2024-03-11T00:30:00{zone}", turn("It is number 52 now.")),
        {"question": "Which locker?", "gold": "41", "date": date},
    ]
    definition = the_only(opened(tmp_path / "logs.jsonl", *rows))
    assert definition.steps[0] == Wait(history=1)


def test_sessions_of_one_moment_in_two_zones_are_told_by_their_days(
    tmp_path: Path,
) -> None:
    path = tmp_path / "logs.jsonl"
    turns = [{"role": "user", "content": "My locker is number 41."}]
    lines: list[dict[str, Any]] = [
        {"session": "a", "date": "2024-03-10T23:30:00-05:00", "turns": turns},
        {"session": "b", "date": "2024-03-11T00:30:00-04:00", "turns": turns},
        {"question": "Which locker?", "gold": "41", "date": "2024-03-10"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    places = list(LogsFile(path).users[""].sessions.values())
    [asked] = LogsFile(path).users[""].questions.values()
    assert asked.asked is not None
    assert [place.is_told_by(asked.asked) for place in places] == [True, False]
