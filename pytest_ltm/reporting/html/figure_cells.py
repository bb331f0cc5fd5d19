"""Rows of the report's tables: scores by agent and span, all figures and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._results.figures import figure_notes, shown_figures
from pytest_ltm._results.statistics.totals import group_by, mean_or_none
from pytest_ltm._results.text import NOTHING, score_text
from pytest_ltm.reporting.agent_sentences import forgotten_scenarios
from pytest_ltm.reporting.html.charts import NONE, Shaded, shade_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.reporting.html.report_data import Material, ResultSeries


# Where one class of gaps ends and the next begins, in tokens.
GAPS = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)
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


class FigureCell(NamedTuple):
    """A cell with a number."""

    text: str
    value: float | None
    """What it is sorted by."""


class Grid(NamedTuple):
    """A table of shaded cells; None: there is nothing of that kind."""

    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Shaded | None]]]


def score_grid(material: Material) -> Grid:
    """Return the total of each agent at each span."""
    by = {(series.agent, series.column.span_label): series for series in material.series}

    def cell(agent: str, span: str) -> Shaded | None:
        if (series := by.get((agent, span))) is None:
            return None
        column = series.column
        if not column.out_of:
            return Shaded(text=NOTHING, shade=NONE, title=f"{series.label}: no score")
        shade = shade_class(column.accuracy_lower_bound)
        return Shaded(text=column.share, more=column.total_with_spread, shade=shade, title=series.label)

    # An agent that is not ranked, such as a control, is below those that are.
    agents = dict.fromkeys([*(each.agent for each in material.ranked), *material.agents])
    return Grid(material.spans, [(agent, [cell(agent, span) for span in material.spans]) for agent in agents])


class FigureTable(NamedTuple):
    """The figures of all series; only those that any series has."""

    heads: Sequence[tuple[str, str]]
    """Heading and definition."""
    rows: Sequence[tuple[ResultSeries, Sequence[FigureCell]]]
    notes: Sequence[str]
    """What signs in the cells mean."""


def figure_table(material: Material) -> FigureTable:
    """Return the figures of all series."""
    columns = [series.column for series in material.series]
    figures = shown_figures(columns, "html")
    cells = [list(map(FigureCell, each.cells(columns), map(each.order or each.value, columns))) for each in figures]
    rows = [(series, row) for series, *row in zip(material.series, *cells, strict=True)]
    return FigureTable([(each.heading(columns), each.meaning) for each in figures], rows, figure_notes(columns))


def worst_scenarios(series: ResultSeries) -> str:
    """Return what an agent forgets most at a span, in a few words."""
    lost = forgotten_scenarios(series.column)
    named = ", ".join(f"{name} {score_text(score)}" for name, score in lost[:3])
    return f"{named} …" if len(lost) > 3 else named or NOTHING


def by_gap(material: Material) -> Grid | None:
    """Return the mean score of each agent by how far back the nearest needle lies, over all spans."""
    asked = [(row, row.result.gap) for row in material.rows if row.result.gap is not None and row.result.scored]
    scored = [(row, sum(gap >= limit for limit in GAPS)) for row, gap in asked]
    known = sorted({number for _, number in scored})
    if len(known) < 2:
        return None

    by_square = group_by(scored, lambda each: (material.series[each[0].series].agent, each[1]))

    def cell(agent: str, number: int) -> Shaded | None:
        scores = [row.result.score for row, _ in by_square.get((agent, number), ()) if row.result.score is not None]
        value, count = mean_or_none(scores), len(scores)
        title = f"{agent}, gap {_gap_label(number)}: {count} examples"
        return value if value is None else Shaded(score_text(value), shade_class(value), title, f"{count}")

    heads = [*map(_gap_label, known)]
    return Grid(heads, [(agent, [cell(agent, number) for number in known]) for agent in material.agents])


def _gap_label(number: int) -> str:
    ends = [f"{tokens // 1_000_000}M" if tokens >= 1_000_000 else f"{tokens // 1_000}k" for tokens in GAPS]
    if number in (0, len(GAPS)):
        return f"≥ {ends[-1]}" if number else f"< {ends[0]}"
    return f"{ends[number - 1]} to {ends[number]}"
