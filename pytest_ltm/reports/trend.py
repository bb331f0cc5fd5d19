"""Scores over time: what runs and baselines earned, a series for each agent and span, a line for each plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from pytest_ltm._core.journal.result import at_span
from pytest_ltm._core.model.plan import natural_sort_key
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import fields_of, to_record
from pytest_ltm._core.storage.wording import join_some, one_line, pluralize
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
    """What one agent earned at one memory span, at one time."""

    name: str
    """The run's id, the baseline's name."""
    kind: str
    """run or baseline."""
    at: datetime | None
    """When the run was begun, when the baseline was committed."""
    commit: str = ""
    branch: str = ""
    standing: HistoricalScore
    facts: Callable[[], Iterable[PlanFacts]] = tuple
    """Reads the facts of the plans, to explain how two of them differ."""

    @property
    def share(self) -> float | None:
        """The share of full marks, None where it says too little about memory."""
        return None if self.standing.unmeasured else self.standing.share

    @property
    def total(self) -> str:
        """`8.50 of 11`."""
        return (
            f"{self.standing.points} of {self.standing.full}"
            if self.standing.low is not None
            else NOTHING
        )

    @property
    def date(self) -> str:
        """In UTC, to the minute."""
        return (
            f"{self.at.astimezone(timezone.utc):%Y-%m-%d %H:%M}"
            if self.at
            else "date unknown"
        )

    @property
    def place(self) -> str:
        """The first digits of the commit."""
        return one_line(self.commit)[:7]


class TrendSegment(NamedTuple):
    """The points of one plan: only these can be compared."""

    number: int
    """Of the plan within its series, from 1; the last is that of the newest result."""
    points: tuple[TrendPoint, ...]
    """In the order of time."""

    @property
    def drawn_points(self) -> tuple[TrendPoint, ...]:
        """Those that say enough."""
        return tuple(point for point in self.points if point.share is not None)


# Plans of a series that a terminal shows and explains: the last ones.
MOST_PLANS = 5


class TrendSeries(NamedTuple):
    """One agent at one memory span."""

    agent: str
    span_label: str
    lines: tuple[TrendSegment, ...]

    def difference(self, line: TrendSegment) -> str:
        """Return in what one of the last plans differs from the one before; "" where that is unknown."""
        if line.number == 1 or line.number <= len(self.lines) - MOST_PLANS:
            return ""
        before = self.lines[line.number - 2]
        # The neighbouring results: they differ least in anything but their plans.
        theirs, ours = (
            [facts for facts in point.facts() if facts.span_label == self.span_label]
            for point in (before.points[-1], line.points[0])
        )
        unequal = unequal_plans(theirs, ours)
        some = (
            join_some(list(unequal.sentences), 2)
            if unequal
            else "its trials differ"
            if theirs and ours
            else ""
        )
        return (
            f"not the plan before ('there'): {some}".replace("this run", "this plan")
            if some
            else ""
        )

    @property
    def label(self) -> str:
        """`bot at 32k`."""
        return at_span(self.agent, self.span_label)

    @property
    def points(self) -> list[tuple[int, TrendPoint]]:
        """All points with the numbers of their plans, in the order of time."""
        return sorted(
            ((line.number, point) for line in self.lines for point in line.points),
            key=lambda e: _point_order(e[1]),
        )


def of_run(past: Past) -> list[TrendPoint]:
    """Return the points of a run; none of one that goes on, or cannot be read."""
    if past.state == "in progress":
        return []
    commit, branch = (
        (past.source.commit, past.source.branch) if past.source else ("", "")
    )

    def read_facts() -> Sequence[PlanFacts]:
        try:
            return side_of_run(past.path).plans
        except LtmError:
            return ()

    # Read only where two plans differ: it takes longer than all else that a trend reads
    # of a run.
    return [
        TrendPoint(
            name=past.name,
            kind="run",
            at=past.at,
            commit=commit,
            branch=branch,
            standing=standing,
            facts=read_facts,
        )
        for standing in past.standings
    ]


def series_of(
    points: Iterable[TrendPoint], agents: Sequence[str] = (), spans: Sequence[str] = ()
) -> tuple[TrendSeries, ...]:
    """Return a series for each agent and span, by name and length; of the agents under test where there are any.

    `agents`, `spans`: the labels that are wanted; none: all.
    """
    held = [
        point
        for point in points
        if (not agents or point.standing.agent in agents)
        and (not spans or point.standing.span_label in spans)
    ]
    if not agents and any(point.standing.own for point in held):
        held = [point for point in held if point.standing.own]
    places = group_by(
        sorted(held, key=_point_order),
        lambda point: (point.standing.agent, point.standing.span_label),
    )

    def order(place: tuple[str, str]) -> tuple[Any, ...]:
        span = places[place][0].standing.span
        return (
            natural_sort_key(place[0]),
            span is None,
            span or 0,
            natural_sort_key(place[1]),
        )

    trend_serieses = []
    for place in sorted(places, key=order):
        plans = group_by(places[place], lambda point: point.standing.plan).values()
        # The plan of the newest result comes last: a project that goes back to an old
        # plan goes on with its line.
        numbered = enumerate(
            sorted(plans, key=lambda points: _point_order(points[-1])), start=1
        )
        trend_serieses.append(
            TrendSeries(
                *place,
                tuple(TrendSegment(number, tuple(of)) for number, of in numbered),
            )
        )
    return tuple(trend_serieses)


def _point_order(point: TrendPoint) -> tuple[Any, ...]:
    return (
        point.at or datetime(1, 1, 1, tzinfo=timezone.utc),
        point.kind,
        point.name,
        point.commit,
    )


# --- In a terminal: time goes down, scores go to the right; each plan has a chart of
# its own.


class Signs(NamedTuple):
    """What a chart is drawn with."""

    run: str = "●"
    baseline: str = "◆"
    interval: str = "─"
    edge: str = "│"
    steps: str = "▁▂▃▄▅▆▇█"


UNICODE_SIGNS = Signs()
# For terminals that show ASCII only.
PLAIN = Signs(run="o", baseline="#", interval="-", edge="|", steps="_.:-=+*#")
# Points of a plan that are listed, unless all are asked for: the last ones.
MOST_ROWS = 30
_DATE = len("2026-01-05 10:15")
_BAR, _NAME = (16, 60), 24
_GAP = "  "


def trend_lines(
    trend_serieses: Sequence[TrendSeries],
    width: int,
    *,
    color: bool = False,
    signs: Signs = UNICODE_SIGNS,
    whole: bool = False,
) -> list[str]:
    """Return the series as charts, no line wider than `width` (at least 80); `whole`: every plan, and every result."""
    lines: list[str] = []
    for series in trend_serieses:
        lines += [""] * bool(lines)
        lines.append(
            paint_text(clip_text(one_line(series.label), width), "strong", color=color)
        )
        left_out = 0 if whole else max(len(series.lines) - MOST_PLANS, 0)
        lines += [
            f"{_GAP}… {pluralize(left_out, 'earlier plan')}: --all shows them",
            "",
        ] * bool(left_out)
        for line in series.lines[left_out:]:
            lines += [""] * (line.number > left_out + 1)
            lines += _chart_lines(
                series, line, width, color=color, signs=signs, whole=whole
            )
    if any(len(series.lines) > 1 for series in trend_serieses):
        text = "Plans differ in what was said and asked (texts, seed, filler, trials): compare scores within one only."
        lines += ["", *wrap_text(text, width)]
    if trend_serieses:
        text = f"{signs.run} run, {signs.baseline} baseline, {signs.interval} 95% interval, which needs trials."
        lines += [""] * (not lines[-1].startswith("Plans")) + [text]
    return lines


def _chart_lines(
    series: TrendSeries,
    line: TrendSegment,
    width: int,
    *,
    color: bool,
    signs: Signs,
    whole: bool,
) -> Iterator[str]:
    shown = line.points if whole else line.points[-MOST_ROWS:]
    totals = [point.total for point in shown]
    total = max(map(columns_of, totals))
    name = min(max(columns_of(one_line(point.name)) for point in shown), _NAME)
    # Everything but bar and name has a fixed width; names give way first, then the bar.
    fixed = _DATE + 7 + total + 4 + 4 * len(_GAP) + 2
    name = min(name, max(width - fixed - _BAR[0] - len(_GAP), 0))
    bar = min(max(width - fixed - name - len(_GAP), _BAR[0]), _BAR[1])
    plan = (
        f"plan {line.number} of {len(series.lines)}, " if len(series.lines) > 1 else ""
    )
    head = f"{plan}{pluralize(len(line.points), 'result')}"
    spark = draw_sparkline(
        [point.share for point in line.drawn_points],
        width - len(head) - 2 * len(_GAP),
        signs,
    )
    yield f"{_GAP}{head}  {spark}".rstrip()
    if why := series.difference(line):
        yield from wrap_text(f"{_GAP}{one_line(why)}", width, _GAP * 2)
    if len(shown) < len(line.points):
        yield f"{_GAP}… {len(line.points) - len(shown):,} earlier: --all shows them"
    heads = [
        pad_right("date (UTC)", _DATE),
        pad_right("commit", 7),
        pad_left("total", total),
        pad_left("", 4),
    ]
    scale = f" {pad_right('0%', bar - 4)}100%"
    yield paint_text(_GAP.join([*heads, scale]).rstrip(), "dim", color=color)
    for point, said in zip(shown, totals, strict=True):
        cells = [
            pad_right(point.date, _DATE),
            pad_right(point.place, 7),
            pad_left(said, total),
        ]
        label = clip_text(one_line(point.name), name) if name else ""
        if point.share is None:
            why = f"not drawn: {point.standing.unmeasured}"
            yield clip_text(
                _GAP.join(
                    [*cells, pad_right("", 4), f" {pad_right(why, bar)} ", label]
                ),
                width,
            ).rstrip()
            continue
        drawn = f"{signs.edge}{_score_bar(point, bar, signs)}{signs.edge}"
        cells += [pad_left(format_percent(point.share), 4), drawn, label]
        yield clip_text(_GAP.join(cells), width).rstrip()


def _score_bar(point: TrendPoint, width: int, signs: Signs) -> str:
    def at(share: float) -> int:
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    cells = [" "] * width
    if interval := point.standing.interval:
        low, high = at(interval.low), at(interval.high)
        cells[low : high + 1] = [signs.interval] * (high - low + 1)
    cells[at(point.share or 0.0)] = signs.run if point.kind == "run" else signs.baseline
    return "".join(cells)


def draw_sparkline(shares: Sequence[float | None], width: int, signs: Signs) -> str:
    """Return a sign for each of the last shares that fit, the lowest for 0, the highest for full marks."""
    # A single mark shows no direction, so it is left out.
    top = len(signs.steps) - 1
    known = [share for share in shares if share is not None][-max(width, 1) :]
    return (
        "".join(signs.steps[round(share * top)] for share in known)
        if len(known) > 1
        else ""
    )


def trend_json(trend_serieses: Sequence[TrendSeries]) -> list[dict[str, Any]]:
    """Return the series as JSON values; `plan` is equal where results can be compared."""
    return [
        {
            "agent": series.agent,
            "span_label": series.span_label,
            "points": [
                {
                    **fields_of(point, "name", "kind"),
                    "at": point.at and point.at.isoformat(),
                    "commit": point.commit or None,
                    "branch": point.branch or None,
                    **fields_of(point.standing, "plan", "low", "high", "full"),
                    "share": point.share,
                    "interval": None
                    if point.share is None
                    else to_record(point.standing.interval),
                    "unmeasured": point.standing.unmeasured,
                }
                for _, point in series.points
            ],
        }
        for series in trend_serieses
    ]
