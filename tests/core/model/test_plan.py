from __future__ import annotations

import dataclasses

import pytest

from pytest_ltm._core.model.plan import (
    Plan,
    PlannedExample,
    agent_fingerprint,
    definition_rng,
    plan_differences,
)
from pytest_ltm._core.model.scenario import Ask, Definition, Say, Wait
from pytest_ltm._core.model.transcript import RAW, Reading
from pytest_ltm._core.storage.errors import AgentError, DefinitionError, ScenarioError

DEFINITION = Definition(
    steps=(Say("A."), Wait(span=0.5), Ask("B?")), expected="A", parameters={"n": 1}
)


def an_example(
    scenario: str = "colours", example: str = "0", **others: object
) -> PlannedExample:
    return PlannedExample(scenario=scenario, example=example, **others)  # type: ignore[arg-type]


PLAN = Plan(
    examples=(an_example(definition=DEFINITION), an_example("jokes")),
    seed=7,
    trial=0,
    span=2000,
    tokenizer="cl100k_base",
    filler={"filler": "trivia"},
    scoring="current",
    judge="none",
    judge_votes=1,
    time="simulated",
    opening="Hello.",
)


def test_the_examples_of_a_plan_are_in_natural_order() -> None:
    examples = [
        an_example("jokes"),
        an_example(example="10"),
        an_example(example="9"),
        an_example(example="x_2"),
    ]
    plan = dataclasses.replace(PLAN, examples=tuple(examples))
    assert [example.key for example in plan.examples] == [
        "colours/9",
        "colours/10",
        "colours/x_2",
        "jokes/0",
    ]


def test_two_examples_with_one_key_are_an_error() -> None:
    with pytest.raises(ScenarioError, match="two examples are called 'colours/0'"):
        dataclasses.replace(PLAN, examples=(an_example(), an_example()))


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    plan = dataclasses.replace(PLAN, examples=())
    assert (
        plan.fingerprint
        == "sha256:bf7486c8df0cf63dfbde5e52315af4f5db904ff6d086d66b458a7dcb0195c95c"
    )


def test_a_plan_of_another_format_is_refused() -> None:
    with pytest.raises(
        DefinitionError,
        match=r"plan\.json: format: expected the format 2, got 3\. Another version",
    ):
        Plan.from_json(PLAN.to_json() | {"format": 3})


def test_a_plan_with_a_missing_field_names_it() -> None:
    data = PLAN.to_json()
    del data["seed"]
    with pytest.raises(
        DefinitionError, match=r"run/plan\.json: the field 'seed' is missing\."
    ):
        Plan.from_json(data, where="run/plan.json")


def test_equal_plans_have_no_differences() -> None:
    assert plan_differences(PLAN, Plan.from_json(PLAN.to_json())) == []


def test_each_difference_is_a_sentence() -> None:
    changed = dataclasses.replace(
        DEFINITION, steps=(Say("A."), Wait(span=0.7), Ask("B?"))
    )
    examples = (an_example(definition=changed, version="2"), an_example("name_list"))
    other = dataclasses.replace(PLAN, examples=examples, span=None)
    assert plan_differences(PLAN, other) == [
        "The plan's span is 2000 in one and None in the other.",
        "jokes/0 is only in the first plan.",
        "name_list/0 is only in the second plan.",
        "colours/0 has another definition: steps[1].wait.span is 0.5 in one and 0.7 in the other.",
        "colours/0 has another version: '' in one and '2' in the other.",
    ]


def test_a_number_and_a_truth_value_are_different() -> None:
    other = dataclasses.replace(PLAN, filler={"filler": True})
    assert plan_differences(dataclasses.replace(PLAN, filler={"filler": 1}), other) == [
        "The plan's filler is {'filler': 1} in one and {'filler': True} in the other."
    ]


def test_an_example_is_generated_from_its_own_name_alone() -> None:
    drawn = definition_rng(0, 0, "colours", "0").random()
    assert definition_rng(0, 0, "colours", "0").random() == drawn


@pytest.mark.parametrize(
    "other",
    [
        (1, 0, "colours", "0"),
        (0, 1, "colours", "0"),
        (0, 0, "jokes", "0"),
        (0, 0, "colours", "1"),
    ],
)
def test_another_seed_trial_scenario_or_example_gives_another_definition(
    other: tuple[int, int, str, str],
) -> None:
    assert (
        definition_rng(*other).random() != definition_rng(0, 0, "colours", "0").random()
    )


def test_names_that_run_together_do_not_share_their_chance() -> None:
    assert (
        definition_rng(0, 0, "a/b", "c").random()
        != definition_rng(0, 0, "a", "b/c").random()
    )


def test_an_agent_without_a_configuration_is_known_by_its_spec() -> None:
    assert agent_fingerprint("my.bot:Bot", None) == agent_fingerprint(
        "my.bot:Bot", None
    )
    assert agent_fingerprint("my.bot:Bot", None) != agent_fingerprint(
        "my.bot:Other", None
    )


def test_an_agent_with_a_configuration_is_known_by_it() -> None:
    one = agent_fingerprint("my.bot:Bot", {"model": "m", "k": 3})
    assert one == agent_fingerprint("my.bot:Bot", {"k": 3, "model": "m"})
    assert one != agent_fingerprint("my.bot:Bot", {"k": 4, "model": "m"})
    assert one != agent_fingerprint("my.bot:Bot", None)


def test_a_configuration_that_is_no_json_names_the_field() -> None:
    with pytest.raises(
        AgentError,
        match=r"agent 'my\.bot:Bot': configuration\.model: expected a JSON value",
    ):
        agent_fingerprint("my.bot:Bot", {"model": object()})


def test_a_plan_of_before_there_was_a_reading_is_raw_and_equals_one_that_keeps_everything() -> (
    None
):
    recorded = PLAN.to_json()

    assert "reading" not in recorded
    assert Plan.from_json(recorded).reading == RAW


def test_a_reading_is_part_of_the_plan() -> None:
    stripped = dataclasses.replace(
        PLAN, reading=Reading(thoughts="strip", tags=("hm",))
    )

    assert stripped.fingerprint != PLAN.fingerprint
    assert Plan.from_json(stripped.to_json()) == stripped
    with pytest.raises(DefinitionError, match="reading"):
        Plan.from_json({**stripped.to_json(), "reading": {"thoughts": "hide"}})
