"""`report RUN... -o FILE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._record.run_file import LATEST, find_run
from pytest_ltm.reporting.html.page import build_report

if TYPE_CHECKING:
    from argparse import Namespace


def run(given: Namespace) -> int:
    """Write a report; LtmError if a run cannot be found or read."""
    build_report([find_run(text, given.ltm_dir) for text in given.runs or [LATEST]], given.output)
    print(f"{given.output} ({given.output.stat().st_size / 1_000_000:.1f} MB)")
    return 0
