"""The loop: what happens to examples, in which order, and what happens when something goes wrong."""

from __future__ import annotations

import io
import random
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from _talks import After, Agent, Dots, Historian, events, example, simple, speakers, talk, watching

from pytest_ltm._channel import Channel
from pytest_ltm._clock import START, SimulatedClock
from pytest_ltm._conversation import Conversation
from pytest_ltm._errors import AgentFault, ScenarioError
from pytest_ltm._filler import FillerExchange
from pytest_ltm._green import GreenBody
from pytest_ltm._handle import Ltm
from pytest_ltm._journal import Journal, Timings
from pytest_ltm._lane import Ending, Lane
from pytest_ltm._plan import Plan
from pytest_ltm._scenario import Ask, Definition, Say, Wait
from pytest_ltm._score import Score, Unscored
from pytest_ltm._tokens import TokenCounter
from pytest_ltm.agents._speaker import Speaker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm._transcript import Exchange


def patient(ltm: Ltm) -> None:
    """Wait for half of the span between telling and asking."""
    ltm.say("blue")
    ltm.wait(span=0.5)
    ltm.ask("which?")


# --- taking turns


def test_a_scenario_goes_on_until_it_waits() -> None:
    def chatty(ltm: Ltm) -> None:
        ltm.say("one")
        ltm.say("two")
        ltm.wait(tokens=50)
        ltm.ask("three")

    played = talk({"a": chatty, "b": chatty})
    assert [e.by for e in played.transcript if e.kind != "filler"] == ["a/0"] * 2 + ["b/0"] * 2 + ["a/0", "b/0"]


def test_new_scenarios_start_by_name_then_example() -> None:
    examples = [example("b", 2), example("b", 10), example("a")]
    assert list(talk({"a": simple, "b": simple}, examples=examples).order) == ["a/0", "b/2", "b/10"]


def test_examples_of_one_scenario_follow_each_other() -> None:
    played = talk({"a": patient}, examples=[example("a", 0), example("a", 1)])
    assert [by for by in speakers(played) if by] == ["a/0", "a/0", "a/1", "a/1"]


def test_a_scenario_waits_for_the_end_of_an_incompatible_one() -> None:
    examples = [example("a"), example("b", incompatible=("a",)), example("c")]
    played = talk({"a": patient, "b": patient, "c": patient}, examples=examples)
    assert [by for by in speakers(played) if by] == ["a/0", "c/0", "a/0", "c/0", "b/0", "b/0"]


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
    assert played.transcript.of("a/0")[-1].now == START + timedelta(hours=3)


# --- waits


def test_the_span_of_a_wait_counts_from_the_start_of_the_scenario() -> None:
    def twice(ltm: Ltm) -> None:
        ltm.say("x" * 100)
        ltm.wait(span=0.25)
        ltm.say("y" * 100)
        ltm.wait(span=0.5)
        ltm.ask("z")

    first, second, third = talk({"a": twice}, span=1000).transcript.of("a/0")
    assert (first.start, second.start, third.start) == (0, 250, 500)


def test_the_reply_before_a_wait_counts_towards_it() -> None:
    played = talk({"a": patient}, Agent("r" * 1100), span=2000)
    assert speakers(played) == ["a/0", "a/0"]


def test_tokens_count_from_the_moment_of_waiting() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x" * 10)
        ltm.wait(tokens=300)
        ltm.ask("y")

    first, second = talk({"a": waits}).transcript.of("a/0")
    assert second.start - first.end == 300


def test_all_conditions_of_a_wait_must_be_over() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5, tokens=10, time="2d")
        ltm.ask("y")

    first, second = talk({"a": waits}, span=1000).transcript.of("a/0")
    assert second.start >= 500
    assert second.now - first.now == timedelta(days=2)


def test_a_span_of_its_own_stretches_one_scenario_only() -> None:
    played = talk({"a": patient, "b": patient}, examples=[example("a", span=200), example("b")], span=1000)
    assert played.transcript.of("a/0")[-1].start < 200
    assert played.transcript.of("b/0")[-1].start >= 500


def test_a_fraction_of_a_token_is_a_whole_one() -> None:
    def waits(ltm: Ltm) -> None:
        ltm.say("x")
        ltm.wait(span=0.5)
        ltm.ask("y")

    assert talk({"a": waits}, span=101).transcript.of("a/0")[-1].start >= 51


