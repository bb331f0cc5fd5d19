"""Scores over time: those of runs and baselines, a series per agent and span, a segment per plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from pytest_ltm.api.journal import at_span
from pytest_ltm.api.scenarios import natural_sort_key
from pytest_ltm.api.storage import (
    LtmError,
    fields_of,
    join_some,
    one_line,
    pluralize,
    to_record,
)
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.table import paint_text
from pytest_ltm.figures.text import (
    NOTHING,
    clip_text,
    columns_of,
    format_percent,
    pad_left,
    pad_right,
    wrap_text,
)
from pytest_ltm.gate.plan_facts import PlanFacts, unequal_plans
from pytest_ltm.gate.sides import side_of_run

if TYPE_CHECKING:
    from pytest_ltm.reports.history import HistoricalScore, Past


class TrendPoint(Struct, frozen=True, kw_only=True):
    """The score of one agent at one memory span and one time."""

    name: str
    """The run's id, or the baseline's name."""
    kind: str
    """Either run or baseline."""
    at: datetime | None
    """When the run began, or when the baseline was committed."""
    commit: str = ""
    branch: str = ""
    standing: HistoricalScore
    facts: Callable[[], Iterable[PlanFacts]] = tuple
    """Reads the facts of the plans, to explain how two plans differ."""

    @property
    def share(self) -> float | None:
        """The share of full marks; None if it does not measure memory."""
        if self.standing.unmeasured:
            return None
        return self.standing.share

    @property
    def total(self) -> str:
        """The total as text, such as `8.50 of 11`."""
        if self.standing.low is None:
            return NOTHING
        return f"{self.standing.points} of {self.standing.full}"

    @property
    def date(self) -> str:
        """The date in UTC, to the minute."""
        if self.at is None:
            return "date unknown"
        return f"{self.at.astimezone(timezone.utc):%Y-%m-%d %H:%M}"

    @property
    def place(self) -> str:
        """The first digits of the commit hash."""
        return one_line(self.commit)[:7]


class TrendSegment(NamedTuple):
    """The points of one plan: only these are comparable."""

    number: int
    """The number of the plan within its series, from 1; the plan of the newest result comes last."""
    points: tuple[TrendPoint, ...]
    """The points, oldest first."""

    @property
    def drawn_points(self) -> tuple[TrendPoint, ...]:
        """The points that measure memory."""
        return tuple(point for point in self.points if point.share is not None)


# The last plans of a series, which a terminal shows and explains.
MOST_PLANS = 5


class TrendSeries(NamedTuple):
    """The scores of one agent at one memory span."""

    agent: str
    span_label: str
    lines: tuple[TrendSegment, ...]

    def difference(self, line: TrendSegment) -> str:
        """Return how one of the last plans differs from the one before, or "" if unknown."""
        if line.number == 1 or line.number <= len(self.lines) - MOST_PLANS:
            return ""
        previous = self.lines[line.number - 2]
        # Neighbouring results differ least in anything but their plans.
        theirs = self._facts_of(previous.points[-1])
        ours = self._facts_of(line.points[0])
        unequal = unequal_plans(theirs, ours)
        if unequal:
            differences = join_some(list(unequal.sentences), 2)
        elif theirs and ours:
            differences = "its trials differ"
        else:
            return ""
        text = f"not the plan before ('there'): {differences}"
        return text.replace("this run", "this plan")

    def _facts_of(self, point: TrendPoint) -> list[PlanFacts]:
        """Return the facts of a result's plans at this span."""
        return [facts for facts in point.facts() if facts.span_label == self.span_label]

    @property
    def label(self) -> str:
        """The name of the series, such as `bot at 32k`."""
        return at_span(self.agent, self.span_label)

    @property
    def points(self) -> list[tuple[int, TrendPoint]]:
        """All points with the numbers of their plans, oldest first."""
        numbered: list[tuple[int, TrendPoint]] = []
        for line in self.lines:
            numbered += [(line.number, point) for point in line.points]
        return sorted(numbered, key=lambda pair: _point_order(pair[1]))


def of_run(past: Past) -> list[TrendPoint]:
    """Return the points of a run; empty if it is in progress or cannot be read."""
    if past.state == "in progress":
        return []
    if past.source:
        commit = past.source.commit
        branch = past.source.branch
    else:
        commit = ""
        branch = ""

    def read_facts() -> Sequence[PlanFacts]:
        try:
            return side_of_run(past.path).plans
        except LtmError:
            return ()

    # Read only where two plans differ: it takes longer than everything else that a
    # trend reads of a run.
    points: list[TrendPoint] = []
    for standing in past.standings:
        point = TrendPoint(
            name=past.name,
            kind="run",
            at=past.at,
            commit=commit,
            branch=branch,
            standing=standing,
            facts=read_facts,
        )
        points.append(point)
    return points


