"""Invariants of every gate, for any results."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from _examples import share
from gate_sides import WAYS, held, side
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from pytest_ltm.gate.baseline import baseline_text, load_baseline
from pytest_ltm.gate.change_report import changes_json
from pytest_ltm.gate.changes import GateSide, compare_sides
from pytest_ltm.gate.gate_rules import parse_change_rule, parse_limit_rule
from pytest_ltm.gate.verdict import decide_gate

Value = TypeVar("Value")
SCORES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.75, 1.0])
RULES = [
    parse_change_rule(rule)
    for rule in ("mean:0", "total:0", "pass_rate:0", "p:0.2", "unscored:0", "tokens:0")
]
RULES += [parse_limit_rule(rule) for rule in ("0.5", "worst:0.2", "pass_rate:0.5")]


@st.composite
def sides(draw: st.DrawFn) -> tuple[GateSide, GateSide]:
    """Two sides of one plan with one to three trials at one or two spans."""
    names = draw(
        st.lists(
            st.sampled_from(["a", "b.c", "d_e", "x-y"]),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    counts = {name: draw(st.integers(1, 3)) for name in names}
    places = [
        (span, str(trial))
        for span in ("2k", "32k")[: draw(st.integers(1, 2))]
        for trial in range(draw(st.integers(1, 3)))
    ]

    def one() -> GateSide:
        scores = {
            place: {
                name: tuple(draw(SCORES | st.none()) for _ in range(count))
                for name, count in counts.items()
            }
            for place in places
        }
        return side(
            *(held(scores[place], span=place[0], trial=place[1]) for place in places)
        )

    return one(), one()


@given(sides())
@settings(max_examples=share(40))
def test_a_run_compared_with_itself_has_not_moved(
    both: tuple[GateSide, GateSide],
) -> None:
    before, _ = both
    for change in compare_sides(before, before, WAYS).changes:
        assert not change.paired.pairs or change.is_identical
        assert all(level.difference == 0 for level in change.levels.values())
    moved = decide_gate(before.result, RULES[:3], compare_sides(before, before, WAYS))
    assert not moved.breaches


@given(sides())
@settings(max_examples=share(40))
def test_a_baseline_says_what_the_run_said(both: tuple[GateSide, GateSide]) -> None:
    before, after = both
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.json"
        path.write_text(baseline_text(before, "0"))
        kept = load_baseline(path, before.name)
    assert baseline_text(kept, "0") == baseline_text(before, "0")
    assert changes_json(compare_sides(kept, after, WAYS)) == changes_json(
        compare_sides(before, after, WAYS)
    )


@given(sides(), st.randoms(use_true_random=False))
@settings(max_examples=share(40))
def test_the_order_of_rows_and_conversations_changes_nothing(
    both: tuple[GateSide, GateSide], rng: random.Random
) -> None:
    before, after = both
    told = decide_gate(after.result, RULES, compare_sides(before, after, WAYS))
    shuffled = decide_gate(
        _mixed(after, rng).result,
        RULES,
        compare_sides(_mixed(before, rng), _mixed(after, rng), WAYS),
    )
    assert shuffled.state == told.state
    assert sorted(map(str, shuffled.findings)) == sorted(map(str, told.findings))


def _mixed(one: GateSide, rng: random.Random) -> GateSide:
    held_ = [
        replace(conversation, scenarios=tuple(_shuffled(conversation.scenarios, rng)))
        for conversation in one.result.conversations
    ]
    result = structs.replace(one.result, conversations=tuple(_shuffled(held_, rng)))
    return structs.replace(one, result=result, plans=tuple(_shuffled(one.plans, rng)))


def _shuffled(values: Iterable[Value], rng: random.Random) -> list[Value]:
    found = list(values)
    return rng.sample(found, len(found))


@given(sides(), st.randoms(use_true_random=False))
@settings(max_examples=share(40))
def test_lost_replies_make_a_run_unmeasurable_and_never_red(
    both: tuple[GateSide, GateSide], rng: random.Random
) -> None:
    before, after = both
    lossy, lost = _lossy(after, rng)
    verdict = decide_gate(lossy.result, RULES, compare_sides(before, lossy, WAYS))
    if lost:
        assert verdict.state == "unmeasurable"
    else:
        assert (
            verdict.state
            == decide_gate(
                after.result, RULES, compare_sides(before, after, WAYS)
            ).state
        )


def _lossy(one: GateSide, rng: random.Random) -> tuple[GateSide, int]:
    """Return the side after a random fifth of its replies was lost, and the number of examples that this cost."""
    lost = 0
    conversations = []
    for conversation in one.result.conversations:
        rows = []
        for row in conversation.scenarios:
            gone = rng.random() < 0.2
            lost += gone
            rows.append(
                replace(row, score=None, outcome="error", cause="agent")
                if gone
                else row
            )
        conversations.append(replace(conversation, scenarios=tuple(rows)))
    return structs.replace(
        one, result=structs.replace(one.result, conversations=tuple(conversations))
    ), lost
