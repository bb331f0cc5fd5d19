"""The report's tables: scores by agent and span, figures, gaps, where agents break, depth of needles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import log2
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.api.journal import ConversationRecord
from pytest_ltm.api.storage import pluralize
from pytest_ltm.figures.figures import figure_meaning, figure_notes, shown_figures
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by, mean_or_none
from pytest_ltm.figures.text import NOTHING, score_text
from pytest_ltm.reports.agent_sentences import agents_under_test, forgotten_scenarios
from pytest_ltm.reports.html.charts import NONE, Shaded, shade_class

if TYPE_CHECKING:
    from pytest_ltm.reports.html.report_data import ExampleEntry, Material, ResultSeries


# The boundaries between classes of gaps, in tokens.
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
    """The sort key of the cell."""


class Grid(NamedTuple):
    """A table of shaded cells; None marks an absent one."""

    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Shaded | None]]]


def score_grid(material: Material) -> Grid:
    """Return the total of each agent at each span."""
    by_place: dict[tuple[str, str], ResultSeries] = {}
    for series in material.series:
        by_place[series.agent, series.column.span_label] = series
    # Unranked agents, such as controls, come below the ranked ones.
    ranked = [series.agent for series in material.ranked]
    rows = []
    for agent in dict.fromkeys([*ranked, *material.agents]):
        cells = [_total_cell(by_place.get((agent, span))) for span in material.spans]
        rows.append((agent, cells))
    return Grid(material.spans, rows)


def _total_cell(series: ResultSeries | None) -> Shaded | None:
    """Return the total of a series as a cell, or None without a series."""
    if series is None:
        return None
    column = series.column
    if not column.out_of:
        return Shaded(text=NOTHING, shade=NONE, title=f"{series.label}: no score")
    return Shaded(
        text=column.share,
        more=column.total_with_spread,
        shade=shade_class(column.accuracy_lower_bound),
        title=series.label,
    )


class FigureTable(NamedTuple):
    """The figures of all series, limited to those that some series has."""

    heads: Sequence[tuple[str, str]]
    """Headings with their definitions."""
    rows: Sequence[tuple[ResultSeries, Sequence[FigureCell]]]
    notes: Sequence[str]
    """Explanations of the signs in the cells."""


def figure_table(material: Material) -> FigureTable:
    """Return the table of figures of all series."""
    columns = material.columns
    figures = shown_figures(columns, "html")
    rows: list[tuple[ResultSeries, list[FigureCell]]] = []
    for series in material.series:
        rows.append((series, []))
    for figure in figures:
        texts = figure.cells(columns)
        sort_key = figure.order or figure.value
        for (_, cells), text, column in zip(rows, texts, columns, strict=True):
            cells.append(FigureCell(text, sort_key(column)))
    return FigureTable(
        [(figure.heading(columns), figure_meaning(figure)) for figure in figures],
        rows,
        figure_notes(columns),
    )


def worst_scenarios(series: ResultSeries) -> str:
    """Return the scenarios that an agent forgets most at a span, in a few words."""
    losses = forgotten_scenarios(series.column)
    worst = ", ".join(f"{name} {score_text(score)}" for name, score in losses[:3])
    return f"{worst} …" if len(losses) > 3 else worst or NOTHING


def by_gap(material: Material) -> Grid | None:
    """Return the mean score of each agent by distance of the nearest needle, over all spans."""
    scores: dict[tuple[str, int], list[float]] = {}
    for row in material.rows:
        gap = row.result.gap
        score = row.result.score
        if gap is not None and score is not None:
            place = material.series[row.series].agent, _gap_class(gap)
            scores.setdefault(place, []).append(score)
    classes = sorted({gap_class for _, gap_class in scores})
    if len(classes) < 2:
        return None
    rows = []
    for agent in material.agents:
        cells: list[Shaded | None] = []
        for gap_class in classes:
            gap_scores = scores.get((agent, gap_class), ())
            cells.append(_gap_cell(agent, gap_class, gap_scores))
        rows.append((agent, cells))
    return Grid([_gap_label(gap_class) for gap_class in classes], rows)


def _gap_class(gap: int) -> int:
    """Return the index of the class of a gap in tokens, 0 for the shortest."""
    return sum(gap >= limit for limit in GAPS)


def _gap_cell(agent: str, gap_class: int, scores: Sequence[float]) -> Shaded | None:
    """Return the mean score of an agent at gaps of one class, or None without scores."""
    mean = mean_or_none(scores)
    if mean is None:
        return None
    title = f"{agent}, gap {_gap_label(gap_class)}: {len(scores)} examples"
    return Shaded(score_text(mean), shade_class(mean), title, f"{len(scores)}")


def _gap_label(gap_class: int) -> str:
    """Return the bounds of a class of gaps, such as `4k to 16k`."""
    ends = [f"{tokens // 1_000}k" for tokens in GAPS[:-1]]
    ends.append(f"{GAPS[-1] // 1_000_000}M")
    if gap_class == 0:
        return f"< {ends[0]}"
    if gap_class == len(GAPS):
        return f"≥ {ends[-1]}"
    return f"{ends[gap_class - 1]} to {ends[gap_class]}"


# --- Where agents break: scenarios and skills by memory span for each agent, largest
# loss first.

# The most scenarios shown per agent, those with the largest losses.
MOST_ROWS = 40


class BreakRow(NamedTuple):
    """One scenario or skill of one agent."""

    name: str
    cells: Sequence[Shaded | None]
    """One cell per memory span; None if it was not played there."""
    lost: float | None
    """The share of full marks lost, over the spans with a score; None without any score."""

    @property
    def whole(self) -> bool:
        """Whether the row has full marks at every span with a score."""
        return self.lost is not None and self.lost <= 1 - FULL_MARKS


class Breaks(NamedTuple):
    """Where one agent breaks."""

    agent: str
    tested: bool
    """Whether the agent is under test: neither a control nor a bundled agent among others."""
    spans: Sequence[str]
    rows: Sequence[BreakRow]
    """The scenarios that lose points, largest loss first."""
    further: int
    """Number of scenarios that lose points but are not in `rows`."""
    whole: Sequence[str]
    """The scenarios with full marks at every span that has a score."""
    unscored: Sequence[str]
    """The scenarios without any score."""
    skills: Sequence[BreakRow]
    """The skills that scenarios need, largest loss first."""


def breaking_points(material: Material, shown_keys: Collection[int]) -> list[Breaks]:
    """Return where each agent breaks, agents under test first, in the order of the headline.

    `shown_keys`: the examples that a cell can link to.
    """
    tested = agents_under_test(material.series) or frozenset(material.agents)
    ranked = [series.agent for series in material.ranked]

    def order_on_screen(agent: str) -> tuple[bool, int]:
        return agent not in tested, [*ranked, agent].index(agent)

    breaks: list[Breaks] = []
    for agent in sorted(material.agents, key=order_on_screen):
        is_tested = agent in tested
        breaks.append(_agent_breaks(material, agent, shown_keys, tested=is_tested))
    return breaks


def _agent_breaks(
    material: Material, agent: str, shown_keys: Collection[int], *, tested: bool
) -> Breaks:
    """Return where one agent breaks."""
    by_span: dict[str, ResultSeries] = {}
    for agent_series in material.series:
        if agent_series.agent == agent:
            by_span[agent_series.column.span_label] = agent_series
    spans = [span for span in material.spans if span in by_span]
    series = [by_span[span] for span in spans]
    scenarios = _scenario_rows(material, series, shown_keys)
    losing = [row for row in scenarios if row.lost is not None and not row.whole]
    losing.sort(key=_most_first)
    skills = _skill_rows(series, shown_keys)
    return Breaks(
        agent,
        tested,
        spans,
        losing[:MOST_ROWS],
        max(len(losing) - MOST_ROWS, 0),
        [row.name for row in scenarios if row.whole],
        [row.name for row in scenarios if row.lost is None],
        sorted(skills, key=_most_first),
    )


def _scenario_rows(
    material: Material, series: Sequence[ResultSeries], shown_keys: Collection[int]
) -> list[BreakRow]:
    """Return a row for each scenario of an agent, by name; `series` holds the agent at each of its spans."""
    entries = [group_by(part.rows, lambda row: row.result.scenario) for part in series]
    earlier = [_compared_scores(material, part) for part in series]
    rows = []
    for name in sorted(set().union(*entries)):
        cells: list[Shaded | None] = []
        for part, by_scenario, scores in zip(series, entries, earlier, strict=True):
            cell = None
            if name in by_scenario:
                text = part.column.cells[name].text
                cell = _shaded_cell(
                    by_scenario[name], part, name, shown_keys, text, scores.get(name)
                )
            cells.append(cell)
        examples = [by_scenario.get(name, []) for by_scenario in entries]
        rows.append(BreakRow(name, cells, _lost_share(examples)))
    return rows


def _compared_scores(material: Material, series: ResultSeries) -> dict[str, float]:
    """Return the mean score of each scenario in the baseline, from the run's summary."""
    place = series.column.agent, series.column.span_label
    scores = {}
    for change in material.comparison(series.run).get("changes", ()):
        if (change["agent"], change["span_label"]) == place:
            for name, level in change["scenarios"].items():
                scores[name] = level["before"]
    return scores


