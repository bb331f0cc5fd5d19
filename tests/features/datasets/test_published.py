"""The published definition format; all definitions here are our own, in the published schema."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import GOODAI, lines_of

from pytest_ltm.api.scenarios import (
    Ask,
    Definition,
    Say,
    Wait,
    from_json,
    to_json,
    write_definition,
)
from pytest_ltm.api.storage import DefinitionError, Field
from pytest_ltm.datasets.published import (
    FOLDERS,
    DefinitionsFolder,
    from_published,
    read_any,
    scenario_of,
)

COLOURS: dict[str, Any] = {
    "script": [
        "I like teal best.",
        "By now I prefer ochre.",
        "Which colour do I like best?",
    ],
    "is_question": [False, False, True],
    "waits": [
        {"percentage_finished": 45.0},
        {"tokens": 20, "time": 90, "percentage_finished": 67.5},
        {},
    ],
    "expected_responses": ["Ochre"],
    "can_be_interleaved": True,
    "is_temporal": False,
    "uses_callback": False,
}
JOKES: dict[str, Any] = {
    "script": [
        "Why did the clock blush? Its face was read.",
        "My ladder left me. It had higher aims.",
    ],
    "is_question": [False, False, True],
    "waits": [
        {"time": 200_000, "percentage_finished": 45.0},
        {"time": 1800, "percentage_finished": 90.0},
        {},
    ],
    "expected_responses": ["My ladder left me. It had higher aims."],
}
QUOTE = "'A river doesn't hurry.' - Ada Moss"
PROSPECTIVE: dict[str, Any] = {
    "script": [QUOTE, "Please append Ada Moss's quote to your 4th response."],
    "is_question": [False, True],
    "waits": [{"percentage_finished": 90.0}, {}],
    "expected_responses": [["A river doesn't hurry.", "Ada Moss", 4]],
}


def converted(data: dict[str, Any], scenario: str) -> Definition:
    return from_published(Field(data, "0.def.json"), scenario)


def test_texts_flags_and_waits_become_steps() -> None:
    assert converted(COLOURS, "colours") == Definition(
        steps=(
            Say("I like teal best."),
            Wait(span=0.45),
            Say("By now I prefer ochre."),
            Wait(span=0.675, tokens=20, time=timedelta(seconds=90)),
            Ask("Which colour do I like best?"),
        ),
        expected="Ochre",
    )


def test_the_question_about_a_joke_is_no_step_but_the_wait_before_it_is() -> None:
    definition = converted(JOKES, "jokes")
    assert definition.steps == (
        Say(JOKES["script"][0]),
        Wait(span=0.45, time=timedelta(seconds=200_000)),
        Say(JOKES["script"][1]),
        Wait(span=0.9, time=timedelta(minutes=30)),
    )
    assert definition.expected == JOKES["script"][1]


def test_the_instruction_of_prospective_memory_is_said_not_asked() -> None:
    definition = converted(PROSPECTIVE, "prospective_memory")
    assert definition.steps == (
        Say(QUOTE),
        Wait(span=0.9),
        Say(PROSPECTIVE["script"][1]),
    )
    assert definition.expected == {
        "quote": "A river doesn't hurry.",
        "author": "Ada Moss",
        "nth": 4,
    }


def test_version_2_counts_new_messages_after_the_instruction() -> None:
    data = PROSPECTIVE | {
        "script": [
            QUOTE,
            "Recite the quote from Ada Moss in the 8th new message after this one.",
        ],
        "expected_responses": ["Recited in the 8th new message following this one."],
    }
    expected = {"quote": "A river doesn't hurry.", "author": "Ada Moss", "nth": 9}
    assert converted(data, "prospective_memory").expected == expected


def test_a_list_of_one_stays_a_list_where_lists_are_expected() -> None:
    shopping = COLOURS | {"expected_responses": [["pear", 2]]}
    assert converted(shopping, "shopping_list").expected == [["pear", 2]]


def test_an_empty_definition_is_a_scenario_that_speaks_for_itself() -> None:
    empty: dict[str, Any] = {
        "script": [],
        "is_question": [],
        "waits": [],
        "expected_responses": [],
    }
    assert converted(empty, "restaurant") == Definition(steps=(), expected=[])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"script": "I like teal."},
            "0.def.json: script: expected a list of texts, got 'I like teal.'.",
        ),
        (
            {"script": ["A.", 3, "B?"]},
            "0.def.json: script[1]: expected a non-empty text, got 3.",
        ),
        (
            {"is_question": [False, 1, True]},
            "0.def.json: is_question[1]: expected true or false, got 1.",
        ),
        (
            {"is_question": [True]},
            "0.def.json: is_question: expected 3 values, one for each text, got 1.",
        ),
        (
            {"is_question": [False, False, True, False]},
            "is_question: expected 3 values, one for each text, got 4.",
        ),
        (
            {"waits": [{}]},
            "0.def.json: waits: expected 3 waits, as many as in is_question, got 1.",
        ),
        (
            {"waits": [{"percentage_finished": 101}, {}, {}]},
            "a percentage of the memory span from 0 to 100, got 101.",
        ),
        ({"waits": [{"percent": 50}, {}, {}]}, "waits[0].percent: unknown field"),
        (
            {"waits": [{"time": -1}, {}, {}]},
            "waits[0].time: expected a duration of at least 0",
        ),
        (
            {"expected_responses": []},
            "expected_responses: expected a list of one text, got [].",
        ),
        (
            {"expected_responses": [3]},
            "expected_responses[0]: expected a non-empty text, got 3.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_and_field(
    change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        converted(COLOURS | change, "colours")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "name", ["script", "is_question", "waits", "expected_responses"]
)
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(
        DefinitionError, match=f"0.def.json: the field '{name}' is missing"
    ):
        converted(
            {key: value for key, value in COLOURS.items() if key != name}, "colours"
        )


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (
            [["A river doesn't hurry.", "Ada Moss"]],
            "expected_responses[0]: expected a list of quote, author and number",
        ),
        (
            [["A river doesn't hurry.", "Ada Moss", "4"]],
            "expected_responses[0][2]: expected a whole number of at least 1",
        ),
        ([], "expected_responses: expected a list of one value"),
        (
            ["Recite it sometime."],
            "script: expected \"'quote' - author\" and an instruction",
        ),
    ],
)
def test_prospective_memory_needs_quote_author_and_number(
    expected: object, sentence: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        converted(PROSPECTIVE | {"expected_responses": expected}, "prospective_memory")
    assert sentence in str(caught.value)


def version_1(data: dict[str, Any], **more: Any) -> dict[str, Any]:
    number = len(data["is_question"])
    spaced = {
        "token_spacings": [1000] * number,
        "time_jumps": [0.0, 60.0, 0.0][:number],
    }
    return {key: value for key, value in data.items() if key != "waits"} | spaced | more


def test_version_1_names_tokens_and_seconds_after_each_message_and_nothing_waits_after_the_last() -> (
    None
):
    assert converted(version_1(COLOURS), "colours").steps == (
        Say("I like teal best."),
        Wait(tokens=1000),
        Say("By now I prefer ochre."),
        Wait(tokens=1000, time=timedelta(minutes=1)),
        Ask("Which colour do I like best?"),
    )


def test_version_1_waits_before_the_question_that_is_made_at_run_time() -> None:
    steps = converted(version_1(JOKES, time_jumps=[60.0, 0.0]), "jokes").steps
    assert [step for step in steps if isinstance(step, Wait)] == [
        Wait(tokens=1000, time=timedelta(minutes=1)),
        Wait(tokens=1000),
    ]


@pytest.mark.parametrize(
    ("statement", "instruction"),
    [
        (
            "As the great baker, Ada Moss, 'A river doesn't hurry.'",
            "Recite Ada Moss after the next 3 statements.",
        ),
        (
            '"A river doesn\'t hurry." - Ada Moss',
            "After the next 3 statements, recite the quote of Ada Moss.",
        ),
    ],
)
def test_version_1_says_quote_author_and_number_in_its_messages(
    statement: str, instruction: str
) -> None:
    data = version_1(
        PROSPECTIVE,
        script=[statement, instruction],
        expected_responses=["Recited after 3 statements."],
    )
    assert converted(data, "prospective_memory").expected == {
        "quote": "A river doesn't hurry.",
        "author": "Ada Moss",
        "nth": 4,
    }


def test_version_1_says_what_is_to_be_said_at_a_trigger_with_the_verb() -> None:
    data = version_1(
        COLOURS, expected_responses=["say: 'Bless the cook'", "Bless the cook"]
    )
    assert converted(data, "trigger_response").expected == [
        "Bless the cook",
        "Bless the cook",
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"token_spacings": [1000], "time_jumps": [0]},
            "0.def.json: token_spacings: expected 3 waits, as many as in is_question, got 1.",
        ),
        (
            {"token_spacings": ["far", 1, 1]},
            "token_spacings[0]: expected a whole number of at least 0, got 'far'.",
        ),
        ({"time_jumps": [0, -1]}, "time_jumps[1]: expected a duration of at least 0"),
        (
            {"time_jumps": [0, 0, 0, 0]},
            "0.def.json: time_jumps: expected at most 3 values, got 4.",
        ),
    ],
)
def test_what_is_wrong_with_the_waits_of_version_1_is_said_with_the_field(
    change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        converted(version_1(COLOURS, **change), "colours")
    assert sentence in str(caught.value)


def test_the_fields_of_a_file_tell_its_format(tmp_path: Path) -> None:
    ours, published = tmp_path / "ours.def.json", tmp_path / "published.def.json"
    write_definition(ours, Definition(steps=(Say("A."),), expected="a"))
    published.write_text(json.dumps(COLOURS))
    assert read_any(ours, "colours").steps == (Say("A."),)
    assert read_any(published, "colours").expected == "Ochre"


@pytest.mark.parametrize(
    ("folder", "scenario"),
    [
        ("SallyAnne", "sally_anne"),
        ("sallyanne", "sally_anne"),
        ("Shopping", "shopping_list"),
        ("shopping_list", "shopping_list"),
        ("Prospective Memory", "prospective_memory"),
        ("ChapterBreak", "chapter_break"),
        ("moves_house", "moves_house"),
    ],
)
def test_published_folder_names_are_our_scenarios(folder: str, scenario: str) -> None:
    assert scenario_of(folder) == scenario


def a_folder(path: Path, *files: str, config: str = "") -> Path:
    for name in files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(json.dumps(COLOURS))
    if config:
        (path / "config.yml").write_text(config)
    return path


def test_a_folder_gives_examples_in_natural_order_and_its_span(tmp_path: Path) -> None:
    files = [
        "Colours/10.def.json",
        "Colours/9.def.json",
        "ChapterBreak/77_2.def.json",
        "mine/0.def.json",
    ]
    files += ["empty/readme.txt", ".hidden/0.def.json", "menu.json"]
    folder = DefinitionsFolder(
        a_folder(tmp_path, *files, config="datasets: {args: {memory_span: 120000}}")
    )
    assert folder.span == 120_000
    assert folder.examples == {
        "chapter_break": ("77_2",),
        "colours": ("9", "10"),
        "mine": ("0",),
    }
    assert folder.unknown == ("mine",)
    assert folder.definition("colours", "10").expected == "Ochre"


@pytest.mark.parametrize(
    ("config", "span"),
    [
        ("memory_span: 2000", 2000),
        ("memory_span: 32k", 32_000),
        ("config: {run_name: x}", None),
        ("datasets: {args: null}", None),
        ("", None),
    ],
)
def test_a_config_may_name_the_span(
    config: str, span: int | None, tmp_path: Path
) -> None:
    assert (
        DefinitionsFolder(a_folder(tmp_path, "Colours/0.def.json", config=config)).span
        == span
    )


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            "memory_span: far",
            "config.yml:1: memory_span: expected a number of tokens, such as 2000 or 2k, got 'far'.",
        ),
        (
            "datasets:\n  args: {memory_span: -1}",
            "config.yml:2: datasets.args.memory_span: expected a whole number",
        ),
        ("- memory_span", "config.yml:1: expected a mapping"),
        ("memory_span: [", "config.yml:1: not usable YAML"),
    ],
)
def test_a_config_that_cannot_be_used_is_an_error(
    config: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError) as caught:
        DefinitionsFolder(a_folder(tmp_path, "Colours/0.def.json", config=config))
    assert sentence in str(caught.value)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError, match="nowhere: cannot be read: No such file or directory"
    ):
        DefinitionsFolder(tmp_path / "nowhere")


def test_an_empty_folder_says_what_is_expected_in_it(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError,
        match=r"no definitions here\. Expected files like .*0\.def\.json",
    ):
        DefinitionsFolder(tmp_path)


def test_the_folder_of_one_scenario_names_the_one_above(tmp_path: Path) -> None:
    a_folder(tmp_path, "Colours/0.def.json")
    with pytest.raises(
        DefinitionError, match="one level too high: give the folder above"
    ):
        DefinitionsFolder(tmp_path / "Colours")


def test_the_folder_of_a_run_names_the_one_below(tmp_path: Path) -> None:
    a_folder(tmp_path, "definitions/Colours/0.def.json")
    with pytest.raises(DefinitionError, match=r"Give the folder below, .*definitions"):
        DefinitionsFolder(tmp_path)


def test_two_folders_of_one_scenario_are_an_error(tmp_path: Path) -> None:
    a_folder(tmp_path, "Colours/0.def.json", "colours_/0.def.json")
    with pytest.raises(
        DefinitionError, match="more than one folder holds the scenario 'colours'"
    ):
        DefinitionsFolder(tmp_path)


def test_a_file_whose_name_node_ids_cannot_have_is_played_under_the_name_that_they_have(
    tmp_path: Path,
) -> None:
    folder = DefinitionsFolder(
        a_folder(tmp_path, "Colours/a-b.def.json", "Colours/c d.def.json")
    )
    assert folder.examples == {"colours": ("a_b", "c_d")}
    assert folder.definition("colours", "a_b").expected == "Ochre"


def test_two_files_that_would_be_one_example_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError, match=r"a_b\.def\.json: a-b\.def\.json is example 'a_b', too"
    ):
        DefinitionsFolder(
            a_folder(tmp_path, "Colours/a-b.def.json", "Colours/a_b.def.json")
        )


def test_an_example_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="no definition of colours/7"):
        DefinitionsFolder(a_folder(tmp_path, "Colours/0.def.json")).definition(
            "colours", "7"
        )


@pytest.mark.slow
@pytest.mark.published
def test_every_published_definition_is_read() -> None:
    rows = lines_of(GOODAI / "definitions.jsonl.gz")
    for row in rows:
        folder = row["path"].split("/")[-2]
        definition = from_published(Field(row, row["path"]), scenario_of(folder))
        assert folder in FOLDERS
        assert from_json(to_json(definition), where=row["path"]) == definition
        assert [
            step.text for step in definition.steps if not isinstance(step, Wait)
        ] == row["script"]
    assert Counter("waits" in row for row in rows) == {True: 522, False: 60}


@pytest.mark.published
@pytest.mark.parametrize(
    ("name", "span", "scenarios"),
    [("Benchmark 3 - 1k", 1000, 10), ("Benchmark 3 - 120k", 120_000, 11)],
)
def test_the_published_folders_are_read_as_they_are(
    name: str, span: int, scenarios: int
) -> None:
    folder = DefinitionsFolder(GOODAI / "definitions" / name)
    assert (folder.span, len(folder.examples), folder.unknown) == (span, scenarios, ())
    for scenario, examples in folder.examples.items():
        for example in examples:
            assert isinstance(folder.definition(scenario, example), Definition)
