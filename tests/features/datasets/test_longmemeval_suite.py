"""LongMemEval as a suite: selection, separate and shared histories, and the time of each question."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from longmemeval_files import records, written

from pytest_ltm.api.scenarios import Ask, Wait
from pytest_ltm.api.storage import ConfigurationError, DatasetError
from pytest_ltm.datasets import LONGMEMEVAL
from pytest_ltm.datasets.longmemeval.conversations import LongMemEvalSuite


def suite(tmp_path: Path, **options: str) -> LongMemEvalSuite:
    seed = int(options.pop("seed", "0"))
    return cast(
        "LongMemEvalSuite",
        LONGMEMEVAL.open(
            written(tmp_path / "data.json", records()), options, seed=seed
        ),
    )


def asked(played: LongMemEvalSuite) -> dict[str, list[tuple[str, str]]]:
    return {
        entry.name: list(played.places(entry.name)) for entry in played.suite.entries
    }


def test_each_question_has_a_conversation_of_its_own_and_an_entry_is_a_type(
    tmp_path: Path,
) -> None:
    assert asked(suite(tmp_path)) == {
        "single_session_user": [("moss_abs", "0")],
        "single_session_preference": [("room", "0")],
        "knowledge_update": [("kiln", "0")],
    }


@pytest.mark.parametrize(
    ("option", "value", "ids"),
    [
        ("types", "knowledge-update, single-session-preference", {"kiln", "room"}),
        ("abilities", "abstention", {"moss_abs"}),
        ("abilities", "information-extraction,knowledge-update", {"kiln", "room"}),
        ("ids", "room,kiln", {"kiln", "room"}),
        ("sample", "3", {"kiln", "moss_abs", "room"}),
    ],
)
def test_questions_are_selected(
    tmp_path: Path, option: str, value: str, ids: set[str]
) -> None:
    played = suite(tmp_path, **{option: value})

    assert {thread for places in asked(played).values() for thread, _ in places} == ids
    assert f"{len(ids)} question" in played.title


def test_a_sample_is_drawn_by_the_seed(tmp_path: Path) -> None:
    drawn = [
        json.dumps(asked(suite(tmp_path, seed=str(seed), sample="1")))
        for seed in (0, 0, *range(1, 9))
    ]

    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("types", "knowledge-updates", "Did you mean 'knowledge-update'"),
        (
            "abilities",
            "forgetting",
            "'forgetting' is not one of information-extraction, multi-session",
        ),
        ("ids", "rom", "no question 'rom'. Did you mean 'room'"),
        ("sample", "0", "expected a number of questions, got '0'"),
        ("share", "two", "expected a number of questions, got 'two'"),
        ("history", "mine", "not one of own, shared"),
        (
            "after",
            "soon",
            "expected a number of tokens such as 2000, 8k or 1.5m, got 'soon'",
        ),
        ("after", "9" * 400, "expected a number of tokens such as 2000, 8k or 1.5m"),
        ("judge", "some", "not one of rest, all"),
    ],
)
def test_a_wrong_option_is_told_by_its_name(
    tmp_path: Path, option: str, value: str, told: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        suite(tmp_path, **{option: value})
    assert f"--ltm-suite=longmemeval?{option}: " in str(error.value)
    assert told in str(error.value)


def test_what_is_selected_may_be_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="together they leave no question"):
        suite(tmp_path, types="knowledge-update", ids="room")


def test_without_a_file_it_is_told_where_to_get_one() -> None:
    with pytest.raises(DatasetError, match="is not shipped: download"):
        LONGMEMEVAL.open(None, {}, seed=0)


def test_a_question_is_asked_at_its_date_after_its_sessions(tmp_path: Path) -> None:
    steps = suite(tmp_path).definition("knowledge_update", "kiln", "0").steps

    assert steps == (
        Wait(history=4),
        Wait(time=timedelta(days=20, hours=14, minutes=30)),
        Ask(
            "[2024/06/10 (Mon) 09:00] How many shelves does my kiln have?",
            ("answer_kiln_1_3", "answer_kiln_2_1"),
        ),
    )


def test_a_question_of_an_earlier_date_is_asked_at_once_and_noted(
    tmp_path: Path,
) -> None:
    definition = suite(tmp_path).definition("single_session_user", "moss_abs", "0")

    assert [type(step) for step in definition.steps] == [Wait, Ask]
    assert definition.questions[0].text.startswith("[2024/04/15 (Mon) 12:00]")
    assert definition.parameters["notes"] == [
        "the question is dated before its last session"
    ]


def test_questions_share_histories_of_equal_size(tmp_path: Path) -> None:
    played = suite(tmp_path, history="shared", share="2")
    threads = [thread for places in asked(played).values() for thread, _ in places]

    assert sorted(threads) in (["h0", "h0", "h1"], ["h0", "h1", "h1"])
    assert played.title == "data.json: 3 questions, in 2 shared histories"


def test_in_a_shared_history_each_question_waits_for_its_own_distance(
    tmp_path: Path,
) -> None:
    played = suite(tmp_path, history="shared", after="1.5k")

    assert played.definition("single_session_user", "h0", "moss_abs").steps[:2] == (
        Wait(history=5),
        Wait(tokens=1500),
    )
    assert played.definition("single_session_preference", "h0", "room").steps[:2] == (
        Wait(history=7),
        Wait(tokens=1500),
    )
    assert len(played.told("h0").history) == 7


def test_what_is_told_is_described_by_its_content(tmp_path: Path) -> None:
    before = suite(tmp_path).told("kiln").described
    data = records()
    data[0]["haystack_sessions"][2][1]["content"] = "Cooler than black tea."
    after = LONGMEMEVAL.open(written(tmp_path / "data.json", data), {}, seed=0)

    assert after.told("kiln").described != before
    assert after.told("room").described == suite(tmp_path).told("room").described


def test_ids_too_much_alike_for_labels_are_refused(tmp_path: Path) -> None:
    data = records()
    data[0]["question_id"], data[2]["question_id"] = "a b", "a_b"

    with pytest.raises(DatasetError, match="'a b' and 'a_b' both become"):
        LONGMEMEVAL.open(written(tmp_path / "data.json", data), {}, seed=0)


def test_what_is_odd_about_the_chosen_questions_is_noted_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    data = records()
    data[0]["question_date"] = "someday"
    played = LONGMEMEVAL.open(
        written(tmp_path / "data.json", data), {}, seed=0, cache=tmp_path / "cache"
    )
    again = LONGMEMEVAL.open(
        tmp_path / "data.json", {"ids": "moss_abs"}, seed=0, cache=tmp_path / "cache"
    )

    assert "3 questions, 1 of them cannot be read" in played.title
    assert len(played.notes) == 2
    assert "data.json: kiln: question_date: expected a date such as" in played.notes[0]
    assert again.notes == ("moss_abs: the question is dated before its last session",)
    assert again.title == "data.json: 1 question, each with a history of its own"


def test_ids_that_are_alike_in_node_ids_are_refused(tmp_path: Path) -> None:
    data = records()
    data[0]["question_id"], data[2]["question_id"] = "a-b", "a_b"

    with pytest.raises(DatasetError, match="'a-b' and 'a_b' both become"):
        LONGMEMEVAL.open(written(tmp_path / "data.json", data), {}, seed=0)
