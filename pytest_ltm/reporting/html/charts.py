"""The one place where charts are made: accuracy against span and cost, and shades; the templates draw them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._results.statistics.totals import FULL_MARKS
from pytest_ltm._results.text import format_dollars, score_text
from pytest_ltm.reporting.agent_sentences import agents_under_test, largest_span_label, rank_sides

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm.reporting.html.report_data import Material, ResultSeries


WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 14, 44
# Strokes in the style sheet, for the best agents at the largest memory span; all others are thin and grey.
COLOURS = 8


class ChartPoint(NamedTuple):
    """One series in a chart."""

    x: float
    y: float
    low: float
    """Bottom of the interval's bar."""
    high: float
    title: str


class ChartLine(NamedTuple):
    """One agent in a chart."""

    agent: str
    colour: int
    """From 0; COLOURS: one of many."""
    path: str
    points: Sequence[ChartPoint]


class Tick(NamedTuple):
    """One mark on an axis."""

    at: float
    label: str


class Band(NamedTuple):
    """An area that no line of an agent under test can explain."""

    name: str
    """`ceiling` or `floor`."""
    label: str
    path: str


class AccuracyChart(NamedTuple):
    """Accuracy of all agents against something; the template `_macros.html.j2` draws it."""

    lines: Sequence[ChartLine]
    ticks: Sequence[Tick]
    axis: str
    """What the x axis measures."""
    title: str
    bands: Sequence[Band] = ()
    size: tuple[int, ...] = (WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM)

    @property
    def named(self) -> Sequence[ChartLine]:
        """The lines that have a colour of their own."""
        return [line for line in self.lines if line.colour < COLOURS]

    @property
    def scores(self) -> list[Tick]:
        """The marks of the y axis."""
        return [Tick(_score_y(score), f"{100 * score:.0f}%") for score in (0, 0.25, 0.5, 0.75, 1)]


def score_by_span(material: Material) -> AccuracyChart | None:
    """Return accuracy against memory span, log scale, isolated examples first; None for less than two places."""
    series = [each for each in material.series if each.column.out_of]
    spans = {each.column.span: each.column.span_label for each in sorted(series, key=lambda one: one.column.span or 0)}
    if len(spans) < 2:
        return None
    x = _span_positions([*spans])
    lines = _chart_lines(material, series, lambda each: (x(each.column.span), each.column.span_label))
    return AccuracyChart(
        lines,
        [Tick(x(span), label) for span, label in spans.items()],
        axis="memory span in tokens (log scale)",
        title="Accuracy against memory span",
        bands=_reference_bands(series, x),
    )


def score_by_cost(material: Material) -> AccuracyChart | None:
    """Return accuracy against cost, log scale; None unless two series report their cost."""
    series = [each for each in material.series if each.column.cost_usd and each.column.out_of]
    costs = {each.key: each.column.cost_usd or 0.0 for each in series}
    if len(series) < 2:
        return None
    low, high = min(costs.values()), max(costs.values())
    if low == high:
        low, high = low / 2, high * 2
    x = _log_scale(low, high)

    def placed(each: ResultSeries) -> tuple[float, str]:
        return x(costs[each.key]), f"{each.column.span_label}, ${format_dollars(costs[each.key])}"

    return AccuracyChart(
        _chart_lines(material, series, placed),
        [Tick(x(cost), f"${format_dollars(cost)}") for cost in _round_steps(low, high)],
        axis="cost in US dollars (log scale)",
        title="Accuracy against cost",
    )


def _chart_lines(
    material: Material, series: Sequence[ResultSeries], placed: Callable[[ResultSeries], tuple[float, str]]
) -> list[ChartLine]:
    """Return a line for each agent under test; `placed`: where a series stands on the x axis, and how that is said."""
    names = agents_under_test(series)
    ranked = [each.agent for each in rank_sides(material.series_at(largest_span_label(series))) if each.agent in names]
    lines = []
    for number, agent in enumerate(dict.fromkeys([*ranked, *(one for one in material.agents if one in names)])):
        own = [_chart_point(each, *placed(each)) for each in series if each.agent == agent]
        if points := sorted(own, key=lambda point: point.x):
            path = "M" + "L".join(f"{point.x:.1f} {point.y:.1f}" for point in points)
            lines.append(ChartLine(agent, min(number, COLOURS), path, points))
    return lines


