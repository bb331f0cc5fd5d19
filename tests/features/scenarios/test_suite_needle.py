"""The suite `needle`: seeing everything finds every needle; a constant answer finds none."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from pytest_ltm.scenarios import _needles
from scenario_runs import generated, scores

from pytest_ltm import Say, Wait
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.evaluators import RecallsValue
from pytest_ltm.locales import variants

NAMES = tuple(entry.scenario for entry in built_in("needle").entries)
LABELLED = Path(__file__).parents[2] / "labelled" / "needle.jsonl"
ENOUGH = 30
MESSAGES = {
    name: getattr(_needles, name)
    for name in ("NAMED", "UNNAMED", "FORMER", "SAME", "QUESTIONS")
}


def body(name: str) -> Any:
    return getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{name}"), f"test_{name}"
    )


def made(name: str, number: int, **parameters: Any) -> list[Any]:
    return generated(body(name).pytestmark[0].kwargs["generate"], number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [8_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_who_sees_everything_finds_every_needle(
    name: str, agent: str, span: int | None
) -> None:
    assert (
        scores(body(name), made(name, 12), find_agent(agent).make, span=span)
        == [1.0] * 12
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        "echo",
        "silent",
        "dump",
        "recite:2k",
        "agree",
        "candidates",
        "hedge",
        "fixed:last",
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_one_answer_for_all_finds_none(name: str, spec: str) -> None:
    assert body(name).pytestmark[0].kwargs.get("floor", 0) == 0
    assert (
        scores(body(name), made(name, 8), find_agent(spec).make, span=None) == [0.0] * 8
    )


@pytest.mark.slow
def test_a_window_finds_what_is_told_last() -> None:
    near, far = (made("needle", 6, depths=[depth]) for depth in (1.0, 0.0))
    window = find_agent("window:2k").make
    assert scores(body("needle"), near, window, span=16_000) == [1.0] * 6
    assert scores(body("needle"), far, window, span=16_000) == [0.0] * 6


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


@pytest.mark.parametrize(
    ("depth", "before"), [(0, 0.0), (0.25, 0.2), (0.5, 0.4), (1, 0.8)]
)
def test_a_needle_is_told_at_its_depth(depth: float, before: float) -> None:
    (definition,) = made("needle", 1, depths=depth, last_wait=0.8)
    at = 0.0
    for step in definition.steps:
        if isinstance(step, Wait):
            at = step.span
        if isinstance(step, Say) and definition.expected in step.text:
            assert at == pytest.approx(before)
    assert definition.parameters["depth"] == depth


@pytest.mark.parametrize("depths", [[], [1.5], ["first"], True, "0.5"])
def test_depths_that_are_none_are_refused(depths: Any) -> None:
    with pytest.raises(ValueError, match="depths"):
        made("needle", 1, depths=depths)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("needle", {"near_misses": 0}),
        ("needles", {"needles": 1}),
        ("needle_chain", {"chains": 1}),
        ("needle_chain", {"hops": 9}),
    ],
)
def test_sizes_that_make_no_test_are_refused(
    name: str, parameters: dict[str, int]
) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        made(name, 1, **parameters)


def labelled() -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()
    ]


@pytest.mark.parametrize("row", labelled(), ids=lambda row: str(row["id"]))
def test_a_reply_earns_what_a_person_gave_it(row: dict[str, Any]) -> None:
    assert (
        RecallsValue(row["expected"], tuple(row["others"]))([row["answer"]]).value
        == row["credit"]
    )
