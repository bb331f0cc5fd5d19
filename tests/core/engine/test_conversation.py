"""The loop: the order of speakers, the ways time passes, and the exceptions for isolated examples."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from _talks import (
    After,
    Agent,
    Dots,
    Historian,
    example,
    patient,
    simple,
    speakers,
    talk,
    watching,
)
from conversations_by_hand import conversation_of, played_out

from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.model.filler import FillerExchange
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.scenario import Ask, Say, Wait
from pytest_ltm._core.model.score import Score
from pytest_ltm._core.storage.clock import START, SimulatedClock
from pytest_ltm.agents.caller import AgentCaller

# --- taking turns


def test_a_scenario_goes_on_until_it_waits() -> None:
    def chatty(ltm: Ltm) -> None:
        ltm.say("one")
        ltm.say("two")
        ltm.wait(tokens=50)
        ltm.ask("three")

    played = talk({"a": chatty, "b": chatty})
    assert [e.by for e in played.transcript if e.kind != "filler"] == ["a/0"] * 2 + [
        "b/0"
    ] * 2 + ["a/0", "b/0"]


def test_new_scenarios_start_by_name_then_example() -> None:
    examples = [example("b", 2), example("b", 10), example("a")]
    assert list(talk({"a": simple, "b": simple}, examples=examples).order) == [
        "a/0",
        "b/2",
        "b/10",
    ]


def test_examples_of_one_scenario_follow_each_other() -> None:
    played = talk({"a": patient}, examples=[example("a", 0), example("a", 1)])
    assert [by for by in speakers(played) if by] == ["a/0", "a/0", "a/1", "a/1"]


def test_a_scenario_waits_for_the_end_of_an_incompatible_one() -> None:
    examples = [example("a"), example("b", incompatible=("a",)), example("c")]
    played = talk({"a": patient, "b": patient, "c": patient}, examples=examples)
    assert [by for by in speakers(played) if by] == [
        "a/0",
        "c/0",
        "a/0",
        "c/0",
        "b/0",
        "b/0",
    ]


def test_the_wait_that_is_over_first_in_tokens_is_resumed_first() -> None:
    def waits(tokens: int) -> Callable[[Ltm], object]:
        return lambda ltm: ltm.play([Say("x"), Wait(tokens=tokens), Ask("y")])

    played = talk({"a": waits(90), "b": waits(60), "c": waits(30)})
    assert played.order == ("c/0", "b/0", "a/0")


def test_time_jumps_before_any_filler_talks() -> None:
    def naps(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(time="3h")
        ltm.ask("y")

    played = talk({"a": naps, "b": patient})
    assert [e.kind for e in played.transcript][:3] == ["say", "say", "ask"]
    assert played.transcript.exchanges_of("a/0")[-1].now == START + timedelta(hours=3)


# --- waits


def test_the_span_of_a_wait_counts_from_the_start_of_the_scenario() -> None:
    def twice(ltm: Ltm) -> None:
        ltm.say("x" * 100)
        ltm.wait(span=0.25)
        ltm.say("y" * 100)
        ltm.wait(span=0.5)
        ltm.ask("z")

    first, second, third = talk({"a": twice}, span=1000).transcript.exchanges_of("a/0")
    assert (first.start, second.start, third.start) == (0, 250, 500)


def test_the_reply_before_a_wait_counts_towards_it() -> None:
    played = talk({"a": patient}, Agent("r" * 1100), span=2000, count="all")
    assert speakers(played) == ["a/0", "a/0"]


@pytest.mark.parametrize(
    ("count", "counted", "told"),
    [
        ("all", (40 + 50) + (8 + 50), 8),
        ("capped", (40 + 40) + (18 + 18), 18),
        ("told", 40 + 58 + 1 + 1, 60),
        ("told+4", (40 + 4) + (54 + 4), 54),
    ],
)
def test_a_reply_counts_towards_the_span_as_far_as_the_mode_says(
    count: str, counted: int, told: int
) -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x" * 40)
        ltm.wait(span=0.1)
        ltm.ask("y")

    transcript = talk(
        {"a": waits}, Agent("r" * 50), filler=Dots(), span=1000, count=count
    ).transcript
    needle, question = transcript.exchanges_of("a/0")
    assert transcript.counted_before(question.number) == counted >= 100
    assert transcript.told_gap(needle, question) == told


def test_tokens_count_from_the_moment_of_waiting() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x" * 10)
        ltm.wait(tokens=300)
        ltm.ask("y")

    first, second = talk({"a": waits}).transcript.exchanges_of("a/0")
    assert second.start - first.end == 300


def test_all_conditions_of_a_wait_must_be_over() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5, tokens=10, time="2d")
        ltm.ask("y")

    first, second = talk({"a": waits}, span=1000).transcript.exchanges_of("a/0")
    assert second.start >= 500
    assert second.now - first.now == timedelta(days=2)


def test_a_span_of_its_own_stretches_one_scenario_only() -> None:
    played = talk(
        {"a": patient, "b": patient},
        examples=[example("a", span=200), example("b")],
        span=1000,
    )
    assert played.transcript.exchanges_of("a/0")[-1].start < 200
    assert played.transcript.exchanges_of("b/0")[-1].start >= 500


def test_a_fraction_of_a_token_is_a_whole_one() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5)
        ltm.ask("y")

    assert talk({"a": waits}, span=101).transcript.exchanges_of("a/0")[-1].start >= 51


def test_a_clock_that_runs_on_keeps_nobody_waiting_who_waits_for_no_time() -> None:
    class Ticking(SimulatedClock):
        @property
        def now(self) -> datetime:
            self.advance(super().now + timedelta(seconds=1))
            return super().now

    file = io.StringIO()
    conversation, endings = conversation_of(
        {"a": lambda ltm: ltm.play([Say("x"), Wait(span=0.0), Ask("y")]), "b": simple},
        AgentCaller(Agent(), timeout=None),
        clock=Ticking(),
        journal=Journal(file),
    )
    played_out(conversation)
    assert "jump" not in file.getvalue()
    assert list(endings) == ["a/0", "b/0"]


# --- filler


def test_filler_is_asked_for_the_tokens_to_the_nearest_target() -> None:
    dots = Dots()
    talk({"a": patient}, span=1000, filler=dots)
    assert dots.asked_for == [500 - len("blueok")]


def test_an_agent_that_accepts_history_is_told_the_filler() -> None:
    agent = Historian()
    talk({"a": patient}, agent)
    assert agent.heard == ["blue", "which?"]
    assert {reply for _, reply in agent.told} == {"ok"}


def test_any_other_agent_is_asked_the_filler() -> None:
    agent = Agent()
    talk({"a": patient}, agent)
    assert len(agent.heard) > 2


def test_a_filler_that_adds_no_tokens_ends_the_conversation() -> None:
    class Nothing(Dots):
        def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
            del tokens, max_message_tokens
            return FillerExchange("", "")

    played = talk({"a": patient, "b": simple}, Historian(), filler=Nothing())
    assert "the filler adds no tokens" in (played.endings["a/0"].unreached or "")
    assert played.endings["b/0"].verdict == Score(1.0, "no assertion failed")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (OSError("disk is gone"), "the filler failed with OSError: disk is gone"),
        ("just a text", "make() returns a FillerExchange, not 'just a text'"),
    ],
)
def test_a_filler_that_cannot_fill_ends_the_conversation(
    made: object, sentence: str
) -> None:
    class Broken(Dots):
        def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
            del tokens, max_message_tokens
            if isinstance(made, Exception):
                raise made
            return made  # type: ignore[return-value]

    played = talk({"a": patient}, filler=Broken())
    assert sentence in (played.endings["a/0"].unreached or "")
    assert sentence in played.notices[0]


# --- opening and reset


def test_a_conversation_begins_with_its_opening() -> None:
    played = talk({"a": simple}, opening="Hello, this is a test.")
    assert [e.kind for e in played.transcript] == ["opening", "say", "ask"]
    assert played.lanes["a/0"].start == len("Hello, this is a test.ok")


def test_the_reset_message_follows_the_end_of_an_example() -> None:
    played = talk(
        {"a": simple}, examples=[example("a", 0, reset="Forget it."), example("a", 1)]
    )
    assert [(e.by, e.kind) for e in played.transcript][2:4] == [
        ("a/0", "reset"),
        ("a/1", "say"),
    ]


def test_the_reset_message_follows_also_an_error() -> None:
    def broken(ltm: Ltm) -> None:
        ltm.say("x")
        raise RuntimeError

    played = talk({"a": broken}, examples=[example("a", reset="Forget it.")])
    assert [e.kind for e in played.transcript] == ["say", "reset"]


def test_an_example_that_said_nothing_needs_no_reset() -> None:
    played = talk({"a": lambda _: None}, examples=[example("a", reset="Forget it.")])
    assert len(played.transcript) == 0


# --- isolated


def test_isolated_examples_hear_no_opening_and_no_reset() -> None:
    agent = Agent()
    talk(
        {"a": simple},
        agent,
        span=None,
        opening="Hello.",
        examples=[example("a", reset="Forget it.")],
    )
    assert agent.heard == ["blue", "which?"]


def test_isolated_waits_for_tokens_and_span_are_over_at_once() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.9)
        ltm.wait(tokens=10**9)
        ltm.ask("y")

    assert speakers(talk({"a": waits}, span=None)) == ["a/0", "a/0"]


def test_isolated_waits_for_time_are_jumped() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5, time="3d")
        ltm.ask("y")

    first, second = talk({"a": waits}, span=None).transcript
    assert second.now - first.now == timedelta(days=3)


def test_isolated_filler_comes_only_while_a_watcher_counts_replies() -> None:
    counted = watching(After(3), replies=3, says="add a line to your third reply")
    assert [e.kind for e in talk({"a": counted}, span=None).transcript] == [
        "say",
        "filler",
        "filler",
    ]
