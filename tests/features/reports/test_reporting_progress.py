"""A single line of progress at any width."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ltm.figures.text import columns_of
from pytest_ltm.reports.failure import progress_line


def line(**changes: Any) -> str:
    values: dict[str, Any] = {
        "agent": "window_8k",
        "span_label": "32k",
        "tokens": 12_345,
        "target_tokens": 33_000,
        "in_progress": 4,
        "done": 3,
        "total": 11,
        "score_sum": 2.5,
        "scored": 3,
        "width": 120,
    }
    return progress_line(**{**values, **changes})


def test_a_wide_line_tells_all() -> None:
    assert line() == (
        "window_8k at 32k: [=======.............] 12,345 of ~33,000 tokens, 4 open, 3 of 11 examples done,"
        " score 2.50 of 3"
    )


def test_a_narrow_line_keeps_what_matters() -> None:
    assert (
        line(width=60) == "window_8k at 32k: 12,345 tokens, 3/11 done, score 2.50 of 3"
    )
    assert line(width=50) == "window_8k at 32k: 3/11 done, score 2.50 of 3"
    assert line(width=20) == "window_8k at 32k: 3…"


def test_a_long_name_is_shortened_before_it_hides_how_far_the_conversation_is() -> None:
    name = "an_agent_with_a_memory_of_many_kinds_and_so_a_name_that_tells_all_of_them"

    assert line(agent=name, width=200).startswith(f"{name} at 32k: [")
    assert (
        line(agent=name, width=79)
        == "an_agent_wit…all_of_them at 32k: 12,345 tokens, 3/11 done, score 2.50 of 3"
    )
    assert line(agent=name, width=45) == "an_agent_wit…all_of_them at 32k: 3/11 done"


@pytest.mark.parametrize(
    "agent", ["window_8k", "記憶エージェント", "a\x1b[2J\nb", "[x], y"]
)
def test_no_width_is_exceeded_and_no_line_is_broken(agent: str) -> None:
    for width in range(5, 140):
        shown = line(agent=agent, width=width)
        assert columns_of(shown) <= width
        assert shown.isprintable()


def test_without_a_score_or_a_target_none_is_claimed() -> None:
    assert line(scored=0, score_sum=0.0, target_tokens=0) == (
        "window_8k at 32k: 12,345 tokens, 4 open, 3 of 11 examples done"
    )


def test_a_conversation_longer_than_expected_has_a_full_bar() -> None:
    assert line(tokens=40_000).startswith(
        "window_8k at 32k: [====================] 40,000 tokens, "
    )