def _reference_bands(series: Sequence[ResultSeries], x: Callable[[int | None], float]) -> list[Band]:
    """Return what nobody under test is measured against: what others earn at best, and what takes no memory."""
    names = agents_under_test(series)
    others = [each.column for each in series if each.agent not in names]
    ceiling = [(x(column.span), column.accuracy_lower_bound or 0.0) for column in others]
    floor = [(x(each.column.span), each.column.floor / each.column.maximum_total) for each in series]
    bands = []
    if ceiling and min(_highest_scores(ceiling).values()) < FULL_MARKS:
        label = "above: more than any bundled agent or control earns"
        bands.append(Band("ceiling", label, _area_outline(ceiling, TOP)))
    if any(score for _, score in floor):
        bands.append(Band("floor", "below: earned without memory", _area_outline(floor, HEIGHT - BOTTOM)))
    return bands


def _highest_scores(places: Sequence[tuple[float, float]]) -> dict[float, float]:
    highest: dict[float, float] = {}
    for x, score in places:
        highest[x] = max(score, highest.get(x, 0.0))
    return highest


def _area_outline(places: Sequence[tuple[float, float]], edge: float) -> str:
    """Return the outline between the highest score at each place and an edge of the chart."""
    points = sorted(_highest_scores(places).items())
    # to both sides of the chart: a band at one memory span is a band, too
    outer = [(LEFT, points[0][1]), *points, (WIDTH - RIGHT, points[-1][1])]
    return f"M{LEFT} {edge}L" + "L".join(f"{x:.1f} {_score_y(score):.1f}" for x, score in outer) + f"V{edge}Z"


def _chart_point(series: ResultSeries, x: float, where: str) -> ChartPoint:
    column = series.column
    score = column.accuracy_lower_bound or 0.0
    inside = column.interval
    low, high = (inside.low, inside.high) if inside else (score, column.total_upper_bound / column.maximum_total)
    level = f", 95% interval {score_text(low)} to {score_text(high)}" if inside else ""
    level = level or (f", to {score_text(high)} if all that is open or has no score passed" if column.is_open else "")
    return ChartPoint(
        x, _score_y(score), _score_y(low), _score_y(high), f"{series.agent} at {where}: {score_text(score)}{level}"
    )


# Between isolated examples and the smallest memory span.
_ISOLATED = 70


def _span_positions(spans: Sequence[int | None]) -> Callable[[int | None], float]:
    """Return where a memory span stands on the x axis; isolated examples come first."""
    in_tokens = [span for span in spans if span is not None]
    begin = LEFT + 20 + _ISOLATED * (len(in_tokens) < len(spans))
    low, high = math.log(min(in_tokens)), math.log(max(in_tokens))
    room = WIDTH - RIGHT - 20 - begin
    return lambda span: (
        LEFT + 20 if span is None else begin + ((math.log(span) - low) / (high - low) if high > low else 0.5) * room
    )


def _log_scale(low: float, high: float) -> Callable[[float], float]:
    bottom, top = math.log(low), math.log(high)
    room = WIDTH - LEFT - RIGHT - 40
    return lambda value: LEFT + 20 + (math.log(value) - bottom) / (top - bottom) * room


def _score_y(score: float) -> float:
    return TOP + (1 - min(max(score, 0.0), 1.0)) * (HEIGHT - TOP - BOTTOM)


def _round_steps(low: float, high: float) -> list[float]:
    """Return round amounts between two, at least the two themselves."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [factor * 10.0**exponent for exponent in exponents for factor in (1, 2, 5)]
    inside = [step for step in steps if low <= step <= high]
    return inside[:: max(len(inside) // 6, 1)] or [low, high]


# --- The shade of a score: eleven steps that the style sheet gives their colours, in light, dark and print.

# The class of a cell without a score.
NONE = "hx"


def shade_class(score: float | None) -> str:
    """Return `h0` (nothing) to `h10` (full marks); only full marks are `h10`, only nothing is `h0`."""
    if score is None:
        return NONE
    if score >= FULL_MARKS:
        return "h10"
    return "h0" if score <= 0 else f"h{min(max(round(score * 10), 1), 9)}"


class Shaded(NamedTuple):
    """A cell whose background shows the score."""

    text: str
    shade: str
    title: str
    more: str = ""
    """In small type."""
    link: int | None = None
    """The example that it stands for."""
