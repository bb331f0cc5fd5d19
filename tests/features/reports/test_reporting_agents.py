"""The sentence on each agent: what it remembers, what it loses first, and which agents it matches."""

from __future__ import annotations

from random import Random

import pytest
from run_folders import held, played

from pytest_ltm.api.journal import ConversationResult, RunResult
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.reports.agent_sentences import (
    AgentAtSpan,
    _reach_text,
    agent_sentences_for,
    baseline_standings,
    rank_sides,
)
from pytest_ltm.reports.agent_sentences import agents_under_test as under_test


def sides(*conversations: ConversationResult) -> list[AgentAtSpan]:
    return [
        AgentAtSpan(column.agent, column)
        for column in result_columns(
            RunResult(run_id="run", conversations=conversations)
        )
    ]


def talk(agent: str, spec: str, **scores: float | None) -> ConversationResult:
    rows = [
        played(name, score, agent=agent, nodeid=f"{agent}-{name}")
        for name, score in scores.items()
    ]
    return held(rows, agent_spec=spec)


def test_a_control_is_never_ranked_and_a_bundled_agent_only_among_such() -> None:
    bundled = [talk("full", "full", a=1.0), talk("oracle", "oracle", a=1.0)]
    assert under_test(sides(*bundled)) == {"full"}
    both = sides(*bundled, talk("mine", "bot:Bot", a=0.5))
    assert under_test(both) == {"mine"}
    assert [side.agent for side in rank_sides(both)] == ["mine"]
    assert [one.sentence for one in agent_sentences_for(both)] == [
        "mine: 50% at 2k, not shown to be above guessing; weakest in a"
    ]


def test_an_agent_that_lost_most_of_its_examples_comes_last() -> None:
    lost = {f"s{i}": None for i in range(4)}
    some = [
        talk("lost", "bot:A", a=1.0, b=1.0, c=1.0, **lost),
        talk("poor", "bot:B", a=0.1, b=0.1, c=0.1),
    ]
    assert [one.agent for one in agent_sentences_for(sides(*some))] == ["poor", "lost"]


def test_what_a_baseline_says_comes_before_the_best_other_agent() -> None:
    two = sides(talk("one", "bot:A", a=1.0), talk("two", "bot:B", a=0.0))
    first, second = agent_sentences_for(two, {"one": "30 better, 0 worse than main"})
    assert first.text == "full marks everywhere; 30 better, 0 worse than main"
    assert second.text == "weakest in a; worse than one in 1 of 1 example at 2k"


def at(
    span: int, floor: float = 0.0, *, examples: int = 30, **scores: float
) -> ConversationResult:
    rows = [
        played(
            name,
            score,
            agent="bot",
            span=span,
            span_label=f"{span}",
            floor=floor,
            example=str(number),
            nodeid=f"{span}-{name}-{number}",
        )
        for name, score in scores.items()
        for number in range(examples)
    ]
    return held(rows, agent_spec="bot:Bot")


def said(
    *conversations: ConversationResult, before: dict[str, str] | None = None
) -> str:
    [one] = agent_sentences_for(sides(*conversations), before)
    return one.sentence


def test_it_names_the_span_to_which_an_agent_remembers_and_what_falls_first() -> None:
    near = at(2000, colours=1.0, jokes=1.0, never=0.0)
    middle, far = (
        at(8000, colours=1.0, jokes=0.5, never=0.0),
        at(32000, colours=0.0, jokes=0.0, never=0.0),
    )
    assert (
        said(near, middle, far)
        == "bot: remembers to about 8000 tokens (50%, 0% at 32000); loses jokes first"
    )
    assert (
        said(near, middle)
        == "bot: remembers to 8000 tokens or more (50%); loses jokes first"
    )


def test_what_was_never_there_is_not_lost_with_the_distance() -> None:
    assert (
        said(at(2000, a=1.0, never=0.0), at(8000, a=1.0, never=0.0))
        == "bot: remembers to 8000 tokens or more (50%)"
    )


