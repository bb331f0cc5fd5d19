"""What a report is made of: the conversations and examples of its runs, numbered; a series for each agent and span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.reporting._columns import columns
from pytest_ltm.reporting._run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ltm._result import ScenarioResult
    from pytest_ltm.reporting._columns import Column
    from pytest_ltm.reporting._run_folder import ConversationFolder, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One example."""

    key: int
    """Its number in the report."""
    series: int
    conversation: int
    result: ScenarioResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One conversation."""

    key: int
    series: int
    label: str
    """`full at 32k`, with the trial where there are several."""
    folder: ConversationFolder
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One agent at one memory span in one run."""

    key: int
    run: int
    agent: str
    """The agent's label, with the run where several runs have an agent of this label."""
    column: Column
    rows: tuple[Row, ...]

    @property
    def label(self) -> str:
        """`full at 32k`."""
        return f"{self.agent} at {self.column.span_label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything a report may show."""

    runs: tuple[Run, ...]
    series: tuple[Series, ...]
    conversations: tuple[Held, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Every example, in the order of the series."""
        return tuple(row for series in self.series for row in series.rows)

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names, in the order of the runs."""
        return tuple(dict.fromkeys(series.agent for series in self.series))

    @property
    def spans(self) -> tuple[str, ...]:
        """The labels of the memory spans, from the shortest to the longest, isolated ones last."""
        lengths = {series.column.span_label: series.column.span for series in self.series}
        return tuple(sorted(lengths, key=lambda label: (lengths[label] or float("inf"), label)))

    def at(self, span_label: str) -> tuple[Series, ...]:
        """Return the series at one memory span."""
        return tuple(series for series in self.series if series.column.span_label == span_label)


def material(folders: Sequence[Path]) -> Material:
    """Return what the run folders hold; LtmError if one holds nothing."""
    runs = tuple(read_run(folder) for folder in folders)
    several = _in_several([{each.result.agent for each in run.conversations} for run in runs])
    series: list[Series] = []
    conversations: list[Held] = []
    rows = 0
    for number, run in enumerate(runs):
        for column in columns(run.result):
            held = _held(run, column, len(series), len(conversations), rows)
            rows += sum(len(each.rows) for each in held)
            conversations += held
            name = f"{column.agent} · {run.result.run_id}" if column.agent in several else column.agent
            own = tuple(row for each in held for row in each.rows)
            series.append(Series(key=len(series), run=number, agent=name, column=column, rows=own))
    return Material(runs=runs, series=tuple(series), conversations=tuple(conversations))


def _held(run: Run, column: Column, series: int, first: int, rows: int) -> list[Held]:
    mine = [
        each
        for each in run.conversations
        if (each.result.agent, each.result.span_label) == (column.agent, column.span_label)
    ]
    found: list[Held] = []
    for key, folder in enumerate(mine, start=first):
        numbered = tuple(
            Row(key=number, series=series, conversation=key, result=result)
            for number, result in enumerate(folder.result.scenarios, start=rows)
        )
        rows += len(numbered)
        label = column.label if len(mine) == 1 else f"{column.label}, trial {folder.result.trial}"
        found.append(Held(key=key, series=series, label=label, folder=folder, rows=numbered))
    return found


def _in_several(agents: Sequence[set[str]]) -> set[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for one in agents:
        twice |= seen & one
        seen |= one
    return twice
