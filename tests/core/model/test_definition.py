from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pytest_ltm._core.model.scenario import (
    Ask,
    Definition,
    Say,
    Wait,
    from_json,
    read_definition,
    read_json,
    to_json,
    write_definition,
)
from pytest_ltm._core.storage.errors import DefinitionError

EXAMPLE = Definition(
    steps=(
        Say("My café is called Nørd."),
        Wait(
            span=0.3, tokens=10, time=timedelta(days=2, hours=3, minutes=5, seconds=0.5)
        ),
        Ask("What is it called?", ("My café is called Nørd.",)),
    ),
    expected={"name": "Nørd"},
    parameters={"changes": 1},
)

AS_JSON = {
    "steps": [
        {"say": "My café is called Nørd."},
        {"wait": {"span": 0.3, "tokens": 10, "time": "2d 3h 5m 0.5s"}},
        {"ask": "What is it called?", "about": ["My café is called Nørd."]},
    ],
    "expected": {"name": "Nørd"},
    "parameters": {"changes": 1},
}


def test_a_definition_becomes_json_that_people_read() -> None:
    assert to_json(EXAMPLE) == AS_JSON


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_definition(tmp_path / "0.def.json", EXAMPLE)
    assert read_definition(read_json(tmp_path / "0.def.json")) == EXAMPLE


def test_a_file_is_utf8_with_an_indent_of_two_and_a_newline_at_the_end(
    tmp_path: Path,
) -> None:
    write_definition(tmp_path / "0.def.json", EXAMPLE)
    content = (tmp_path / "0.def.json").read_bytes()
    assert '\n      "say": "My café is called Nørd."\n'.encode() in content
    assert content.endswith(b"}\n")
    assert b"\r" not in content


def test_times_may_be_given_in_seconds() -> None:
    definition = from_json({"steps": [{"wait": {"time": 10500}}]}, where="x.json")
    assert definition.steps == (Wait(time=timedelta(seconds=10500)),)


def test_a_single_text_may_be_what_a_question_is_about() -> None:
    definition = from_json(
        {"steps": [{"say": "A."}, {"ask": "B?", "about": "A."}]}, where="x.json"
    )
    assert definition.questions == (Ask("B?", ("A.",)),)


