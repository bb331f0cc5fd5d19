"""`pytest_ltm.testing`: tools for testing agents and scenarios without pytest."""

from __future__ import annotations

import io

import pytest

from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.model.filler import Filler
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.plan import PlannedExample, definition_rng
from pytest_ltm._core.model.scenario import Ask, Definition, Say, Wait
from pytest_ltm._core.model.score import Score
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.storage.errors import AgentError
from pytest_ltm.testing import (
    CountingFiller,
    ScriptedAgent,
    run_conversation,
    run_scenario,
)


def remembers(ltm: Ltm) -> None:
    ltm.say("My favourite colour is teal.")
    ltm.wait(span=0.5)
    answer = ltm.ask("What is my favourite colour?")
    ltm.check("names the colour", "teal" in answer.lower())


def test_a_scripted_agent_gives_its_replies_in_order_and_then_nothing() -> None:
    agent = ScriptedAgent("one", "two")
    assert [agent.reply(text) for text in "abc"] == ["one", "two", ""]
    assert agent.heard == ["a", "b", "c"]


def test_example_and_chance_are_those_of_a_run() -> None:
    seen: list[object] = []

    def looks(ltm: Ltm) -> None:
        ltm.say("Hello.")
        seen.extend([ltm.example, ltm.random.random()])
        ltm.ask("Well?")

    run_conversation(
        {"looks": looks}, ScriptedAgent("Hello.", "Well."), span=None, seed=7
    )
    assert seen == [0, definition_rng(7, 0, "looks:body", "0").random()]


def test_a_scenario_is_played_to_its_verdict() -> None:
    ending = run_scenario(
        remembers, lambda message: "Teal, I think." if "What" in message else "ok"
    )
    assert isinstance(ending.verdict, Score)
    assert ending.verdict.value == 1.0


def test_a_scenario_is_played_isolated_where_there_is_no_span() -> None:
    agent = ScriptedAgent("ok", "Ochre?")
    ending = run_scenario(remembers, agent, span=None)
    assert len(agent.heard) == 2
    assert isinstance(ending.verdict, Score)
    assert ending.verdict.reason == "failed: names the colour"


def test_a_scenario_is_given_its_definition() -> None:
    definition = Definition(
        steps=(Say("I like teal."), Wait(span=0.1), Ask("What do I like?")),
        expected="teal",
    )

    def plays(ltm: Ltm) -> None:
        (answer,) = ltm.play(ltm.definition)
        assert answer == ltm.definition.expected

    assert run_scenario(
        plays, lambda _: "teal", definition=definition
    ).verdict == Score(1.0, "no assertion failed")


def test_a_conversation_tells_what_became_of_each_example() -> None:
    played = run_conversation({"b": remembers, "a": remembers}, lambda _: "teal")
    assert set(played.endings) == set(played.lanes) == {"a/0", "b/0"}
    assert played.order == ("a/0", "b/0")
    assert played.notices == ()
    assert played.transcript.exchanges_of("a/0")[0].message.startswith("My favourite")


def test_examples_may_have_a_span_of_their_own() -> None:
    spans: dict[str, int | None] = {}

    def looks(ltm: Ltm) -> None:
        spans[str(ltm.example)] = ltm.span
        remembers(ltm)

    examples = [
        PlannedExample(scenario="a", example="0", span=500),
        PlannedExample(scenario="a", example="1"),
    ]
    run_conversation({"a": looks}, lambda _: "teal", examples=examples)
    assert spans == {"0": 500, "1": 2000}


def test_each_example_draws_from_a_generator_of_its_own_that_the_seed_decides() -> None:
    def drawn(seed: int) -> dict[str, float]:
        numbers: dict[str, float] = {}

        def draws(ltm: Ltm) -> None:
            numbers[str(ltm.example)] = ltm.random.random()
            remembers(ltm)

        examples = [PlannedExample(scenario="a", example=str(n)) for n in range(2)]
        run_conversation({"a": draws}, lambda _: "teal", examples=examples, seed=seed)
        return numbers

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(set(drawn(1).values())) == 2


def test_the_journal_may_be_kept_in_memory() -> None:
    def told() -> str:
        file = io.StringIO()
        run_conversation(
            {"a": remembers, "b": remembers},
            lambda _: "teal",
            journal=Journal(file),
            opening="Hello.",
        )
        return file.getvalue()

    assert told().count('"event":"begin"') == 2
    assert told() == told()


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(AgentError, match="cannot reply"):
        run_scenario(remembers, 5)


@pytest.mark.parametrize("tokens", [0, 1, 50, 1000])
def test_the_counting_filler_makes_about_the_tokens_wanted_and_never_the_same_twice(
    tokens: int,
) -> None:
    filler: Filler = CountingFiller()
    one, two = filler.make(tokens, 4096), filler.make(tokens, 4096)
    assert one.message != two.message
    count = token_counter("cl100k_base").count
    assert (
        max(tokens - 4, 1)
        <= count(one.message) + count(one.expected_reply)
        <= tokens + 8
    )


def test_the_counting_filler_keeps_to_the_largest_message() -> None:
    message = CountingFiller().make(9999, 100).message
    assert token_counter("cl100k_base").count(message) <= 100
