"""The loop: scenarios that break the rules, the memory of questions, and the events of the journal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from _talks import (
    After,
    Agent,
    Historian,
    events,
    example,
    patient,
    simple,
    talk,
    watching,
)

from pytest_ltm._core.engine.lane import Ending
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.scenario import Ask, Definition, Say, Wait
from pytest_ltm._core.model.score import Score
from pytest_ltm._core.storage.clock import START
from pytest_ltm._core.storage.errors import ScenarioError

# --- scenarios that break the rules


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            lambda ltm: ltm.say("x"),
            "asks nothing, so it cannot be scored. Add an `ask` or a watcher",
        ),
        (
            lambda _: None,
            "asks nothing, so it cannot be scored. Add an `ask` or a watcher",
        ),
        (
            lambda ltm: ltm.ask("x"),
            "asks before it has said anything, so there is nothing to remember. Say something first",
        ),
        (
            lambda ltm: ltm.watch(After(1)),
            "watches before it has said anything. Tell the agent what to do first",
        ),
        (
            lambda ltm: (ltm.say("x"), ltm.wait(tokens=2001)),
            "cannot wait beyond the memory span: 2,001 tokens, the span has 2,000",
        ),
        (
            lambda ltm: (
                ltm.say("the sky is blue"),
                ltm.ask("which?", about=["the sky is blu"]),
            ),
            "about='the sky is blu' was never said by this scenario. Did you mean 'the sky is blue'?",
        ),
        (
            lambda ltm: (ltm.say("x"), ltm.wait(time=timedelta(days=9_000_000))),
            "cannot wait 9000000 days, 0:00:00: the calendar ends before that",
        ),
    ],
)
def test_a_scenario_that_breaks_a_rule_is_told_which(
    body: Callable[[Ltm], object], sentence: str
) -> None:
    played = talk({"a": body, "b": simple})
    error = played.endings["a/0"].error
    assert isinstance(error, ScenarioError)
    assert str(error) == sentence
    assert played.endings["b/0"].verdict is not None


def test_a_broken_rule_is_raised_where_the_body_broke_it() -> None:
    def careful(ltm: Ltm) -> None:
        with pytest.raises(ScenarioError, match="beyond the memory span"):
            ltm.wait(tokens=99_999)
        ltm.say("x")
        ltm.ask("y")

    assert talk({"a": careful}).endings["a/0"].verdict == Score(
        1.0, "no assertion failed"
    )


def test_an_assert_that_fails_before_the_first_question_is_a_failed_check() -> None:
    def fails(ltm: Ltm) -> None:
        assert ltm.say("x") == "never", "it did not say never"

    verdict = talk({"a": fails}).endings["a/0"].verdict
    assert isinstance(verdict, Score)
    assert verdict.value == 0.0
    assert verdict.reason.startswith("failed: it did not say never")


def test_a_text_longer_than_the_span_is_not_played() -> None:
    agent = Agent()
    definition = Definition(steps=(Say("x" * 1990), Wait(span=0.9), Ask("y" * 11)))
    played = talk({"a": simple, "b": simple}, agent, definitions={"a": definition})
    assert played.endings["a/0"] == Ending(
        unplayable="its text alone is longer than its memory span of 2,000 tokens: give it a longer --ltm-span"
    )
    assert agent.heard == ["blue", "which?"]


def test_a_missing_capability_is_the_reason_not_to_play() -> None:
    played = talk(
        {"a": simple, "b": simple},
        examples=[example("a", requires=("TimeAware", "Resettable")), example("b")],
    )
    assert played.endings["a/0"] == Ending(
        unplayable="needs an agent that is Resettable and TimeAware"
    )
    assert played.endings["b/0"].verdict is not None


def test_an_example_that_is_not_played_lets_its_rivals_start() -> None:
    examples = [
        example("a", 0, requires=("Resettable",)),
        example("a", 1),
        example("b", incompatible=("a",)),
    ]
    played = talk({"a": simple, "b": simple}, examples=examples)
    assert played.order == ("a/0", "a/1", "b/0")


def test_what_exits_in_a_body_ends_its_example_only() -> None:
    def leaves(ltm: Ltm) -> None:
        ltm.say("x")
        raise SystemExit(3)

    played = talk({"a": leaves, "b": simple})
    assert isinstance(played.endings["a/0"].error, SystemExit)
    assert played.endings["b/0"].verdict is not None


def test_an_interruption_in_a_body_is_an_interruption() -> None:
    def interrupted(ltm: Ltm) -> None:
        ltm.say("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talk({"a": interrupted})


# --- its memory of questions


def test_a_question_depends_on_the_says_before_it_and_not_on_other_questions() -> None:
    def quiz(ltm: Ltm) -> None:
        ltm.say("one")
        ltm.ask("first?")
        ltm.say("two")
        ltm.ask("second?")

    assert [q.needles for q in talk({"a": quiz}).lanes["a/0"].questions] == [
        (0,),
        (0, 2),
    ]


def test_a_question_depends_on_what_it_says_it_is_about() -> None:
    def quiz(ltm: Ltm) -> None:
        ltm.say("one")
        ltm.say("two")
        ltm.ask("which?", about="one")

    assert talk({"a": quiz}).lanes["a/0"].questions[0].needles == (0,)


def test_an_instruction_that_is_watched_is_the_question() -> None:
    def watched(ltm: Ltm) -> None:
        ltm.say("the line")
        ltm.say("the instruction")
        ltm.watch(After(1), replies=1)
        ltm.watch(After(1), replies=1)

    (question,) = talk({"a": watched}).lanes["a/0"].questions
    assert (question.number, question.needles) == (1, (0,))


# --- the journal


def test_the_journal_tells_the_story() -> None:
    def naps(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(tokens=40, time=60)
        ltm.ask("y")

    story = [event["event"] for event in events({"a": naps}, Historian())]
    assert story == [
        "begin",
        "message",
        "reply",
        "wait",
        "jump",
        "filler",
        "message",
        "reply",
        "end",
        "end",
    ]


def test_the_journal_holds_what_is_needed_to_tell_it_again() -> None:
    told = events({"a": patient}, Agent(), span=100)
    now = START.isoformat().replace("+00:00", "Z")
    assert told[:4] == [
        {"event": "begin", "example": "a/0", "position": 0, "now": now},
        {
            "event": "message",
            "exchange": 0,
            "by": "a/0",
            "kind": "say",
            "text": "blue",
            "tokens": 4,
            "position": 0,
            "now": now,
        },
        {"event": "reply", "exchange": 0, "text": "ok", "tokens": 2},
        {"event": "wait", "example": "a/0", "tokens": 50, "time": now},
    ]
    assert told[-4]["about"] == [0]
    assert told[-2:] == [
        {"event": "end", "example": "a/0"},
        {"event": "end", "reason": "complete"},
    ]


def test_the_journal_names_watchers_and_faults() -> None:
    watched = watching(After(2), replies=2, says="x")
    told = events({"a": watched, "b": simple}, Agent(fails_at=[2]))
    assert {"event": "watcher", "example": "a/0", "replies": 2} in told
    assert [event["exchange"] for event in told if event["event"] == "fault"] == [1]
