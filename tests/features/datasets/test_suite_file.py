from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ltm.api.scenarios import (
    SuiteEntry,
    built_in,
    built_in_names,
    scenarios_folder,
)
from pytest_ltm.api.storage import ConfigurationError, DefinitionError
from pytest_ltm.datasets.suite_file import load_suite

KNOWN = ("colours", "jokes", "prospective_memory")


def test_a_suite_names_scenarios_with_their_parameters(tmp_path: Path) -> None:
    path = tmp_path / "mine.ltm-suite.yml"
    path.write_text(
        "name: mine\n"
        "examples: 3\n"
        "scenarios:\n"
        "  - jokes\n"
        "  - scenario: colours\n"
        "    name: many_colours\n"
        "    parameters: {colour_changes: 9}\n"
        "    examples: 5\n"
        "    span: 8k\n"
        "    threshold: 0.5\n"
    )
    suite = load_suite(path, KNOWN)
    assert suite.name == "mine"
    assert suite.entries == (
        SuiteEntry(scenario="jokes", name="jokes", examples=3),
        SuiteEntry(
            scenario="colours",
            name="many_colours",
            parameters={"colour_changes": 9},
            examples=5,
            span=8000,
            threshold=0.5,
        ),
    )
    assert suite.entry("many_colours") == suite.entries[1]
    assert suite.entry("colours") is None


def test_a_suite_says_what_holds_for_the_run_and_in_which_line(tmp_path: Path) -> None:
    path = tmp_path / "x.ltm-suite.yml"
    path.write_text(
        "span: [2k, isolated]\nseed: -3\nfiller: mixed\nopening: ''\n"
        "scenarios:\n  - colours\n  - {scenario: jokes, reset: Bye.}\n"
        "reset: Forget it.\n"
    )
    suite = load_suite(path, KNOWN)
    assert (suite.spans, suite.seed, suite.filler, suite.opening) == (
        (2000, None),
        -3,
        "mixed",
        "",
    )
    assert suite.lines == {"span": 1, "seed": 2, "filler": 3, "opening": 4}
    assert suite.place("filler") == f"{path}:3: filler"
    assert [entry.reset for entry in suite.entries] == ["Forget it.", "Bye."]


def test_a_suite_that_says_nothing_of_the_run_leaves_it_open(tmp_path: Path) -> None:
    path = tmp_path / "x.ltm-suite.yml"
    path.write_text("scenarios: [colours]")
    suite = load_suite(path)
    assert (suite.spans, suite.seed, suite.filler, suite.opening, suite.lines) == (
        (),
        None,
        None,
        None,
        {},
    )
    assert suite.entries[0].reset is None


def test_a_suite_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "nightly.ltm-suite.yml"
    path.write_text("scenarios: [colours]")
    assert load_suite(path).name == "nightly"


def test_a_suite_that_says_no_number_of_examples_leaves_it_open(tmp_path: Path) -> None:
    path = tmp_path / "x.ltm-suite.yml"
    path.write_text("scenarios: [colours]")
    assert load_suite(path).entries[0].examples is None


