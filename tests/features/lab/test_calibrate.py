"""The command `calibrate`: its results for folders of definitions and played scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.commands import main
from pytest_ltm.datasets.published import DefinitionsFolder
from pytest_ltm.lab.commands.calibrate import (
    Calibration,
    calibration_lines,
    pool_definitions,
)


def published(folder: Path, name: str, script: list[str], wait: float = 45.0) -> None:
    waits = [{"percentage_finished": wait} for _ in script]
    asked = [text.endswith("?") for text in script]
    definition = {
        "script": script,
        "is_question": asked,
        "waits": waits,
        "expected_responses": ["teal"],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.def.json").write_text(json.dumps(definition), encoding="utf-8")


def told(place: Path) -> dict[str, list[list[str]]]:
    found = DefinitionsFolder(place)
    return {
        name: [
            json.loads(found.file(name, example).read_bytes())["script"][:1]
            for example in examples
        ]
        for name, examples in found.examples.items()
    }


def test_definitions_are_distinct_and_three_of_a_scenario_make_a_conversation(
    tmp_path: Path,
) -> None:
    for number in range(4):
        published(
            tmp_path / "120k/Colours",
            str(number),
            [f"I like colour {number}.", "Which?"],
        )
        published(
            tmp_path / "32k/Colours",
            str(number),
            [f"I like colour {number // 2}.", "Which?"],
            wait=30.0,
        )
    for place in ("120k", "32k"):
        published(tmp_path / place / "Restaurant", "0", [])
        (tmp_path / place / "restaurant_menu.json").write_text(
            '{"Drinks": ["Tea"]}', encoding="utf-8"
        )
    folders = [DefinitionsFolder(tmp_path / place) for place in ("120k", "32k")]
    first, second = pool_definitions(folders, tmp_path / "pooled")
    assert told(first) == {
        "colours": [["I like colour 0."], ["I like colour 2."]],
        "restaurant": [[]],
    }
    assert told(second) == {
        "colours": [["I like colour 1."], ["I like colour 3."]],
        "restaurant": [[]],
    }
    assert (first / "restaurant_menu.json").is_file()


def test_definitions_of_version_1_make_conversations_too(tmp_path: Path) -> None:
    (tmp_path / "old/Colours").mkdir(parents=True)
    old = {
        "script": ["Hello.", "Well?"],
        "is_question": [False, True],
        "token_spacings": [0, 0],
        "time_jumps": [0, 0],
    }
    text = json.dumps(old | {"expected_responses": ["Well."]})
    (tmp_path / "old/Colours/0.def.json").write_text(text, encoding="utf-8")
    (pool,) = pool_definitions(
        [DefinitionsFolder(tmp_path / "old")], tmp_path / "pooled"
    )
    assert told(pool) == {"colours": [["Hello."]]}


def calibration(
    theirs: Mapping[str, float], ours: Mapping[str, float], **more: float
) -> Calibration:
    def side(
        earned: Mapping[str, float], reads: float
    ) -> dict[tuple[str, str], list[float]]:
        marks = {("bm25:8k", name): [score] * 10 for name, score in earned.items()}
        full = {
            ("full", name): [reads if name == "book" else 1.0] * 10 for name in earned
        }
        oracle = {("oracle", name): [more.get("oracle", 1.0)] * 10 for name in earned}
        return marks | full | oracle

    return Calibration(
        controls=("bm25:8k",),
        theirs=side(theirs, more.get("reads", 0.5)),
        ours=side(ours, 1.0),
        span="32k",
    )


def test_totals_far_apart_are_a_breach() -> None:
    assert (
        calibration({"cat": 0.5, "dog": 0.5}, {"cat": 0.5, "dog": 0.6}).breaches == []
    )
    found = calibration({"cat": 0.5, "dog": 0.5}, {"cat": 0.5, "dog": 0.7}).breaches
    assert found == [
        "bm25:8k earns 1.00 published and 1.20 ours of 2: more than 0.13 apart"
    ]


def test_what_the_reader_cannot_read_or_one_side_lacks_is_left_out_and_named() -> None:
    found = calibration(
        {"cat": 0.5, "book": 0.0}, {"cat": 0.5, "book": 1.0, "list": 1.0}
    )
    assert found.scenarios == ["cat"]
    assert found.breaches == []
    printed = list(calibration_lines(found))
    assert "left out: book: full cannot read it: 0.50 published, 1.00 ours" in printed
    assert "left out: list: only ours" in printed


def test_a_scenario_of_ours_that_nobody_solves_is_a_breach() -> None:
    solved = calibration({"book": 0.0}, {"book": 0.0})
    assert solved.breaches == []
    unsolved = Calibration(
        controls=(),
        theirs={},
        ours={("full", "book"): [0.9], ("oracle", "book"): [0.5]},
        span="2k",
    )
    assert unsolved.breaches == [
        "neither full nor oracle gets full marks in book of ours: 0.90"
    ]


def test_json_holds_both_sides_the_difference_and_the_examples() -> None:
    found: dict[str, Any] = calibration({"cat": 0.5}, {"cat": 1.0}).as_json()
    row = found["agents"]["bm25:8k"]["scenarios"]["cat"]
    assert (
        row["published"]["value"],
        row["ours"]["value"],
        row["difference"]["value"],
    ) == (0.5, 1.0, 0.5)
    assert row["difference"]["low"] < 0.5 < row["difference"]["high"]
    assert row["examples"] == [10, 10]


def test_a_suite_without_published_texts_shows_what_each_control_earns() -> None:
    alone = Calibration(
        controls=("window:8k",),
        theirs={},
        ours={
            ("window:8k", "cat"): [0.0, 0.5],
            ("full", "cat"): [1.0, 1.0],
            ("oracle", "cat"): [1.0, 1.0],
            ("full", "dog"): [0.5, 1.0],
        },
        span="32k",
    )
    assert [line.split() for line in calibration_lines(alone) if line] == [
        ["at", "32k", "window:8k", "full", "oracle"],
        ["cat", "0.25", "1.00", "1.00"],
        ["dog", "-", "0.75", "-"],
        ["all,", "of", "2", "0.25", "1.75", "1.00"],
        [
            "-",
            "neither",
            "full",
            "nor",
            "oracle",
            "gets",
            "full",
            "marks",
            "in",
            "dog",
            "of",
            "ours:",
            "0.75",
        ],
    ]
    data: Any = alone.as_json()
    assert data["agents"]["full"] == {"cat": 1.0, "dog": 0.75}
    assert data["breaches"] == alone.breaches


def test_a_suite_is_calibrated_without_a_folder_and_a_span_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lab", "calibrate", "--ltm-suite=restraint"]) == 2
    assert "Give one with --span" in capsys.readouterr().err
