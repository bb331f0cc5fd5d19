"""Building blocks of scenarios: durations, steps, and the values they refuse."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from pytest_ltm._core.model.scenario import Ask, Definition, Say, Wait, Watch, spread
from pytest_ltm._core.storage.clock import duration
from pytest_ltm._core.storage.errors import ScenarioError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("30s", timedelta(seconds=30)),
        ("45m", timedelta(minutes=45)),
        ("3h", timedelta(hours=3)),
        ("1h 30m", timedelta(minutes=90)),
        ("1h30m", timedelta(minutes=90)),
        ("2d, 4h", timedelta(days=2, hours=4)),
        ("1.5h", timedelta(minutes=90)),
        ("2 w", timedelta(weeks=2)),
        (90, timedelta(seconds=90)),
        (0.5, timedelta(milliseconds=500)),
        (0, timedelta(0)),
        (timedelta(days=3), timedelta(days=3)),
    ],
)
def test_a_duration_is_read_as_people_write_it(written: Any, meant: timedelta) -> None:
    assert duration(written) == meant


@pytest.mark.parametrize(
    "written", ["", "soon", "3", "3 hours", "-3h", "h", "3h!", "3H"]
)
def test_what_is_no_duration_is_refused_with_examples(written: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        duration(written)
    assert (
        str(caught.value)
        == f"{written!r} is not a duration; write it as '30s', '45m', '3h', '1h 30m' or '2d'"
    )


@pytest.mark.parametrize("written", [-1, -0.5, timedelta(seconds=-1)])
def test_a_duration_is_never_negative(written: Any) -> None:
    with pytest.raises(ScenarioError, match="cannot wait backwards"):
        duration(written)


@pytest.mark.parametrize("text", ["", "  \n", None, 5])
def test_a_message_is_a_text_that_is_not_empty(text: Any) -> None:
    for step in (Say, Ask):
        with pytest.raises(ScenarioError) as caught:
            step(text)
        assert str(caught.value) == f"a message is a non-empty text, not {text!r}"


def test_what_a_question_is_about_are_texts() -> None:
    with pytest.raises(ScenarioError, match="not 5"):
        Ask("which?", about=(5,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "conditions",
    [
        {"tokens": -1},
        {"span": -0.1},
        {"time": timedelta(-1)},
        {"span": float("nan")},
        {"tokens": float("nan")},
    ],
)
def test_nobody_waits_backwards(conditions: Any) -> None:
    with pytest.raises(ScenarioError, match="cannot wait backwards: "):
        Wait(**conditions)


def test_nobody_waits_for_more_than_the_span() -> None:
    with pytest.raises(
        ScenarioError, match=r"beyond the memory span: span=1.1 \(1.0 is all of it\)"
    ):
        Wait(span=1.1)
    assert Wait(span=1.0).span == 1.0


@pytest.mark.parametrize("replies", [0, -1])
def test_a_watcher_counts_at_least_one_reply(replies: int) -> None:
    with pytest.raises(ScenarioError, match=f"at least one reply, not {replies}"):
        Watch(lambda _: None, replies)


def test_the_questions_of_a_definition_are_its_asks() -> None:
    steps = (Say("a"), Ask("b"), Wait(span=0.5), Ask("c"))
    assert Definition(steps=steps).questions == (Ask("b"), Ask("c"))


def test_messages_are_spread_over_nine_tenths_of_the_span() -> None:
    waits = [
        step.span
        for step in spread([Say("1"), Say("2"), Say("3"), Ask("4")])
        if isinstance(step, Wait)
    ]
    assert waits == pytest.approx([0.3, 0.6, 0.9])


def test_a_spread_begins_and_ends_with_a_message() -> None:
    steps = spread([Say("1"), Ask("2")])
    assert [type(step) for step in steps] == [Say, Wait, Ask]


def test_one_message_is_spread_over_nothing() -> None:
    assert spread([Ask("1")]) == (Ask("1"),)
    assert spread([]) == ()
