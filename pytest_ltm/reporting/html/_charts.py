"""Where the marks of the charts stand: geometry for the templates, which draw it as SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.reporting._text import score_text
from pytest_ltm.reporting.html._headline import money

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm.reporting.html._material import Material, Series

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 14, 44
COLOURS = 8
"""Strokes in the style sheet; from then on they come again, dashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One series in a chart."""

    x: float
    y: float
    low: float
    """Bottom of the interval's bar."""
    high: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One agent in a chart."""

    agent: str
    colour: int
    dashed: bool
    path: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Scores of all agents against something."""

    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    scores: tuple[Tick, ...]
    axis: str
    """What the x axis measures."""
    title: str


def score_by_span(found: Material) -> Chart | None:
    """Return accuracy against memory span, log scale; None unless two spans in tokens have a score."""
    series = [each for each in found.series if each.column.span is not None and each.column.out_of]
    spans = sorted({each.column.span for each in series if each.column.span is not None})
    if len(spans) < 2:  # noqa: PLR2004 - one point is no curve
        return None
    labels = {each.column.span: each.column.span_label for each in series}
    x = _scale(spans[0], spans[-1])
    return Chart(
        lines=_lines(found, series, lambda each: x(each.column.span or spans[0]), lambda each: each.column.span_label),
        ticks=tuple(Tick(at=x(span), label=labels[span]) for span in spans),
        scores=_scores(),
        axis="memory span in tokens (log scale)",
        title="Accuracy against memory span",
    )


def score_by_cost(found: Material) -> Chart | None:
    """Return accuracy against cost, log scale; None unless two series tell their cost."""
    series = [each for each in found.series if each.column.cost_usd and each.column.out_of]
    costs = [each.column.cost_usd for each in series if each.column.cost_usd is not None]
    if len(costs) < 2:  # noqa: PLR2004 - one point is no chart
        return None
    low, high = min(costs), max(costs)
    if low == high:
        low, high = low / 2, high * 2
    x = _scale(low, high)
    return Chart(
        lines=_lines(
            found,
            series,
            lambda each: x(each.column.cost_usd or low),
            lambda each: f"{each.column.span_label}, {money(each.column.cost_usd or 0.0)}",
        ),
        ticks=tuple(Tick(at=x(cost), label=money(cost)) for cost in _steps(low, high)),
        scores=_scores(),
        axis="cost in US dollars (log scale)",
        title="Accuracy against cost",
    )


def _lines(
    found: Material, series: Sequence[Series], x: Callable[[Series], float], where: Callable[[Series], str]
) -> tuple[Line, ...]:
    lines = []
    for number, agent in enumerate(found.agents):
        points = tuple(_point(each, x(each), where(each)) for each in series if each.agent == agent)
        points = tuple(sorted(points, key=lambda point: point.x))
        if points:
            path = "M" + "L".join(f"{point.x:.1f} {point.y:.1f}" for point in points)
            lines.append(Line(agent=agent, colour=number % COLOURS, dashed=number >= COLOURS, path=path, points=points))
    return tuple(lines)


def _point(series: Series, x: float, where: str) -> Point:
    column = series.column
    score = column.total / column.out_of
    low, high = (column.spread.low, column.spread.high) if column.spread else (column.total, column.total)
    interval = f", 95% of draws {low / column.out_of:.2f} to {high / column.out_of:.2f}" if column.spread else ""
    title = f"{series.agent} at {where}: {score_text(score)}{interval}"
    return Point(x=x, y=_y(score), low=_y(low / column.out_of), high=_y(high / column.out_of), title=title)


def _scale(low: float, high: float) -> Callable[[float], float]:
    bottom, top = math.log(low), math.log(high)
    room = WIDTH - LEFT - RIGHT - 40
    return lambda value: LEFT + 20 + (math.log(value) - bottom) / (top - bottom) * room


def _y(score: float) -> float:
    return TOP + (1 - min(max(score, 0.0), 1.0)) * (HEIGHT - TOP - BOTTOM)


def _scores() -> tuple[Tick, ...]:
    return tuple(Tick(at=_y(score), label=f"{100 * score:.0f}%") for score in (0, 0.25, 0.5, 0.75, 1))


def _steps(low: float, high: float) -> list[float]:
    """Return round amounts between two, at least the two themselves."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [factor * 10.0**exponent for exponent in exponents for factor in (1, 2, 5)]
    inside = [step for step in steps if low <= step <= high]
    return inside[:: max(len(inside) // 6, 1)] or [low, high]
