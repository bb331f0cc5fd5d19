"""Compiled histories: complete evidence, dated and in order, among unrelated fillers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import LONGMEMEVAL

from pytest_ltm.api.model import token_counter
from pytest_ltm.commands import main
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile, read_date
from pytest_ltm.lab.longmemeval.histories import (
    Clash,
    Corpus,
    MixedFillers,
    parse_needle,
    themes_in,
)
from pytest_ltm.lab.longmemeval.needles import Mentions, fill_values, generate_records
from pytest_ltm.lab.longmemeval.session_text import Attribute, all_of, cache_counter

Capture = pytest.CaptureFixture[str]
Turns = list[dict[str, Any]]
count = cache_counter(token_counter("cl100k_base"))


def turns(*said: str) -> Turns:
    return [
        {"role": ("user", "assistant")[number % 2], "content": text}
        for number, text in enumerate(said)
    ]


def question(
    name: str, said: Turns, *, asked: str = "What is the colour of my kite?"
) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": asked,
        "answer": 7,
        "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_dates": ["2023/05/20 (Sat) 09:00"],
        "haystack_session_ids": [f"answer_{name}"],
        "haystack_sessions": [said],
        "answer_session_ids": [f"answer_{name}"],
    }


def saved(path: Path, content: object) -> str:
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def compiled(tmp_path: Path, *words: str) -> list[dict[str, Any]]:
    file = tmp_path / "compiled.json"
    assert main(["data", "longmemeval-compile", *words, "-o", str(file)]) == 0
    found: list[dict[str, Any]] = json.loads(file.read_bytes())
    return found


def refused(capsys: Capture, tmp_path: Path, *words: str) -> str:
    assert (
        main(
            [
                "data",
                "longmemeval-compile",
                *words,
                "-o",
                str(tmp_path / "compiled.json"),
            ]
        )
        == 2
    )
    assert list(tmp_path.glob("compiled.json*")) == []
    return capsys.readouterr().err


def oracle(tmp_path: Path, number: int = 11) -> str:
    return saved(tmp_path / "oracle.json", list(generate_records(number, 6, count)))


def session_text(said: Turns) -> str:
    return "\n".join(turn["content"] for turn in said)


@pytest.mark.slow
def test_the_evidence_is_whole_with_its_own_dates_and_the_question_as_it_was(
    tmp_path: Path,
) -> None:
    path = oracle(tmp_path)
    before = json.loads((tmp_path / "oracle.json").read_bytes())
    for old, new in zip(
        before, compiled(tmp_path, path, "--sessions", "9"), strict=True
    ):
        kept = dict(
            zip(
                new["haystack_session_ids"],
                zip(new["haystack_dates"], new["haystack_sessions"], strict=True),
                strict=True,
            )
        )
        for name, when, said in zip(
            old["haystack_session_ids"],
            old["haystack_dates"],
            old["haystack_sessions"],
            strict=True,
        ):
            assert kept[name] == (when, said)
        for name in (
            "question_id",
            "question_type",
            "question",
            "answer",
            "question_date",
            "answer_session_ids",
        ):
            assert new[name] == old[name]
        assert len(new["haystack_sessions"]) == 9


@pytest.mark.slow
def test_generating_with_a_length_is_generating_and_compiling(tmp_path: Path) -> None:
    assert (
        main(
            [
                "data",
                "longmemeval-generate",
                "--count",
                "11",
                "--seed",
                "6",
                "-o",
                str(tmp_path / "short.json"),
            ]
        )
        == 0
    )
    long = [
        "data",
        "longmemeval-generate",
        "--count",
        "11",
        "--seed",
        "6",
        "--tokens",
        "12k",
        "-o",
        str(tmp_path / "long.json"),
    ]
    assert main(long) == 0

    found = compiled(
        tmp_path, str(tmp_path / "short.json"), "--tokens", "12k", "--seed", "6"
    )

    assert found == json.loads((tmp_path / "long.json").read_bytes())


@pytest.mark.slow
def test_another_seed_gives_another_history(tmp_path: Path) -> None:
    path = oracle(tmp_path)

    first, again, other = (
        compiled(tmp_path, path, "--sessions", "6", "--seed", seed) for seed in "112"
    )

    assert first == again != other


@pytest.mark.slow
def test_evidence_stands_anywhere_in_a_history(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "needles.json",
        [
            question(f"q{number}", turns("My kite is red.", "Ah."))
            for number in range(60)
        ],
    )

    found = [
        row["haystack_session_ids"].index(row["answer_session_ids"][0])
        for row in compiled(tmp_path, path, "--sessions", "3")
    ]

    assert all(found.count(place) > 8 for place in range(3))


@pytest.mark.slow
def test_sessions_are_dated_in_order_around_the_evidence_and_before_the_question(
    tmp_path: Path,
) -> None:
    for row in compiled(tmp_path, oracle(tmp_path, 22), "--tokens", "20k"):
        at = [read_date(when) for when in row["haystack_dates"]]
        assert None not in at
        assert at == sorted(at, key=lambda one: one.isoformat() if one else "")
        last, asked = at[-1], read_date(row["question_date"])
        assert last is not None
        assert asked is not None
        assert last < asked


@pytest.mark.slow
def test_a_history_with_evidence_in_may_lies_in_may(tmp_path: Path) -> None:
    path = saved(
        tmp_path / "needles.json", [question("q", turns("My kite is red.", "Ah."))]
    )

    (row,) = compiled(tmp_path, path, "--sessions", "40")

    assert {when[:7] for when in row["haystack_dates"]} == {"2023/05"}
    assert len({when[:10] for when in row["haystack_dates"]}) > 10


def test_a_question_dated_before_its_evidence_stays_as_it_is(tmp_path: Path) -> None:
    early = question("q", turns("My kite is red.", "Ah.")) | {
        "question_date": "2023/05/10 (Wed) 10:00"
    }

    (row,) = compiled(
        tmp_path, saved(tmp_path / "needles.json", [early]), "--sessions", "12"
    )

    assert row["question_date"] == "2023/05/10 (Wed) 10:00"
    assert row["haystack_dates"] == sorted(row["haystack_dates"])
    assert max(row["haystack_dates"]) == "2023/05/20 (Sat) 09:00"


def test_of_a_long_record_only_the_evidence_is_taken(tmp_path: Path) -> None:
    long = question("q", turns("My kite is red.", "Ah."))
    long["haystack_dates"].append("2023/05/21 (Sun) 09:00")
    long["haystack_session_ids"].append("old_filler")
    long["haystack_sessions"].append(turns("Hello?", "Hello."))

    (row,) = compiled(
        tmp_path, saved(tmp_path / "needles.json", [long]), "--sessions", "5"
    )

    assert "old_filler" not in row["haystack_session_ids"]
    assert len(row["haystack_sessions"]) == 5


@pytest.mark.slow
def test_generated_fillers_say_nothing_of_the_evidence_s_theme_about_the_user() -> None:
    for row in generate_records(40, 8, count):
        record = parse_needle(row, "here")
        known = Clash(record).allowed_mentions(record.id).stock
        assert len(known) > 60
        assert not {row.theme for row, _ in known} & themes_in(record.user_text())


def test_what_fillers_tell_about_the_user_comes_again_only_when_all_has_been_told() -> (
    None
):
    (row,) = generate_records(1, 8, count)
    record = parse_needle(row, "here")
    mentions = Clash(record).allowed_mentions(record.id)

    told = [mentions.next("garden") for _ in mentions.stock]

    assert len(set(told)) == len(told)
    assert mentions.next("garden")


@pytest.mark.slow
def test_what_is_true_of_a_person_is_so_in_evidence_sessions_and_in_fillers() -> None:
    sources = [
        Mentions("one", (), frozenset(), backwards=backwards)
        for backwards in (False, True)
    ]
    for row in all_of(Attribute):
        told = [
            {one.said for one in (source.next("") for _ in source.stock) if one}
            for source in sources
        ]
        held = [
            {v for v in row.values for say in row.say if fill_values(say, v=v) in said}
            for said in told
        ]
        assert held[0] == held[1], row.key
        assert len(held[0]) == 1


def test_half_of_the_fillers_come_from_other_questions_and_a_quarter_from_each_file(
    tmp_path: Path,
) -> None:
    needles = [
        question(
            f"q{number}",
            turns(f"Item {number} of a list.", "Noted."),
            asked=f"Which knot holds boat {number}?",
        )
        for number in range(200)
    ]
    others = Corpus(Path(saved(tmp_path / "needles.json", needles)), evidence_only=True)
    chats = [
        Corpus(
            Path(
                saved(
                    tmp_path / f"{name}.json",
                    [turns(f"{name} {number}?", "Yes.") for number in range(200)],
                )
            )
        )
        for name in ("alpha", "beta")
    ]

    supply = MixedFillers(others, chats, count).draw_fillers(
        parse_needle(needles[0], "here"), "s"
    )
    names = [filler.id for filler in (supply(None) for _ in range(120)) if filler]

    kinds = Counter(name.partition("_")[0] for name in names)
    assert 45 < kinds["answer"] < 75
    assert 18 < kinds["alpha"] < 42
    assert 18 < kinds["beta"] < 42
    assert len(set(names)) == 120
    assert "answer_q0" not in names


def test_fillers_may_be_records_lists_of_turns_or_objects_with_turns(
    tmp_path: Path,
) -> None:
    mixed = [
        question("other", turns("What is a reef knot?", "A knot.")),
        turns("What is a bowline?", "Another knot."),
        {"id": "named", "turns": turns("What is a splice?", "No knot.")},
    ]
    path = saved(
        tmp_path / "needles.json", [question("q", turns("My kite is red.", "Ah."))]
    )

    (row,) = compiled(
        tmp_path,
        path,
        "--sessions",
        "4",
        "--fillers",
        saved(tmp_path / "chats.json", mixed),
    )

    assert set(row["haystack_session_ids"]) == {
        "answer_q",
        "answer_other",
        "chats_1",
        "named",
    }


def test_a_filler_s_marks_of_evidence_are_left_out(tmp_path: Path) -> None:
    other = question(
        "other", [{"role": "user", "content": "I tied a knot.", "has_answer": True}]
    )
    path = saved(
        tmp_path / "needles.json",
        [question("q", turns("My kite is red.", "Ah.")), other],
    )
    chats = saved(tmp_path / "chats.json", [turns("Hello?", "Hello.")])

    first, _ = compiled(tmp_path, path, "--sessions", "3", "--fillers", chats)

    said = dict(
        zip(first["haystack_session_ids"], first["haystack_sessions"], strict=True)
    )
    assert said["answer_other"] == [{"role": "user", "content": "I tied a knot."}]


def test_a_filler_near_the_question_is_left_out() -> None:
    record = parse_needle(question("q", turns("My kite is red.", "Ah.")), "here")

    assert Clash(record).with_session("x", "The colour of another kite was green.")
    assert not Clash(record).with_session("x", "The colour of a door was green.")
    assert Clash(record).with_session("answer_q", "Anything.")


@pytest.mark.slow
@pytest.mark.published
def test_the_real_oracle_records_compile_with_real_fillers(tmp_path: Path) -> None:
    needles, chats = (
        LONGMEMEVAL / "longmemeval_oracle_exact_2.json",
        LONGMEMEVAL / "longmemeval_s_cleaned_3.json",
    )

    found = compiled(tmp_path, str(needles), "--tokens", "60k", "--fillers", str(chats))

    file = LongMemEvalFile(tmp_path / "compiled.json")
    assert not [
        note
        for record in file.records()
        for note in record.notes
        if "absent" in note or "more than once" in note
    ]
    for row in found:
        assert (
            54_000
            < sum(
                count(session_text([turn]))
                for said in row["haystack_sessions"]
                for turn in said
            )
            <= 60_000
        )


def test_too_little_room_for_the_evidence_is_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    path = saved(
        tmp_path / "needles.json",
        [question("q", turns("My kite is red. " * 20, "Ah."))],
    )

    told = refused(capsys, tmp_path, path, "--tokens", "50")

    assert (
        "needles.json: q: 50 tokens are asked for, and its evidence alone has 10"
        in told
    )
    assert "Evidence is never dropped: ask for more" in told


@pytest.mark.slow
def test_fewer_sessions_than_evidence_are_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    row = next(
        row
        for row in generate_records(11, 6, count)
        if len(row["haystack_sessions"]) > 1
    )

    assert "1 sessions are asked for, and its evidence alone is" in refused(
        capsys, tmp_path, saved(tmp_path / "needles.json", [row]), "--sessions", "1"
    )


def test_too_few_fillers_are_refused(tmp_path: Path, capsys: Capture) -> None:
    path = saved(
        tmp_path / "needles.json", [question("q", turns("My kite is red.", "Ah."))]
    )
    chats = saved(tmp_path / "chats.json", [turns("Hello?", "Hello.")])

    assert "only 1 of 4 fillers were found" in refused(
        capsys, tmp_path, path, "--sessions", "5", "--fillers", chats
    )
    assert "fill only" in refused(
        capsys, tmp_path, path, "--tokens", "5k", "--fillers", chats
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([], "holds no sessions to fill with"),
        (
            [{"name": "x"}],
            "expected a record with haystack_sessions, a list of turns, or an object with `turns`",
        ),
        (
            [[{"role": "robot", "content": "x"}]],
            "expected 'user' or 'assistant', got 'robot'",
        ),
        ([[{"role": "user"}]], "content"),
        ({"a": 1}, "not a JSON list of records"),
    ],
)
def test_a_wrong_file_of_fillers_is_refused(
    content: object, told: str, tmp_path: Path, capsys: Capture
) -> None:
    path = saved(
        tmp_path / "needles.json", [question("q", turns("My kite is red.", "Ah."))]
    )

    said = refused(
        capsys,
        tmp_path,
        path,
        "--sessions",
        "5",
        "--fillers",
        saved(tmp_path / "chats.json", content),
    )

    assert told in said
    assert "chats.json" in said


def test_a_file_without_needles_is_refused(tmp_path: Path, capsys: Capture) -> None:
    said = refused(
        capsys, tmp_path, saved(tmp_path / "needles.json", []), "--sessions", "5"
    )

    assert "needles.json: holds no record: expected a JSON list" in said


def test_a_record_without_its_evidence_is_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    lost = question("q", turns("My kite is red.", "Ah.")) | {
        "answer_session_ids": ["gone"]
    }
    none = question("q", turns()) | {
        "haystack_dates": [],
        "haystack_session_ids": [],
        "haystack_sessions": [],
        "answer_session_ids": [],
    }

    assert "q: its evidence is absent: no session gone" in refused(
        capsys, tmp_path, saved(tmp_path / "needles.json", [lost]), "--sessions", "5"
    )
    assert "q: haystack_sessions: holds no turn" in refused(
        capsys, tmp_path, saved(tmp_path / "needles.json", [none]), "--sessions", "5"
    )


def test_a_file_that_cannot_be_written_is_told_of(
    tmp_path: Path, capsys: Capture
) -> None:
    words = [
        "data",
        "longmemeval-generate",
        "--count",
        "1",
        "-o",
        str(tmp_path / "no" / "such" / "made.json"),
    ]

    assert main(words) == 2
    assert (
        "made.json: cannot be written: No such file or directory"
        in capsys.readouterr().err
    )
