"""Rows of the report's tables: scores by agent and span, all figures and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._results.columns import time_text
from pytest_ltm._results.statistics import mean
from pytest_ltm._results.text import NOTHING, amount, percent, score_text, span_of_time
from pytest_ltm.reporting.agents import forgotten, largest, rank
from pytest_ltm.reporting.html.charts import NONE, Shaded, shade

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._journal.result import CallDurations
    from pytest_ltm.reporting.html.report_data import ExampleEntry, Material, ResultSeries


GAPS = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)
"""Where one class of gaps ends and the next begins, in tokens."""
SKILLS = {
    "R": "recall",
    "C": "conflicting information",
    "I": "integration of information",
    "E": "episodes in time",
    "P": "prospective memory",
    "S": "space",
    "T": "theory of mind",
    "L": "learning",
}


class Figure(NamedTuple):
    """A cell with a number."""

    text: str
    value: float | None
    """What it is sorted by."""


class Grid(NamedTuple):
    """A table of shaded cells; None: there is nothing of that kind."""

    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Shaded | None]]]


def scoreboard(found: Material) -> Grid:
    """Return the total of each agent at each span."""
    by = {(series.agent, series.column.span_label): series for series in found.series}
    ranked = [each.agent for each in rank(found.at(largest(found.series)))]
    agents = [*ranked, *(one for one in found.agents if one not in ranked)]
    return Grid(found.spans, [(one, [_score_cell(by.get((one, span))) for span in found.spans]) for one in agents])


def _score_cell(series: ResultSeries | None) -> Shaded | None:
    if series is None:
        return None
    column = series.column
    if not column.out_of:
        return Shaded(text=NOTHING, shade=NONE, title=f"{series.label}: no score")
    return Shaded(
        text=column.share,
        more=column.standing,
        shade=shade(column.least),
        title=series.label,
    )


class FigureTable(NamedTuple):
    """The figures of all series; only those that any series has."""

    heads: Sequence[tuple[str, str]]
    """Heading, and the name under which `METRICS` defines it."""
    rows: Sequence[tuple[ResultSeries, Sequence[Figure]]]


def figure_table(found: Material) -> FigureTable:
    """Return the figures of all series."""
    rows = [(series, figures(series)) for series in found.series]
    shown = [head for head in rows[0][1] if any(each[head].value is not None for _, each in rows)] if rows else []
    return FigureTable(shown, [(series, [each[head] for head in shown]) for series, each in rows])


def figures(series: ResultSeries) -> dict[tuple[str, str], Figure]:
    """Return the figures of one series, by heading and the name under which `METRICS` defines it."""
    column, spread = series.column, series.column.spread

    def tokens(number: float | None) -> Figure:
        return Figure(NOTHING if number is None else amount(round(number)), number)

    def usd(name: str, *, would: bool = column.hypothetical) -> Figure:
        cost, text = getattr(column, name), column.usd(name)
        about, amount = "~" * text.startswith("~"), text.lstrip("~")
        return Figure(NOTHING if cost is None else f"{'would be ' if would else ''}{about}${amount}", cost)

    def each(name: str, form: str) -> Figure:
        value = getattr(column, name)
        return Figure(NOTHING if value is None else "~" * column.estimated + form.format(value), value)

    def taken(seconds: CallDurations | None) -> Figure:
        known = seconds if column.input_tokens is not None else None
        return Figure(time_text(known), None if known is None else known.median)

    total = f"{column.points} of {column.full}" if column.out_of else NOTHING
    filler = NOTHING if column.filler_share is None else f"{100 * column.filler_share:.0f}%"
    return {
        ("score", "total"): Figure(total, column.low),
        ("without memory", "floor"): Figure(f"{column.floor:.2f}" if column.floor else NOTHING, column.floor or None),
        ("spread", "spread"): Figure(f"{spread.sd:.2f}" if spread else NOTHING, spread.sd if spread else None),
        ("accuracy", "accuracy"): Figure(column.share, column.least),
        ("LTM score (paper)", "ltm_reach"): tokens(column.reach),
        ("LTM score (blog)", "ltm_reach_weighted"): tokens(column.weighted_reach),
        ("tokens", "tokens"): tokens(column.tokens),
        ("filler", "filler_share"): Figure(filler, column.filler_share),
        ("reply tokens", "reply_tokens"): tokens(column.reply_tokens),
        ("agent's share", "agent_share"): Figure(percent(column.agent_share), column.agent_share),
        ("time", "simulated_seconds"): Figure(span_of_time(column.simulated_seconds), column.simulated_seconds),
        ("tokens read a reply", "usage"): each("tokens_a_reply", "{:,.0f}"),
        ("amplification", "usage"): each("amplification", "{:,.1f}x"),
        ("calls a message", "usage"): each("calls_a_message", "{:.2f}"),
        ("calls to store", "usage"): each("calls_to_store", "{:.2f}"),
        ("reply in s, median/p95", "reply_seconds"): taken(column.pace.asking),
        ("storing in s, median/p95", "storing_seconds"): taken(column.pace.storing),
        ("cost", "cost_usd"): usd("cost_usd"),
        ("for filler", "cost"): usd("filler_cost_usd"),
        ("for harness", "cost"): usd("harness_cost_usd"),
        ("judge cost", "judge"): usd("judge_cost_usd", would=False),
        ("simulated user cost", "simulated_users"): usd("user_cost_usd", would=False),
        ("lost", "usage"): usd("lost_cost_usd", would=False),
        ("overruns", "overruns"): Figure(str(column.overruns), column.overruns),
        ("no score", "unscored"): Figure(str(column.missing), column.missing),
        ("open", "open"): Figure(str(column.open), column.open or None),
    }


def forgets(series: ResultSeries) -> str:
    """Return what an agent forgets most at a span, in a few words."""
    lost = forgotten(series.column)
    named = ", ".join(f"{name} {score_text(score)}" for name, score in lost[:3])
    return f"{named} …" if len(lost) > 3 else named or NOTHING


def by_gap(found: Material) -> Grid | None:
    """Return the mean score of each agent by how far back the nearest needle lies, over all spans."""
    scored = [(row, _class(row.result.gap)) for row in found.rows if row.result.gap is not None and row.result.scored]
    known = sorted({number for _, number in scored})
    if len(known) < 2:
        return None

    def cell(agent: str, number: int) -> Shaded | None:
        rows = [row for row, of in scored if of == number and found.series[row.series].agent == agent]
        return _mean_cell(rows, f"{agent}, gap {_gap(number)}")

    return Grid([*map(_gap, known)], [(agent, [cell(agent, number) for number in known]) for agent in found.agents])


def _mean_cell(rows: Iterable[ExampleEntry], where: str) -> Shaded | None:
    scores = [row.result.score for row in rows if row.result.score is not None]
    found = mean(scores)
    if found is None:
        return None
    count = len(scores)
    return Shaded(text=score_text(found), more=f"{count}", shade=shade(found), title=f"{where}: {count} examples")


def _class(gap: int) -> int:
    return sum(gap >= limit for limit in GAPS)


def _gap(number: int) -> str:
    if number == 0:
        return f"< {_k(GAPS[0])}"
    return f"≥ {_k(GAPS[-1])}" if number == len(GAPS) else f"{_k(GAPS[number - 1])} to {_k(GAPS[number])}"


def _k(tokens: int) -> str:
    return f"{tokens // 1_000_000}M" if tokens >= 1_000_000 else f"{tokens // 1_000}k"
