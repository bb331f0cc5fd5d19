"""Which example of a run is meant: `ITEM` with --agent, --span and --trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._results.text import one_line
from pytest_ltm._storage.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from pytest_ltm._journal.result import RunResult, ScenarioResult


MOST = 12
"""So many items are listed where several are meant."""


def chosen(run: RunResult, given: Namespace, *, parts: bool = False) -> ScenarioResult:
    """Return the one row of a run that `given` means by item, agent, span and trial.

    `parts`: also part of a node id names an item. ConfigurationError lists the candidates if there are none or several.
    """
    rows = within(run.scenarios, given)
    found = [row for row in rows if row.nodeid == given.item]
    found = found or [row for row in rows if given.item in (row.id, row.scenario)]
    if parts:
        found = found or [row for row in rows if given.item in row.nodeid or given.item in row.id]
    narrowed = "".join(f" --{name}={getattr(given, name)}" for name in _LABELS if getattr(given, name))
    if not found:
        known = {name for row in run.scenarios for name in (row.nodeid, row.id)}
        raise ConfigurationError(
            f"run {run.run_id} has no item {given.item!r}{narrowed}.{did_you_mean(given.item, known)} "
            f"Name a node id{', part of one,' * parts} or scenario/example"
        )
    if len(found) > 1:
        listed = [f"  {one_line(row.nodeid)}" for row in found[:MOST]]
        listed += [f"  … and {len(found) - MOST:,} more"] * (len(found) > MOST)
        raise ConfigurationError(
            f"{given.item!r}{narrowed} means {len(found):,} items of run {run.run_id}. "
            "Choose with --agent, --span, --trial, or name one:\n" + "\n".join(listed)
        )
    return found[0]


def within(rows: Sequence[ScenarioResult], given: Namespace) -> list[ScenarioResult]:
    """Return the rows of the agent, span and trial that `given` names; of all where it names none."""
    return [row for row in rows if all(getattr(given, name) in ("", getattr(row, of)) for name, of in _LABELS.items())]


_LABELS = {"agent": "agent", "span": "span_label", "trial": "trial"}
"""Options that choose among rows, and what of a row they name."""
