"""Memory systems whose reading and thinking is done by rules, tested on hypotheses written before the first run."""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import yaml

from pytest_ltm.api.journal import ScenarioResult
from pytest_ltm.figures.statistics.counts import t_quantile
from pytest_ltm.lab.study import play_rows

WRITTEN = Path(__file__).with_name("hypotheses.yml")
LEVEL = 0.95
"""Confidence level of the intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """An expectation about two cells, each the label of an agent and a memory span."""

    name: str
    left: tuple[str, str]
    right: tuple[str, str]
    expect: str
    """`more`, `same` (by `within`) or `equal`."""
    measure: str = "total"
    within: float = 0.0
    paper: str = ""

    def verdict(self, gains: Sequence[float], low: float, high: float) -> str:
        """Return the verdict on the differences of the trials (left minus right) and their interval."""
        if self.expect == "equal":
            return "shown" if not any(gains) else "not so"
        if self.expect == "same":
            return (
                "shown" if -self.within <= low and high <= self.within else "not shown"
            )
        return "shown" if low > 0 else "the contrary" if high < 0 else "not shown"


class Played:
    """The played examples of all cells."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[ScenarioResult]] = defaultdict(list)

    def add(self, cell: tuple[str, str], row: ScenarioResult) -> None:
        """Add an example."""
        self._rows[cell].append(row)

    def has(self, cell: tuple[str, str]) -> bool:
        """Return whether a cell was played."""
        return cell in self._rows

    def trials(self, cell: tuple[str, str], measure: str) -> dict[str, float]:
        """Return the mean of a measure in each trial that has it."""
        kind, _, name = measure.partition(":")
        by_trial: dict[str, dict[str, list[float]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for row in self._rows[cell]:
            value = _metric(row, name) if kind == "metric" else row.score or 0.0
            if value is not None and (kind != "scenario" or row.scenario == name):
                by_trial[row.trial][row.scenario].append(value)
        return {
            trial: fmean(map(fmean, scenarios.values()))
            for trial, scenarios in by_trial.items()
        }

    def scores(self, cell: tuple[str, str]) -> dict[tuple[str, str, str], float | None]:
        """Return the score of each example."""
        return {
            (row.trial, row.scenario, row.example): row.score
            for row in self._rows[cell]
        }


def memory(size: int, repeats: int) -> Iterator[str]:  # noqa: ARG001 - every benchmark takes both
    """Play all hypotheses with `repeats` trials; yield a line for each."""
    data: dict[str, Any] = yaml.safe_load(WRITTEN.read_text(encoding="utf-8"))
    found = [
        Hypothesis(**one | {side: tuple(one[side]) for side in ("left", "right")})
        for one in data["hypotheses"]
    ]
    played = Played()
    by_span: dict[str, dict[str, None]] = defaultdict(dict)
    for one in found:
        for label, span in (one.left, one.right):
            by_span[span][label] = None
    with tempfile.TemporaryDirectory(prefix="ltm-memory-") as name:
        folder = Path(name)
        specs = {
            label: _spec(folder, label, data["agents"][label])
            for label in data["agents"]
        }
        for span, labels in by_span.items():
            print(f"{', '.join(labels)} at {span} ...", file=sys.stderr)
            words = [
                f"--ltm-suite={data['suite']}",
                f"--ltm-span={span}",
                f"--ltm-seed={data['seed']}",
            ]
            words.append(f"--ltm-trials={size}")
            labelled = {_label(label): label for label in labels}
            agents = [f"{_label(label)}={specs[label]}" for label in labels]
            for _, row in play_rows(agents, words, folder / span, folder):
                played.add((labelled[row.agent], span), row)
            for one in [
                one for one in found if played.has(one.left) and played.has(one.right)
            ]:
                found.remove(one)
                yield from lines(one, played)


def _metric(row: ScenarioResult, name: str) -> float | None:
    return next((metric.value for metric in row.metrics if metric.name == name), None)


def _label(label: str) -> str:
    return label.replace("-", "_")


def _spec(folder: Path, label: str, agent: str | Mapping[str, Any]) -> str:
    """Return the spec of an agent, written as a file if it has parameters."""
    if isinstance(agent, str):
        return agent
    path = folder / f"{label}.yml"
    path.write_text(yaml.safe_dump(dict(agent)), encoding="utf-8")
    return str(path)


def lines(one: Hypothesis, played: Played) -> Iterator[str]:
    """Yield the result of a hypothesis."""
    left, right = (played.trials(cell, one.measure) for cell in (one.left, one.right))
    gains = [left[trial] - right[trial] for trial in left if trial in right]
    if not gains:
        yield f"{one.name}: cannot be told, as no trial has {one.measure} on both sides"
        return
    if one.expect == "equal" and played.scores(one.left) != played.scores(one.right):
        gains = [*gains, 1.0]
    mean = fmean(gains)
    half = (
        t_quantile((1 + LEVEL) / 2, len(gains) - 1) * stdev(gains) / sqrt(len(gains))
        if len(gains) > 1
        else 1.0
    )
    values = " and ".join(
        f"{label} at {span} {fmean(side.values()):.3f}"
        for (label, span), side in zip(
            (one.left, one.right), (left, right), strict=True
        )
    )
    yield f"{one.name}: {one.verdict(gains, mean - half, mean + half)}"
    yield f"  {one.measure}: {values}; {mean:+.3f} [{mean - half:+.3f} to {mean + half:+.3f}]"
    if one.paper:
        yield f"  published: {one.paper}"