def series_of(
    points: Iterable[TrendPoint], agents: Sequence[str] = (), spans: Sequence[str] = ()
) -> tuple[TrendSeries, ...]:
    """Return a series per agent and span, by name and length, of the agents under test if there are any.

    `agents`, `spans`: the labels to include; all if empty.
    """
    chosen: list[TrendPoint] = []
    for point in points:
        standing = point.standing
        if agents and standing.agent not in agents:
            continue
        if not spans or standing.span_label in spans:
            chosen.append(point)
    if not agents and any(point.standing.own for point in chosen):
        chosen = [point for point in chosen if point.standing.own]
    chosen.sort(key=_point_order)
    places = group_by(
        chosen, lambda point: (point.standing.agent, point.standing.span_label)
    )

    def place_order(place: tuple[str, str]) -> tuple[Any, ...]:
        agent, label = place
        span = places[place][0].standing.span
        return (
            natural_sort_key(agent),
            span is None,
            span or 0,
            natural_sort_key(label),
        )

    series: list[TrendSeries] = []
    for place in sorted(places, key=place_order):
        series.append(TrendSeries(*place, _segments(places[place])))
    return tuple(series)


def _segments(points: Sequence[TrendPoint]) -> tuple[TrendSegment, ...]:
    """Return the points of each plan, numbered from 1."""
    plans = list(group_by(points, lambda point: point.standing.plan).values())
    # The plan of the newest result comes last: a project that returns to an old plan
    # continues its segment.
    plans.sort(key=lambda plan_points: _point_order(plan_points[-1]))
    segments: list[TrendSegment] = []
    for number, plan_points in enumerate(plans, start=1):
        segments.append(TrendSegment(number, tuple(plan_points)))
    return tuple(segments)


def _point_order(point: TrendPoint) -> tuple[Any, ...]:
    """Sort points by time."""
    return (
        point.at or datetime(1, 1, 1, tzinfo=timezone.utc),
        point.kind,
        point.name,
        point.commit,
    )


# --- In a terminal: time goes down, scores go to the right; each plan has its own
# chart.


class Signs(NamedTuple):
    """The characters of a chart."""

    run: str = "●"
    baseline: str = "◆"
    interval: str = "─"
    edge: str = "│"
    steps: str = "▁▂▃▄▅▆▇█"


UNICODE_SIGNS = Signs()
# For terminals limited to ASCII.
PLAIN = Signs(run="o", baseline="#", interval="-", edge="|", steps="_.:-=+*#")
# The last points of a plan, which are listed unless all are requested.
MOST_ROWS = 30
_DATE = len("2026-01-05 10:15")
_BAR = (16, 60)
_NAME = 24
_GAP = "  "


def trend_lines(
    trends: Sequence[TrendSeries],
    width: int,
    *,
    color: bool = False,
    signs: Signs = UNICODE_SIGNS,
    is_complete: bool = False,
) -> list[str]:
    """Return the series as charts, no line wider than `width` (at least 80); `is_complete`: list everything."""
    lines: list[str] = []
    for series in trends:
        if lines:
            lines.append("")
        title = clip_text(one_line(series.label), width)
        lines.append(paint_text(title, "strong", color=color))
        left_out = 0 if is_complete else max(len(series.lines) - MOST_PLANS, 0)
        if left_out:
            plans = pluralize(left_out, "earlier plan")
            lines += [f"{_GAP}… {plans}: --all shows them", ""]
        for number, segment in enumerate(series.lines[left_out:]):
            if number:
                lines.append("")
            chart = _SegmentChart(
                series, segment, width, signs=signs, is_complete=is_complete
            )
            lines += chart.lines(color=color)
    if not trends:
        return lines
    lines.append("")
    if any(len(series.lines) > 1 for series in trends):
        text = "Plans differ in what was said and asked (texts, seed, filler, trials): compare scores within one only."
        lines += wrap_text(text, width)
    lines.append(
        f"{signs.run} run, {signs.baseline} baseline, {signs.interval} 95% interval, which needs trials."
    )
    return lines


