"""Invariants of scores with an open part."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_runs import conversation, row, run

from pytest_ltm._core.journal.result import ScenarioResult, why_unmeasured
from pytest_ltm._core.model.handle import Sheet
from pytest_ltm._core.model.score import Check, Score, Unscored
from pytest_ltm._core.storage.schema import from_record, to_record
from pytest_ltm.evaluators import NamesUser
from pytest_ltm.evaluators._rules import RuleCheck
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.statistics.pairs import pair_rows
from pytest_ltm.gate.gate_rules import parse_limit_rule
from pytest_ltm.gate.verdict import decide_gate

STATES = st.sampled_from([True, False, None])
"""Passed, failed, open."""
SHARES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
THRESHOLDS = st.sampled_from([0.5, 1.0])


def check(state: bool | None) -> Check:
    return Check(f"it is {state}", bool(state), state is None)


@st.composite
def rows(draw: st.DrawFn) -> ScenarioResult:
    """One example: decided, partly open, undecided, or lost because of its agent."""
    score, threshold = draw(SHARES), draw(THRESHOLDS)
    upper = max(score, draw(SHARES))
    match draw(st.sampled_from(["decided", "open", "undecided", "lost"])):
        case "undecided":
            return row(
                "a",
                0.0,
                upper=1.0,
                outcome="skipped",
                cause="undecided",
                threshold=threshold,
            )
        case "lost":
            return row("a", None, outcome="error", cause="agent", threshold=threshold)
        case "open" if upper > score:
            passes = "passed" if score >= threshold else "failed"
            return row("a", score, upper=upper, outcome=passes, threshold=threshold)
        case _:
            return row(
                "a",
                score,
                outcome="passed" if score >= threshold else "failed",
                threshold=threshold,
            )


@given(
    checks=st.lists(STATES, min_size=1, max_size=8),
    told=SHARES,
    left_open=SHARES,
    threshold=THRESHOLDS,
)
def test_the_value_never_lies_above_the_upper_bound(
    checks: list[bool | None], told: float, left_open: float, threshold: float
) -> None:
    sheet = Sheet([check(state) for state in checks])
    watched = Score(told, "watched", left_open=left_open)
    found = sheet.verdict([watched], threshold=threshold)

    if isinstance(found, Score):
        assert 0 <= found.value <= found.upper <= 1
    else:
        assert found.cause == "undecided"
        assert (set(checks), told, watched.upper) == ({None}, 0, 1)


@given(states=st.lists(STATES, min_size=1, max_size=8), place=st.integers(0, 7))
def test_deciding_a_part_moves_a_bound_to_the_other_and_never_beyond(
    states: list[bool | None], place: int
) -> None:
    at = place % len(states)

    def scored(state: bool | None) -> Score:
        parts = [
            RuleCheck(f"part {n}", "It hums.", each)
            for n, each in enumerate([*states[:at], state, *states[at + 1 :]])
        ]
        return NamesUser("Teal").share(parts, "{ok} of {of}")

    missed, unproven, passed = scored(False), scored(None), scored(True)
    assert [unproven.value, unproven.upper] == pytest.approx(
        [missed.value, passed.upper]
    )


@given(held=st.lists(rows(), min_size=1, max_size=6))
def test_a_mean_lies_between_its_bounds_and_leaving_answers_open_never_raises_it(
    held: list[ScenarioResult],
) -> None:
    [column] = result_columns(
        run(conversation("full", "2k", {}, scenarios=numbered(held)))
    )
    wrong = [
        one if one.upper is None else row("a", one.score, threshold=one.threshold)
        for one in held
    ]
    [decided] = result_columns(
        run(conversation("full", "2k", {}, scenarios=numbered(wrong)))
    )

    assert column.total_lower_bound <= column.total_upper_bound
    assert column.total == decided.total
    assert (
        not column.out_of
        or column.total_lower_bound <= column.total <= column.total_upper_bound
    )


@given(
    held=st.lists(rows(), min_size=1, max_size=6),
    limit=st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]),
)
def test_a_gate_sees_what_is_open_as_missed(
    held: list[ScenarioResult], limit: float
) -> None:
    played = [one for one in held if one.scored] or [row("a", 1.0)]
    lower = [row("a", one.score, threshold=one.threshold) for one in played]

    def state(some: list[ScenarioResult]) -> str:
        return decide_gate(
            run(conversation("full", "2k", {}, scenarios=numbered(some))),
            [parse_limit_rule(f"{limit}")],
        ).state

    assert state(played) == state(lower)


@given(before=st.lists(rows(), min_size=1, max_size=6))
def test_paired_tests_take_the_lower_bound(before: list[ScenarioResult]) -> None:
    pairs = pair_rows(numbered(before), numbered(before)).pairs
    assert sorted(pair.before for pair in pairs) == sorted(
        one.score for one in before if one.score is not None
    )


@given(held=st.lists(rows(), min_size=1, max_size=4))
def test_undecided_alone_never_makes_a_run_unmeasurable(
    held: list[ScenarioResult],
) -> None:
    unproven = [one for one in held if one.cause == "undecided"] or [
        row("a", 0.0, upper=1.0, outcome="skipped", cause="undecided")
    ]
    assert (
        why_unmeasured(
            run(conversation("full", "2k", {}, scenarios=numbered(unproven)))
        )
        == ""
    )


@given(one=rows())
def test_a_recorded_result_keeps_both_bounds(one: ScenarioResult) -> None:
    assert from_record(ScenarioResult, to_record(one), "one") == one


@given(
    scores=st.lists(SHARES, max_size=3),
    causes=st.lists(st.sampled_from(["unscored", "judge"]), min_size=1),
)
def test_any_other_unscored_part_makes_the_whole_unscored(
    scores: list[float], causes: list[str]
) -> None:
    parts = [
        Unscored("it hums", cause="undecided"),
        *(Unscored("nobody knows", cause=c) for c in causes),  # type: ignore[arg-type]
    ]
    found = Sheet().verdict(
        [*(Score(value, "watched") for value in scores), *parts], threshold=1.0
    )

    assert isinstance(found, Unscored)
    assert found.cause == causes[0]


def numbered(held: list[ScenarioResult]) -> tuple[ScenarioResult, ...]:
    return tuple(replace(one, example=str(number)) for number, one in enumerate(held))
