"""A run of the suite `restraint`: its entries share a conversation, and none makes the agent lose another's facts."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_who_remembers_everything_passes_all_entries_in_one_conversation(
    pytester: pytest.Pytester,
) -> None:
    played = pytester.runpytest(
        "--ltm-suite=restraint", "--ltm-agent=full", "--ltm-examples=1", "-q"
    )
    played.assert_outcomes(passed=11)
    played.stdout.fnmatch_lines(["full at 2k: total 11.00 of 11*"])
