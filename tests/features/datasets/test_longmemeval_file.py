"""Reading LongMemEval files: accepted and refused input, and the cache between runs."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import LONGMEMEVAL
from longmemeval_files import records, written

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.longmemeval import record as _index
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile, ability_of


def opened(tmp_path: Path, data: object) -> LongMemEvalFile:
    return LongMemEvalFile(written(tmp_path / "data.json", data))


def test_sessions_come_in_the_order_of_their_dates(tmp_path: Path) -> None:
    record = opened(tmp_path, records()).record("kiln")

    assert [session.id for session in record.sessions] == [
        "answer_kiln_1",
        "filler_tea",
        "answer_kiln_2",
    ]


def test_an_answer_may_be_a_number(tmp_path: Path) -> None:
    assert opened(tmp_path, records()).record("kiln").answer == "5"


def test_a_question_dated_before_its_last_session_is_noted(tmp_path: Path) -> None:
    file = opened(tmp_path, records())

    assert file.record("moss_abs").notes == (
        "the question is dated before its last session",
    )
    assert file.record("kiln").notes == ()


def test_evidence_that_is_absent_is_noted(tmp_path: Path) -> None:
    data = records()
    data[0]["answer_session_ids"].append("answer_kiln_3")

    assert opened(tmp_path, data).record("kiln").notes == (
        "its evidence is absent: no session answer_kiln_3",
    )


def test_a_session_told_twice_is_kept_and_noted(tmp_path: Path) -> None:
    data = records()
    for name in ("haystack_dates", "haystack_session_ids", "haystack_sessions"):
        data[0][name].append(data[0][name][2])
    record = opened(tmp_path, data).record("kiln")

    assert len(record.sessions) == 4
    assert record.notes == ("the session filler_tea is told more than once",)


def test_sessions_without_ids_are_numbered(tmp_path: Path) -> None:
    data = records()
    del data[2]["haystack_session_ids"]

    assert opened(tmp_path, data).record("room").sessions[0].id == "session_0"


def test_abstention_is_an_ability_whatever_the_type() -> None:
    assert ability_of("moss_abs", "temporal-reasoning") == "abstention"
    assert ability_of("moss", "single-session-assistant") == "information-extraction"
    assert ability_of("moss", "knowledge-update") == "knowledge-update"


def changed(change: Callable[[list[dict[str, Any]]], object]) -> str:
    data = records()
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (json.dumps(records())[:-200], "truncated"),
        ("", "it is empty"),
        ('{"a": 1}', "not a JSON list of records"),
        (
            changed(lambda data: data[1].update(question_id="kiln")),
            "2 records have the question_id 'kiln'",
        ),
        (
            changed(lambda data: data[1].update(question_type="knowledge-updates")),
            "Did you mean 'knowledge-update'",
        ),
        (
            changed(lambda data: data[1].pop("question_date")),
            "the field 'question_date' is missing",
        ),
        (
            changed(lambda data: data[1].pop("question_date")),
            "(fields: question_id, question_type, question, answer, ",
        ),
        ('[{"question_id": 1, }]', "record 1 (at byte 1): not JSON"),
        ("[]", "holds no record: expected a JSON list of objects"),
        ("[1, 2]", "holds no record: expected a JSON list of objects"),
        (
            "<!DOCTYPE html><p>[x]</p>",
            "it begins with '<!DOCTYPE html><p>[x]</p>'. Download the file itself",
        ),
        ("\n".join(map(json.dumps, records())), "JSON lines need [ ] around them"),
        (json.dumps(records()) * 2, "has more data after the end of its list"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, content: str, told: str
) -> None:
    path = tmp_path / "data.json"
    path.write_text(content)

    with pytest.raises(DatasetError) as error:
        LongMemEvalFile(path)
    assert told in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        (
            "haystack_dates",
            ["2024/05/20 (Mon) 18:30"],
            "parallel lists of different length: 1 haystack_dates, 3 hay",
        ),
        (
            "haystack_dates",
            ["2024/05/20", "2024/13/02 (Sat) 10:15", "2024/04/01"],
            "got '2024/13/02 (Sat) 10:15'",
        ),
        ("question_date", "soon", "expected a date such as '2023/05/30 (Tue) 23:40'"),
        ("answer", None, "expected a text or a number"),
        ("answer", True, "expected a text or a number, got True"),
        ("answer", " ", "expected a text or a number, got ' '"),
        ("answer", float("nan"), "expected a text or a number, got nan"),
        (
            "haystack_sessions",
            [[], [], []],
            "holds no turn, so that there is nothing to ask about",
        ),
        (
            "haystack_sessions",
            [[{"role": [], "content": "Hi"}], [], []],
            "expected 'user' or 'assistant'",
        ),
        (
            "haystack_sessions",
            [[{"role": "bot", "content": "Hi"}], [], []],
            "expected 'user' or 'assistant'",
        ),
        (
            "haystack_sessions",
            [[{"role": "user", "content": 7}], [], []],
            "expected a text",
        ),
    ],
)
def test_a_record_that_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, field: str, value: object, told: str
) -> None:
    data = records()
    data[0][field] = value
    file = opened(tmp_path, data)

    with pytest.raises(DatasetError, match=r"data\.json: kiln") as error:
        file.record("kiln")
    assert told in str(error.value)
    assert [entry.fault for entry in file.entries] == [str(error.value), "", ""]
    assert file.record("room").id == "room"


def test_a_folder_and_a_file_that_is_not_there_are_refused_with_the_way_out(
    tmp_path: Path,
) -> None:
    with pytest.raises(DatasetError, match=r"is a folder\. Name one of its files"):
        LongMemEvalFile(tmp_path, tmp_path / "cache")
    with pytest.raises(
        DatasetError,
        match=r"not shipped: download it, or make questions with .* longmemeval-g",
    ):
        LongMemEvalFile(tmp_path / "nowhere.json", tmp_path / "cache")


def test_a_compressed_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_bytes(gzip.compress(b"[]"))

    with pytest.raises(
        DatasetError,
        match=r"data\.json: not a JSON list of records: it is compressed\. Unpack it",
    ):
        LongMemEvalFile(tmp_path / "data.json")


def test_a_byte_order_mark_before_the_list_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(
        "\ufeff" + json.dumps(records()), encoding="utf-8"
    )

    assert LongMemEvalFile(tmp_path / "data.json").record("room").id == "room"


def test_an_id_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no record 'kilm'\. Did you mean 'kiln'"):
        opened(tmp_path, records()).record("kilm")


def test_an_unchanged_file_is_scanned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "data.json", records())
    first = LongMemEvalFile(path, tmp_path / "cache")
    monkeypatch.setattr(
        _index,
        "iter_record_slices",
        lambda path: pytest.fail(f"{path} is scanned again"),
    )
    again = LongMemEvalFile(path, tmp_path / "cache")

    assert again.entries == first.entries
    assert again._index == first._index
    assert again.record("kiln") == first.record("kiln")


def test_a_changed_file_is_scanned_again(tmp_path: Path) -> None:
    path = written(tmp_path / "data.json", records())
    LongMemEvalFile(path, tmp_path / "cache")
    written(path, records()[:1])
    os.utime(path, ns=(1, 1))

    assert [
        entry.id for entry in LongMemEvalFile(path, tmp_path / "cache").entries
    ] == ["kiln"]


def test_an_index_that_cannot_be_read_or_kept_costs_nothing_but_time(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "data.json", records())
    LongMemEvalFile(path, tmp_path / "cache")
    for index in (tmp_path / "cache").iterdir():
        index.write_text('{"entries": 3')
    (tmp_path / "file").write_text("")

    assert len(LongMemEvalFile(path, tmp_path / "cache").entries) == 3
    assert len(LongMemEvalFile(path, tmp_path / "file" / "cache").entries) == 3


def test_a_file_changed_under_the_run_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "data.json", records())
    file = LongMemEvalFile(path)
    written(path, [{**records()[0], "question_id": "kilo"}, *records()[1:]])

    with pytest.raises(DatasetError, match="the record of 'kilo' instead"):
        file.record("kiln")


@pytest.mark.published
@pytest.mark.parametrize(
    "name", ["oracle_exact_2", "oracle_rebuilt_18", "s_cleaned_3", "abs_truncated_4"]
)
def test_the_published_samples_are_read(name: str) -> None:
    file = LongMemEvalFile(LONGMEMEVAL / f"longmemeval_{name}.json")
    found = list(file.records())

    assert len(found) == int(name.rpartition("_")[2])
    for record in found:
        assert list(record.sessions) == sorted(
            record.sessions, key=lambda session: session.at
        )
