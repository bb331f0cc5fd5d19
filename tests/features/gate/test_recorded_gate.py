"""Gates and statistics on made-up runs equal the record; `test_statistics_by_hand.py` checks their correctness."""

from __future__ import annotations

from difflib import unified_diff

import pytest
from recorded_gate import RECORDED, recorded, subjects


@pytest.mark.slow
@pytest.mark.recorded
@pytest.mark.parametrize("subject", subjects())
def test_what_is_said_is_as_recorded(subject: str) -> None:
    changed = unified_diff(
        recorded(subject),
        list(subjects()[subject]()),
        "recorded",
        "now",
        lineterm="",
        n=0,
    )
    assert "\n".join(changed) == ""


def test_no_record_is_left_over() -> None:
    assert {path.stem for path in RECORDED.glob("*")} == set(subjects())
