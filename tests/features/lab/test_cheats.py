"""The command `cheats`: its results for played scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from pytest_ltm.api.journal import Cause, ScenarioResult
from pytest_ltm.api.model import Check
from pytest_ltm.api.storage import LtmError
from pytest_ltm.lab.commands.cheats import (
    Attack,
    as_json,
    best_cheats,
    cheat_lines,
    cheat_markdown,
    cheat_points,
    cheat_totals,
    lesson_suites,
)


def row(
    scenario: str,
    score: float | None,
    *,
    example: int = 0,
    span: str = "2k",
    floor: float = 0.0,
    cause: Cause = "",
) -> ScenarioResult:
    return ScenarioResult(
        scenario=scenario,
        example=str(example),
        agent="it",
        span_label=span,
        span=2_000,
        trial="0",
        nodeid="it",
        outcome="skipped" if score is None else "failed",
        score=score,
        reason="nobody knows",
        cause=cause,
        floor=floor,
    )


def several(
    agent: str, scenario: str, scores: Sequence[float], floor: float = 0.0
) -> Iterator[tuple[str, ScenarioResult]]:
    for number, score in enumerate(scores):
        yield agent, row(scenario, score, example=number, floor=floor)


def finds(agent: str, scores: Sequence[float], floor: float = 0.0) -> list[str]:
    return Attack.summarize_attack(
        [agent], list(several(agent, "cat", scores, floor))
    ).broken_limits


def test_what_is_above_the_floor_is_a_find() -> None:
    assert finds("dump", [0.0, 0.5]) == [
        "dump earns 0.25 at 2k in cat, whose floor is 0.00"
    ]
    assert finds("dump", [0.0, 0.06]) == []
    assert finds("dump", [0.2, 0.2], 0.2) == []
    assert finds("dump", [0.2, 0.4], 0.2) == [
        "dump earns 0.30 at 2k in cat, whose floor is 0.20"
    ]


def test_luck_is_no_find_where_all_or_nothing_is_won_by_chance() -> None:
    assert finds("fixed:1", [1, 0, 0], 1 / 6) == []
    assert len(finds("fixed:1", [1, 1, 1], 1 / 6)) == 1
    assert len(finds("fixed:1", [1, 0, 0])) == 1


def test_luck_is_no_find_where_each_question_is_won_by_chance() -> None:
    def answered(*right: bool) -> ScenarioResult:
        checks = tuple(Check("it knows", ok) for ok in right)
        result = row("cat", sum(right) / len(right), floor=0.1)
        return replace(result, checks=checks)

    def finds_of(*examples: ScenarioResult) -> list[str]:
        rows = [("keywords", example) for example in examples]
        return Attack.summarize_attack(["keywords"], rows).broken_limits

    none = answered(False, False)
    half = answered(True, False)
    assert finds_of(half, none, none) == []
    assert len(finds_of(half, half, half)) == 1
    assert len(finds_of(half, none, replace(none, score=0.1))) == 1


def test_an_agent_that_is_padded_is_measured_against_its_own_points_alone() -> None:
    rows = [*several("echo", "cat", [1, 1]), *several("padded:echo", "cat", [1, 1])]
    found = Attack.summarize_attack(["padded:echo"], rows)
    assert found.specs == ("padded:echo", "echo")
    assert found.broken_limits == []
    worse = Attack.summarize_attack(
        ["padded:echo"],
        [*several("echo", "cat", [0.9]), *several("padded:echo", "cat", [1])],
    )
    assert worse.broken_limits == ["padded:echo earns 1.00 of 1 at 2k, echo 0.90"]


def test_a_padded_agent_gains_nothing_by_a_lucky_guess() -> None:
    unlucky = list(several("echo", "cat", [0, 0, 0], 1 / 6))
    lucky = several("padded:echo", "cat", [1, 1, 0], 1 / 6)
    found = Attack.summarize_attack(["padded:echo"], [*unlucky, *lucky])
    assert found.gain("padded:echo", "2k") == 0
    assert found.broken_limits == []
    always = several("padded:echo", "cat", [1, 1, 1], 1 / 6)
    found = Attack.summarize_attack(["padded:echo"], [*unlucky, *always])
    assert found.gain("padded:echo", "2k") == pytest.approx(5 / 6)
    assert len(found.broken_limits) == 1


def test_what_cannot_be_judged_counts_as_nothing_and_what_cannot_be_played_not_at_all() -> (
    None
):
    rows = [
        ("dump", row("cat", 1.0)),
        ("dump", row("cat", None, example=1, cause="unscored")),
        ("dump", row("dog", None, cause="requires")),
    ]
    found = Attack.summarize_attack(["dump"], rows)
    assert found.scenarios == ("cat",)
    assert found.total("dump", "2k") == (0.5, 1)
    assert (
        list(cheat_lines(found))[-1]
        == "Without a score, counted as 0: 1 example; the first: nobody knows"
    )
    with pytest.raises(LtmError, match="no example has a score"):
        Attack.summarize_attack(["dump"], rows[2:])


@pytest.fixture
def two() -> Attack:
    rows = [
        ("dump", row("cat", 1.0, span="isolated")),
        ("dump", row("cat", 0.5)),
        ("dump", row("coin", 0.5, floor=0.5)),
        ("silent", row("cat", 0.0)),
        ("silent", row("coin", 0.0, floor=0.5)),
    ]
    return Attack.summarize_attack(["silent", "dump"], rows, ["2k", "isolated"])


def test_tables_show_totals_and_who_earned_most(two: Attack) -> None:
    assert cheat_totals(two) == [
        ["agent", "2k (of 2)", "isolated (of 1)"],
        ["floors of the scenarios", "0.50", "0.00"],
        ["silent", "0.00", "-"],
        ["dump", "1.00", "1.00"],
    ]
    assert best_cheats(two) == [
        ["scenario", "floor", "2k", "isolated"],
        ["cat", "0.00", "0.50 dump", "1.00 dump"],
        ["coin", "0.50", "0.50 dump", "-"],
    ]
    assert cheat_points(two, "2k") == [
        ["at 2k", "silent", "dump"],
        ["cat", "0.00", "0.50"],
        ["coin", "0.00", "0.50"],
    ]


def test_it_is_written_as_text_as_markdown_and_as_json(two: Attack) -> None:
    text, page, data = (
        list(cheat_lines(two)),
        list(cheat_markdown(two)),
        json.loads(as_json(two)),
    )
    assert "dump                     1.00       1.00" in text
    assert "| dump | 1.00 | 1.00 |" in page
    assert page[1] == "| --- | ---: | ---: |"
    assert text[-2:] == page[-2:] == ["1 find:", f"- {data['finds'][0]}"]
    assert {
        cell["agent"]: cell["above"]
        for cell in data["cells"]
        if cell["scenario"] == "cat"
    } == {
        "dump": True,
        "silent": False,
    }


@pytest.mark.parametrize(
    ("suite", "lessons"),
    [
        ("standard", ["hygiene", "reasoning", "learning"]),
        ("extended", ["hygiene", "reasoning", "learning"]),
        ("hygiene", ["reasoning", "learning", "standard"]),
        ("none", ["hygiene", "reasoning", "learning", "standard"]),
    ],
)
def test_nobody_learns_from_the_scenarios_that_are_attacked(
    suite: str, lessons: list[str]
) -> None:
    assert lesson_suites(suite) == lessons