def test_incompatible_entries_know_each_other_from_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "x.ltm-suite.yml"
    path.write_text(
        "scenarios:\n"
        "  - colours\n"
        "  - {scenario: jokes, incompatible: [colours]}\n"
        "  - prospective_memory\n"
        "incompatible:\n"
        "  - [prospective_memory, jokes]\n"
    )
    apart = {
        entry.name: entry.incompatible for entry in load_suite(path, KNOWN).entries
    }
    assert apart == {
        "colours": ("jokes",),
        "jokes": ("colours", "prospective_memory"),
        "prospective_memory": ("jokes",),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "",
            "x.ltm-suite.yml: expected a mapping with the fields name, version, examples",
        ),
        ("- colours", "x.ltm-suite.yml:1: expected a mapping"),
        ("just words", "x.ltm-suite.yml:1: expected a mapping"),
        ("name: x", "x.ltm-suite.yml:1: the field 'scenarios' is missing."),
        (
            "scenarios: []",
            "x.ltm-suite.yml:1: scenarios: expected at least one scenario, got [].",
        ),
        (
            "scenarios: {a: b}",
            "x.ltm-suite.yml:1: scenarios: expected a list of scenarios",
        ),
        (
            "scenario: [colours]",
            "x.ltm-suite.yml:1: scenario: unknown field; known fields:",
        ),
        (
            "name: none\nscenarios: [colours]",
            "x.ltm-suite.yml:1: name: no suite can be called 'none'",
        ),
        (
            "scenarios:\n- colors",
            "2: scenarios[0]: no scenario is called 'colors'; there are colours, jokes",
        ),
        ("scenarios:\n- colors", "Did you mean 'colours'?"),
        (
            "scenarios:\n- {scenario: colours, examples: 0}",
            "scenarios[0].examples: expected a whole number of at least 1, got 0",
        ),
        (
            "scenarios:\n- {scenario: colours, example: 1}",
            "scenarios[0].example: unknown field",
        ),
        (
            "scenarios:\n- {name: colours}",
            "x.ltm-suite.yml:2: scenarios[0]: the field 'scenario' is missing.",
        ),
        (
            "scenarios:\n- {scenario: colours, parameters: [3]}",
            "scenarios[0].parameters: expected a mapping, got [3].",
        ),
        (
            "scenarios:\n- {scenario: colours, name: a-b}",
            "scenarios[0].name: expected a name of letters, digits and _",
        ),
        (
            "scenarios:\n- {scenario: colours, span: long}",
            "scenarios[0].span: expected a number of tokens",
        ),
        (
            "scenarios:\n- colours\n- colours",
            "3: scenarios[1]: two entries are called 'colours' (the first in line 2).",
        ),
        (
            "scenarios: [colours]\nincompatible: [[colours]]",
            "incompatible[0]: expected a list of at least two names",
        ),
        (
            "scenarios: [colours]\nincompatible: [[colours, joke]]",
            "no scenario is called 'joke'. Did you mean 'jokes'?",
        ),
        (
            "scenarios:\n- &a colours\n- *a",
            "x.ltm-suite.yml:2: not usable YAML: anchors (&name)",
        ),
        ("scenarios: [colours\nname: x", "x.ltm-suite.yml:2: not usable YAML"),
        (
            "name: x\nname: y",
            "x.ltm-suite.yml:2: the name 'name' appears twice in one mapping.",
        ),
        ("name: !!python/object/apply:os.getcwd []", "x.ltm-suite.yml:1:"),
        ("[" * 5000, "x.ltm-suite.yml: nested too deeply."),
        ("#" * 1_000_001, "x.ltm-suite.yml: larger than 1,000,000 bytes"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_field_and_what_was_expected(
    text: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "x.ltm-suite.yml").write_text(text)
    with pytest.raises(DefinitionError) as caught:
        load_suite(tmp_path / "x.ltm-suite.yml", KNOWN)
    assert sentence in str(caught.value)


def test_a_suite_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DefinitionError,
        match=r"x\.ltm-suite\.yml: cannot be read: No such file or directory\.",
    ):
        load_suite(tmp_path / "x.ltm-suite.yml")


def test_the_standard_suite_is_built_in() -> None:
    assert "standard" in built_in_names()
    suite = built_in("standard")
    assert suite.name == "standard"
    assert {"colours", "jokes", "prospective_memory"} <= {
        entry.name for entry in suite.entries
    }


def test_every_built_in_suite_names_scenarios_that_are_there() -> None:
    known = {path.stem for path in scenarios_folder().glob("*.py")}
    for name in built_in_names():
        assert built_in(name, known).name == name


def test_an_unknown_suite_names_the_nearest_one() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"no suite 'standart': built in are .*Did you mean 'standard'\?",
    ):
        built_in("standart")


def test_a_suite_name_is_no_way_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "x.ltm-suite.yml").write_text("scenarios: [colours]")
    with pytest.raises(ConfigurationError):
        built_in(f"../../../../../../../..{tmp_path}/x")


def test_the_suite_paper_writes_every_parameter_of_its_scenarios() -> None:
    paper = built_in("paper")
    assert paper.title == "paper 2"
    assert {entry.examples for entry in paper.entries} == {3}
    assert {entry.scenario for entry in paper.entries} == {
        entry.scenario for entry in built_in("standard").entries
    }
    assert {entry.parameters.get("last_wait", 0.9) for entry in paper.entries} == {0.9}
    assert all(entry.parameters for entry in paper.entries)
