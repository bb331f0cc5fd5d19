"""The agenda: the choice of the next lane, and refused plans."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from pytest_ltm._core.model.schedule import (
    Agenda,
    AgendaEntry,
    Fill,
    Finish,
    JumpTime,
    ResumeLane,
    Start,
    Tell,
    parse_compact_option,
)
from pytest_ltm._core.storage.clock import START
from pytest_ltm.api.storage import ConfigurationError


def agenda(*scenarios: str, **incompatible: str) -> Agenda:
    """Return an agenda of scenarios named by letters; `a="bc"`: a must not overlap with b or c."""
    entries = [
        AgendaEntry(scenario=name, incompatible=frozenset(incompatible.get(name, "")))
        for name in scenarios
    ]
    return Agenda(entries, now=START)


def after(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def started(one: Agenda, *lanes: int) -> Agenda:
    for lane in lanes:
        one.start(lane)
    return one


def test_an_empty_plan_is_finished() -> None:
    assert agenda().decide() == Finish()


def test_new_examples_start_in_the_order_of_the_plan() -> None:
    one = agenda("a", "b")
    assert one.decide() == Start(0)
    assert started(one, 0).decide() == Start(1)


def test_asking_changes_nothing() -> None:
    one = started(agenda("a", "b"), 0)
    one.suspend(0, tokens=5, time=START)
    assert [one.decide() for _ in range(3)] == [Start(1)] * 3


def test_the_next_example_of_a_scenario_starts_after_the_end_of_the_last_one() -> None:
    one = started(agenda("a", "a"), 0)
    assert one.decide() == Finish()
    one.end(0)
    assert one.decide() == Start(1)


@pytest.mark.parametrize("said_by", ["a", "b"])
def test_incompatibility_holds_both_ways(said_by: str) -> None:
    one = started(agenda("a", "b", **{said_by: "ab"}), 0)
    assert one.decide() == Finish()
    one.end(0)
    assert one.decide() == Start(1)


def test_the_last_of_several_rivals_lets_an_example_start() -> None:
    one = started(agenda("a", "b", "c", c="ab"), 0, 1)
    one.end(1)
    assert one.decide() == Finish()
    one.end(0)
    assert one.decide() == Start(2)


def test_an_example_that_was_overtaken_keeps_its_place_in_the_plan() -> None:
    one = started(agenda("a", "b", "b", "c", b="a"), 0)
    assert one.decide() == Start(3)
    one.end(0)
    assert one.decide() == Start(1)


def test_a_name_that_nobody_has_is_incompatible_with_nobody() -> None:
    assert started(agenda("a", "b", a="x"), 0).decide() == Start(1)


def test_a_wait_that_is_over_comes_before_a_new_example() -> None:
    one = started(agenda("a", "b"), 0)
    one.suspend(0, tokens=0, time=START)
    assert one.decide() == ResumeLane(0)


@pytest.mark.parametrize(
    ("first", "second", "resumed"),
    [
        ((7, 0), (5, 3), 1),  # the lower token target
        ((5, 3), (5, 2), 1),  # then the earlier time target
        ((5, 2), (5, 2), 0),  # then the order of the plan
    ],
)
def test_of_waits_that_are_over_the_nearer_one_is_resumed(
    first: tuple[int, int], second: tuple[int, int], resumed: int
) -> None:
    one = started(agenda("a", "b"), 0, 1)
    one.suspend(0, tokens=first[0], time=after(first[1]))
    one.suspend(1, tokens=second[0], time=after(second[1]))
    one.advance(position=9, now=after(9))
    assert one.decide() == ResumeLane(resumed)


def test_a_wait_for_tokens_and_time_needs_both() -> None:
    one = started(agenda("a"), 0)
    one.suspend(0, tokens=50, time=after(5))
    one.advance(position=50, now=START)
    assert one.decide() == JumpTime(after(5))
    one.advance(position=50, now=after(5))
    assert one.decide() == ResumeLane(0)


def test_a_target_that_is_reached_exactly_is_over() -> None:
    one = started(agenda("a"), 0)
    one.suspend(0, tokens=50, time=START)
    one.advance(position=49, now=START)
    assert one.decide() == Fill(1)
    one.advance(position=50, now=START)
    assert one.decide() == ResumeLane(0)


def test_time_jumps_to_the_nearest_wait_first() -> None:
    one = started(agenda("a", "b"), 0, 1)
    one.suspend(0, tokens=0, time=after(9))
    one.suspend(1, tokens=0, time=after(4))
    assert one.decide() == JumpTime(after(4))


def test_time_jumps_before_filler_talks() -> None:
    one = started(agenda("a", "b"), 0, 1)
    one.suspend(0, tokens=10, time=START)
    one.suspend(1, tokens=20, time=after(4))
    assert one.decide() == JumpTime(after(4))
    one.advance(position=0, now=after(4))
    assert one.decide() == Fill(10)


def test_filler_reaches_for_the_nearest_target() -> None:
    one = started(agenda("a", "b"), 0, 1)
    one.suspend(0, tokens=300, time=START)
    one.suspend(1, tokens=200, time=START)
    one.advance(position=50, now=START)
    assert one.decide() == Fill(150)


def test_the_smallest_filler_serves_a_watcher_that_counts() -> None:
    one = started(agenda("a", "b"), 0, 1)
    one.suspend(0, tokens=300, time=START)
    assert one.decide(listening=True) == Fill(0)
    assert one.decide() == Fill(300)


def test_a_watcher_waits_while_anybody_can_speak() -> None:
    one = agenda("a", "b")
    assert one.decide(listening=True) == Start(0)
    one.start(0)
    one.suspend(0, tokens=0, time=after(1))
    one.start(1)
    assert one.decide(listening=True) == JumpTime(after(1))


def test_an_agenda_may_begin_in_the_middle_of_a_conversation() -> None:
    one = Agenda([AgendaEntry(scenario="a")], now=START, position=500)
    one.start(0)
    one.suspend(0, tokens=600, time=START)
    assert one.decide() == Fill(100)


def test_nobody_starts_while_a_rival_is_open() -> None:
    one = started(agenda("a", "a"), 0)
    with pytest.raises(ValueError, match="lane 1 may not start"):
        one.start(1)


def test_nobody_goes_on_out_of_turn() -> None:
    one = started(agenda("a"), 0)
    one.suspend(0, tokens=5, time=START)
    with pytest.raises(ValueError, match="not the turn of lane 0"):
        one.resume(0)


def test_many_examples_of_many_scenarios_take_one_heap_operation_each_and_no_search() -> (
    None
):
    looked_at = 0

    class Counted(int):
        def __lt__(self, other: object) -> bool:
            nonlocal looked_at
            looked_at += 1
            return int(self) < int(other)  # type: ignore[call-overload, no-any-return]

    scenarios = 1000
    one = started(
        Agenda([AgendaEntry(scenario=f"s{n}") for n in range(scenarios)], now=START),
        *range(scenarios),
    )
    for lane in range(scenarios):
        one.suspend(lane, tokens=Counted(1 + (lane * 7919) % 5000), time=START)
    one.advance(position=5000, now=START)
    for _ in range(scenarios):
        decision = one.decide()
        assert isinstance(decision, ResumeLane)
        one.resume(decision.lane)
    # A heap of a thousand takes about ten comparisons (twice that to remove the
    # smallest) for each of its four uses.
    assert looked_at < scenarios * 4 * 2 * 10


def test_history_is_told_in_the_place_of_filler() -> None:
    one = Agenda([AgendaEntry(scenario="a")], now=START, history=[after(5), after(7)])
    one.start(0)
    one.suspend(0, tokens=100, time=START, told=1)
    assert one.decide() == Tell(0)
    one.tell()
    assert one.decide() == Tell(1)
    one.tell()
    assert one.decide() == Fill(100)


def test_a_time_wait_that_is_over_first_comes_before_the_history() -> None:
    one = started(Agenda([AgendaEntry(scenario="a")], now=START, history=[after(5)]), 0)
    one.suspend(0, tokens=0, time=after(5))
    assert one.decide() == JumpTime(after(5))


def test_history_that_nobody_waits_for_is_not_told() -> None:
    one = started(Agenda([AgendaEntry(scenario="a")], now=START, history=[after(5)]), 0)
    one.end(0)
    assert one.decide() == Finish()


def test_nobody_waits_for_more_history_than_there_is() -> None:
    one = started(Agenda([AgendaEntry(scenario="a")], now=START, history=[after(5)]), 0)
    with pytest.raises(ValueError, match="1 exchanges, not 2"):
        one.suspend(0, tokens=0, time=START, told=2)


def test_examples_that_may_be_open_together_all_start() -> None:
    one = Agenda([AgendaEntry(scenario="a", together=True)] * 3, now=START)
    assert started(one, 0, 1).decide() == Start(2)


@pytest.mark.parametrize(
    "text",
    [
        "8k",
        "every:",
        f"every:{'9' * 5_000}",
        "every:0",
        "every:8h",
        "at:0",
        "at:1.5",
        "at:half",
        "at:.",
        "",
    ],
)
def test_what_says_no_number_of_tokens_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not every:TOKENS"):
        parse_compact_option(text)
