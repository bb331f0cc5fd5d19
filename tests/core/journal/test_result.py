"""Results are plain data that round-trip through a file, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.journal.result import (
    WHOLE,
    ConversationName,
    ConversationResult,
    KeptVerdict,
    NeedleRef,
    QuestionResult,
    RunResult,
    ScenarioResult,
    at_span,
    read_results,
    write_results,
)
from pytest_ltm._core.model.dataset import SPAN
from pytest_ltm._core.model.score import Check
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import from_record, to_record

NEEDLE = NeedleRef(
    number=4,
    text="I have come to prefer ochre.",
    gap=8214,
    told_gap=8000,
    seconds_passed=10800.0,
)
QUESTION = QuestionResult(
    number=61,
    text="What is my favourite colour?",
    answer="Teal.",
    gap=8214,
    needles=(NEEDLE,),
)
ROW = ScenarioResult(
    scenario="colours",
    example="0",
    agent="full",
    span_label="10k",
    span=10_000,
    trial="0",
    nodeid="ltm/colours.py::test_colours[full-10k-0-0]",
    outcome="failed",
    score=0.5,
    reason="'ochre' is not in 'Teal.'",
    checks=(Check("a", ok=True), Check("b", ok=False)),
    rule="colours/2",
    evidence="Teal.",
    skills=("R",),
    gap=8214,
    measured_span=9000,
    overrun=True,
    tokens=120,
    cost_usd=0.25,
    questions=(QUESTION,),
)
CONVERSATION = ConversationResult(
    agent="full",
    agent_spec="full",
    span_label="10k",
    span=10_000,
    trial="0",
    plan_fingerprint="p1",
    agent_fingerprint="a1",
    scenarios=(
        ROW,
        replace(ROW, example="1", outcome="error", score=None, cause="agent"),
    ),
    tokens=12_000,
    filler_tokens=5_000,
    exchanges=62,
    simulated_seconds=10800.0,
    notices=("one overran",),
    ended="agent gone",
)


def test_every_kind_of_result_survives_json() -> None:
    run = RunResult(
        run_id="r1",
        conversations=(CONVERSATION,),
        folder=".ltm/runs/r1",
        notices=("note",),
    )

    assert (
        from_record(ScenarioResult, json.loads(json.dumps(to_record(ROW))), "row")
        == ROW
    )
    assert (
        from_record(
            ConversationResult, json.loads(json.dumps(to_record(CONVERSATION))), "one"
        )
        == CONVERSATION
    )
    assert from_record(RunResult, json.loads(json.dumps(to_record(run))), "run") == run


def test_a_written_file_reads_back_equal(tmp_path: Path) -> None:
    write_results(tmp_path / "results.json", CONVERSATION)

    assert read_results(tmp_path / "results.json") == CONVERSATION


def test_equal_results_are_equal_bytes_and_rewriting_what_was_read_changes_none(
    tmp_path: Path,
) -> None:
    write_results(tmp_path / "a", CONVERSATION)
    write_results(tmp_path / "b", read_results(tmp_path / "a"))

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert b"\r" not in (tmp_path / "a").read_bytes()


def test_texts_stay_readable_and_half_a_surrogate_pair_does_not_break_the_file(
    tmp_path: Path,
) -> None:
    odd = replace(CONVERSATION, notices=("größer 漢字", "half \ud83d pair"))

    write_results(tmp_path / "results.json", odd)

    assert "größer 漢字".encode() in (tmp_path / "results.json").read_bytes()
    assert read_results(tmp_path / "results.json") == odd


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"score": "high"},
            "Expected `float | null`, got `str` - at `$.scenarios[1].score`",
        ),
        ({"tokens": 1.5}, "Expected `int`, got `float` - at `$.scenarios[1].tokens`"),
        ({"overrun": 0}, "Expected `bool`, got `int` - at `$.scenarios[1].overrun`"),
        ({"tokens": True}, "Expected `int`, got `bool` - at `$.scenarios[1].tokens`"),
        (
            {"outcome": "lost"},
            "Invalid enum value 'lost' - at `$.scenarios[1].outcome`",
        ),
        (
            {"questions": [{"number": 1}]},
            "Object missing required field `text` - at `$.scenarios[1].questions[0]`",
        ),
        (
            {"questions": {}},
            "Expected `array`, got `object` - at `$.scenarios[1].questions`",
        ),
        (
            {"questions": [3]},
            "Expected `object`, got `int` - at `$.scenarios[1].questions[0]`",
        ),
        (
            {"outcome": "passed"},
            "outcome 'passed' cannot have score None - at `$.scenarios[1]`",
        ),
    ],
)
def test_a_wrong_field_is_named_with_file_and_place(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "results.json"
    write_results(path, CONVERSATION)
    record = json.loads(path.read_text())
    record["scenarios"][1].update(change)
    path.write_text(json.dumps(record))

    with pytest.raises(LtmError, match=r"results\.json: " + re.escape(message)):
        read_results(path)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_results(path, CONVERSATION)
    record = json.loads(path.read_text())
    del record["agent_spec"]
    path.write_text(json.dumps(record))

    with pytest.raises(
        LtmError, match=r"results\.json: Object missing required field `agent_spec`"
    ):
        read_results(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a results file"),
        (b"\xff\xfe", "not a results file"),
        (b'{"format": "other"}', "format 'other', expected 'pytest-ltm results 2'"),
        (b"[1]", "format None"),
        (b"[" * 100_000, "not a results file"),
    ],
)
def test_a_file_that_is_no_results_file_is_refused_by_name(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "broken.json").write_bytes(content)

    with pytest.raises(LtmError, match=f"broken.json: .*{message}"):
        read_results(tmp_path / "broken.json")


def test_a_file_that_is_absent_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(LtmError, match=r"absent\.json: cannot be read"):
        read_results(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("outcome", "score"),
    [("error", 0.0), ("skipped", 0.0), ("passed", None), ("failed", None)],
)
def test_only_rows_with_a_score_pass_or_fail(outcome: Any, score: float | None) -> None:
    with pytest.raises(ValueError, match="cannot have score"):
        replace(ROW, outcome=outcome, score=score)


@pytest.mark.parametrize("score", [1.01, -0.1, float("nan")])
def test_a_score_outside_its_range_is_refused(score: float | None) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        replace(ROW, score=score)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        ("agent", True),
        ("judge", True),
        ("not reached", True),
        ("unscored", False),
        ("scenario", False),
        ("", False),
    ],
)
def test_only_agent_judge_and_budget_are_infrastructure(
    cause: Any, expected: bool
) -> None:
    assert (
        replace(ROW, outcome="skipped", score=None, cause=cause).infrastructure
        is expected
    )


@pytest.mark.parametrize(
    ("name", "folder", "place"),
    [
        (ConversationName("bot", "32k", "0"), "bot~32k~0", "32k~0"),
        (
            ConversationName("gpt_4.1", "isolated", "1.d_2", "d.x"),
            "gpt_4.1~isolated~1.d_2~d.x",
            "isolated~1.d_2~d.x",
        ),
    ],
)
def test_a_conversation_is_named_by_its_folder_and_by_what_node_ids_begin_with(
    name: ConversationName, folder: str, place: str
) -> None:
    assert (name.folder, name.place) == (folder, place)
    assert ConversationName.of_folder(folder) == name
    assert (
        ConversationName.of_labels(f"{name}-colours-x")
        == ConversationName.of_labels(str(name))
        == name.whole
    )


def test_a_thread_and_a_variant_are_not_planned() -> None:
    name = ConversationName("bot", "isolated", "1.d_2", "d.x")
    assert name.planned_name == ConversationName("bot", "isolated", "1")


@pytest.mark.parametrize("folder", ["notes", "bot~32k", "bot~32k~0~d~x"])
def test_other_folders_hold_no_conversation(folder: str) -> None:
    assert ConversationName.of_folder(folder) is None


def test_the_parameters_of_an_ordinary_test_name_no_conversation() -> None:
    assert ConversationName.of_labels("one-two") is None


def test_what_few_conversations_have_is_written_only_where_it_is_there() -> None:
    early = replace(
        CONVERSATION,
        ended="agent gone",
        gone="boom",
        kept=(KeptVerdict(example="a/0", why="it ends"),),
    )
    assert {"gone", "kept"} & to_record(CONVERSATION).keys() == set()
    assert to_record(early)["kept"] == [{"example": "a/0", "why": "it ends"}]
    assert from_record(ConversationResult, to_record(early), "early") == early


def test_the_only_span_of_a_data_set_is_not_named() -> None:
    assert WHOLE == SPAN
    assert (at_span("full", "32k"), at_span("full", SPAN)) == ("full at 32k", "full")
