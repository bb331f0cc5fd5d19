from __future__ import annotations

import importlib
from typing import Any

import pytest
from benchmark_data import GOODAI, lines_of
from scenario_runs import conversation, generated, values

from pytest_ltm import Ltm
from pytest_ltm.agents import Echo
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.controls import Oracle
from pytest_ltm.agents.reader.memory_policies import Full
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.model import NO_ORACLE, Exchange, ExpectedReply, Score, Unscored
from pytest_ltm.api.scenarios import Ask, Definition, Say, Wait, from_json, to_json
from pytest_ltm.api.storage import AgentError, Field
from pytest_ltm.datasets.published import from_published, scenario_of
from pytest_ltm.testing import run_conversation

NAMES = (
    "chapter_break",
    "colours",
    "conflicting_personal_information",
    "delayed_recall",
    "how_to_think",
    "instruction_recall",
    "jokes",
    "kv_pairs",
    "locations",
    "locations_directions",
    "name_list",
    "names",
    "prospective_memory",
    "restaurant",
    "sally_anne",
    "shopping_list",
    "spy_meeting",
    "trigger_response",
)
LARGE = {"chapter_break", "restaurant"}
"""Scenarios that may not fit into 2,000 tokens."""


def agent(spec: str) -> Any:
    return find_agent(spec).make()


def body(name: str) -> Any:
    return getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{name}"), f"test_{name}"
    )