def _skill_rows(
    series: Sequence[ResultSeries], shown_keys: Collection[int]
) -> list[BreakRow]:
    """Return a row per skill that the agent's scenarios need, by its letter."""
    all_rows = chain.from_iterable(part.rows for part in series)
    skills = set(chain.from_iterable(row.result.skills for row in all_rows))
    rows = []
    for skill in sorted(skills):
        name = SKILLS.get(skill, skill)
        examples = []
        cells: list[Shaded | None] = []
        for part in series:
            entries = [row for row in part.rows if skill in row.result.skills]
            examples.append(entries)
            cell = None
            if entries:
                cell = _shaded_cell(entries, part, name, shown_keys)
            cells.append(cell)
        rows.append(BreakRow(name, cells, _lost_share(examples)))
    return rows


def _lost_share(examples: Sequence[Sequence[ExampleEntry]]) -> float | None:
    """Return the lost share of full marks; `examples`: those of each span."""
    mean = mean_or_none(map(_mean_score, examples))
    return None if mean is None else 1 - mean


def _most_first(row: BreakRow) -> tuple[float, str]:
    """Order rows by loss, largest first."""
    return -(row.lost or 0.0), row.name


def _mean_score(rows: Sequence[ExampleEntry]) -> float | None:
    """Return the mean score, or None without scores."""
    return mean_or_none(row.result.score for row in rows)


