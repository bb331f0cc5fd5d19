"""The one place where charts are made: accuracy against span and cost, and shades; the templates draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.figures.statistics.totals import FULL_MARKS
from pytest_ltm.figures.text import format_dollars, score_text
from pytest_ltm.reports.agent_sentences import (
    agents_under_test,
    largest_span_label,
    rank_sides,
)

if TYPE_CHECKING:
    from pytest_ltm.reports.html.report_data import Material, ResultSeries


# Strokes in the style sheet, for the best agents at the largest memory span; all others
# are thin and grey.
COLOURS = 8


class Tick(NamedTuple):
    """One mark on an axis."""

    at: float
    label: str


class ChartFrame(NamedTuple):
    """The size of a chart, and its margins, in the order in which templates unpack them."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    def y(self, share: float) -> float:
        """Return where a share of full marks stands."""
        return self.top + (1 - min(max(share, 0.0), 1.0)) * (
            self.height - self.top - self.bottom
        )

    @property
    def scores(self) -> list[Tick]:
        """The marks of the y axis."""
        return [
            Tick(self.y(score), f"{100 * score:.0f}%")
            for score in (0, 0.25, 0.5, 0.75, 1)
        ]


class ChartPoint(NamedTuple):
    """One result in a chart."""

    x: float
    y: float
    low: float
    """Bottom of the interval's bar."""
    high: float
    title: str


def path_through(points: Sequence[ChartPoint]) -> str:
    """Return the path of a line through the points; "" for none."""
    return (
        "M" + "L".join(f"{point.x:.1f} {point.y:.1f}" for point in points)
        if points
        else ""
    )


FRAME = ChartFrame(640, 300, left=44, right=16, top=14, bottom=44)


class ChartLine(NamedTuple):
    """One agent in a chart."""

    agent: str
    colour: int
    """From 0; COLOURS: one of many."""
    path: str
    points: Sequence[ChartPoint]


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
    size: ChartFrame = FRAME

    @property
    def named(self) -> Sequence[ChartLine]:
        """The lines that have a colour of their own."""
        return [line for line in self.lines if line.colour < COLOURS]


# Where points may begin; isolated examples stand there, and the memory spans a little
# further to the right.
_BEGIN = FRAME.left + 20


def score_by_span(material: Material) -> AccuracyChart | None:
    """Return accuracy against memory span, log scale, isolated examples first; None for less than two places."""
    series = [each for each in material.series if each.column.out_of]
    spans = {
        each.column.span: each.column.span_label
        for each in sorted(series, key=lambda one: one.column.span or 0)
    }
    if len(spans) < 2:
        return None
    in_tokens = [span for span in spans if span is not None]
    scale = _log_scale(_BEGIN + 70 * (None in spans), min(in_tokens), max(in_tokens))

    def x(span: int | None) -> float:
        return _BEGIN if span is None else scale(span)

    # What nobody under test is measured against: what others earn at best, and what
    # takes no memory.
    names, bands = agents_under_test(series), []
    others = [each.column for each in series if each.agent not in names]
    ceiling = [
        (x(column.span), column.accuracy_lower_bound or 0.0) for column in others
    ]
    floor = [
        (x(each.column.span), each.column.floor / each.column.maximum_total)
        for each in series
    ]
    if ceiling and min(_highest_scores(ceiling).values()) < FULL_MARKS:
        label = "above: more than any bundled agent or control earns"
        bands.append(Band("ceiling", label, _area_outline(ceiling, FRAME.top)))
    if any(score for _, score in floor):
        bands.append(
            Band(
                "floor",
                "below: earned without memory",
                _area_outline(floor, FRAME.height - FRAME.bottom),
            )
        )
    return AccuracyChart(
        _chart_lines(
            material, series, lambda each: (x(each.column.span), each.column.span_label)
        ),
        [Tick(x(span), label) for span, label in spans.items()],
        axis="memory span in tokens (log scale)",
        title="Accuracy against memory span",
        bands=bands,
    )


def score_by_cost(material: Material) -> AccuracyChart | None:
    """Return accuracy against cost, log scale; None unless two series report their cost."""
    series = [
        each for each in material.series if each.column.cost_usd and each.column.out_of
    ]
    costs = {each.key: each.column.cost_usd or 0.0 for each in series}
    if len(series) < 2:
        return None
    low, high = min(costs.values()), max(costs.values())
    if low == high:
        low, high = low / 2, high * 2
    x = _log_scale(_BEGIN, low, high)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [factor * 10.0**exponent for exponent in exponents for factor in (1, 2, 5)]
    inside = [step for step in steps if low <= step <= high]
    # About six round amounts have room; where none lies between the two, they stand
    # themselves.
    shown = inside[:: max(len(inside) // 6, 1)] or [low, high]

    def placed(each: ResultSeries) -> tuple[float, str]:
        return x(
            costs[each.key]
        ), f"{each.column.span_label}, ${format_dollars(costs[each.key])}"

    return AccuracyChart(
        _chart_lines(material, series, placed),
        [Tick(x(cost), f"${format_dollars(cost)}") for cost in shown],
        axis="cost in US dollars (log scale)",
        title="Accuracy against cost",
    )


def _chart_lines(
    material: Material,
    series: Sequence[ResultSeries],
    placed: Callable[[ResultSeries], tuple[float, str]],
) -> list[ChartLine]:
    """Return a line for each agent under test; `placed`: where a series stands on the x axis, and how that is said."""
    names = agents_under_test(series)
    ranked = [
        side.agent
        for side in rank_sides(material.series_at(largest_span_label(series)))
        if side.agent in names
    ]
    lines = []
    for number, agent in enumerate(
        dict.fromkeys([*ranked, *(one for one in material.agents if one in names)])
    ):
        points = []
        for each in (each for each in series if each.agent == agent):
            column, (x, where) = each.column, placed(each)
            score = column.accuracy_lower_bound or 0.0
            # Without an interval the bar shows what open scores leave undecided.
            most = column.total_upper_bound / column.maximum_total
            low, high = (
                (column.interval.low, column.interval.high)
                if column.interval
                else (score, most)
            )
            level = (
                f", to {score_text(high)} if all that is open or has no score passed"
                if column.is_open
                else ""
            )
            level = (
                f", 95% interval {score_text(low)} to {score_text(high)}"
                if column.interval
                else level
            )
            title = f"{each.agent} at {where}: {score_text(score)}{level}"
            points.append(
                ChartPoint(x, FRAME.y(score), FRAME.y(low), FRAME.y(high), title)
            )
        points.sort(key=lambda point: point.x)
        if points:
            lines.append(
                ChartLine(agent, min(number, COLOURS), path_through(points), points)
            )
    return lines


def _highest_scores(places: Sequence[tuple[float, float]]) -> dict[float, float]:
    highest: dict[float, float] = {}
    for x, score in places:
        highest[x] = max(score, highest.get(x, 0.0))
    return highest


def _area_outline(places: Sequence[tuple[float, float]], edge: float) -> str:
    """Return the outline between the highest score at each place and an edge of the chart."""
    points = sorted(_highest_scores(places).items())
    # to both sides of the chart: a band at one memory span is a band, too
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
    """Return where an amount between `low` and `high` stands on the x axis, which it fills from `begin` on."""
    bottom, top, room = (
        math.log(low),
        math.log(high),
        FRAME.width - FRAME.right - 20 - begin,
    )
    return lambda value: (
        begin
        + ((math.log(value) - bottom) / (top - bottom) if top > bottom else 0.5) * room
    )


# --- The shade of a score: eleven steps that the style sheet gives their colours, in
# light, dark and print.

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
