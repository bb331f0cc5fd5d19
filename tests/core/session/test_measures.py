"""Additional figures of an example, and an agent's report of retrieved texts."""

from __future__ import annotations

import io
import json

import pytest

from pytest_ltm import Ltm
from pytest_ltm._core.engine.scoring import scenario_result
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.result import ExampleMetric, ScenarioResult
from pytest_ltm._core.storage.errors import ScenarioError
from pytest_ltm.reports.summary import user_properties
from pytest_ltm.testing import ScriptedAgent, run_conversation, run_scenario


class Shows(ScriptedAgent):
    """Reports retrieved texts for each reply."""

    def retrieved(self) -> list[str]:
        return [f"D{len(self.heard)}", "D0"]


def told_and_asked(ltm: Ltm) -> None:
    ltm.say("My cat is called Pim.")
    ltm.ask("What is my cat called?")
    ltm.metric("f1", 0.25)
    ltm.metric("recall", float(ltm.retrieved == ("D2", "D0")))


def test_measures_are_in_results_and_properties_and_change_no_score() -> None:
    played = run_conversation({"cat": told_and_asked}, Shows("ok", "Pim"))
    result = scenario_result(
        played.lanes["cat/0"],
        played.endings["cat/0"],
        played.transcript,
        costs={},
        agent="a",
        span_label="2k",
        trial="0",
        nodeid="x",
    )

    assert result.metrics == (ExampleMetric("f1", 0.25), ExampleMetric("recall", 1.0))
    assert result.score == 1.0
    assert ("ltm_metric_f1", 0.25) in user_properties(result)


def test_an_agent_that_does_not_show_retrieval_has_retrieved_none() -> None:
    def scenario(ltm: Ltm) -> None:
        ltm.say("Hello.")
        ltm.ask("Who am I?")
        ltm.check("says nothing of what it retrieved", ltm.retrieved is None)

    verdict = run_scenario(scenario, ScriptedAgent("a", "b")).verdict

    assert verdict is not None
    assert getattr(verdict, "value", None) == 1.0


def test_the_journal_keeps_what_was_retrieved() -> None:
    text = io.StringIO()
    run_conversation({"cat": told_and_asked}, Shows("ok", "Pim"), journal=Journal(text))
    replies = [
        event
        for event in map(json.loads, text.getvalue().splitlines())
        if event["event"] == "reply"
    ]

    assert [reply["retrieved"] for reply in replies] == [["D1", "D0"], ["D2", "D0"]]


class Finds(ScriptedAgent):
    """Reports its first message as retrieved for the last one, and the second as in its context anyway."""

    def retrieved(self) -> list[str]:
        return [f"{self.heard[0]}\nNoted."] if len(self.heard) > 1 else []

    def in_context(self) -> list[str]:
        return self.heard[1:2]


def played_by_finder(story: str) -> ScenarioResult:
    def scenario(ltm: Ltm) -> None:
        for text in (story, "My dog is called Rex.", "My fish is called Bob."):
            ltm.say(text)
        ltm.ask("What are my pets called?")
        ltm.check("it replied", True)

    played = run_conversation({"pets": scenario}, Finds("ok"))
    return scenario_result(
        played.lanes["pets/0"],
        played.endings["pets/0"],
        played.transcript,
        costs={},
        agent="a",
        span_label="2k",
        trial="0",
        nodeid="x",
    )


@pytest.mark.parametrize(
    "story",
    ["My cat is called Pim.", "My cat is called Pim. " * 30],
    ids=["short", "long"],
)
def test_recall_leaves_out_what_stood_in_context_and_sees_texts_whole(
    story: str,
) -> None:
    result = played_by_finder(story)

    assert [needle.rank for needle in result.questions[0].needles] == [1, None, 0]
    assert {metric.name: metric.value for metric in result.metrics} == {
        "recall@5": 0.5,
        "recall@10": 0.5,
        "needle_rank": 1,
    }


@pytest.mark.parametrize(("name", "value"), [("not a name", 1.0), ("f1", float("nan"))])
def test_a_measure_has_a_name_and_a_finite_value(name: str, value: float) -> None:
    def scenario(ltm: Ltm) -> None:
        ltm.metric(name, value)

    assert isinstance(run_scenario(scenario, ScriptedAgent()).error, ScenarioError)


def test_what_is_no_list_of_texts_is_a_fault_of_the_agent() -> None:
    class Wrong(ScriptedAgent):
        def retrieved(self) -> list[str]:
            return "D1"  # type: ignore[return-value]

    error = (
        run_conversation({"cat": told_and_asked}, Wrong("ok")).endings["cat/0"].error
    )

    assert "retrieved() returns a list of texts" in str(error)