def test_a_clock_that_runs_on_keeps_nobody_waiting_who_waits_for_no_time() -> None:
    class Ticking(SimulatedClock):
        @property
        def now(self) -> datetime:
            self.advance(super().now + timedelta(seconds=1))
            return super().now

    file = io.StringIO()
    conversation, endings = _conversation(
        {"a": lambda ltm: ltm.play([Say("x"), Wait(span=0.0), Ask("y")]), "b": simple},
        Speaker(Agent(), timeout=None),
        clock=Ticking(),
        journal=Journal(file),
    )
    _play(conversation)
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
def test_a_filler_that_cannot_fill_ends_the_conversation(made: object, sentence: str) -> None:
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
    played = talk({"a": simple}, examples=[example("a", 0, reset="Forget it."), example("a", 1)])
    assert [(e.by, e.kind) for e in played.transcript][2:4] == [("a/0", "reset"), ("a/1", "say")]


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
    talk({"a": simple}, agent, span=None, opening="Hello.", examples=[example("a", reset="Forget it.")])
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
    assert [e.kind for e in talk({"a": counted}, span=None).transcript] == ["say", "filler", "filler"]


# --- watchers


def test_a_counting_watcher_hears_everybody_and_its_own_message_first() -> None:
    watcher = After(3)
    counted = watching(watcher, replies=3)
    talk({"a": counted, "b": simple})
    assert watcher.shown == [["instruction"], ["instruction", "blue"], ["instruction", "blue", "which?"]]


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


def test_the_next_example_starts_only_when_the_watcher_of_the_last_one_has_counted() -> None:
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
    assert played.endings["a/0"].verdict == Unscored("the watcher could not tell before the conversation ended")


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
    assert played.endings["a/0"].verdict == Unscored("the watcher could not tell within 2 replies")


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

    one, two = watching(first, replies=3, says="one"), watching(second, replies=4, says="two")
    talk({"a": one, "b": two, "c": simple}, examples=[example("a", reset="forget"), example("b"), example("c")])
    assert first.shown[-1] == ["one", "two", "blue"]
    assert second.shown[-1] == ["two", "blue", "forget", "which?"]


@pytest.mark.parametrize("error", [ZeroDivisionError("nobody"), pytest.fail.Exception("no quote")])
def test_a_watcher_that_raises_ends_its_example_only(error: BaseException) -> None:
    def watcher(_: Sequence[Exchange]) -> None:
        raise error

    played = talk({"a": watching(watcher, replies=2), "b": simple})
    assert played.endings["a/0"].error is error
    assert played.endings["b/0"].verdict is not None


def test_a_watcher_that_returns_anything_but_a_verdict_is_an_error() -> None:
    yes: Any = lambda _: True  # noqa: E731 - what a user may well write
    played = talk({"a": watching(yes)})
    assert str(played.endings["a/0"].error) == ("a watcher returns a Score, Unscored, or None for 'not yet', not True")


# --- faults


def test_a_fault_is_raised_in_the_body_and_ends_that_example_only() -> None:
    seen: list[BaseException] = []

    def notices(ltm: Ltm) -> None:
        try:
            ltm.say("x")
        except AgentFault as fault:
            seen.append(fault)
            raise

    played = talk({"a": notices, "b": simple}, Agent(fails_at=[1]))
    assert played.endings["a/0"].error is seen[0]
    assert "RuntimeError: no answer" in str(seen[0])
    assert played.endings["b/0"].verdict is not None


def test_a_fault_that_the_body_swallows_ends_it_all_the_same() -> None:
    agent = Agent(fails_at=[1])
    cleaned: list[str] = []

    def swallows(ltm: Ltm) -> None:
        try:
            for text in ("one", "two"):
                try:
                    ltm.say(text)
                except AgentFault:
                    continue
        finally:
            cleaned.append("yes")

    played = talk({"a": swallows}, agent)
    assert isinstance(played.endings["a/0"].error, AgentFault)
    assert agent.heard == ["one"]
    assert cleaned == ["yes"]


def test_a_fault_hidden_behind_a_failed_assert_is_no_score() -> None:
    def hides(ltm: Ltm) -> None:
        try:
            ltm.say("x")
        except AgentFault:
            raise AssertionError("nothing came") from None

    assert isinstance(talk({"a": hides}, Agent(fails_at=[1])).endings["a/0"].error, AgentFault)


def test_a_fault_adds_no_exchange_and_no_tokens() -> None:
    played = talk({"a": simple, "b": simple}, Agent(fails_at=[1]))
    assert next((e.by, e.start) for e in played.transcript) == ("b/0", 0)


def test_three_faults_in_a_row_mean_that_the_agent_is_gone() -> None:
    agent = Agent(fails_at=range(1, 99))
    played = talk(dict.fromkeys("abcde", simple), agent)
    assert len(agent.heard) == 3
    assert [bool(played.endings[f"{name}/0"].error) for name in "abcde"] == [True] * 3 + [False] * 2
    assert "the agent is gone (3 faults in a row" in (played.endings["d/0"].unreached or "")
    assert "the agent is gone" in played.notices[0]


def test_a_reply_in_between_forgives_the_faults_before() -> None:
    played = talk(dict.fromkeys("abcd", simple), Agent(fails_at=[1, 2, 4, 5]))
    assert played.notices == ()


