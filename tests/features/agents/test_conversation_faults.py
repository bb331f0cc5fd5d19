"""The loop: what a fault of the agent ends, and what the loss of the agent ends."""

from __future__ import annotations

import threading

from _talks import After, Agent, patient, simple, talk, watching
from conversations_by_hand import conversation_of, played_out

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.api.scenarios import Ltm
from pytest_ltm.api.storage import AgentFault


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

    assert isinstance(
        talk({"a": hides}, Agent(fails_at=[1])).endings["a/0"].error, AgentFault
    )


def test_a_fault_adds_no_exchange_and_no_tokens() -> None:
    played = talk({"a": simple, "b": simple}, Agent(fails_at=[1]))
    assert next((e.by, e.start) for e in played.transcript) == ("b/0", 0)


def test_three_faults_in_a_row_mean_that_the_agent_is_gone() -> None:
    agent = Agent(fails_at=range(1, 99))
    played = talk(dict.fromkeys("abcde", simple), agent)
    assert len(agent.heard) == 3
    assert [bool(played.endings[f"{name}/0"].error) for name in "abcde"] == [
        True
    ] * 3 + [False] * 2
    assert "the agent is gone (3 faults in a row" in (
        played.endings["d/0"].unreached or ""
    )
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
    conversation, endings = conversation_of(
        {"a": watched, "b": chatty}, AgentCaller(agent, timeout=None), reset="forget"
    )
    played_out(conversation)
    assert agent.heard == ["instruction", "one", "forget"]
    assert endings["b/0"].unreached == "the budget is gone"
    assert endings["a/0"].verdict is not None


def test_a_body_that_needs_nothing_more_is_scored_though_the_agent_is_gone() -> None:
    class Last(Agent):
        def reply(self, message: str) -> str:
            if message == "which?":
                conversation.give_up("the budget is gone")
            return super().reply(message)

    conversation, endings = conversation_of(
        {"a": simple, "b": simple}, AgentCaller(Last(), timeout=None)
    )
    played_out(conversation)
    assert endings["a/0"].verdict is not None
    assert endings["b/0"].unreached is not None


def test_an_agent_that_never_returns_ends_the_conversation() -> None:
    class Hangs(Agent):
        def reply(self, message: str) -> str:
            super().reply(message)
            threading.Event().wait(60)
            return "late"

    agent = Hangs()
    conversation, endings = conversation_of(
        {"a": simple, "b": simple}, AgentCaller(agent, timeout=0.02)
    )
    played_out(conversation)
    assert agent.heard == ["blue"]
    assert "did not return" in str(endings["a/0"].error)
    assert "did not return" in (endings["b/0"].unreached or "")


def test_no_reset_message_is_sent_to_an_agent_that_is_gone() -> None:
    class Hangs(Agent):
        def reply(self, message: str) -> str:
            return (
                str(threading.Event().wait(60))
                if message == "which?"
                else super().reply(message)
            )

    agent = Hangs()
    conversation, endings = conversation_of(
        {"a": simple}, AgentCaller(agent, timeout=0.02), reset="forget"
    )
    played_out(conversation)
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

    played = talk(
        {"a": tidy, "b": simple, "c": simple, "d": simple}, Agent(fails_at=range(2, 9))
    )
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

    conversation, endings = conversation_of(
        {"a": tidy}, AgentCaller(Agent(), timeout=None)
    )
    conversation.step()
    conversation.close("interrupted")
    assert cleaned == ["a"]
    assert conversation.finished
    assert endings == {}
