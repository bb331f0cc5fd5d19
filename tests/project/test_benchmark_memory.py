"""The verdicts of the benchmark `memory`."""

from __future__ import annotations

import pytest
import yaml

from benchmarks.memory import WRITTEN, Hypothesis, Played, lines


@pytest.mark.parametrize(
    ("expect", "interval", "verdict"),
    [
        ("more", (0.1, 0.3), "shown"),
        ("more", (0.0, 0.3), "not shown"),
        ("more", (-0.3, 0.1), "not shown"),
        ("more", (-0.3, -0.1), "the contrary"),
        ("same", (-0.05, 0.04), "shown"),
        ("same", (-0.05, 0.11), "not shown"),
    ],
)
def test_an_interval_decides(
    expect: str, interval: tuple[float, float], verdict: str
) -> None:
    one = Hypothesis(
        name="it", left=("a", "2k"), right=("b", "2k"), expect=expect, within=0.1
    )
    assert one.verdict([0.1], *interval) == verdict


def test_equal_is_equal_in_every_trial() -> None:
    one = Hypothesis(name="it", left=("a", "2k"), right=("b", "2k"), expect="equal")
    assert one.verdict([0.0, 0.0], 0.0, 0.0) == "shown"
    assert one.verdict([0.1, -0.1], -0.2, 0.2) == "not so"


def test_a_measure_that_nobody_has_cannot_be_told() -> None:
    one = Hypothesis(
        name="it",
        left=("a", "2k"),
        right=("b", "2k"),
        expect="more",
        measure="metric:recall@10",
    )
    assert list(lines(one, Played())) == [
        "it: cannot be told, as no trial has metric:recall@10 on both sides"
    ]


def test_every_hypothesis_names_agents_that_are_there() -> None:
    written = yaml.safe_load(WRITTEN.read_text(encoding="utf-8"))
    cells = [one[side] for one in written["hypotheses"] for side in ("left", "right")]
    assert {label for label, _ in cells} == set(written["agents"])
