"""Heat maps: scenario x example, one map an agent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from pytest_ltm._plan import natural
from pytest_ltm._statistics import mean
from pytest_ltm.reporting._text import score_text
from pytest_ltm.reporting.html._shades import shade
from pytest_ltm.reporting.html._tables import NOTHING, Shaded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm.reporting.html._material import Material, Row, Series

WIDEST = 100
"""So many columns a span has at most: nobody reads across more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """One agent's scenario x example."""

    agent: str
    spans: tuple[tuple[str, int], ...]
    """Label, and how many columns it takes."""
    edges: frozenset[int]
    """The first column of each span."""
    rows: tuple[tuple[str, tuple[Shaded | None, ...]], ...]
    joined: bool
    """Columns stand for several examples."""


def heat_maps(found: Material, shown: frozenset[int]) -> list[HeatMap]:
    """Return scenario x example for each agent, its spans beside each other; several trials are one mean.

    `shown`: the examples that a cell can open.
    """
    scenarios = sorted({row.result.scenario for row in found.rows})
    return [
        _heat_map(agent, [each for each in found.series if each.agent == agent], scenarios, shown)
        for agent in found.agents
    ]


def _heat_map(agent: str, series: Sequence[Series], scenarios: Sequence[str], shown: frozenset[int]) -> HeatMap:
    """Return one agent's map: the n-th column of a span is the n-th example of each scenario, whatever its name."""
    examples = {each.key: _columns(_examples(each.rows)) for each in series}
    widths = {each.key: max(map(len, examples[each.key].values()), default=0) for each in series}
    rows = []
    for name in scenarios:
        cells: list[Shaded | None] = []
        for each in series:
            found = examples[each.key].get(name, [])
            cells += [_heat_cell(rows_of, shown) for rows_of in found] + [None] * (widths[each.key] - len(found))
        rows.append((name, tuple(cells)))
    spans = tuple((each.column.span_label, widths[each.key]) for each in series)
    edges = frozenset(accumulate(width for _, width in spans))
    joined = any(len(of) > WIDEST for each in series for of in _examples(each.rows).values())
    return HeatMap(agent=agent, spans=spans, edges=edges, rows=tuple(rows), joined=joined)


def _examples(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """Return the rows of each example of each scenario, over trials; examples in their natural order."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in sorted(rows, key=lambda row: natural(row.result.example)):
        found.setdefault(row.result.scenario, {}).setdefault(row.result.example, []).append(row)
    return found


def _columns(examples: Mapping[str, Mapping[str, list[Row]]]) -> dict[str, list[list[Row]]]:
    """Return the rows of each column: of an example or, where there are more than WIDEST, of several that follow."""
    most = max(map(len, examples.values()), default=0)
    together = max(math.ceil(most / WIDEST), 1)
    return {
        name: [
            [row for rows in some for row in rows]
            for some in (list(of.values())[at : at + together] for at in range(0, len(of), together))
        ]
        for name, of in examples.items()
    }


def _heat_cell(rows: Sequence[Row], shown: frozenset[int]) -> Shaded:
    score = mean([row.result.score for row in rows if row.result.score is not None])
    first, names = rows[0].result, list(dict.fromkeys(row.result.example for row in rows))
    said = "no score" if score is None else score_text(score)
    which = f"example {names[0]}" if len(names) == 1 else f"mean of {len(names)} examples, {names[0]} to {names[-1]},"
    opens = rows[0].key if len(names) == 1 and rows[0].key in shown else None
    return Shaded(
        text=NOTHING if score is None else said.removesuffix(".00") if said.endswith(".00") else said.removeprefix("0"),
        shade=shade(score),
        title=f"{first.scenario}, {which} at {first.span_label}: {said}",
        link=opens,
    )
