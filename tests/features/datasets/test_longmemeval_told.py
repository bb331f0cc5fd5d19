"""The delivery of LongMemEval's histories: rounds, dates, one history per question or one for many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longmemeval_files import records, written

from pytest_ltm.datasets.longmemeval.conversations import (
    LATER,
    round_exchanges,
    told_alone,
    told_together,
)
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile, LongMemEvalRecord


def loaded(
    tmp_path: Path, data: list[dict[str, Any]] | None = None
) -> list[LongMemEvalRecord]:
    return list(
        LongMemEvalFile(written(tmp_path / "data.json", data or records())).records()
    )


def test_a_round_is_what_the_user_says_and_what_comes_back(tmp_path: Path) -> None:
    moss = loaded(tmp_path)[1]
    opening, question = round_exchanges(0, moss.sessions[0])

    assert opening.message.endswith("] (no reply)")
    assert (opening.reply, opening.holds) == ("Welcome back!", ("answer_moss_1",))
    assert question.message == "My aunt named her cat Moss.\nIs that usual?"
    assert question.holds == ("answer_moss_2", "answer_moss_3", "answer_moss_4")


def test_agents_that_accept_history_are_told_both_sides_and_others_a_message(
    tmp_path: Path,
) -> None:
    past = told_alone(loaded(tmp_path)[0]).past

    assert past[0].message == "[2024/03/02 (Sat) 10:15] I fired bowls today."
    assert past[0].reply == "How did they turn out?"
    assert past[1].message == "Well, though my kiln has three shelves only."
    assert past[1].asked == (
        "[2024/03/02 (Sat) 10:15] I said: Well, though my kiln has three shelves only.\nYou said: Then fire twice."
    )
    assert [one.at for one in past] == sorted(one.at for one in past)


def test_a_session_that_the_assistant_begins_has_no_words_of_the_user(
    tmp_path: Path,
) -> None:
    past = told_alone(loaded(tmp_path)[1]).past

    assert past[0].message == "[2024/04/10 (Wed) 20:00] (no reply)"
    assert past[0].reply == "Welcome back!"


def test_a_question_knows_where_its_evidence_stands(tmp_path: Path) -> None:
    kiln = told_alone(loaded(tmp_path)[0]).questions["kiln"]

    assert kiln.evidence == kiln.wanted == ("answer_kiln_1_3", "answer_kiln_2_1")
    assert kiln.after == 4


def test_without_marks_the_cited_sessions_are_the_evidence_and_retrieval_is_not_measured(
    tmp_path: Path,
) -> None:
    data = records()
    for session in data[0]["haystack_sessions"]:
        for turn in session:
            turn.pop("has_answer", None)
    kiln = told_alone(loaded(tmp_path, data)[0]).questions["kiln"]

    assert len(kiln.evidence) == 6
    assert kiln.wanted == ()


def test_retrieval_is_not_measured_where_nothing_can_be_known(tmp_path: Path) -> None:
    data = records()
    data[1]["haystack_sessions"][0][1]["has_answer"] = True

    assert told_alone(loaded(tmp_path, data)[1]).questions["moss_abs"].wanted == ()


def test_one_history_holds_the_sessions_of_all_by_date_and_none_twice(
    tmp_path: Path,
) -> None:
    told = told_together(loaded(tmp_path))

    assert [one.ids[0] for one in told.past] == [
        "answer_kiln_1_1",
        "answer_kiln_1_3",
        "filler_tea_1",
        "answer_moss_1",
        "answer_moss_2",
        "answer_kiln_2_1",
        "answer_room_1",
    ]
    assert {name: question.after for name, question in told.questions.items()} == {
        "kiln": 6,
        "moss_abs": 5,
        "room": 7,
    }


def test_a_question_is_noted_whose_date_the_shared_history_passes(
    tmp_path: Path,
) -> None:
    questions = told_together(loaded(tmp_path)).questions

    assert LATER in questions["kiln"].notes
    assert LATER not in questions["room"].notes


def test_evidence_that_is_filler_elsewhere_is_told_once_at_its_own_date(
    tmp_path: Path,
) -> None:
    data = records()
    tea = {
        "haystack_dates": "2024/01/01 (Mon) 00:00",
        "haystack_session_ids": "filler_tea",
    }
    for name, value in (
        tea | {"haystack_sessions": data[0]["haystack_sessions"][2]}
    ).items():
        data[2][name].insert(0, value)
    data[1]["answer_session_ids"].append("filler_tea")
    for order in (data, data[::-1]):
        past = told_together(loaded(tmp_path, order)).past
        (tea_told,) = (one for one in past if "filler_tea_1" in one.ids)
        assert (
            tea_told.message == "[2024/05/02 (Thu) 07:45] How hot should green tea be?"
        )


def test_sessions_of_one_name_and_other_words_are_both_told(tmp_path: Path) -> None:
    data = records()
    data[1]["haystack_sessions"][1][1]["content"] = "Boiling, of course."
    told = told_together(loaded(tmp_path, data))

    assert {"filler_tea_1", "moss_abs/filler_tea_1"} <= {
        one.ids[0] for one in told.past
    }


def test_the_users_turns_are_known_where_they_are_not_the_odd_ones(
    tmp_path: Path,
) -> None:
    assert told_together(loaded(tmp_path)).irregular == {"answer_moss": (2, 3)}