def _shaded_cell(
    rows: Sequence[ExampleEntry],
    series: ResultSeries,
    name: str,
    shown_keys: Collection[int],
    text: str = "",
    earlier: float | None = None,
) -> Shaded:
    """Return the mean of some examples of a series as a cell that links to the worst of them."""
    score = _mean_score(rows)
    # Examples without a score sort last.
    worst = min(
        (row for row in rows if row.key in shown_keys),
        key=lambda row: (row.result.score is None, row.result.score or 0.0),
        default=None,
    )
    label = "no score" if score is None else score_text(score)
    title = f"{name}, {series.label}: {label}, {pluralize(len(rows), 'example')}"
    change = ""
    if score is not None and earlier is not None:
        title += f"; {score_text(earlier)} in the run it was compared with"
        # Smaller changes of a mean are not shown.
        if abs(score - earlier) >= 0.005:
            change = f"{score - earlier:+.2f}"
    return Shaded(
        text=NOTHING if score is None else text or label,
        shade=shade_class(score),
        title=title,
        more=change,
        link=None if worst is None else worst.key,
    )


def comparable_columns(material: Material) -> list[tuple[str, int, int | None]]:
    """Return the data that the page needs to compare each series with another.

    For each series: its span, whether it is under test (0), a yardstick (1) or a control (2), and its baseline series:
    that of the run it was compared with, else of the same agent in another run; None if the report has neither.
    """
    columns = []
    for series in material.series:
        kind = 2 if series.column.control else int(series.column.is_bundled)
        baseline = _baseline_of(material, series)
        key = None if baseline is None else baseline.key
        columns.append((series.column.span_label, kind, key))
    return columns


def _baseline_of(material: Material, series: ResultSeries) -> ResultSeries | None:
    """Return the baseline of a series at the same span, or None if there is none."""
    comparison = material.comparison(series.run)
    column = series.column
    at_same_span: list[ResultSeries] = []
    compared: list[ResultSeries] = []
    for candidate in material.series_at(column.span_label):
        if candidate.run != series.run:
            at_same_span.append(candidate)
            run_id = material.runs[candidate.run].result.run_id
            if f"run {run_id}" == comparison.get("before"):
                compared.append(candidate)
    agent = comparison.get("before_agent") or column.agent
    for candidate in compared:
        if candidate.column.agent == agent:
            return candidate
    if compared:
        return compared[0]
    for candidate in at_same_span:
        if candidate.column.agent == column.agent:
            return candidate
    return None


