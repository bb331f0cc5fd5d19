"""Rows of the report's tables: scores by agent and span, all figures, gaps and skills."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._statistics import mean
from pytest_ltm.reporting._text import amount, score_text, span_of_time
from pytest_ltm.reporting.html._headline import forgotten, money
from pytest_ltm.reporting.html._shades import NONE, shade

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm.reporting.html._material import Material, Row, Series

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
}
NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaded:
    """A cell whose background tells the score."""

    text: str
    shade: str
    title: str
    more: str = ""
    """In small type."""
    link: int | None = None
    """The example that it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A cell with a number."""

    text: str
    value: float | None
    """What it is sorted by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of shaded cells; None: there is nothing of that kind."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Shaded | None, ...]], ...]


def scoreboard(found: Material) -> Grid:
    """Return the total of each agent at each span."""
    by = {(series.agent, series.column.span_label): series for series in found.series}
    rows = [(agent, tuple(_score_cell(by.get((agent, span))) for span in found.spans)) for agent in found.agents]
    return Grid(heads=found.spans, rows=tuple(rows))


def _score_cell(series: Series | None) -> Shaded | None:
    if series is None:
        return None
    column = series.column
    if not column.out_of:
        return Shaded(text=NOTHING, shade=NONE, title=f"{series.label}: no score")
    spread = f" ± {column.spread.sd:.2f}" if column.spread else ""
    return Shaded(
        text=_percent(column.accuracy),
        more=f"{column.total:.2f}{spread} of {column.out_of}",
        shade=shade(column.accuracy),
        title=series.label,
    )


FIGURES = (
    ("score", "total"), ("spread", "spread"), ("accuracy", "accuracy"), ("LTM score (paper)", "ltm_reach"),
    ("LTM score (blog)", "ltm_reach_weighted"), ("tokens", "tokens"), ("filler", "filler_share"),
    ("reply tokens", "reply_tokens"), ("time", "simulated_seconds"), ("cost", "cost_usd"), ("of it filler", "cost"),
    ("of it harness", "cost"), ("judge cost", "judge"), ("overruns", "overruns"),
    ("no score", "unscored"),
)  # fmt: skip
"""Headings of the figures, and the names under which `METRICS` defines them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTable:
    """The figures of all series; only those that any series has."""

    heads: tuple[tuple[str, str], ...]
    """Heading, and the name under which `METRICS` defines it."""
    rows: tuple[tuple[Series, tuple[Figure, ...]], ...]


def figure_table(found: Material) -> FigureTable:
    """Return the figures of all series."""
    rows = [(series, figures(series)) for series in found.series]
    shown = [i for i in range(len(FIGURES)) if any(cells[i].value is not None for _, cells in rows)]
    return FigureTable(
        heads=tuple(FIGURES[i] for i in shown),
        rows=tuple((series, tuple(cells[i] for i in shown)) for series, cells in rows),
    )


def figures(series: Series) -> tuple[Figure, ...]:
    """Return the figures of one series, in the order of `FIGURES`."""
    column = series.column
    filler, spread = column.filler_share, column.spread
    return (
        Figure(text=f"{column.total:.2f} of {column.out_of}" if column.out_of else NOTHING, value=column.total),
        Figure(text=f"± {spread.sd:.2f}" if spread else NOTHING, value=spread.sd if spread else None),
        Figure(text=_percent(column.accuracy), value=column.accuracy),
        _tokens(column.reach),
        _tokens(column.weighted_reach),
        _tokens(column.tokens),
        Figure(text=NOTHING if filler is None else f"{100 * filler:.0f}%", value=filler),
        _tokens(column.reply_tokens),
        Figure(text=span_of_time(column.simulated_seconds), value=column.simulated_seconds),
        _dollars(column.cost_usd, would=column.hypothetical),
        _dollars(column.filler_cost_usd, would=column.hypothetical),
        _dollars(column.harness_cost_usd, would=column.hypothetical),
        _dollars(column.judge_cost_usd),
        Figure(text=str(column.overruns), value=column.overruns),
        Figure(text=str(column.missing), value=column.missing),
    )


def _dollars(usd: float | None, *, would: bool = False) -> Figure:
    text = NOTHING if usd is None else f"would be {money(usd)}" if would else money(usd)
    return Figure(text=text, value=usd)


def _tokens(number: float | None) -> Figure:
    return Figure(text=NOTHING if number is None else amount(round(number)), value=number)


def forgets(series: Series) -> str:
    """Return what an agent forgets most at a span, in a few words."""
    lost = forgotten(series.column)
    named = ", ".join(f"{name} {score_text(score)}" for name, score in lost[:3])
    return f"{named} …" if len(lost) > 3 else named or NOTHING  # noqa: PLR2004 - a few


def by_gap(found: Material) -> Grid | None:
    """Return the mean score of each agent by how far back the nearest needle lies, over all spans."""
    classes = [_class(row.result.gap) for row in found.rows if row.result.gap is not None and row.result.scored]
    known = sorted(set(classes))
    if len(known) < 2:  # noqa: PLR2004 - one class compares nothing
        return None
    rows = []
    for agent in found.agents:
        mine = [row for series in found.series if series.agent == agent for row in series.rows]
        rows.append((agent, tuple(_mean_cell(_of_gap(mine, each), f"{agent}, gap {_gap(each)}") for each in known)))
    return Grid(heads=tuple(_gap(each) for each in known), rows=tuple(rows))


def by_skill(found: Material) -> Grid | None:
    """Return the mean score of each series by the memory skill that scenarios need; None where none is named."""
    skills = sorted({skill for row in found.rows for skill in row.result.skills})
    if not skills:
        return None
    rows = [
        (each.label, tuple(_without_count(_of_skill(each.rows, skill), f"{each.label}, {skill}") for skill in skills))
        for each in found.series
    ]
    heads = tuple(f"{skill} {SKILLS[skill]}" if skill in SKILLS else skill for skill in skills)
    return Grid(heads=heads, rows=tuple(rows))


def _of_gap(rows: Iterable[Row], number: int) -> list[float]:
    found = (row.result for row in rows if row.result.gap is not None and _class(row.result.gap) == number)
    return [result.score for result in found if result.score is not None]


def _of_skill(rows: Iterable[Row], skill: str) -> list[float]:
    return [row.result.score for row in rows if skill in row.result.skills and row.result.score is not None]


def _mean_cell(scores: Sequence[float], where: str) -> Shaded | None:
    found = mean(scores)
    if found is None:
        return None
    return Shaded(
        text=score_text(found), more=f"{len(scores)}", shade=shade(found), title=f"{where}: {len(scores)} examples"
    )


def _without_count(scores: Sequence[float], where: str) -> Shaded | None:
    cell = _mean_cell(scores, where)
    return cell and replace(cell, more="")


def _class(gap: int | None) -> int:
    return sum((gap or 0) >= limit for limit in GAPS)


def _gap(number: int) -> str:
    if number == 0:
        return f"< {_k(GAPS[0])}"
    return f"≥ {_k(GAPS[-1])}" if number == len(GAPS) else f"{_k(GAPS[number - 1])} to {_k(GAPS[number])}"


def _k(tokens: int) -> str:
    return f"{tokens // 1_000_000}M" if tokens >= 1_000_000 else f"{tokens // 1_000}k"  # noqa: PLR2004 - a million


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * float(score_text(share)):.0f}%"
