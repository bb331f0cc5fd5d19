"""Reading LoCoMo files: layouts, warnings about oddities, and errors with their position."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import LOCOMO
from locomo_files import SECRET, second, talk, written

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.locomo.answer import load_audit
from pytest_ltm.datasets.locomo.samples import Sample, load_locomo


def loaded(tmp_path: Path, *samples: dict[str, Any]) -> tuple[Sample, ...]:
    return load_locomo(written(tmp_path / "data.json", list(samples))).samples


def test_sessions_and_turns_are_read(tmp_path: Path) -> None:
    (sample,) = loaded(tmp_path, talk())

    assert [session.number for session in sample.sessions] == [1, 2]
    assert sample.sessions[1].at.isoformat() == "2024-04-21T19:40:00+00:00"
    assert sample.turns[1].caption == "a cello on a chair"
    assert sample.speakers == ("Ines", "Tomas")


def test_what_a_photo_was_searched_with_is_not_read(tmp_path: Path) -> None:
    (sample,) = loaded(tmp_path, talk())

    assert SECRET not in repr(sample.sessions)


def test_a_file_that_is_not_the_published_one_runs_with_a_note(tmp_path: Path) -> None:
    data = load_locomo(written(tmp_path / "data.json", [talk()]))

    assert data.known_as is None
    assert "data.json is not the published file" in data.notes[0]


def test_dates_without_sessions_are_noted(tmp_path: Path) -> None:
    (sample,) = loaded(tmp_path, talk())

    assert "has dates but no turns for the sessions 3" in sample.notes


def test_integer_answers_are_read_as_texts(tmp_path: Path) -> None:
    (sample,) = loaded(tmp_path, talk())

    assert sample.questions[3].answer == "2"


def test_questions_that_occur_twice_are_kept_by_their_index(tmp_path: Path) -> None:
    (sample,) = loaded(tmp_path, talk())

    assert [q.index for q in sample.questions if q.text.startswith("How many")] == [
        3,
        5,
    ]
    assert any("1 question texts occur more than once" in note for note in sample.notes)


def test_a_question_without_evidence_is_noted_and_kept(tmp_path: Path) -> None:
    (sample,) = loaded(tmp_path, talk())

    assert sample.questions[5].evidence == ()
    assert "question 5: has no evidence" in sample.notes


@pytest.mark.parametrize(
    ("cited", "meant", "noted"),
    [
        (["D1:1"], ("D1:1",), False),
        (["D1:1; D2:1"], ("D1:1", "D2:1"), True),
        (["D1:1 D2:1"], ("D1:1", "D2:1"), True),
        (["D01:01"], ("D1:1",), True),
        (["D:1:1"], ("D1:1",), True),
        (["D9:9"], (), True),
        (["D"], (), True),
        (["D1:1", "D9:9"], ("D1:1",), True),
        ([11], (), True),
        ([["D1:1"], None, ""], ("D1:1",), True),
        ({"turn": 1}, (), True),
        ("D1:2", ("D1:2",), False),
        (None, (), True),
    ],
)
def test_malformed_evidence_is_repaired_or_left_out_and_noted(
    tmp_path: Path, cited: Any, meant: tuple[str, ...], noted: bool
) -> None:
    asked = {"question": "Who?", "answer": "x", "category": 4, "evidence": cited}
    (sample,) = loaded(tmp_path, talk(qa=[asked]))

    assert sample.questions[0].evidence == meant
    assert any(note.startswith("question 0:") for note in sample.notes) == noted


def test_sessions_are_told_by_date_whatever_their_numbers(tmp_path: Path) -> None:
    mixed = talk()
    mixed["conversation"]["session_1_date_time"] = "9:05 am on 3 March, 2025"
    (sample,) = loaded(tmp_path, mixed)

    assert [session.number for session in sample.sessions] == [2, 1]
    assert any("not in the order of their dates" in note for note in sample.notes)


def test_ids_that_occur_twice_are_noted(tmp_path: Path) -> None:
    double = talk()
    double["conversation"]["session_2"][0]["dia_id"] = "D1:1"
    (sample,) = loaded(tmp_path, double)

    assert any("D1:1" in note and "more than one turn" in note for note in sample.notes)


def test_one_conversation_in_a_file_of_its_own_is_read(tmp_path: Path) -> None:
    older = {
        name: value
        for name, value in talk().items()
        if name not in {"sample_id", "conversation"}
    }
    file = written(tmp_path / "7_chat.json", older | talk()["conversation"])

    assert load_locomo(file).samples[0].id == "7_chat"


def test_a_folder_has_a_conversation_in_each_file(tmp_path: Path) -> None:
    written(tmp_path / "b.json", second())
    written(tmp_path / "a.json", talk())

    assert [sample.id for sample in load_locomo(tmp_path).samples] == [
        "conv-1",
        "conv-2",
    ]


def test_of_the_published_folder_the_published_file_is_read(tmp_path: Path) -> None:
    written(tmp_path / "locomo10.json", [second()])
    written(tmp_path / "audit.json", [{"question_id": "locomo_0_qa0"}])

    assert [sample.id for sample in load_locomo(tmp_path).samples] == ["conv-2"]


def _without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda sample: sample["qa"][1].pop(name)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_without("answer"), "'answer' is missing"),
        (_without("category"), "'category' is missing"),
        (lambda s: s["qa"][1].update(category=6), "a category from 1 to 5"),
        (lambda s: s["qa"][1].update(answer=["x"]), "a text or a number"),
        (
            lambda s: s["conversation"].update(session_1_date_time="yesterday"),
            "1:56 pm on 8 May, 2023",
        ),
        (lambda s: s["conversation"].pop("session_1_date_time"), "session_1_date_time"),
        (
            lambda s: s["conversation"]["session_1"][0].pop("speaker"),
            "'speaker' is missing",
        ),
        (
            lambda s: [s["conversation"].pop(f"session_{n}") for n in (1, 2)],
            "holds no turn: expected 'session_1'",
        ),
        (
            lambda s: s["conversation"].update(session_1=[], session_2=[]),
            "holds no turn: expected 'session_1'",
        ),
        (
            lambda s: s["qa"][1].update(answer=float("nan")),
            "qa[1].answer: expected a text or a number, got nan",
        ),
        (
            lambda s: s["qa"][1].update(answer=True),
            "qa[1].answer: expected a text or a number, got True",
        ),
        (
            lambda s: s["qa"][1].update(category=6),
            "data.json: conv-1: [1].qa[1].category: expected",
        ),
        (lambda s: s["conversation"].pop("speaker_a"), "'speaker_a' is missing"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], object], told: str
) -> None:
    sample = talk()
    spoil(sample)
    with pytest.raises(DatasetError) as error:
        loaded(tmp_path, second(), sample)

    assert told in str(error.value)
    assert "data.json" in str(error.value)
    assert "[1]" in str(error.value)


def test_a_record_of_another_data_set_is_told_by_its_fields(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError,
        match=r"no conversation of LoCoMo: the field 'speaker_a' .*question_id, haystack",
    ):
        loaded(tmp_path, {"question_id": "q1", "haystack_sessions": []})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "it is empty. Download it again"),
        ("[]", "holds no conversation"),
        ("[1]", r"\[0\]: expected a mapping, got 1"),
        (
            "<!DOCTYPE html><html>",
            "not JSON: it begins with '<!DOCTYPE html><html>'. Download the file itself",
        ),
        ("[" * 100_000, "not JSON: .*recursion.*Truncated"),
    ],
)
def test_a_file_that_is_something_else_is_refused_with_the_way_out(
    tmp_path: Path, content: str, told: str
) -> None:
    (tmp_path / "data.json").write_text(content, encoding="utf-8")

    with pytest.raises(DatasetError, match=rf"data\.json: {told}"):
        load_locomo(tmp_path / "data.json")


def test_a_compressed_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_bytes(gzip.compress(b"[]"))

    with pytest.raises(
        DatasetError, match=r"data\.json: not JSON: it is compressed\. Unpack it first"
    ):
        load_locomo(tmp_path / "data.json")


@pytest.mark.parametrize(
    ("spoil", "noted"),
    [
        (
            lambda s: s["qa"][1].update(answer=""),
            "question 1: has an empty answer, so that every answer earns 0",
        ),
        (
            lambda s: s["conversation"]["session_1"][0].update(speaker="Zoe"),
            "'Zoe' speaks, but is not one of its two",
        ),
        (
            lambda s: s["conversation"].update(speaker_b="Ines"),
            "both speakers are called 'Ines'",
        ),
        (
            lambda s: s["conversation"].update(session_2=[]),
            "has dates but no turns for the sessions 2, 3",
        ),
    ],
)
def test_what_is_odd_is_noted_and_the_questions_are_kept(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], object], noted: str
) -> None:
    odd = talk()
    spoil(odd)
    (sample,) = loaded(tmp_path, odd)

    assert len(sample.questions) == 6
    assert any(noted in note for note in sample.notes)


def test_photos_and_summaries_that_are_empty_are_as_none(tmp_path: Path) -> None:
    bare = talk(session_summary={"session_1_summary": ""})
    bare["conversation"]["session_1"][1]["img_url"] = None
    (sample,) = loaded(tmp_path, bare)

    assert sample.turns[1].images == ()
    assert sample.summaries == {}


def test_a_missing_file_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"not shipped: download locomo10\.json"):
        load_locomo(tmp_path / "nowhere.json")


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text(json.dumps([talk()])[:500], encoding="utf-8")
    with pytest.raises(DatasetError, match="truncated"):
        load_locomo(file)


def test_two_conversations_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match="2 conversations have the sample_id 'conv-1'"
    ):
        loaded(tmp_path, talk(), talk())


@pytest.mark.slow
@pytest.mark.published
def test_the_published_file_is_known_and_whole() -> None:
    data = load_locomo(LOCOMO / "locomo10.json")

    assert data.known_as == "locomo10.json, as published"
    assert [
        len(data.samples),
        sum(len(s.sessions) for s in data.samples),
        sum(len(s.turns) for s in data.samples),
    ] == [
        10,
        272,
        5882,
    ]
    assert sum(len(sample.questions) for sample in data.samples) == 1986
    odd = [note for note in data.notes if "evidence '" in note]
    assert len(odd) == 9
    # D:11:26 means D11:26, which exists
    assert sum("points to no turn" in note for note in odd) == 3


@pytest.mark.slow
@pytest.mark.published
def test_the_published_audit_fits_every_question_it_names() -> None:
    data = load_locomo(LOCOMO / "locomo10.json")
    audit = load_audit(LOCOMO / "audit_errors.json", data.samples)

    assert audit.notes == ()
    assert len(audit.corrections) == 156
    assert (
        sum(correction.gold_is_wrong for correction in audit.corrections.values()) == 99
    )
