"""The page of a trend: a chart and a table for each agent and memory span; no script, no request."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._results.text import format_percent
from pytest_ltm._storage.disk import write_output
from pytest_ltm.reporting.html.page import read_assets, template_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ltm.reporting.trend import TrendPoint, TrendSeries


STYLES = ("page.css", "tables.css", "trend.css", "print.css")
# Results drawn of a series: the last ones; the table has all.
MAX_DRAWN_RESULTS = 60
# Strokes in the style sheet; from then on they come again, dashed.
COLOURS = 8
WIDTH, HEIGHT = 900, 260
LEFT, RIGHT, TOP, BOTTOM = 44, 20, 14, 34
# The most dates below a chart.
_LABELS = 7


class TrendMark(NamedTuple):
    """One result in a chart."""

    x: float
    y: float
    low: float
    """Bottom of the interval's bar."""
    high: float
    is_run: bool
    title: str


class TrendPath(NamedTuple):
    """The results of one plan."""

    number: int
    colour: int
    dashed: bool
    path: str
    marks: tuple[TrendMark, ...]
    difference: str
    """In what it differs from the plan before."""


class TrendChart(NamedTuple):
    """One agent at one memory span."""

    series: TrendSeries
    lines: tuple[TrendPath, ...]
    dates: tuple[tuple[float, str], ...]
    left_out: int
    """Results before the first that is drawn."""
    size: tuple[int, ...] = (WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM)

    @property
    def scores(self) -> list[tuple[float, str]]:
        """The marks of the y axis."""
        return [(_share_y(share), f"{100 * share:.0f}%") for share in (0, 0.25, 0.5, 0.75, 1)]


def build_trend(trend_serieses: Sequence[TrendSeries], notes: Sequence[str], out: Path) -> None:
    """Write one self-contained HTML file about these series; LtmError if it cannot be written."""
    style = read_assets(STYLES)
    page = template_environment().get_template("trend.html.j2").render(
        charts=[_trend_chart(series) for series in trend_serieses],
        notes=notes,
        style=style,
        policy=_style_policy(style),
        several=any(len(series.lines) > 1 for series in trend_serieses),
        percent=format_percent,
    )  # fmt: skip
    write_output(out, page.encode())


def _style_policy(style: str) -> str:
    """Return a policy under which the page's own style works, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _trend_chart(series: TrendSeries) -> TrendChart:
    points = [point for _, point in series.points]
    shown = points[-MAX_DRAWN_RESULTS:]
    place = {id(point): _point_x(number, len(shown)) for number, point in enumerate(shown)}
    lines = []
    for line in series.lines:
        marks = tuple(_trend_mark(point, place[id(point)]) for point in line.drawn_points if id(point) in place)
        path = "M" + "L".join(f"{mark.x:.1f} {mark.y:.1f}" for mark in marks) if marks else ""
        colour, dashed = (line.number - 1) % COLOURS, line.number > COLOURS
        lines.append(TrendPath(line.number, colour, dashed, path, marks, series.difference(line)))
    return TrendChart(series, tuple(lines), tuple(_date_labels(shown)), len(points) - len(shown))


def _trend_mark(point: TrendPoint, x: float) -> TrendMark:
    share = point.share or 0.0
    interval = point.interval
    low, high = (interval.low, interval.high) if interval else (share, share)
    commit = f", commit {point.place}" if point.commit else ""
    sure = f", 95% interval {format_percent(low)} to {format_percent(high)}" if interval else ""
    title = f"{point.kind} {point.name}, {point.date}{commit}: {point.total}{sure}"
    return TrendMark(x, _share_y(share), _share_y(low), _share_y(high), point.kind == "run", title)


def _date_labels(points: Sequence[TrendPoint]) -> Iterator[tuple[float, str]]:
    """Yield where dates stand, and which: of the first result of a day, as far as they fit."""
    step = max(-(-len(points) // _LABELS), 1)
    before = ""
    for number in range(0, len(points), step):
        day = points[number].date[:10]
        yield _point_x(number, len(points)), "" if day == before else day
        before = day


def _point_x(number: int, of: int) -> float:
    room = WIDTH - LEFT - RIGHT - 80
    return LEFT + 40 + (room * number / (of - 1) if of > 1 else room / 2)


def _share_y(share: float) -> float:
    return TOP + (1 - min(max(share, 0.0), 1.0)) * (HEIGHT - TOP - BOTTOM)
