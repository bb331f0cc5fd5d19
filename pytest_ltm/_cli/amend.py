"""`amend RUN ITEM --score S --reason TEXT`: correct one verdict by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._cli.example_selection import chosen
from pytest_ltm._journal import amendments
from pytest_ltm._journal.run_file import find_run
from pytest_ltm._results.columns import columns
from pytest_ltm._results.run_loading import read_run
from pytest_ltm._results.text import counted, one_line, score_text, shorten
from pytest_ltm.reporting.summary import refresh

if TYPE_CHECKING:
    from argparse import Namespace

    from pytest_ltm._journal.result import ScenarioResult
    from pytest_ltm._results.run_loading import LoadedRun


_REASON = 120


def run(given: Namespace) -> int:
    """Amend one verdict and print what changed; LtmError if run or item cannot be found."""
    amendment = amendments.Amendment(score=given.score, reason=given.reason)
    found = read_run(find_run(given.run, given.ltm_dir))
    before = chosen(found.result, given)
    after = amendments.amend(found.path, found.result, before.nodeid, amendment)
    amended = read_run(found.path)
    refresh(amended)
    print("\n".join([one_line(before.nodeid), *_verdict_lines(before, after), _total_line(found, amended, after)]))
    return 0


def _verdict_lines(before: ScenarioResult, after: ScenarioResult) -> list[str]:
    lines = [f"  before: {_told(before.score, before.reason)}", f"  now:    {_told(after.score, after.reason)}"]
    if before.automatic is not None:
        lines.append(f"  automatic: {_told(before.automatic.score, before.automatic.reason)}")
    return lines


def _told(score: float | None, reason: str) -> str:
    return f"{'no score' if score is None else score_text(score)}: {shorten(one_line(reason), _REASON, mark='…')}"


def _total_line(before: LoadedRun, after: LoadedRun, row: ScenarioResult) -> str:
    """Return the total of the item's column, before and now."""
    was, now = (
        next(c for c in columns(run.result) if (c.agent, c.span_label) == (row.agent, row.span_label))
        for run in (before, after)
    )
    totals = [f"{column.points} of {column.full}" if column.out_of else "none" for column in (was, now)]
    amended = f"{counted(now.amended, 'verdict')} of {len(now.rows):,} amended by hand"
    return f"total of {one_line(now.label)}: {totals[0]} before, now {totals[1]} ({amended})"