def test_faults_of_filler_end_no_example() -> None:
    played = talk({"a": patient}, Agent(fails_at=[2, 3]))
    assert played.endings["a/0"].verdict is not None


def test_nothing_more_is_sent_once_the_agent_is_gone_in_the_middle_of_a_turn() -> None:
    watched = watching(After(2), replies=2)

    def chatty(ltm: Ltm) -> None:
        ltm.say("one")
        ltm.say("two")
        ltm.say("three")

    class Impatient(Agent):
        def reply(self, message: str) -> str:
            if message == "forget":
                conversation.give_up("the budget is gone")
            return super().reply(message)

    agent = Impatient()
    conversation, endings = _conversation({"a": watched, "b": chatty}, Speaker(agent, timeout=None), reset="forget")
    _play(conversation)
    assert agent.heard == ["instruction", "one", "forget"]
    assert endings["b/0"].unreached == "the budget is gone"
    assert endings["a/0"].verdict is not None


def test_a_body_that_needs_nothing_more_is_scored_though_the_agent_is_gone() -> None:
    class Last(Agent):
        def reply(self, message: str) -> str:
            if message == "which?":
                conversation.give_up("the budget is gone")
            return super().reply(message)

    conversation, endings = _conversation({"a": simple, "b": simple}, Speaker(Last(), timeout=None))
    _play(conversation)
    assert endings["a/0"].verdict is not None
    assert endings["b/0"].unreached is not None


def test_an_agent_that_never_returns_ends_the_conversation() -> None:
    class Hangs(Agent):
        def reply(self, message: str) -> str:
            super().reply(message)
            threading.Event().wait(60)
            return "late"

    agent = Hangs()
    conversation, endings = _conversation({"a": simple, "b": simple}, Speaker(agent, timeout=0.02))
    _play(conversation)
    assert agent.heard == ["blue"]
    assert "did not come back" in str(endings["a/0"].error)
    assert "did not come back" in (endings["b/0"].unreached or "")


def test_no_reset_message_is_sent_to_an_agent_that_is_gone() -> None:
    class Hangs(Agent):
        def reply(self, message: str) -> str:
            return str(threading.Event().wait(60)) if message == "which?" else super().reply(message)

    agent = Hangs()
    conversation, endings = _conversation({"a": simple}, Speaker(agent, timeout=0.02), reset="forget")
    _play(conversation)
    assert agent.heard == ["blue"]
    assert isinstance(endings["a/0"].error, AgentFault)


def test_finally_blocks_run_when_the_agent_is_gone() -> None:
    cleaned: list[str] = []

    def tidy(ltm: Ltm) -> None:
        try:
            ltm.say("x")
            ltm.wait(span=0.9)
        finally:
            cleaned.append("a")

    played = talk({"a": tidy, "b": simple, "c": simple, "d": simple}, Agent(fails_at=range(2, 9)))
    assert cleaned == ["a"]
    assert played.endings["a/0"].unreached is not None


def test_closing_early_unwinds_what_is_in_progress_and_reports_nothing_of_it() -> None:
    cleaned: list[str] = []

    def tidy(ltm: Ltm) -> None:
        try:
            ltm.say("x")
            ltm.wait(span=0.9)
        finally:
            cleaned.append("a")

    conversation, endings = _conversation({"a": tidy}, Speaker(Agent(), timeout=None))
    conversation.step()
    conversation.close("interrupted")
    assert cleaned == ["a"]
    assert conversation.finished
    assert endings == {}


# --- scenarios that break the rules


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (lambda ltm: ltm.say("x"), "asks nothing, so it cannot be scored. Add an `ask` or a watcher"),
        (lambda _: None, "asks nothing, so it cannot be scored. Add an `ask` or a watcher"),
        (
            lambda ltm: ltm.ask("x"),
            "asks before it has said anything, so there is nothing to remember. Say something first",
        ),
        (
            lambda ltm: ltm.watch(After(1)),
            "watches before it has said anything. Say what the agent is to do first",
        ),
        (
            lambda ltm: (ltm.say("x"), ltm.wait(tokens=2001)),
            "cannot wait beyond the memory span: 2,001 tokens, the span has 2,000",
        ),
        (
            lambda ltm: (ltm.say("the sky is blue"), ltm.ask("which?", about=["the sky is blu"])),
            "about='the sky is blu' was never said by this scenario. Did you mean 'the sky is blue'?",
        ),
        (
            lambda ltm: (ltm.say("x"), ltm.wait(time=timedelta(days=9_000_000))),
            "cannot wait 9000000 days, 0:00:00: the calendar ends before that",
        ),
    ],
)
def test_a_scenario_that_breaks_a_rule_is_told_which(body: Callable[[Ltm], object], sentence: str) -> None:
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

    assert talk({"a": careful}).endings["a/0"].verdict == Score(1.0, "no assertion failed")