# --- Depth: how the score depends on the position of the needle in the conversation.

# Rows from the beginning of a conversation to the question.
BANDS = 10
# In tokens: shorter conversations share one row or column.
_UNIT = 1_000


class DepthSpot(NamedTuple):
    """A scored example with the position of the nearest needle of its last question."""

    agent: str
    length: int
    """Length of the conversation before the question, as returned by `span_power`."""
    band: int
    """The share of that length before the needle, in steps of 1 / BANDS."""
    row: ExampleEntry
    score: float


def asked_at(
    rows: Iterable[ExampleEntry], record: ConversationRecord
) -> dict[int, int]:
    """Return the tokens before the last question of each example that has a score and a needle, by key."""
    starts = {}
    for row in rows:
        result = row.result
        if result.questions and result.gap is not None and result.scored:
            question = record.exchange(result.questions[-1].number)
            if question:
                starts[row.key] = question.start
    return starts


def depth_spots(
    material: Material, question_starts: Mapping[int, int]
) -> Iterator[DepthSpot]:
    """Yield the examples whose question position is known."""
    for row in material.rows:
        start = question_starts.get(row.key)
        gap = row.result.gap
        score = row.result.score
        if start is not None and gap is not None and score is not None:
            band = min(BANDS * max(start - gap, 0) // max(start, 1), BANDS - 1)
            yield DepthSpot(
                material.series[row.series].agent, span_power(start), band, row, score
            )


def span_power(tokens: int) -> int:
    """Return the exponent of the nearest power of two thousands of tokens; -1 for shorter lengths."""
    return max(round(log2(max(tokens, 1) / _UNIT)), -1)


def power_label(power: int) -> str:
    """Return the label of an exponent, such as `32k` for 5."""
    if power < 0:
        return f"< {_UNIT // 1_000}k"
    return f"{2**power}k" if power < 10 else f"{2 ** (power - 10)}M"


def band_label(band: int) -> str:
    """Return the label of a band, such as `30%` for 3."""
    return f"{100 * band // BANDS}%"


def depth_maps(
    material: Material,
    question_starts: Mapping[int, int],
    order: Sequence[Breaks],
    shown_keys: Collection[int],
) -> list[tuple[str, Grid]]:
    """Return the heat maps of the agents under test, in the order given by `order`.

    Empty if all needles fall into one square. `shown_keys`: the examples that a square can link to.
    """
    spots = list(depth_spots(material, question_starts))
    by_square = group_by(spots, lambda spot: (spot.agent, spot.length, spot.band))
    if len({(length, band) for _, length, band in by_square}) < 2:
        return []
    lengths = sorted({spot.length for spot in spots})
    heads = [power_label(length) for length in lengths]
    agents = {spot.agent for spot in spots}
    maps = []
    for breaks in order:
        agent = breaks.agent
        if not breaks.tested or agent not in agents:
            continue
        rows = []
        for band in range(BANDS):
            cells: list[Shaded | None] = []
            for length in lengths:
                spots = by_square.get((agent, length, band), [])
                cells.append(_depth_cell(spots, shown_keys))
            rows.append((band_label(band), cells))
        maps.append((agent, Grid(heads, rows)))
    return maps


def _depth_cell(
    spots: Sequence[DepthSpot], shown_keys: Collection[int]
) -> Shaded | None:
    """Return the mean score of one square, linked to its worst example, or None if it is empty."""
    score = mean_or_none([spot.score for spot in spots])
    if score is None:
        return None
    first = spots[0]
    place = f"{first.agent}, needle after {band_label(first.band)} of {power_label(first.length)} tokens"
    openable = [spot for spot in spots if spot.row.key in shown_keys]
    worst = min(openable, key=lambda spot: spot.score, default=None)
    return Shaded(
        score_text(score),
        shade_class(score),
        f"{place}: {pluralize(len(spots), 'example')}",
        f"{len(spots):,}",
        None if worst is None else worst.row.key,
    )
