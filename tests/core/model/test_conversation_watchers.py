"""The loop: what watchers see, when they must decide, and what waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _talks import (
    After,
    Dots,
    Historian,
    example,
    patient,
    simple,
    speakers,
    talk,
    watching,
)

from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.score import Score, Unscored
from pytest_ltm._core.model.transcript import Exchange


def test_a_counting_watcher_hears_everybody_and_its_own_message_first() -> None:
    watcher = After(3)
    counted = watching(watcher, replies=3)
    talk({"a": counted, "b": simple})
    assert watcher.shown == [
        ["instruction"],
        ["instruction", "blue"],
        ["instruction", "blue", "which?"],
    ]


def test_a_counting_watcher_is_served_with_the_smallest_filler() -> None:
    dots = Dots()
    counted = watching(After(4), replies=4)
    talk({"a": counted, "b": patient}, filler=dots)
    assert dots.asked_for[:1] == [0]


def test_filler_is_really_asked_while_a_watcher_counts_replies() -> None:
    agent = Historian()
    counted = watching(After(3), replies=3)
    talk({"a": counted}, agent)
    assert len(agent.heard) == 3
    assert agent.told == []


def test_the_next_example_starts_only_when_the_watcher_of_the_last_one_has_counted() -> (
    None
):
    def counted(ltm: Ltm) -> None:
        ltm.say(f"instruction {ltm.example}")
        ltm.watch(After(2), replies=2)

    played = talk({"a": counted}, examples=[example("a", 0), example("a", 1)])
    assert speakers(played) == ["a/0", "", "a/1", ""]


def test_an_example_is_reported_only_after_its_watcher_has_spoken() -> None:
    counted = watching(After(3), replies=3)
    assert talk({"a": counted, "b": simple}).order == ("a/0", "b/0")
    assert talk({"a": counted, "b": simple, "c": simple}).order == ("a/0", "b/0", "c/0")
    assert talk({"b": simple, "a": watching(After(9))}).order == ("b/0", "a/0")


def test_a_watcher_to_the_end_needs_no_filler_and_keeps_nobody_waiting() -> None:
    watched = watching(After(100))
    played = talk({"a": watched}, examples=[example("a", 0), example("a", 1)])
    assert speakers(played) == ["a/0", "a/1"]


def test_a_watcher_to_the_end_that_cannot_tell_is_unscored() -> None:
    played = talk({"a": watching(After(100))})
    assert played.endings["a/0"].verdict == Unscored(
        "the watcher gave no verdict before the conversation ended"
    )


def test_a_watcher_to_the_end_is_asked_once_more_at_the_end() -> None:
    calls: list[int] = []

    def watcher(since: Sequence[Exchange]) -> Score | None:
        calls.append(len(since))
        return Score(1.0, "nothing more came") if len(calls) == 3 else None

    played = talk({"a": watching(watcher), "b": lambda ltm: ltm.say("y")})
    assert calls == [1, 2, 2]
    assert played.endings["a/0"].verdict == Score(1.0, "nothing more came")


def test_a_watcher_that_has_spoken_is_not_asked_again_at_the_end() -> None:
    spoken, silent = After(1), After(100)

    def watched(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.watch(silent)
        ltm.watch(spoken)

    talk({"a": watched, "b": simple})
    assert len(spoken.shown) == 1
    assert len(silent.shown) > 1


def test_a_watcher_that_cannot_tell_in_its_time_is_unscored() -> None:
    played = talk({"a": watching(After(9), replies=2)})
    assert played.endings["a/0"].verdict == Unscored(
        "the watcher gave no verdict within 2 replies"
    )


def test_a_watcher_set_late_counts_the_replies_that_came_meanwhile() -> None:
    watcher = After(9)

    def late(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5)
        ltm.watch(watcher, replies=2)

    talk({"a": late, "b": simple})
    assert watcher.shown == [["x", "blue"]]


def test_a_watcher_set_late_is_shown_no_exchange_that_was_only_told() -> None:
    watcher = After(9)

    def late(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5)
        ltm.watch(watcher)

    talk({"a": late, "b": simple}, agent := Historian())
    assert agent.told
    assert watcher.shown[0] == ["x", "blue", "which?"]


def test_a_watcher_is_shown_no_exchange_that_is_only_told() -> None:
    watcher = After(9)
    talk({"a": watching(watcher), "b": patient}, agent := Historian())
    assert agent.told
    assert watcher.shown[-1] == ["instruction", "blue", "which?"]


def test_an_error_of_the_body_ends_its_watchers_too() -> None:
    def broken(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.watch(After(5), replies=5)
        raise RuntimeError

    played = talk({"a": broken, "b": simple})
    assert played.order == ("a/0", "b/0")
    assert [e.kind for e in played.transcript] == ["say", "say", "ask"]


def test_two_watchers_hear_the_reply_that_ends_one_of_them_before_its_reset() -> None:
    first, second = After(3), After(4)

    one, two = (
        watching(first, replies=3, says="one"),
        watching(second, replies=4, says="two"),
    )
    talk(
        {"a": one, "b": two, "c": simple},
        examples=[example("a", reset="forget"), example("b"), example("c")],
    )
    assert first.shown[-1] == ["one", "two", "blue"]
    assert second.shown[-1] == ["two", "blue", "forget", "which?"]


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("nobody"), pytest.fail.Exception("no quote")]
)
def test_a_watcher_that_raises_ends_its_example_only(error: BaseException) -> None:
    def watcher(_: Sequence[Exchange]) -> None:
        raise error

    played = talk({"a": watching(watcher, replies=2), "b": simple})
    assert played.endings["a/0"].error is error
    assert played.endings["b/0"].verdict is not None


def test_a_watcher_that_returns_anything_but_a_verdict_is_an_error() -> None:
    yes: Any = lambda _: True  # noqa: E731 - what a user may well write
    played = talk({"a": watching(yes)})
    assert str(played.endings["a/0"].error) == (
        "a watcher returns a Score, Unscored, or None for 'not yet', not True"
    )
