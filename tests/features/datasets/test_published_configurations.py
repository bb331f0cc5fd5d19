"""Configurations of the published benchmark as suites; all of them are our own, in the published schema."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from pytest_ltm.api.scenarios import Suite, built_in, scenario_names
from pytest_ltm.api.storage import ConfigurationError, DefinitionError
from pytest_ltm.datasets.published import load_any_suite
from pytest_ltm.datasets.suite_parameters import check_parameters

CONFIGURATION = """
    config:
      debug: True
      run_name: "Bench - 32k"
      incompatibilities:
        - ["names", "name_list"]
    datasets:
      args: {memory_span: 32000, dataset_examples: 3, seed: 7}
      datasets:
        - name: "name_list"
          args: {name_changes: 4}
        - name: "sallyanne"
          args: {dataset_examples: 1}
        - name: "trigger_response"
"""


def suite_of(tmp_path: Path, text: str) -> Suite:
    file = tmp_path / "bench.yml"
    file.write_text(dedent(text), "utf-8")
    return check_parameters(load_any_suite(file, scenario_names()))


def test_a_published_configuration_is_a_suite_with_its_span_seed_and_examples(
    tmp_path: Path,
) -> None:
    suite = suite_of(tmp_path, CONFIGURATION)
    assert (suite.name, suite.spans, suite.seed) == ("Bench - 32k", (32_000,), 7)
    assert [(entry.name, entry.examples) for entry in suite.entries] == [
        ("name_list", 3),
        ("sally_anne", 1),
        ("trigger_response", 3),
    ]
    assert suite.entries[0].incompatible == ("names",)


def test_what_a_published_configuration_leaves_open_is_that_of_the_suite_paper(
    tmp_path: Path,
) -> None:
    names, _, trigger = suite_of(tmp_path, CONFIGURATION).entries
    paper = built_in("paper").entry("trigger_response")
    assert paper is not None
    assert trigger.parameters == paper.parameters
    assert names.parameters == {"name_changes": 4, "last_wait": 0.9}


def test_a_field_without_effect_is_named_with_the_reason(tmp_path: Path) -> None:
    [sentence] = suite_of(tmp_path, CONFIGURATION).unhonoured
    assert sentence.endswith(
        "bench.yml: config.debug: nothing is printed of what is sent; `ltm show` prints a recorded conversation"
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "memory_span: 32000",
            "filler_tokens_low: 1000",
            "bench.yml:8: datasets.args.filler_tokens_low: cannot be",
        ),
        (
            "memory_span: 32000",
            "memory_span: far",
            "bench.yml:8: datasets.args.memory_span: expected a number of tok",
        ),
        (
            "debug: True",
            "debgu: True",
            "bench.yml:3: config.debgu: unknown field; known fields: run_name",
        ),
        (
            '"sallyanne"',
            '"movies"',
            "bench.yml:12: datasets.datasets[1].name: no scenario here plays the data set 'mov",
        ),
        ('"sallyanne"', '"name_list"', "two entries are called 'name_list'"),
        ("seed: 7", "seed: x", "datasets.args.seed: expected a whole number, got 'x'."),
        (
            "dataset_examples: 1",
            "dataset_examples: 0",
            "dataset_examples: expected a whole number of at least 1, got 0.",
        ),
        (
            '["names", "name_list"]',
            "names",
            "config.incompatibilities[0]: expected a list of names",
        ),
    ],
)
def test_what_cannot_be_honoured_is_an_error_with_its_line_and_field(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        suite_of(tmp_path, CONFIGURATION.replace(old, new))
    assert sentence in str(caught.value)


def test_an_argument_that_a_scenario_does_not_use_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError,
        match="the scenario 'sally_anne' does not use 'data_location'",
    ):
        suite_of(
            tmp_path,
            CONFIGURATION.replace(
                "args: {dataset_examples: 1}", "args: {data_location: tomi.txt}"
            ),
        )
