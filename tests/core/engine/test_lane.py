"""A lane: the position of one example, its waits and its ending."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from _talks import After, example

from pytest_ltm._core.engine.lane import (
    CreditedQuestion,
    Ending,
    GreenBody,
    Lane,
    Watching,
)
from pytest_ltm._core.model.scenario import Ask, Definition, Say, Wait, Watch
from pytest_ltm._core.model.score import Score, Unscored
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.transcript import Exchange, Kind, Transcript
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.errors import ScenarioError

COUNTER = TokenCounter("characters", len)


def lane(
    *own: Exchange, span: int | None = 1000, start: int | None = 0, **fields: Any
) -> Lane:
    return Lane(0, example("a", **fields), GreenBody(), span, start, own=list(own))


def exchange(
    number: int, message: str = "m", kind: Kind = "say", start: int = 0
) -> Exchange:
    return Exchange(
        number=number,
        by="a/0",
        kind=kind,
        message=message,
        reply="ok",
        start=start,
        message_tokens=len(message),
        reply_tokens=2,
        now=START,
    )


def targets(one: Lane, position: int = 100, **wait: Any) -> tuple[int, datetime]:
    return one.targets(Wait(**wait), position=position, now=START)


# --- waits


def test_a_share_of_the_span_counts_from_the_start_of_the_example() -> None:
    assert targets(lane(start=50), span=0.5) == (550, START)


def test_tokens_and_time_count_from_now() -> None:
    assert targets(lane(start=50), position=100, tokens=30, time=timedelta(days=2)) == (
        130,
        START + timedelta(days=2),
    )


@pytest.mark.parametrize(("tokens", "target"), [(300, 550), (500, 600)])
def test_the_later_of_span_and_tokens_counts(tokens: int, target: int) -> None:
    assert targets(lane(start=50), position=100, span=0.5, tokens=tokens)[0] == target


def test_a_share_that_is_past_is_over_at_once() -> None:
    assert targets(lane(start=50), position=900, span=0.5)[0] <= 900


@pytest.mark.parametrize("span", [301, 303, 305])
def test_half_a_token_is_waited_for_as_a_whole_one(span: int) -> None:
    assert targets(lane(span=span), span=0.5)[0] == (span + 1) // 2


def test_all_of_the_span_may_be_waited_for_and_no_more() -> None:
    assert targets(lane(), position=5, tokens=1000)[0] == 1005
    with pytest.raises(
        ScenarioError, match=r"beyond the memory span: 1,001 tokens, the span has 1,000"
    ):
        targets(lane(), tokens=1001)


def test_isolated_waits_for_span_and_tokens_are_over_and_time_waits_are_not() -> None:
    isolated = lane(span=None)
    assert targets(isolated, position=7, span=1.0, tokens=10**9, time=timedelta(1)) == (
        7,
        START + timedelta(1),
    )


def test_nobody_waits_beyond_the_calendar() -> None:
    with pytest.raises(ScenarioError, match="the calendar ends before that"):
        targets(lane(), time=timedelta.max)


# --- needles


def test_a_question_depends_on_everything_that_was_said_before() -> None:
    assert lane(exchange(3), exchange(5, kind="ask"), exchange(8)).needles(()) == (3, 8)


def test_a_question_depends_on_the_texts_it_names() -> None:
    one = lane(
        exchange(3, "blue"), exchange(5, "tea", kind="ask"), exchange(8, "Porto")
    )
    assert one.needles(("Porto", "blue")) == (8, 3)
    assert one.needles(("tea",)) == (5,)


def test_of_a_text_that_was_said_twice_the_last_time_counts() -> None:
    assert lane(exchange(3, "blue"), exchange(8, "blue")).needles(("blue",)) == (8,)


def test_a_text_that_was_never_said_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(
        ScenarioError, match="about='blau' was never said by this scenario"
    ):
        lane(exchange(3, "Porto")).needles(("blau",))


def test_a_question_needs_something_before_it() -> None:
    with pytest.raises(ScenarioError, match="asks before it has said anything"):
        lane().needles(())


# --- whether it may be played


def test_an_example_without_a_definition_can_be_played() -> None:
    assert lane().unplayable(COUNTER, frozenset()) == ""


@pytest.mark.parametrize(("length", "playable"), [(990, True), (991, False)])
def test_all_its_texts_must_fit_into_the_span(length: int, *, playable: bool) -> None:
    definition = Definition(steps=(Say("x" * length), Wait(span=0.9), Ask("y" * 10)))
    assert (
        lane(definition=definition).unplayable(COUNTER, frozenset()) == ""
    ) == playable


def test_any_text_fits_where_there_is_no_span() -> None:
    definition = Definition(steps=(Say("x" * 9999), Ask("y")))
    assert lane(span=None, definition=definition).unplayable(COUNTER, frozenset()) == ""


def test_the_agent_must_have_every_capability_that_is_required() -> None:
    one = lane(requires=("TimeAware", "Resettable", "AcceptsImages"))
    assert (
        one.unplayable(COUNTER, frozenset({"TimeAware"}))
        == "needs an agent that is AcceptsImages and Resettable"
    )
    assert (
        one.unplayable(
            COUNTER,
            frozenset({"TimeAware", "Resettable", "AcceptsImages", "Configured"}),
        )
        == ""
    )


# --- measurements


def test_the_measured_span_runs_from_the_start_to_the_start_of_the_last_question() -> (
    None
):
    transcript = Transcript()
    for one in (
        said := exchange(0, start=0),
        asked := exchange(1, start=70, kind="ask"),
    ):
        transcript.append(one)
    measured = lane(said, asked, start=2)
    assert measured.measured_span(transcript) is None
    measured.questions.append(CreditedQuestion(1, (0,)))
    assert (
        measured.measured_span(transcript)
        == said.message_tokens + said.reply_tokens - 2
    )


# --- watchers


def watching(watcher: Any, replies: int | None, *since: Exchange) -> Watching:
    return Watching(Watch(watcher, replies), list(since))


def test_a_watcher_counts_until_it_has_spoken() -> None:
    one, counted = watching(After(2), 2, exchange(0)), []
    one.look()
    counted.append(one.counts_replies)
    one.since.append(exchange(1))
    one.look()
    counted.append(one.counts_replies)
    assert counted == [True, False]
    assert one.verdict == Score(1.0, "after 2")


def test_a_watcher_to_the_end_never_counts() -> None:
    assert not watching(After(2), None, exchange(0)).counts_replies


def test_a_watcher_cannot_change_what_others_see() -> None:
    def greedy(since: Sequence[Exchange]) -> None:
        with pytest.raises(AttributeError):
            since.clear()  # type: ignore[attr-defined]

    one = watching(greedy, None, exchange(0))
    one.look()
    assert len(one.since) == 1


@pytest.mark.parametrize(
    ("replies", "at_end", "verdict"),
    [
        (None, False, None),
        (
            None,
            True,
            Unscored("the watcher gave no verdict before the conversation ended"),
        ),
        (2, False, None),
        (1, False, Unscored("the watcher gave no verdict within 1 reply")),
    ],
)
def test_a_watcher_that_must_tell_and_cannot_is_unscored(
    replies: int | None, verdict: Unscored | None, *, at_end: bool
) -> None:
    one = watching(After(99), replies, exchange(0))
    one.look(at_end=at_end)
    assert one.verdict == verdict


# --- endings


def test_what_broke_it_comes_before_any_score() -> None:
    one = lane(exchange(0))
    one.questions.append(CreditedQuestion(0, ()))
    one.body.error = error = RuntimeError("x")
    assert one.ending() == Ending(error=error)
    one.broken = fault = ValueError("earlier")
    assert one.ending() == Ending(error=fault)


def test_its_verdict_is_that_of_its_sheet_and_its_watchers() -> None:
    one = lane(exchange(0))
    one.questions.append(CreditedQuestion(0, ()))
    one.watching.append(Watching(Watch(After(1)), [], Score(0.5, "half")))
    assert one.ending() == Ending(verdict=Score(0.5, "half"))


def test_who_asked_nothing_cannot_be_scored() -> None:
    ending = lane(exchange(0)).ending()
    assert (
        str(ending.error)
        == "asks nothing, so it cannot be scored. Add an `ask` or a watcher"
    )


def test_an_assertion_that_failed_before_any_question_can_be_scored() -> None:
    one = lane(exchange(0))
    one.body.assertion = AssertionError("no")
    one.body.sheet.note_failed_assertion("no")
    assert isinstance(one.ending().verdict, Score)
