"""Computes all charts (accuracy against span and cost) and score shades; the templates draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by
from pytest_ltm.figures.text import format_dollars, score_text
from pytest_ltm.reports.agent_sentences import (
    agents_under_test,
    largest_span_label,
    rank_sides,
)

if TYPE_CHECKING:
    from pytest_ltm.api.journal import Curve, Section
    from pytest_ltm.reports.html.report_data import Material, ResultSeries


# Agents with a colour in the style sheet: the best at the largest memory span. All
# others are thin and grey.
COLOURS = 8


class Tick(NamedTuple):
    """One mark on an axis."""

    at: float
    label: str


class ChartFrame(NamedTuple):
    """The size of a chart and its margins, in the order in which templates unpack them."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def y(self, share: float) -> float:
        """Return the y coordinate of a share of full marks."""
        height = self.height - self.top - self.bottom
        return self.top + (1 - min(max(share, 0.0), 1.0)) * height

    @property
    def scores(self) -> list[Tick]:
        """The marks of the y axis."""
        scores = (0, 0.25, 0.5, 0.75, 1)
        return [Tick(self.y(score), f"{100 * score:.0f}%") for score in scores]


class ChartPoint(NamedTuple):
    """One result in a chart."""

    x: float
    y: float
    low: float
    """Bottom of the interval's bar."""
    high: float
    title: str


def path_through(points: Sequence[ChartPoint]) -> str:
    """Return the SVG path of a line through the points, or "" if there are none."""
    if not points:
        return ""
    return "M" + "L".join(f"{point.x:.1f} {point.y:.1f}" for point in points)


FRAME = ChartFrame(640, 300, left=44, right=16, top=14, bottom=44)


class ChartLine(NamedTuple):
    """One agent in a chart."""

    agent: str
    colour: int
    """Index from 0; COLOURS stands for all agents without a colour of their own."""
    path: str
    points: Sequence[ChartPoint]


class Band(NamedTuple):
    """An area outside the range that memory can explain: a ceiling or a floor."""

    name: str
    """`ceiling` or `floor`."""
    label: str
    path: str


class AccuracyChart(NamedTuple):
    """Accuracy of all agents against some quantity; drawn by the template `_macros.html.j2`."""

    lines: Sequence[ChartLine]
    ticks: Sequence[Tick]
    axis: str
    """The quantity on the x axis."""
    title: str
    bands: Sequence[Band] = ()
    size: ChartFrame = FRAME

    @property
    def named(self) -> Sequence[ChartLine]:
        """The lines that have a colour of their own."""
        return [line for line in self.lines if line.colour < COLOURS]


# The leftmost point: isolated examples are placed here, memory spans a little further
# to the right.
_BEGIN = FRAME.left + 20


def score_by_span(material: Material) -> AccuracyChart | None:
    """Return accuracy against span (log scale), isolated examples first; None for fewer than two places."""
    scored = [series for series in material.series if series.column.out_of]
    scored_by_span = sorted(scored, key=lambda series: series.column.span or 0)
    labels = {series.column.span: series.column.span_label for series in scored_by_span}
    if len(labels) < 2:
        return None
    spans = [span for span in labels if span is not None]
    begin = _BEGIN + 70 if None in labels else _BEGIN
    scale = _log_scale(begin, min(spans), max(spans))

    def place_span(span: int | None) -> float:
        return _BEGIN if span is None else scale(span)

    def place_series(series: ResultSeries) -> tuple[float, str]:
        return place_span(series.column.span), series.column.span_label

    return AccuracyChart(
        _chart_lines(material, scored, place_series),
        [Tick(place_span(span), label) for span, label in labels.items()],
        axis="memory span in tokens (log scale)",
        title="Accuracy against memory span",
        bands=_bands(scored, place_span),
    )


def _bands(
    scored: Sequence[ResultSeries], place_span: Callable[[int | None], float]
) -> list[Band]:
    """Return the ceiling and the floor: the best of the bundled agents, and the score without memory."""
    tested = agents_under_test(scored)
    ceiling: list[tuple[float, float]] = []
    floor: list[tuple[float, float]] = []
    for series in scored:
        column = series.column
        place = place_span(column.span)
        floor.append((place, column.floor / column.maximum_total))
        if series.agent not in tested:
            ceiling.append((place, column.accuracy_lower_bound or 0.0))
    bands = []
    if ceiling and min(_highest_scores(ceiling).values()) < FULL_MARKS:
        label = "above: more than any bundled agent or control earns"
        bands.append(Band("ceiling", label, _area_outline(ceiling, FRAME.top)))
    if any(score for _, score in floor):
        outline = _area_outline(floor, FRAME.height - FRAME.bottom)
        bands.append(Band("floor", "below: earned without memory", outline))
    return bands


def score_by_cost(material: Material) -> AccuracyChart | None:
    """Return accuracy against cost on a log scale; None unless two series report their cost."""
    priced: list[ResultSeries] = []
    for series in material.series:
        if series.column.cost_usd and series.column.out_of:
            priced.append(series)
    if len(priced) < 2:
        return None
    costs = [series.column.cost_usd or 0.0 for series in priced]
    low = min(costs)
    high = max(costs)
    if low == high:
        low = low / 2
        high *= 2
    scale = _log_scale(_BEGIN, low, high)

    def place_series(series: ResultSeries) -> tuple[float, str]:
        column = series.column
        cost = column.cost_usd or 0.0
        return scale(cost), f"{column.span_label}, ${format_dollars(cost)}"

    ticks: list[Tick] = []
    for cost in _round_amounts(low, high):
        ticks.append(Tick(scale(cost), f"${format_dollars(cost)}"))
    return AccuracyChart(
        _chart_lines(material, priced, place_series),
        ticks,
        axis="cost in US dollars (log scale)",
        title="Accuracy against cost",
    )


