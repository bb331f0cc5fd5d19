"""Specs of `--ltm-suite`, and the reading of runs recorded with older options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm._core.model.suite_spec import SuiteSpec, fold_recorded_options
from pytest_ltm._core.storage.errors import ConfigurationError

_NAMES = st.text("abcdefgh_", min_size=1, max_size=6)


@given(_NAMES, st.dictionaries(_NAMES, st.text(min_size=1), max_size=4))
def test_a_spec_is_read_as_it_was_written(
    name: str, parameters: dict[str, str]
) -> None:
    spec = SuiteSpec(name, parameters)
    assert SuiteSpec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("locomo?data", "Write NAME=VALUE"),
        ("locomo?data=a&data=b", "'data' is given twice"),
    ],
)
def test_a_wrong_parameter_is_an_error(text: str, cure: str) -> None:
    with pytest.raises(ConfigurationError, match=cure):
        SuiteSpec.parse(text)


def test_a_run_recorded_with_options_of_a_data_set_has_parameters() -> None:
    recorded = {
        "ltm_agent": ["bot:Bot"],
        "ltm_suite": "locomo",
        "ltm_data": "a&b.json",
        "ltm_locomo_next_turns": "3",
        "ltm_questions": "together",
    }
    assert fold_recorded_options(recorded, "locomo") == {
        "ltm_agent": ["bot:Bot"],
        "ltm_suite": "locomo?data=a%26b.json&next_turns=3&questions=together",
    }


def test_a_run_whose_suite_stood_in_the_ini_file_has_it_from_its_settings() -> None:
    folded = fold_recorded_options({"ltm_data": "x.json"}, "logs")
    assert folded == {"ltm_suite": "logs?data=x.json"}


def test_other_options_stay_as_they_are() -> None:
    options = {"ltm_suite": "standard", "ltm_span": "2k"}
    assert fold_recorded_options(options, "standard") == options
