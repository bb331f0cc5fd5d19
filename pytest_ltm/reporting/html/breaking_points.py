"""Where agents break: scenario, and skill, by memory span for each agent, what loses most first."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm._results.statistics.totals import FULL_MARKS, group_by, mean_or_none
from pytest_ltm._results.text import NOTHING, pluralize, score_text
from pytest_ltm.reporting.agent_sentences import agents_under_test, largest_span_label, rank_sides
from pytest_ltm.reporting.html.charts import Shaded, shade_class
from pytest_ltm.reporting.html.figure_cells import SKILLS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_ltm._journal.fold import ConversationRecord
    from pytest_ltm.reporting.html.report_data import ExampleEntry, Material, ResultSeries


# Scenarios shown of each agent: those that lose most.
MOST_ROWS = 40
# A smaller change of a mean is not shown.
_SEEN = 0.005


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
    ranked = [each.agent for each in rank_sides(material.series_at(largest_span_label(material.series)))]
    place = {agent: (agent not in names, [*ranked, agent].index(agent)) for agent in material.agents}
    return [
        _agent_breaks(material, agent, shown, tested=agent in names)
        for agent in sorted(material.agents, key=place.__getitem__)
    ]


def _agent_breaks(material: Material, agent: str, shown: Collection[int], *, tested: bool) -> Breaks:
    by_span = {each.column.span_label: each for each in material.series if each.agent == agent}
    spans = [span for span in material.spans if span in by_span]
    series = [by_span[span] for span in spans]
    before = [_scores_before(material, each) for each in series]
    played = [group_by(each.rows, lambda row: row.result.scenario) for each in series]
    skills = sorted({skill for each in series for row in each.rows for skill in row.result.skills})

    def scenario(name: str) -> BreakRow:
        rows = [of.get(name, []) for of in played]
        cells = [
            _shaded_cell(of, each, name, shown, each.column.cells[name].text, was.get(name)) if of else None
            for each, of, was in zip(series, rows, before, strict=True)
        ]
        return BreakRow(name, cells, _lost_share(rows))

    def skill(name: str) -> BreakRow:
        rows = [[row for row in each.rows if name in row.result.skills] for each in series]
        cells = [
            _shaded_cell(of, each, SKILLS.get(name, name), shown) if of else None
            for each, of in zip(series, rows, strict=True)
        ]
        return BreakRow(SKILLS.get(name, name), cells, _lost_share(rows))

    scenarios = [scenario(name) for name in sorted({name for of in played for name in of})]
    losing = [row for row in sorted(scenarios, key=_most_first) if row.lost is not None and not row.whole]
    whole = [row.name for row in scenarios if row.whole]
    unscored = [row.name for row in scenarios if row.lost is None]
    further, by_skill = max(len(losing) - MOST_ROWS, 0), sorted(map(skill, skills), key=_most_first)
    return Breaks(agent, tested, spans, losing[:MOST_ROWS], further, whole, unscored, by_skill)


def _lost_share(rows: Sequence[Sequence[ExampleEntry]]) -> float | None:
    """Return the share of full marks that is missing, the mean over the spans with a score."""
    means = [_mean_score(of) for of in rows]
    value = mean_or_none([each for each in means if each is not None])
    return None if value is None else 1 - value


def _most_first(row: BreakRow) -> tuple[float, str]:
    return -(row.lost or 0.0), row.name


def _mean_score(rows: Sequence[ExampleEntry]) -> float | None:
    return mean_or_none([row.result.score for row in rows if row.result.score is not None])


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
    title, moved = f"{name}, {series.label}: {label}, {pluralize(len(rows), 'example')}", ""
    if score is not None and before is not None:
        title += f"; {score_text(before)} in the run it was compared with"
        moved = f"{score - before:+.2f}" if abs(score - before) >= _SEEN else ""
    return Shaded(
        text=NOTHING if score is None else text or label,
        shade=shade_class(score),
        title=title,
        more=moved,
        link=None if worst is None else worst.key,
    )


def _scores_before(material: Material, series: ResultSeries) -> Mapping[str, float]:
    """Return the mean score of each scenario in what the run was compared with, as its summary says."""
    comparison = material.runs[series.run].summary.get("comparison")
    changes: list[dict[str, Any]] = comparison["changes"] if isinstance(comparison, dict) else []
    place = series.column.agent, series.column.span_label
    return {
        name: level["before"]
        for change in changes
        if (change["agent"], change["span_label"]) == place
        for name, level in change["scenarios"].items()
    }


def comparable_columns(material: Material) -> list[tuple[str, int, int | None]]:
    """Return what the page must know of each series to put another beside it.

    Its span, whether it is under test (0), a yardstick (1) or a control (2), and the series that is its baseline:
    that of the run it was compared with, else of the same agent in another run; None where the report has neither.
    """
    baselines = (next((other.key for other in _baseline_candidates(material, each)), None) for each in material.series)
    kinds = (2 if each.column.control else int(each.column.is_bundled) for each in material.series)
    return list(zip((each.column.span_label for each in material.series), kinds, baselines, strict=True))


def _baseline_candidates(material: Material, series: ResultSeries) -> list[ResultSeries]:
    """Return what may be the baseline of a series, the likeliest first."""
    comparison = material.runs[series.run].summary.get("comparison")
    before = comparison if isinstance(comparison, dict) else {}
    others = [each for each in material.series_at(series.column.span_label) if each.run != series.run]
    named = [each for each in others if f"run {material.runs[each.run].result.run_id}" == before.get("before")]
    agent = before.get("before_agent") or series.column.agent
    compared = sorted(named, key=lambda each: each.column.agent != agent)
    return [*compared, *(each for each in others if each.column.agent == series.column.agent)]


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


class Depths(NamedTuple):
    """The heat map of one agent."""

    agent: str
    heads: Sequence[str]
    """Lengths of the conversation."""
    rows: Sequence[tuple[str, Sequence[Shaded | None]]]
    """From its beginning to its end; None: there is no such example."""


def asked_at(rows: Iterable[ExampleEntry], record: ConversationRecord) -> dict[int, int]:
    """Return how many tokens came before the last question of each example that has a score and a needle, by key."""
    wanted = [row for row in rows if row.result.questions and row.result.gap is not None and row.result.scored]
    asked = {row.key: record.exchange(row.result.questions[-1].number) for row in wanted}
    return {key: question.start for key, question in asked.items() if question}


def depth_spots(material: Material, asked: Mapping[int, int]) -> Iterator[DepthSpot]:
    """Yield the examples of which it is known where they asked."""
    for row in material.rows:
        start, gap, score = asked.get(row.key), row.result.gap, row.result.score
        if start is not None and gap is not None and score is not None:
            band = min(BANDS * max(start - gap, 0) // max(start, 1), BANDS - 1)
            yield DepthSpot(material.series[row.series].agent, span_power(start), band, row, score)


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
    material: Material, asked: Mapping[int, int], order: Sequence[Breaks], shown: Collection[int]
) -> list[Depths]:
    """Return the heat maps of the agents under test, in the order of where they break.

    Nothing where all needles lie in one square. `shown`: the examples that a square can open.
    """
    there = list(depth_spots(material, asked))
    lengths = sorted({spot.length for spot in there})
    if len({(spot.length, spot.band) for spot in there}) < 2:
        return []
    by_square = group_by(there, lambda spot: (spot.agent, spot.length, spot.band))
    known = {spot.agent for spot in there}

    def row(agent: str, band: int) -> tuple[str, list[Shaded | None]]:
        squares = [by_square.get((agent, length, band), []) for length in lengths]
        return band_label(band), [_depth_square(square, shown) for square in squares]

    heads, agents = [*map(power_label, lengths)], [one.agent for one in order if one.tested and one.agent in known]
    return [Depths(agent, heads, [row(agent, band) for band in range(BANDS)]) for agent in agents]


def _depth_square(here: Sequence[DepthSpot], shown: Collection[int]) -> Shaded | None:
    score = mean_or_none([spot.score for spot in here])
    if score is None:
        return None
    agent, length, band, *_ = here[0]
    worst = min((spot for spot in here if spot.row.key in shown), key=lambda spot: spot.score, default=None)
    number = pluralize(len(here), "example")
    return Shaded(
        text=score_text(score),
        more=f"{len(here):,}",
        shade=shade_class(score),
        title=f"{agent}, needle after {band_label(band)} of {power_label(length)} tokens: {number}",
        link=worst and worst.row.key,
    )
