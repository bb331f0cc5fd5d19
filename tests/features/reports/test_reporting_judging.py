from __future__ import annotations

import importlib.resources
import json
from dataclasses import replace

import jsonschema
import pytest
import sample_runs

from pytest_ltm.api.journal import RunResult
from pytest_ltm.reports.run_markdown import run_markdown
from pytest_ltm.reports.summary import summary_json
from pytest_ltm.reports.terminal import judge_lines, summary_lines, user_lines


def judged(*asked: tuple[int, int, float | None]) -> RunResult:
    """Return a run whose examples used this many judge calls, tokens and dollars."""
    one = sample_runs.one().conversations[0]
    rows = [
        replace(row, judge_calls=calls, judge_tokens=tokens, judge_cost_usd=cost)
        for row, (calls, tokens, cost) in zip(
            one.scenarios, [*asked, *[(0, 0, None)] * 3], strict=False
        )
    ]
    return sample_runs.run(replace(one, scenarios=tuple(rows), cost_usd=5.0))


@pytest.mark.parametrize(
    ("asked", "remembered", "line"),
    [
        ([(2, 0, None)], [], "judge: 2 calls"),
        (
            [(1, 900, 0.0125), (3, 2_100, None)],
            [],
            "judge: 4 calls, 3,000 tokens, $0.0125",
        ),
        ([(4, 10, 2.5)], [None], "judge: 4 calls, 10 tokens, $2.50; 1 of them cached"),
        (
            [(4, 10, 2.5)],
            [0.5, 0.75],
            "judge: 4 calls, 10 tokens, $2.50; 2 of them cached, saving $1.25",
        ),
    ],
)
def test_one_line_tells_what_the_judge_took_and_what_was_spared(
    asked: list[tuple[int, int, float | None]],
    remembered: list[float | None],
    line: str,
) -> None:
    assert judge_lines(judged(*asked), remembered) == [line]


def test_nothing_is_said_of_a_judge_that_nobody_asked() -> None:
    assert judge_lines(judged(), []) == []


def test_the_summary_keeps_the_judge_apart_from_the_agent() -> None:
    whole = (
        importlib.resources.files("pytest_ltm.reports")
        .joinpath("summary.schema.json")
        .read_text("utf-8")
    )
    for run, expected in (
        (
            judged((2, 900, 0.5), (1, 100, None)),
            {"calls": 3, "tokens": 1_000, "cost_usd": 0.5},
        ),
        (judged(), None),
    ):
        found = summary_json(
            run, pytest_ltm_version="1", seed=0, plan={}, wall_seconds=None
        )
        assert found["results"][0]["judge"] == expected
        assert found["results"][0]["cost_usd"] == 5.0
        jsonschema.Draft202012Validator(json.loads(whole)).validate(
            json.loads(json.dumps(found))
        )


# --- the models of simulated users


def voiced(*, estimated: bool = False) -> RunResult:
    """Return a run with one example whose simulated user was asked twice."""
    one = sample_runs.one().conversations[0]
    first, *others = one.scenarios
    first = replace(
        first,
        user_calls=2,
        user_tokens=300,
        user_cost_usd=0.5,
        user_estimated=estimated,
    )
    return sample_runs.run(replace(one, scenarios=(first, *others), cost_usd=5.0))


def test_users_have_a_line_of_their_own_and_an_estimate_says_so() -> None:
    assert user_lines(voiced()) == ["simulated users: 2 calls, 300 tokens, $0.5000"]
    assert user_lines(voiced(estimated=True)) == [
        "simulated users: 2 calls, ~300 tokens, ~$0.5000"
    ]
    assert user_lines(judged((2, 900, 0.5))) == []


def test_the_dollars_of_users_stand_apart_in_tables() -> None:
    assert any(
        line.split()[-1] == "0.50"
        for line in terminal(voiced())
        if line.startswith("simulated user in USD")
    )
    assert not any("simulated user" in line for line in terminal(judged((2, 900, 0.5))))
    assert "simulated user in USD" in run_markdown(voiced())
    assert "simulated user in USD" not in run_markdown(judged((2, 900, 0.5)))


def terminal(run: RunResult) -> list[str]:
    return summary_lines(run, width=80, verbosity=0, color=False)


def test_the_summary_keeps_users_apart_from_the_agent() -> None:
    whole = (
        importlib.resources.files("pytest_ltm.reports")
        .joinpath("summary.schema.json")
        .read_text("utf-8")
    )
    found = summary_json(
        voiced(estimated=True),
        pytest_ltm_version="1",
        seed=0,
        plan={},
        wall_seconds=None,
    )
    column = found["results"][0]
    assert column["simulated_users"] == {
        "calls": 2,
        "tokens": 300,
        "cost_usd": 0.5,
        "estimated": True,
    }
    assert column["cost_usd"] == 5.0
    jsonschema.Draft202012Validator(json.loads(whole)).validate(
        json.loads(json.dumps(found))
    )
