"""A plan's fingerprint is independent of order and depends on every field."""

from __future__ import annotations

import dataclasses
import json
import random

from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm._core.model.plan import Plan, PlannedExample, plan_differences
from pytest_ltm._core.model.scenario import Ask, Definition, Say, Wait, to_json

names = st.text("abc_019", min_size=1, max_size=5)
messages = st.text("xyz", min_size=1, max_size=4)
steps = (
    st.builds(Say, messages)
    | st.builds(Ask, messages)
    | st.builds(Wait, span=st.floats(0, 1))
)
definitions = st.builds(
    Definition,
    steps=st.lists(steps, max_size=3).map(tuple),
    expected=names | st.integers(),
)
name_tuples = st.lists(names, max_size=3).map(tuple)
spans = st.none() | st.integers(1, 10**7)
examples = st.builds(
    PlannedExample,
    scenario=names,
    example=names,
    definition=st.none() | definitions,
    version=st.text("12.", max_size=3),
    span=spans,
    skills=name_tuples,
    threshold=st.floats(0, 1) | st.sampled_from([0, 1]),
    incompatible=name_tuples,
    requires=name_tuples,
    reset=st.just("") | messages,
)
plans = st.builds(
    Plan,
    examples=st.lists(examples, max_size=4, unique_by=lambda example: example.key).map(
        tuple
    ),
    seed=st.integers(-(2**63), 2**63),
    trial=st.integers(0, 9),
    span=spans,
    tokenizer=names,
    filler=st.dictionaries(names, names | st.integers()),
    scoring=st.sampled_from(["current", "v3.5", "paper"]),
    judge=names,
    judge_votes=st.integers(0, 5),
    time=st.sampled_from(["simulated", "jump"]),
    opening=st.just("") | messages,
)


@given(plans)
def test_a_plan_reads_back_from_its_json(plan: Plan) -> None:
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    assert again.fingerprint == plan.fingerprint


@given(plans, st.integers())
def test_the_order_of_definition_does_not_matter(plan: Plan, seed: int) -> None:
    shuffled = list(plan.examples)
    random.Random(seed).shuffle(shuffled)
    turned = [
        dataclasses.replace(
            example,
            incompatible=example.incompatible[::-1],
            requires=example.requires[::-1],
        )
        for example in shuffled
    ]
    again = dataclasses.replace(plan, examples=tuple(turned))
    assert again.fingerprint == plan.fingerprint
    assert plan_differences(again, plan) == []


@given(
    plans,
    plans,
    st.sampled_from([f.name for f in dataclasses.fields(Plan) if f.name != "format"]),
)
def test_any_changed_field_changes_the_fingerprint_and_is_said(
    plan: Plan, other: Plan, name: str
) -> None:
    changed = dataclasses.replace(plan, **{name: getattr(other, name)})
    same = json.dumps(plan.to_json().get(name), sort_keys=True) == json.dumps(
        other.to_json().get(name), sort_keys=True
    )
    assert (changed.fingerprint == plan.fingerprint) is same
    assert (plan_differences(plan, changed) == []) is same
    assert (
        all(name in sentence for sentence in plan_differences(plan, changed))
        or name == "examples"
    )


@given(
    examples,
    examples,
    st.sampled_from([f.name for f in dataclasses.fields(PlannedExample)]),
)
def test_any_changed_field_of_an_example_changes_the_fingerprint(
    one: PlannedExample, other: PlannedExample, name: str
) -> None:
    changed = dataclasses.replace(one, **{name: getattr(other, name)})
    first, second = a_plan_of(one), a_plan_of(changed)
    assert (first.fingerprint == second.fingerprint) is (
        one.to_json()[name] == other.to_json()[name]
    )
    assert (plan_differences(first, second) == []) is (
        first.fingerprint == second.fingerprint
    )


@given(definitions, definitions)
def test_plans_with_different_definitions_differ(
    one: Definition, other: Definition
) -> None:
    first, second = (
        a_plan_of(PlannedExample(scenario="a", example="0", definition=d))
        for d in (one, other)
    )
    assert (first.fingerprint == second.fingerprint) is (to_json(one) == to_json(other))


def a_plan_of(example: PlannedExample) -> Plan:
    return Plan(
        examples=(example,),
        seed=0,
        trial=0,
        span=None,
        tokenizer="t",
        filler=None,
        scoring="current",
        judge="none",
        judge_votes=0,
        time="simulated",
        opening="",
    )
