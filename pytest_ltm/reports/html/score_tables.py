"""The report's tables: scores by agent and span, all figures, gaps, where agents break, the depth of needles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.storage.wording import pluralize
from pytest_ltm.figures.figures import figure_notes, shown_figures
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by, mean_or_none
from pytest_ltm.figures.text import NOTHING, score_text
from pytest_ltm.reports.agent_sentences import agents_under_test, forgotten_scenarios
from pytest_ltm.reports.html.charts import NONE, Shaded, shade_class

if TYPE_CHECKING:
    from pytest_ltm.reports.html.report_data import (
        ExampleEntry,
        Material,
        ResultSeries,
    )


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
    by = {
        (series.agent, series.column.span_label): series for series in material.series
    }

    def cell(agent: str, span: str) -> Shaded | None:
        if (series := by.get((agent, span))) is None:
            return None
        column = series.column
        if not column.out_of:
            return Shaded(text=NOTHING, shade=NONE, title=f"{series.label}: no score")
        shade = shade_class(column.accuracy_lower_bound)
        return Shaded(
            text=column.share,
            more=column.total_with_spread,
            shade=shade,
            title=series.label,
        )

    # An agent that is not ranked, such as a control, is below those that are.
    agents = dict.fromkeys(
        [*(each.agent for each in material.ranked), *material.agents]
    )
    return Grid(
        material.spans,
        [(agent, [cell(agent, span) for span in material.spans]) for agent in agents],
    )


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
    cells = [
        list(
            map(
                FigureCell,
                figure.cells(columns),
                map(figure.order or figure.value, columns),
            )
        )
        for figure in figures
    ]
    rows = [(series, row) for series, *row in zip(material.series, *cells, strict=True)]
    return FigureTable(
        [(figure.heading(columns), figure.meaning) for figure in figures],
        rows,
        figure_notes(columns),
    )


def worst_scenarios(series: ResultSeries) -> str:
    """Return what an agent forgets most at a span, in a few words."""
    lost = forgotten_scenarios(series.column)
    named = ", ".join(f"{name} {score_text(score)}" for name, score in lost[:3])
    return f"{named} …" if len(lost) > 3 else named or NOTHING


def by_gap(material: Material) -> Grid | None:
    """Return the mean score of each agent by how far back the nearest needle lies, over all spans."""
    asked = [
        (row, row.result.gap)
        for row in material.rows
        if row.result.gap is not None and row.result.scored
    ]
    scored = [(row, sum(gap >= limit for limit in GAPS)) for row, gap in asked]
    known = sorted({number for _, number in scored})
    if len(known) < 2:
        return None

    by_square = group_by(
        scored, lambda each: (material.series[each[0].series].agent, each[1])
    )

    def cell(agent: str, number: int) -> Shaded | None:
        scores = [
            row.result.score
            for row, _ in by_square.get((agent, number), ())
            if row.result.score is not None
        ]
        value, count = mean_or_none(scores), len(scores)
        title = f"{agent}, gap {_gap_label(number)}: {count} examples"
        return (
            value
            if value is None
            else Shaded(score_text(value), shade_class(value), title, f"{count}")
        )

    heads = [*map(_gap_label, known)]
    return Grid(
        heads,
        [
            (agent, [cell(agent, number) for number in known])
            for agent in material.agents
        ],
    )


def _gap_label(number: int) -> str:
    ends = [
        f"{tokens // 1_000_000}M" if tokens >= 1_000_000 else f"{tokens // 1_000}k"
        for tokens in GAPS
    ]
    if number in (0, len(GAPS)):
        return f"≥ {ends[-1]}" if number else f"< {ends[0]}"
    return f"{ends[number - 1]} to {ends[number]}"


# --- Where agents break: scenario, and skill, by memory span for each agent, what loses
# most first.

# Scenarios shown of each agent: those that lose most.
MOST_ROWS = 40


class BreakRow(NamedTuple):
    """One scenario, or one skill, of one agent."""

    name: str
    cells: Sequence[Shaded | None]
    """One for each memory span; None: it was not played there."""
    lost: float | None
    """The share of full marks that is missing, over the spans with a score; None where there is no score."""

    @property
    def whole(self) -> bool:
        """Whether it has full marks at every span with a score."""
        return self.lost is not None and self.lost <= 1 - FULL_MARKS


class Breaks(NamedTuple):
    """Where one agent breaks."""

    agent: str
    tested: bool
    """It is under test: neither a control nor, beside others, one of this package."""
    spans: Sequence[str]
    rows: Sequence[BreakRow]
    """The scenarios that lose points, those that lose most first."""
    further: int
    """Number of further scenarios that lose points."""
    whole: Sequence[str]
    """The scenarios with full marks at every span that has a score."""
    unscored: Sequence[str]
    """Those without any score."""
    skills: Sequence[BreakRow]
    """The skills that scenarios need, those that lose most first."""


def breaking_points(material: Material, shown: Collection[int]) -> list[Breaks]:
    """Return where each agent breaks, those under test first, in the order of the first screen.

    `shown`: the examples that a cell can open.
    """
    names = agents_under_test(material.series) or frozenset(material.agents)
    ranked = [each.agent for each in material.ranked]
    place = {
        agent: (agent not in names, [*ranked, agent].index(agent))
        for agent in material.agents
    }
    return [
        _agent_breaks(material, agent, shown, tested=agent in names)
        for agent in sorted(material.agents, key=place.__getitem__)
    ]


def _agent_breaks(
    material: Material, agent: str, shown: Collection[int], *, tested: bool
) -> Breaks:
    by_span = {
        each.column.span_label: each for each in material.series if each.agent == agent
    }
    spans = [span for span in material.spans if span in by_span]
    series = [by_span[span] for span in spans]
    # The mean score of each scenario in what the run was compared with, as its summary
    # says.
    before = [
        {
            name: level["before"]
            for change in material.comparison(each.run).get("changes", ())
            if (change["agent"], change["span_label"])
            == (each.column.agent, each.column.span_label)
            for name, level in change["scenarios"].items()
        }
        for each in series
    ]

    def row(
        name: str, rows: Sequence[Sequence[ExampleEntry]], scenario: str = ""
    ) -> BreakRow:
        cells: list[Shaded | None] = []
        for each, of, was in zip(series, rows, before, strict=True):
            text = each.column.cells[scenario].text if of and scenario else ""
            cells.append(
                _shaded_cell(of, each, name, shown, text, was.get(scenario))
                if of
                else None
            )
        score = mean_or_none(
            [mean for of in rows if (mean := _mean_score(of)) is not None]
        )
        return BreakRow(name, cells, None if score is None else 1 - score)

    played = [group_by(each.rows, lambda row: row.result.scenario) for each in series]
    names = sorted({name for of in played for name in of})
    scenarios = [row(name, [of.get(name, []) for of in played], name) for name in names]
    losing = [
        each
        for each in sorted(scenarios, key=_most_first)
        if each.lost is not None and not each.whole
    ]
    whole = [each.name for each in scenarios if each.whole]
    unscored = [each.name for each in scenarios if each.lost is None]
    skills = [
        row(
            SKILLS.get(skill, skill),
            [
                [one for one in each.rows if skill in one.result.skills]
                for each in series
            ],
        )
        for skill in sorted(
            {
                skill
                for each in series
                for one in each.rows
                for skill in one.result.skills
            }
        )
    ]
    further = max(len(losing) - MOST_ROWS, 0)
    return Breaks(
        agent,
        tested,
        spans,
        losing[:MOST_ROWS],
        further,
        whole,
        unscored,
        sorted(skills, key=_most_first),
    )


def _most_first(row: BreakRow) -> tuple[float, str]:
    return -(row.lost or 0.0), row.name


def _mean_score(rows: Sequence[ExampleEntry]) -> float | None:
    return mean_or_none(
        [row.result.score for row in rows if row.result.score is not None]
    )


def _shaded_cell(
    rows: Sequence[ExampleEntry],
    series: ResultSeries,
    name: str,
    shown: Collection[int],
    text: str = "",
    before: float | None = None,
) -> Shaded:
    """Return the mean of some examples of a series; it opens the one that went worst."""
    score = _mean_score(rows)
    # What has no score goes behind everything that has one.
    worst = min(
        (row for row in rows if row.key in shown),
        key=lambda row: (row.result.score is None, row.result.score or 0.0),
        default=None,
    )
    label = "no score" if score is None else score_text(score)
    title, moved = (
        f"{name}, {series.label}: {label}, {pluralize(len(rows), 'example')}",
        "",
    )
    if score is not None and before is not None:
        title += f"; {score_text(before)} in the run it was compared with"
        # A smaller change of a mean is not shown.
        moved = f"{score - before:+.2f}" if abs(score - before) >= 0.005 else ""
    return Shaded(
        text=NOTHING if score is None else text or label,
        shade=shade_class(score),
        title=title,
        more=moved,
        link=None if worst is None else worst.key,
    )


def comparable_columns(material: Material) -> list[tuple[str, int, int | None]]:
    """Return what the page must know of each series to put another beside it.

    Its span, whether it is under test (0), a yardstick (1) or a control (2), and the
    series that is its baseline: that of the run it was compared with, else of the same
    agent in another run; None where the report has neither.
    """
    columns = []
    for series in material.series:
        column, before = series.column, material.comparison(series.run)
        others = [
            each
            for each in material.series_at(column.span_label)
            if each.run != series.run
        ]
        named = [
            each
            for each in others
            if f"run {material.runs[each.run].result.run_id}" == before.get("before")
        ]
        agent = before.get("before_agent") or column.agent
        same = [each for each in others if each.column.agent == column.agent]
        candidates = [
            *(each for each in named if each.column.agent == agent),
            *named,
            *same,
        ]
        kind = 2 if column.control else int(column.is_bundled)
        columns.append(
            (column.span_label, kind, candidates[0].key if candidates else None)
        )
    return columns


# --- Depth: how the score depends on where in the conversation the needle stands.

# Rows from the beginning of a conversation to the question.
BANDS = 10
# In tokens: shorter distances have one row or column together.
_UNIT = 1_000


class DepthSpot(NamedTuple):
    """An example with a score: where the nearest needle of its last question was told."""

    agent: str
    length: int
    """Of the conversation before the question, as `power` has it."""
    band: int
    """The share of it before the needle, in steps of 1 / BANDS."""
    row: ExampleEntry
    score: float


def asked_at(
    rows: Iterable[ExampleEntry], record: ConversationRecord
) -> dict[int, int]:
    """Return how many tokens came before the last question of each example that has a score and a needle, by key."""
    wanted = [
        row
        for row in rows
        if row.result.questions and row.result.gap is not None and row.result.scored
    ]
    asked = {
        row.key: record.exchange(row.result.questions[-1].number) for row in wanted
    }
    return {key: question.start for key, question in asked.items() if question}


def depth_spots(material: Material, asked: Mapping[int, int]) -> Iterator[DepthSpot]:
    """Yield the examples of which it is known where they asked."""
    for row in material.rows:
        start, gap, score = asked.get(row.key), row.result.gap, row.result.score
        if start is not None and gap is not None and score is not None:
            band = min(BANDS * max(start - gap, 0) // max(start, 1), BANDS - 1)
            yield DepthSpot(
                material.series[row.series].agent, span_power(start), band, row, score
            )


def span_power(tokens: int) -> int:
    """Return the nearest power of two thousands of tokens, as an exponent; -1 for what is shorter."""
    return max(round(log2(max(tokens, 1) / _UNIT)), -1)


def power_label(power: int) -> str:
    """Return `32k` for 5."""
    if power < 0:
        return f"< {_UNIT // 1_000}k"
    return f"{2**power}k" if power < 10 else f"{2 ** (power - 10)}M"


def band_label(band: int) -> str:
    """Return `30%` for 3."""
    return f"{100 * band // BANDS}%"


def depth_maps(
    material: Material,
    asked: Mapping[int, int],
    order: Sequence[Breaks],
    shown: Collection[int],
) -> list[tuple[str, Grid]]:
    """Return the heat maps of the agents under test, in the order of where they break.

    Nothing where all needles lie in one square. `shown`: the examples that a square can
    open.
    """
    there = list(depth_spots(material, asked))
    lengths = sorted({spot.length for spot in there})
    if len({(spot.length, spot.band) for spot in there}) < 2:
        return []
    by_square = group_by(there, lambda spot: (spot.agent, spot.length, spot.band))
    known = {spot.agent for spot in there}

    def square(agent: str, band: int, length: int) -> Shaded | None:
        here = by_square.get((agent, length, band), [])
        score = mean_or_none([spot.score for spot in here])
        if score is None:
            return None
        worst = min(
            (spot for spot in here if spot.row.key in shown),
            key=lambda spot: spot.score,
            default=None,
        )
        place = (
            f"{agent}, needle after {band_label(band)} of {power_label(length)} tokens"
        )
        title = f"{place}: {pluralize(len(here), 'example')}"
        return Shaded(
            score_text(score),
            shade_class(score),
            title,
            f"{len(here):,}",
            worst and worst.row.key,
        )

    heads, agents = (
        [*map(power_label, lengths)],
        [one.agent for one in order if one.tested and one.agent in known],
    )
    return [
        (
            agent,
            Grid(
                heads,
                [
                    (band_label(band), [square(agent, band, of) for of in lengths])
                    for band in range(BANDS)
                ],
            ),
        )
        for agent in agents
    ]