def test_an_assert_that_fails_before_the_first_question_is_a_failed_check() -> None:
    def fails(ltm: Ltm) -> None:
        assert ltm.say("x") == "never", "it did not say never"

    verdict = talk({"a": fails}).endings["a/0"].verdict
    assert isinstance(verdict, Score)
    assert verdict.value == 0.0
    assert verdict.reason.startswith("it did not say never")


def test_a_text_longer_than_the_span_is_not_played() -> None:
    agent = Agent()
    definition = Definition(steps=(Say("x" * 1990), Wait(span=0.9), Ask("y" * 11)))
    played = talk({"a": simple, "b": simple}, agent, definitions={"a": definition})
    assert played.endings["a/0"] == Ending(
        unplayable="its text alone is longer than its memory span of 2,000 tokens: give it a longer --ltm-span"
    )
    assert agent.heard == ["blue", "which?"]


def test_a_missing_power_is_the_reason_not_to_play() -> None:
    played = talk(
        {"a": simple, "b": simple}, examples=[example("a", requires=("TimeAware", "Resettable")), example("b")]
    )
    assert played.endings["a/0"] == Ending(unplayable="needs an agent that is Resettable and TimeAware")
    assert played.endings["b/0"].verdict is not None


def test_an_example_that_is_not_played_lets_its_rivals_start() -> None:
    examples = [example("a", 0, requires=("Resettable",)), example("a", 1), example("b", incompatible=("a",))]
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


# --- what it remembers of questions


def test_a_question_depends_on_the_says_before_it_and_not_on_other_questions() -> None:
    def quiz(ltm: Ltm) -> None:
        ltm.say("one")
        ltm.ask("first?")
        ltm.say("two")
        ltm.ask("second?")

    assert [q.needles for q in talk({"a": quiz}).lanes["a/0"].questions] == [(0,), (0, 2)]


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
    assert story == ["begin", "message", "reply", "wait", "jump", "filler", "message", "reply", "end", "end"]


def test_the_journal_holds_what_is_needed_to_tell_it_again() -> None:
    told = events({"a": patient}, Agent(), span=100)
    now = START.isoformat()
    assert told[:4] == [
        {"event": "begin", "example": "a/0", "position": 0, "now": now},
        {
            "event": "message", "exchange": 0, "by": "a/0", "kind": "say", "text": "blue", "tokens": 4,
            "position": 0, "now": now,
        },
        {"event": "reply", "exchange": 0, "text": "ok", "tokens": 2},
        {"event": "wait", "example": "a/0", "tokens": 50, "time": now},
    ]  # fmt: skip
    assert told[-4]["about"] == [0]
    assert told[-2:] == [{"event": "end", "example": "a/0"}, {"event": "end", "reason": "complete"}]


def test_the_journal_names_watchers_and_faults() -> None:
    watched = watching(After(2), replies=2, says="x")
    told = events({"a": watched, "b": simple}, Agent(fails_at=[2]))
    assert {"event": "watcher", "example": "a/0", "replies": 2} in told
    assert [event["exchange"] for event in told if event["event"] == "fault"] == [1]


# --- a conversation built by hand, where run_conversation offers no door


class _Body(GreenBody):
    def __init__(self, scenario: Callable[[Ltm], object], clock: SimulatedClock, endings: dict[str, Ending]) -> None:
        super().__init__()
        self.ltm = Ltm(self.send, now=lambda: clock.now, example=0, span=2000, rng=random.Random(0))
        self.sheet, self.scenario, self.endings = self.ltm.sheet, scenario, endings

    def play(self) -> object:
        return self.scenario(self.ltm)

    def finish(self, lane: Lane, ending: Ending) -> None:
        self.endings[lane.example.key] = ending


def _conversation(
    scenarios: dict[str, Callable[[Ltm], object]],
    speaker: Speaker,
    *,
    reset: str = "",
    clock: SimulatedClock | None = None,
    journal: Journal | None = None,
) -> tuple[Conversation, dict[str, Ending]]:
    plan = Plan(
        examples=tuple(example(name, reset=reset) for name in scenarios), seed=0, trial=0, span=2000, tokenizer="len",
        filler="dots", scoring="current", judge="none", judge_votes=0, time="simulated", opening="",
    )  # fmt: skip
    clock, counter, endings = clock or SimulatedClock(), TokenCounter("len", len), dict[str, Ending]()
    bodies = [_Body(scenarios[one.scenario], clock, endings) for one in plan.examples]
    channel = Channel(speaker, counter, clock, journal or Journal(), Timings())
    return Conversation(plan, bodies, channel=channel, filler=Dots(), counter=counter), endings


def _play(conversation: Conversation) -> None:
    while not conversation.finished:
        conversation.step()
    conversation.close("complete")
