"""Selects the example of a run that an item and further options refer to."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from pytest_ltm.api.journal import RunResult, ScenarioResult
from pytest_ltm.api.storage import (
    ConfigurationError,
    did_you_mean,
    first_and_rest,
    one_line,
)

# The most candidates listed for an ambiguous item.
_MOST_CANDIDATES = 12
# Options that select rows, with the row fields they refer to.
_LABELS = {"agent": "agent", "span": "span_label", "trial": "trial"}


def choose_result(
    run: RunResult, arguments: Namespace, *, parts: bool = False
) -> ScenarioResult:
    """Return the only row of a run that matches `item`, `agent`, `span` and `trial`.

    `parts`: a part of a node ID may name an item. ConfigurationError lists the candidates unless there is exactly one.
    """
    item: str = arguments.item
    rows = choose_rows(run.scenarios, arguments)
    found = [row for row in rows if row.nodeid == item]
    if not found:
        found = [row for row in rows if item in (row.id, row.scenario)]
    if not found and parts:
        found = [row for row in rows if item in row.nodeid or item in row.id]
    narrowed = _options_text(arguments)
    if not found:
        names = {row.nodeid for row in run.scenarios}
        names |= {row.id for row in run.scenarios}
        part = ", part of one," if parts else ""
        raise ConfigurationError(
            f"run {run.run_id} has no item {item!r}{narrowed}.{did_you_mean(item, names)} "
            f"Name a node id{part} or scenario/example"
        )
    if len(found) > 1:
        lines = [f"  {one_line(row.nodeid)}" for row in found]
        candidates = first_and_rest(lines, _MOST_CANDIDATES, "  … and {:,} more")
        raise ConfigurationError(
            f"{item!r}{narrowed} means {len(found):,} items of run {run.run_id}. "
            "Choose with --agent, --span, --trial, or name one:\n"
            + "\n".join(candidates)
        )
    return found[0]


def choose_rows(
    rows: Sequence[ScenarioResult], arguments: Namespace
) -> list[ScenarioResult]:
    """Return the rows of the given agent, span and trial, or all rows without any of these."""
    chosen = list(rows)
    for option, field in _LABELS.items():
        label = getattr(arguments, option)
        if label:
            chosen = [row for row in chosen if getattr(row, field) == label]
    return chosen


def _options_text(arguments: Namespace) -> str:
    """Return the selecting options as typed."""
    text = ""
    for option in _LABELS:
        label = getattr(arguments, option)
        if label:
            text += f" --{option}={label}"
    return text
