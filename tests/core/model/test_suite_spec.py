"""What `--ltm-suite` says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm._core.model.suite_spec import SuiteSpec
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