class _SegmentChart:
    """The results of one plan as lines: date, commit, total, bar, name."""

    def __init__(
        self,
        series: TrendSeries,
        segment: TrendSegment,
        width: int,
        *,
        signs: Signs,
        is_complete: bool,
    ) -> None:
        self._series = series
        self._segment = segment
        self._width = width
        self._signs = signs
        self._points = segment.points if is_complete else segment.points[-MOST_ROWS:]
        self._total_width = max(columns_of(point.total) for point in self._points)
        # All but bar and name have a fixed width; names are shortened first, then the
        # bar.
        fixed = _DATE + 7 + self._total_width + 4 + 4 * len(_GAP) + 2
        room = width - fixed - len(_GAP)
        longest = max(columns_of(one_line(point.name)) for point in self._points)
        self._name_width = max(min(longest, _NAME, room - _BAR[0]), 0)
        self._bar_width = min(max(room - self._name_width, _BAR[0]), _BAR[1])

    def lines(self, *, color: bool) -> Iterator[str]:
        """Yield the head, the difference from the previous plan, and the results."""
        yield self._head()
        difference = self._series.difference(self._segment)
        if difference:
            text = f"{_GAP}{one_line(difference)}"
            yield from wrap_text(text, self._width, _GAP * 2)
        earlier = len(self._segment.points) - len(self._points)
        if earlier:
            yield f"{_GAP}… {earlier:,} earlier: --all shows them"
        yield paint_text(self._column_heads(), "dim", color=color)
        for point in self._points:
            yield clip_text(self._point_line(point), self._width).rstrip()

    def _head(self) -> str:
        """Return the plan's number, the number of results, and a sparkline."""
        plans = len(self._series.lines)
        plan = f"plan {self._segment.number} of {plans}, " if plans > 1 else ""
        head = f"{plan}{pluralize(len(self._segment.points), 'result')}"
        shares = [point.share for point in self._segment.drawn_points]
        room = self._width - len(head) - 2 * len(_GAP)
        return f"{_GAP}{head}  {draw_sparkline(shares, room, self._signs)}".rstrip()

    def _column_heads(self) -> str:
        heads = [
            pad_right("date (UTC)", _DATE),
            pad_right("commit", 7),
            pad_left("total", self._total_width),
            pad_left("", 4),
            f" {pad_right('0%', self._bar_width - 4)}100%",
        ]
        return _GAP.join(heads).rstrip()

    def _point_line(self, point: TrendPoint) -> str:
        """Return a result with its bar, or with the reason why it has none."""
        cells = [
            pad_right(point.date, _DATE),
            pad_right(point.place, 7),
            pad_left(point.total, self._total_width),
        ]
        if point.share is None:
            reason = f"not drawn: {point.standing.unmeasured}"
            cells += [pad_right("", 4), f" {pad_right(reason, self._bar_width)} "]
        else:
            edge = self._signs.edge
            bar = _score_bar(point, self._bar_width, self._signs)
            cells += [pad_left(format_percent(point.share), 4), f"{edge}{bar}{edge}"]
        name = one_line(point.name)
        cells.append(clip_text(name, self._name_width) if self._name_width else "")
        return _GAP.join(cells)


def _score_bar(point: TrendPoint, width: int, signs: Signs) -> str:
    """Return a bar with a mark at the score and the interval around it."""

    def place_share(share: float) -> int:
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    cells = [" "] * width
    interval = point.standing.interval
    if interval:
        low = place_share(interval.low)
        high = place_share(interval.high)
        cells[low : high + 1] = [signs.interval] * (high - low + 1)
    mark = signs.run if point.kind == "run" else signs.baseline
    cells[place_share(point.share or 0.0)] = mark
    return "".join(cells)


def draw_sparkline(shares: Sequence[float | None], width: int, signs: Signs) -> str:
    """Return a character for each of the last shares that fit: the lowest for 0, the highest for 1."""
    drawn = [share for share in shares if share is not None][-max(width, 1) :]
    if len(drawn) < 2:
        # A single mark shows no direction.
        return ""
    top = len(signs.steps) - 1
    return "".join(signs.steps[round(share * top)] for share in drawn)


def trend_json(trends: Sequence[TrendSeries]) -> list[dict[str, Any]]:
    """Return the series as JSON values; results are comparable if `plan` is equal."""
    records = []
    for series in trends:
        points = [_point_json(point) for _, point in series.points]
        fields = {"agent": series.agent, "span_label": series.span_label}
        records.append({**fields, "points": points})
    return records


def _point_json(point: TrendPoint) -> dict[str, Any]:
    """Return a result as JSON values."""
    interval = None
    if point.share is not None:
        interval = to_record(point.standing.interval)
    return {
        **fields_of(point, "name", "kind"),
        "at": point.at and point.at.isoformat(),
        "commit": point.commit or None,
        "branch": point.branch or None,
        **fields_of(point.standing, "plan", "low", "high", "full"),
        "share": point.share,
        "interval": interval,
        "unmeasured": point.standing.unmeasured,
    }
