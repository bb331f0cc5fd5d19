"""Measures: the figures beside the score, averaged by scenario and over all examples of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_ltm.reporting._table import paint
from pytest_ltm.reporting._text import columns_of, left, one_line, right, shorten, wrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._result import RunResult, ScenarioResult

ALL = "all examples"
"""Heads the row of the means over all examples that have a measure (micro means)."""
NOTHING = "-"
_GAP = "  "
_LONGEST = 24


@dataclass(frozen=True, slots=True)
class Averaged:
    """The mean of one measure."""

    mean: float
    count: int
    """Examples that have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measures of one agent at one memory span."""

    agent: str
    span_label: str
    names: tuple[str, ...]
    """In the order in which they were first noted."""
    examples: Mapping[str, int]
    """By scenario, in the order of the run."""
    cells: Mapping[tuple[str, str], Averaged]
    """By scenario and measure; the scenario "" is all of them."""

    def text(self, scenario: str, name: str) -> str:
        """Return the mean as it is shown: three digits up to one, one above; a star where some examples have none."""
        found = self.cells.get((scenario, name))
        star = "" if name not in self.partial else "*" if scenario in self._lacking(name) else " "
        if found is None:
            return NOTHING + star
        return (f"{found.mean:.3f}" if abs(found.mean) <= 1 else f"{found.mean:,.1f}") + star

    @property
    def partial(self) -> frozenset[str]:
        """The measures that some examples of a scenario have and others have not."""
        return frozenset(name for name in self.names if self._lacking(name))

    def _lacking(self, name: str) -> frozenset[str]:
        found = {scenario: self.cells.get((scenario, name)) for scenario in self.examples}
        some = [one for one, cell in found.items() if cell is not None and cell.count < self.examples[one]]
        return frozenset([*some, ""] if some else some)


def measured(run: RunResult) -> tuple[Measured, ...]:
    """Return the measures of each agent and span that has any, in the order of the run."""
    held: dict[tuple[str, str], list[ScenarioResult]] = {}
    for row in run.scenarios:
        held.setdefault((row.agent, row.span_label), []).append(row)
    return tuple(_averaged(*key, rows) for key, rows in held.items() if any(row.measures for row in rows))


def _averaged(agent: str, span_label: str, rows: Sequence[ScenarioResult]) -> Measured:
    values: dict[tuple[str, str], list[float]] = {}
    examples: dict[str, int] = {}
    for row in rows:
        examples[row.scenario] = examples.get(row.scenario, 0) + 1
        for measure in row.measures:
            values.setdefault((row.scenario, measure.name), []).append(measure.value)
            values.setdefault(("", measure.name), []).append(measure.value)
    return Measured(
        agent=agent,
        span_label=span_label,
        names=tuple(dict.fromkeys(name for scenario, name in values if not scenario)),
        examples=examples,
        cells={key: Averaged(fmean(found), len(found)) for key, found in values.items()},
    )


def measure_lines(run: RunResult, width: int, *, color: bool) -> list[str]:
    """Return a table of means for each agent, no line wider than `width`; nothing where nothing was measured."""
    found = measured(run)
    if not found:
        return []
    said = "Figures beside the score: the mean over the examples that have one; they earn nothing."
    starred = " *: some examples have none." if any(one.partial for one in found) else ""
    lines = wrap(said + starred, width)
    for one in found:
        for names in _pages(one, width):
            lines += ["", *_page(one, names, width, color=color)]
    return [*lines, ""]


def quiet_line(one: Measured) -> str:
    """Return the means over all examples in one line."""
    figures = ", ".join(f"{name} {one.text('', name).strip()}" for name in one.names)
    return f"{one_line(one.agent)} at {one_line(one.span_label)}: {figures}"


def measures_json(run: RunResult, agent: str, span_label: str) -> dict[str, Any]:
    """Return the means of one agent at one span as JSON values, by measure."""
    for one in measured(run):
        if (one.agent, one.span_label) == (agent, span_label):
            return {name: _json(one, name) for name in one.names}
    return {}


def _json(one: Measured, name: str) -> dict[str, Any]:
    whole = one.cells["", name]
    parts = {scenario: one.cells[scenario, name] for scenario in one.examples if (scenario, name) in one.cells}
    return {
        "mean": whole.mean,
        "count": whole.count,
        "scenarios": {scenario: {"mean": part.mean, "count": part.count} for scenario, part in parts.items()},
    }


def _pages(one: Measured, width: int) -> list[list[str]]:
    """Return the names of the measures, as many on a page as fit beside the labels."""
    pages: list[list[str]] = [[]]
    used = room = width - _label(one, width) - _slot(one, "examples") - len(_GAP)
    for name in one.names:
        needed = len(_GAP) + _slot(one, name)
        if pages[-1] and needed > used:
            pages.append([])
            used = room
        pages[-1].append(name)
        used -= needed
    return pages


def _page(one: Measured, names: Sequence[str], width: int, *, color: bool) -> list[str]:
    label = _label(one, width)
    title = shorten(f"{one_line(one.agent)} at {one_line(one.span_label)}", width, mark="…")
    heads = [_line("", ["", *(_halves(name, room=name in one.partial)[0] for name in names)], one, names, label)]
    heads.append(
        _line("", ["examples", *(_halves(name, room=name in one.partial)[1] for name in names)], one, names, label)
    )
    rule = paint("─" * max(map(columns_of, heads)), "dim", color=color)
    heads = [head for head in heads if head]
    rows = [
        _line(scenario, [f"{count:,}", *(one.text(scenario, name) for name in names)], one, names, label)
        for scenario, count in one.examples.items()
    ]
    total = _line(ALL, [f"{sum(one.examples.values()):,}", *(one.text("", name) for name in names)], one, names, label)
    whole = [rule, total] if len(rows) > 1 else []
    return [paint(title, "strong", color=color), *heads, rule, *rows, *whole]


def _line(label: str, cells: Sequence[str], one: Measured, names: Sequence[str], width: int) -> str:
    slots = [_slot(one, "examples"), *(_slot(one, name) for name in names)]
    texts = [right(cell, slot) for cell, slot in zip(cells, slots, strict=True)]
    return _GAP.join([left(shorten(one_line(label), width, mark="…"), width), *texts]).rstrip()


def _label(one: Measured, width: int) -> int:
    longest = max(map(columns_of, [ALL, *map(one_line, one.examples)]))
    return min(longest, max(width // 3, len(ALL)), _LONGEST)


def _slot(one: Measured, name: str) -> int:
    texts = [one.text(scenario, name) for scenario in (*one.examples, "")]
    return max(map(columns_of, [*_halves(name, room=name in one.partial), *texts]))


def _halves(name: str, *, room: bool = False) -> tuple[str, str]:
    """Return the head in two lines: `recall` over `repaired`; `room`: for the stars below it."""
    first, _, rest = name.partition("_")
    blank = " " * room
    return (first + blank, rest + blank) if rest else ("", name + blank)