def played(
    spec: str, span: int | None, names: tuple[str, ...] = NAMES
) -> dict[str, float]:
    bodies = {name: body(name) for name in names}
    definitions = {
        name: generated(each.pytestmark[0].kwargs["generate"])
        for name, each in bodies.items()
    }
    if span is not None:
        return values(conversation(bodies, definitions, agent(spec), span=span))
    alone = [
        conversation({name: bodies[name]}, {name: [one]}, agent(spec), span=None)
        for name, several in definitions.items()
        for one in several
    ]
    return {
        f"{number} {key}": value
        for number, one in enumerate(alone)
        for key, value in values(one).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
def test_the_oracle_earns_full_marks_in_every_built_in_scenario(
    span: int | None,
) -> None:
    names = tuple(name for name in NAMES if span != 2_000 or name not in LARGE)
    assert set(played("oracle", span, names).values()) == {1.0}


@pytest.mark.slow
def test_an_oracle_with_a_window_falls_off_once_the_gaps_exceed_it() -> None:
    lost = {name for name, value in played("oracle:2k", 32_000).items() if value < 1}
    assert {name.partition("/")[0] for name in lost} == set(NAMES)


@pytest.mark.slow
@pytest.mark.published
def test_the_oracle_earns_full_marks_on_every_published_definition() -> None:
    seen, lost = set(), []
    for row in lines_of(GOODAI / "definitions.jsonl.gz"):
        folder = row["path"].split("/")[-2]
        if "waits" not in row or repr(row["script"]) in seen:
            continue
        seen.add(repr(row["script"]))
        name = scenario_of(folder)
        definition = from_published(Field(row, row["path"]), name)
        scored = values(
            conversation(
                {name: body(name)}, {name: [definition]}, agent("oracle"), span=None
            )
        )
        lost += [row["path"] for value in scored.values() if value < 1]
    assert len(seen) > 100
    assert lost == []


def test_it_replies_what_it_is_prompted_with_if_it_sees_the_needles() -> None:
    oracle = agent("oracle:60")
    assert oracle.reply("My cat is called Kelvin.") == "All right."
    oracle.prompt(
        [
            ExpectedReply("Kelvin.", ("My cat is called Kelvin.",)),
            ExpectedReply("Rex.", ("My dog is called Rex.",)),
        ]
    )
    assert oracle.reply("What is my cat called?") == "Kelvin."
    oracle.accept("filler " * 60, "Yes.")
    oracle.prompt([ExpectedReply("Kelvin.", ("My cat is called Kelvin.",))])
    assert oracle.reply("What is my cat called?") == "I do not know."
    assert oracle.reply("And now?") == "All right."  # a prompt applies to one message


def test_a_reset_makes_it_forget() -> None:
    oracle = agent("oracle")
    oracle.reply("My cat is called Kelvin.")
    oracle.reset()
    oracle.prompt([ExpectedReply("Kelvin.", ("My cat is called Kelvin.",))])
    assert oracle.reply("What is my cat called?") == "I do not know."


def test_only_a_control_is_ever_prompted() -> None:
    class Curious(Echo):
        def prompt(self, prompts: object) -> None:
            raise AssertionError(prompts)

    def cat(ltm: Ltm) -> None:
        ltm.say("My cat is called Kelvin.")
        ltm.ask("What is my cat called?", answer="Kelvin")

    assert "Prompted" in capabilities_of(agent("oracle"))
    assert "Prompted" not in capabilities_of(Curious())
    assert "cat/0" in values(run_conversation({"cat": cat}, Curious()))


def without_answer(ltm: Ltm) -> None:
    ltm.say("My cat is called Kelvin.")
    ltm.check("names it", "Kelvin" in ltm.ask("What is my cat called?"))


def with_a_watcher(ltm: Ltm) -> None:
    def signed(since: Any) -> Score | None:
        return Score(1.0, "signed") if since[-1].reply.endswith("Amen") else None

    ltm.say("Please end your second reply with Amen.")
    ltm.watch(signed, replies=2)


def cannot_read_it(ltm: Ltm) -> None:
    ltm.say("My cat is four.")
    int(ltm.ask("How old is my cat?"))


@pytest.mark.parametrize("scenario", [without_answer, with_a_watcher, cannot_read_it])
def test_a_scenario_that_says_no_answer_has_no_score(scenario: Any) -> None:
    [ending] = run_conversation({"it": scenario}, agent("oracle")).endings.values()
    assert ending.verdict == Unscored(NO_ORACLE)
    [ending] = run_conversation({"it": scenario}, Echo()).endings.values()
    assert ending.verdict != Unscored(NO_ORACLE)


def test_what_a_later_reply_must_carry_is_said_to_whomever_it_is_given() -> None:
    def signs(since: Any) -> Score | None:
        last: Exchange = since[-1]
        return (
            Score(float("Amen" in last.reply and last.by == "cat/0"), "signed")
            if len(since) == 3
            else None
        )

    def amen(ltm: Ltm) -> None:
        ltm.say("Please end your third reply with Amen.")
        ltm.watch(signs, replies=3, answers={3: "Amen"})

    def cat(ltm: Ltm) -> None:
        ltm.say("My cat is called Kelvin.")
        ltm.check(
            "names it",
            ltm.ask("What is my cat called?", answer="Kelvin") == "Kelvin\nAmen",
        )

    played = run_conversation({"amen": amen, "cat": cat}, agent("oracle"))
    assert values(played) == {"amen/0": 1.0, "cat/0": 1.0}


def test_a_definition_says_its_replies_and_keeps_them_in_its_file() -> None:
    definition = Definition(
        steps=(
            Say("My cat is called Kelvin."),
            Ask("Name?"),
            Wait(tokens=10),
            Ask("Sure?"),
        ),
        expected="Kelvin",
        replies=("Kelvin.", ""),
    )
    assert from_json(to_json(definition), where="x.json") == definition
    assert "replies" not in to_json(Definition(steps=definition.steps))

    def cat(ltm: Ltm) -> None:
        ltm.check("both", ltm.play(ltm.definition) == ["Kelvin.", "All right."])

    assert values(
        run_conversation({"cat": cat}, agent("oracle"), definitions={"cat": definition})
    ) == {"cat/0": 1.0}


@pytest.mark.parametrize("argument", ["x", "0", "8kk"])
def test_a_wrong_size_is_refused(argument: str) -> None:
    with pytest.raises(
        AgentError,
        match=f"agent 'oracle:{argument}': '{argument}' is not a number of tokens",
    ):
        find_agent(f"oracle:{argument}")


class Impostor(Oracle):
    """An agent under test that inherits from a control's class."""

    def __init__(self) -> None:
        super().__init__(Full, "full")


def test_an_agent_of_somebodys_own_is_never_prompted_whatever_its_class() -> None:
    assert "Prompted" not in capabilities_of(
        agent_source(Impostor, spec="mine:Impostor").make()
    )
    assert "Prompted" not in capabilities_of(
        agent_source(lambda: agent("oracle"), spec="mine:make").make()
    )