def _round_amounts(low: float, high: float) -> Sequence[float]:
    """Return about six round amounts between two amounts, or these two if no round one lies between them."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for exponent, factor in product(exponents, (1, 2, 5)):
        amount = factor * 10.0**exponent
        if low <= amount <= high:
            inside.append(amount)
    return inside[:: max(len(inside) // 6, 1)] or [low, high]


def _chart_lines(
    material: Material,
    scored: Sequence[ResultSeries],
    place_series: Callable[[ResultSeries], tuple[float, str]],
) -> list[ChartLine]:
    """Return a line per agent under test; `place_series` returns a series' x coordinate and its label."""
    tested = agents_under_test(scored)
    best = rank_sides(material.series_at(largest_span_label(scored)))
    ranked = [series.agent for series in best if series.agent in tested]
    tested_agents = [agent for agent in material.agents if agent in tested]
    lines = []
    for number, agent in enumerate(dict.fromkeys([*ranked, *tested_agents])):
        points: list[ChartPoint] = []
        for series in scored:
            if series.agent == agent:
                points.append(_chart_point(series, *place_series(series)))
        points.sort(key=lambda point: point.x)
        if points:
            colour = min(number, COLOURS)
            lines.append(ChartLine(agent, colour, path_through(points), points))
    return lines


def _chart_point(series: ResultSeries, x: float, place: str) -> ChartPoint:
    """Return a series' chart point with its interval, or else with the range that open scores leave."""
    column = series.column
    score = column.accuracy_lower_bound or 0.0
    interval = column.interval
    if interval:
        low = interval.low
        high = interval.high
        level = f", 95% interval {score_text(low)} to {score_text(high)}"
    else:
        low = score
        high = column.total_upper_bound / column.maximum_total
        level = ""
        if column.is_open:
            level = (
                f", to {score_text(high)} if all that is open or has no score passed"
            )
    title = f"{series.agent} at {place}: {score_text(score)}{level}"
    return ChartPoint(x, FRAME.y(score), FRAME.y(low), FRAME.y(high), title)


def _highest_scores(places: Sequence[tuple[float, float]]) -> dict[float, float]:
    """Return the highest score at each place."""
    highest: dict[float, float] = {}
    for x, score in places:
        highest[x] = max(score, highest.get(x, 0.0))
    return highest


def _area_outline(places: Sequence[tuple[float, float]], edge: float) -> str:
    """Return the outline between the highest score at each place and an edge of the chart."""
    points = sorted(_highest_scores(places).items())
    # extend to both sides of the chart, so that a single memory span yields a band too
    outer = [
        (FRAME.left, points[0][1]),
        *points,
        (FRAME.width - FRAME.right, points[-1][1]),
    ]
    return (
        f"M{FRAME.left} {edge}L"
        + "L".join(f"{x:.1f} {FRAME.y(score):.1f}" for x, score in outer)
        + f"V{edge}Z"
    )


def _log_scale(begin: float, low: float, high: float) -> Callable[[float], float]:
    """Return a log scale for amounts between `low` and `high` that fills the x axis from `begin` on."""
    bottom = math.log(low)
    top = math.log(high)
    room = FRAME.width - FRAME.right - 20 - begin

    def place_amount(amount: float) -> float:
        if top <= bottom:
            return begin + 0.5 * room
        return begin + (math.log(amount) - bottom) / (top - bottom) * room

    return place_amount


def section_charts(section: Section) -> list[AccuracyChart]:
    """Return a chart for each axis of a section's curves that has at least two places."""
    axes = group_by(section.curves, lambda curve: curve.axis)
    charts = [_curves_chart(section.title, curves) for curves in axes.values()]
    return [chart for chart in charts if len(chart.ticks) > 1]


def _curves_chart(title: str, curves: Sequence[Curve]) -> AccuracyChart:
    all_points = chain.from_iterable(curve.points for curve in curves)
    labels = dict.fromkeys(label for label, _ in all_points)
    room = FRAME.width - FRAME.right - 20 - _BEGIN
    step = room / max(len(labels) - 1, 1)
    places = {label: _BEGIN + step * number for number, label in enumerate(labels)}
    lines = []
    for number, curve in enumerate(curves):
        points: list[ChartPoint] = []
        for label, share in curve.points:
            name = f"{curve.name} at {label}"
            points.append(_share_point(name, places[label], share))
        colour = min(number, COLOURS)
        lines.append(ChartLine(curve.name, colour, path_through(points), points))
    ticks = [Tick(x, label) for label, x in places.items()]
    return AccuracyChart(lines, ticks, axis=curves[0].axis, title=title)


def _share_point(name: str, x: float, share: float) -> ChartPoint:
    y = FRAME.y(share)
    return ChartPoint(x, y, y, y, f"{name}: {share:.0%}")


# --- The shade of a score: eleven steps whose colours are in the style sheet, for
# light, dark and print.

# The class of a cell without a score.
NONE = "hx"


def shade_class(score: float | None) -> str:
    """Return `h0` (nothing) to `h10` (full marks); only exact scores get `h0` and `h10`."""
    if score is None:
        return NONE
    if score >= FULL_MARKS:
        return "h10"
    if score <= 0:
        return "h0"
    return f"h{min(max(round(score * 10), 1), 9)}"


class Shaded(NamedTuple):
    """A cell whose background shows the score."""

    text: str
    shade: str
    title: str
    more: str = ""
    """Additional text in small type."""
    link: int | None = None
    """The example that the cell links to."""
