"""The page of a trend: a chart and a table for each agent and memory span; no script, no request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._core.storage.disk import write_output
from pytest_ltm.figures.text import format_percent
from pytest_ltm.reports.html.charts import ChartFrame, ChartPoint, Tick, path_through
from pytest_ltm.reports.html.page import (
    content_policy,
    read_assets,
    template_environment,
)

if TYPE_CHECKING:
    from pytest_ltm.reports.trend import TrendSeries


STYLES = ("page.css", "tables.css", "trend.css", "print.css")
# Results drawn of a series: the last ones; the table has all.
MAX_DRAWN_RESULTS = 60
FRAME = ChartFrame(900, 260, left=44, right=20, top=14, bottom=34)


class TrendPath(NamedTuple):
    """The results of one plan."""

    number: int
    path: str
    marks: Sequence[ChartPoint]
    difference: str
    """In what it differs from the plan before."""


class TrendChart(NamedTuple):
    """One agent at one memory span."""

    series: TrendSeries
    lines: Sequence[TrendPath]
    dates: Sequence[Tick]
    left_out: int
    """Results before the first that is drawn."""
    size: ChartFrame = FRAME


def build_trend(
    trend_serieses: Sequence[TrendSeries], notes: Sequence[str], out: Path
) -> None:
    """Write one self-contained HTML file about these series; LtmError if it cannot be written."""
    style = read_assets(STYLES)
    page = (
        template_environment()
        .get_template("trend.html.j2")
        .render(
            charts=[_trend_chart(series) for series in trend_serieses],
            notes=notes,
            style=style,
            policy=content_policy(style),
            several=any(len(series.lines) > 1 for series in trend_serieses),
            percent=format_percent,
        )
    )
    write_output(out, page.encode())


def _trend_chart(series: TrendSeries) -> TrendChart:
    points = [point for _, point in series.points]
    shown = points[-MAX_DRAWN_RESULTS:]
    place = {
        id(point): _point_x(number, len(shown)) for number, point in enumerate(shown)
    }
    lines = []
    for line in series.lines:
        marks = []
        for point in (point for point in line.drawn_points if id(point) in place):
            share, interval = point.share or 0.0, point.standing.interval
            low, high = (interval.low, interval.high) if interval else (share, share)
            commit = f", commit {point.place}" if point.commit else ""
            sure = (
                f", 95% interval {format_percent(low)} to {format_percent(high)}"
                if interval
                else ""
            )
            title = (
                f"{point.kind} {point.name}, {point.date}{commit}: {point.total}{sure}"
            )
            heights = FRAME.y(share), FRAME.y(low), FRAME.y(high)
            marks.append(
                ChartPoint(place[id(point)], *heights, title, point.kind == "run")
            )
        lines.append(
            TrendPath(line.number, path_through(marks), marks, series.difference(line))
        )
    dates: list[Tick] = []
    # Of several results of a day only the first has its date below it.
    before = ""
    # More than seven dates would run into each other.
    for number in range(0, len(shown), max(-(-len(shown) // 7), 1)):
        day = shown[number].date[:10]
        dates += [Tick(_point_x(number, len(shown)), day)] * (day != before)
        before = day
    return TrendChart(series, lines, dates, len(points) - len(shown))


def _point_x(number: int, of: int) -> float:
    room = FRAME.width - FRAME.left - FRAME.right - 80
    return FRAME.left + 40 + (room * number / (of - 1) if of > 1 else room / 2)
