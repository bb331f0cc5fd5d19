"""`report RUN... -o FILE`, `report --trend PATH... -o FILE`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_ltm._cli.trend import gathered, nothing
from pytest_ltm._journal.run_file import LATEST, find_run
from pytest_ltm._results.run_loading import results_in
from pytest_ltm._storage.errors import ConfigurationError
from pytest_ltm._storage.secrets import redacted
from pytest_ltm.reporting.html.page import build_report
from pytest_ltm.reporting.html.trend import build_trend
from pytest_ltm.reporting.trend import series_of

if TYPE_CHECKING:
    from argparse import Namespace


def run(given: Namespace) -> int:
    """Write a report; 0, or 1 if exchanges are missing, as a journal is damaged. LtmError if a run cannot be read."""
    if given.trend:
        return _trend(given)
    folders = [find_run(text, given.ltm_dir) for text in given.runs or [LATEST]]
    build_report(folders, given.output)
    print(f"{given.output} ({given.output.stat().st_size / 1_000_000:.1f} MB)")
    damaged = [damage for folder in folders for part in results_in(folder)[0] if (damage := part.damage())]
    for damage in damaged:
        print(redacted(f"left out of the report: {damage}"), file=sys.stderr)
    return 1 if damaged else 0


def _trend(given: Namespace) -> int:
    found, notes = gathered(given.runs, given.ltm_dir, given.baselines)
    series = series_of(found)
    if not series:
        raise ConfigurationError(nothing(found, given.runs))
    build_trend(series, notes, given.output)
    print(given.output)
    return 0
