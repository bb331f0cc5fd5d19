"""Totals of published runs: a table of agents and memory spans, and how they compare with a published leaderboard."""

from __future__ import annotations

import json
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError
from pytest_ltm._published._convert import by_conversation, held, scenario
from pytest_ltm._published._rows import merged
from pytest_ltm._result import RunResult
from pytest_ltm.reporting._columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ltm._published._rows import Row
    from pytest_ltm._result import ConversationResult
    from pytest_ltm.reporting._columns import Column

NOTHING = "-"
SEVERAL = "*"
"""Marks the mean of several runs."""
_TOLERANCE = 1e-5
"""Published totals have six places."""
_TOKENS = 0.01
"""Published LTM scores have three."""


def totals(run: RunResult) -> dict[str, dict[str, tuple[float, int]]]:
    """Return by agent and span label the mean of the totals of its runs, and how many those are."""
    found: dict[str, dict[str, list[float]]] = {}
    for each in run.conversations:
        found.setdefault(each.agent, {}).setdefault(each.span_label, []).append(column_of(each).total)
    return {
        agent: {span: (fmean(values), len(values)) for span, values in spans.items()} for agent, spans in found.items()
    }


def table_lines(run: RunResult) -> list[str]:
    """Return the totals as a table of text, agents down and memory spans across; those with most spans first."""
    found = totals(run)
    spans = _spans(run)
    width = max(map(len, found))
    lines = [" ".join([" " * width, *(f"{span:>9}" for span in spans)])]
    lines += [
        " ".join([f"{agent:<{width}}", *(_cell(found[agent].get(span)) for span in spans)])
        for agent in sorted(found, key=lambda agent: (-len(found[agent]), agent.lower()))
    ]
    if any(runs > 1 for row in found.values() for _, runs in row.values()):
        lines.append(f"{SEVERAL}: mean of the totals of two or more runs")
    return lines


def column_of(conversation: ConversationResult) -> Column:
    """Return the numbers of one conversation as every report has them."""
    (column,) = columns(RunResult(run_id="", conversations=(conversation,)))
    return column


def checked(rows: Sequence[Row], leaderboard: Path) -> tuple[int, list[str]]:
    """Compare each published run, branch by branch, with the leaderboard's numbers.

    Returns how many runs were compared, and a sentence for each number that differs.
    """
    published = _leaderboard(leaderboard)
    compared, differences = 0, []
    for ref in sorted({row.ref for row in rows}):
        for (benchmark, agent), mine in by_conversation(merged(row for row in rows if row.ref == ref)).items():
            entry = published.get(ref, {}).get(benchmark, {}).get(agent)
            if entry is None:
                differences.append(f"{ref}, {benchmark}, {agent}: not in the leaderboard")
                continue
            compared += 1
            differences += [f"{ref}, {benchmark}, {agent}: {text}" for text in _differences(mine, entry)]
    return compared, differences


def _differences(rows: Sequence[Row], entry: Mapping[str, Any]) -> Iterator[str]:
    column = column_of(held(rows, "agent", len).result)
    datasets = {scenario(row): row.dataset for row in rows}
    pairs: list[tuple[str, float | None, float | None, float]] = [
        ("total", column.total, entry["score"], _TOLERANCE),
        ("out of", column.out_of, entry["max_score"], 0),
        ("results", column.examples, entry["n_results"], 0),
        ("accuracy", 100 * (column.accuracy or 0), entry["accuracy"], 100 * _TOLERANCE),
        ("LTM score", column.reach or 0, entry["ltm"], _TOKENS),
    ]
    pairs += [
        (datasets[name], cell.mean, entry["by_dataset"].get(datasets[name]), _TOLERANCE)
        for name, cell in column.cells.items()
    ]
    for name, ours, theirs, near in pairs:
        if ours is None or theirs is None or abs(ours - theirs) > near:
            yield f"{name} is {ours!r} here and {theirs!r} there"


def _leaderboard(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error
    if not isinstance(read, dict):
        raise DatasetError(f"{path}: expected an object of branches, benchmarks and agents")
    return read


def _spans(run: RunResult) -> list[str]:
    """Return the span labels: isolated first, then from the shortest to the longest; older versions last."""
    known = {each.span_label: each.span for each in run.conversations}
    return sorted(known, key=lambda text: ("." in text, known[text] or 0, text))


def _cell(found: tuple[float, int] | None) -> str:
    if found is None:
        return f"{NOTHING:>8} "
    value, runs = found
    return f"{value:>8.2f}{SEVERAL if runs > 1 else ' '}"