def test_an_agent_that_earns_what_guessing_earns_is_no_better() -> None:
    assert (
        said(at(2000, 0.25, a=0.25, b=0.0))
        == "bot: no better than guessing (12% at 2000, 25% by guessing); weakest in b and a"
    )


def test_what_lacks_scores_is_not_called_no_better_than_guessing() -> None:
    changes = [{"upper": None}] * 10 + [{"upper": 1.0}] * 20
    rows = [
        played("a", 0.0, agent="bot", floor=0.1, example=str(number), **change)
        for number, change in enumerate(changes)
    ]

    assert said(held(rows, agent_spec="bot:Bot")).startswith(
        "bot: 0% to 67% at 2k, not shown to be above guessing (10% by guessing)"
    )


def test_it_says_how_far_above_guessing_an_agent_is() -> None:
    assert (
        said(at(2000, 0.25, examples=60, a=0.5))
        == "bot: 50% at 2000; weakest in a; 0.25 above guessing"
    )


def test_what_luck_may_explain_is_not_called_memory() -> None:
    one, two = at(2000, 0.25, examples=1, a=0.5), at(8000, 0.25, examples=1, a=0.5)
    assert "not shown to be above guessing" in said(one)
    assert "remembers" not in said(one, two)


def test_an_agent_that_loses_most_at_once_is_not_said_to_remember() -> None:
    assert (
        said(at(2000, a=0.2, b=0.2), at(8000, a=0.1, b=0.0))
        == "bot: remembers little: 20% at 2000 and 5% at 8000; loses b and a first"
    )


def test_it_stands_beside_its_baseline_at_the_largest_span() -> None:
    compared = {
        "before": "baseline 'main'",
        "changes": [
            {
                "agent": "bot",
                "span_label": "2k",
                "difference": 0.0,
                "pairs": 3,
                "p": None,
            },
            {
                "agent": "bot",
                "span_label": "8k",
                "difference": 0.2,
                "pairs": 3,
                "p": 0.02,
            },
            {
                "agent": "other",
                "span_label": "8k",
                "difference": None,
                "pairs": 0,
                "p": None,
            },
        ],
    }
    assert baseline_standings(compared) == {
        "bot": "better than baseline 'main' by 0.20 at 8k (two-sided p = 0.020)"
    }


@pytest.mark.parametrize(
    ("span", "told"),
    [
        ("less than 2k", "keeps less than 85% at 2k already"),
        ("2k to 8k", "keeps 85% up to a span of 2k to 8k tokens"),
        ("at most 8k", "keeps 85% up to 8k tokens at most"),
        ("32k or more", "keeps 85% up to 32k tokens or more"),
        ("8k", "keeps 85% up to 8k tokens"),
    ],
)
def test_how_far_it_keeps_its_isolated_score(span: str, told: str) -> None:
    assert _reach_text(span, "85%", "2k") == told


FLOORS = {
    **{f"s{number}": 0.0 for number in range(7)},
    "restaurant": 0.05,
    "spy": 0.1,
    "chapter": 1 / 6,
    "puppets": 1 / 3,
}
"""The floors of suite standard."""


@pytest.mark.parametrize("seed", range(20))
def test_an_agent_without_memory_is_never_said_to_remember(seed: int) -> None:
    """Three examples of eleven scenarios at three spans, with the luck that the floors assume."""
    rng = Random(seed)
    talks = []
    for span in (2_000, 32_000, 120_000):
        rows = [
            played(
                name,
                float(rng.random() < floor),
                agent="bot",
                span=span,
                span_label=f"{span}",
                floor=floor,
                example=str(number),
                nodeid=f"{span}-{name}-{number}",
            )
            for name, floor in FLOORS.items()
            for number in range(3)
        ]
        talks.append(held(rows, agent_spec="bot:Bot"))
    sentence = said(*talks)
    assert "remembers" not in sentence
    assert "above guessing" not in sentence or "not shown" in sentence