def test_a_file_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "0.def.json").write_bytes(b'\xef\xbb\xbf{"steps": [{"say": "A."}]}')
    assert read_definition(read_json(tmp_path / "0.def.json")).steps == (Say("A."),)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, "x.json: the field 'steps' is missing."),
        (
            [],
            "x.json: expected a mapping with the fields steps, expected, parameters, replies, got [].",
        ),
        (
            {"step": []},
            "x.json: step: unknown field; known fields: steps, expected, parameters, replies. Did you mean 'steps'?",
        ),
        ({"steps": "A."}, "x.json: steps: expected a list of steps, got 'A.'."),
        (
            {"steps": [{"say": " "}]},
            "x.json: steps[0].say: expected a non-empty text, got ' '.",
        ),
        (
            {"steps": [{"say": 3}]},
            "x.json: steps[0].say: expected a non-empty text, got 3.",
        ),
        (
            {"steps": [{}]},
            "x.json: steps[0]: expected one step with exactly one of say, ask and wait, got {}.",
        ),
        (
            {"steps": [{"about": "A."}]},
            "exactly one of say, ask and wait, got {'about': 'A.'}.",
        ),
        ({"steps": [{"say": "A.", "ask": "B?"}]}, "exactly one of say, ask and wait"),
        (
            {"steps": [{"say": "A.", "about": "B."}]},
            "x.json: steps[0].about: unknown field; known fields: say, user, tells.",
        ),
        (
            {"steps": [{"wait": 3}]},
            "x.json: steps[0].wait: expected a mapping with the fields span, tokens, time, history, got 3.",
        ),
        (
            {"steps": [{"wait": {"span": 1.5}}]},
            "steps[0].wait.span: expected a share of the memory span from 0 to 1, got 1.5.",
        ),
        (
            {"steps": [{"wait": {"span": True}}]},
            "steps[0].wait.span: expected a share of the memory span",
        ),
        (
            {"steps": [{"wait": {"tokens": -1}}]},
            "steps[0].wait.tokens: expected a whole number of at least 0, got -1.",
        ),
        (
            {"steps": [{"wait": {"tokens": 1.5}}]},
            "steps[0].wait.tokens: expected a whole number of at least 0, got 1.5.",
        ),
        (
            {"steps": [{"wait": {"time": "soon"}}]},
            "steps[0].wait.time: expected a duration of at least 0",
        ),
        (
            {"steps": [{"wait": {"time": -5}}]},
            "steps[0].wait.time: expected a duration of at least 0",
        ),
        (
            {"steps": [{"wait": {"time": 1e300}}]},
            "steps[0].wait.time: expected a duration of at least 0",
        ),
        (
            {"steps": [{"wait": {"time": None}}]},
            "steps[0].wait.time: expected a duration of at least 0",
        ),
        (
            {"steps": [], "parameters": []},
            "x.json: parameters: expected a mapping, got [].",
        ),
        (
            {"steps": [], "expected": {3: "a"}},
            "x.json: expected: expected names that are texts, got 3.",
        ),
        (
            {"steps": [], "expected": float("inf")},
            "x.json: expected: expected a JSON value",
        ),
        (
            {"steps": [], "expected": [{"a": {1}}]},
            "x.json: expected[0].a: expected a JSON value",
        ),
        (
            {"steps": [{"say": "\ud800"}]},
            "x.json: steps[0].say: half of a surrogate pair is not a character: '\\ud800'.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_field_and_what_was_expected(
    data: object, sentence: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        from_json(data, where="x.json")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "0.def.json:1: not JSON: Expecting value (column 1)."),
        (b'{\n"steps": [}', "0.def.json:2: not JSON"),
        (b"\xff\xfe", "not UTF-8 (at byte 0)."),
        (
            b'{"steps": [], "steps": []}',
            "the name 'steps' appears twice in one mapping.",
        ),
        (b'{"steps": [], "expected": NaN}', "NaN is not a JSON number."),
        (b'{"steps": [], "expected": -Infinity}', "-Infinity is not a JSON number."),
        (b'{"steps": [], "expected": 1e999}', "the number '1e999' is too large."),
        (b'{"steps": [], "expected": ' + b"9" * 5000 + b"}", "not usable JSON"),
        (b"[" * 100_000, "nested too deeply."),
        (
            b'{"steps": [], "expected": ' + b"[" * 150 + b"]" * 150 + b"}",
            "nested more than 100 levels deep.",
        ),
    ],
)
def test_a_hostile_file_is_one_clear_error(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "0.def.json").write_bytes(content)
    with pytest.raises(DefinitionError) as caught:
        read_definition(read_json(tmp_path / "0.def.json"))
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError,
        match=r"0\.def\.json: cannot be read: No such file or directory\.",
    ):
        read_definition(read_json(tmp_path / "0.def.json"))


def test_a_definition_that_is_no_json_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError, match=r"definition: expected\.colours: expected a JSON value"
    ):
        write_definition(
            tmp_path / "0.def.json", Definition(steps=(), expected={"colours": {"red"}})
        )
    assert not (tmp_path / "0.def.json").exists()


def test_a_definition_that_holds_itself_is_an_error() -> None:
    expected: list[object] = []
    expected.append(expected)
    with pytest.raises(DefinitionError, match="nested more than 100 levels deep"):
        to_json(Definition(steps=(), expected=expected))


def test_a_step_that_is_none_is_not_written() -> None:
    with pytest.raises(
        DefinitionError,
        match=r"definition: steps: expected Say, Ask or Wait, got 'A\.'\.",
    ):
        to_json(Definition(steps=("A.",)))  # type: ignore[arg-type]


def test_a_value_that_cannot_be_shown_is_still_an_error() -> None:
    with pytest.raises(
        DefinitionError,
        match=r"expected: expected a JSON value \(.*\), got a Unshowable\.",
    ):
        from_json({"steps": [], "expected": Unshowable()}, where="x.json")


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")
