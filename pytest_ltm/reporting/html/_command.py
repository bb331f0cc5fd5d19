"""`python -m pytest_ltm report RUN... -o FILE`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm.reporting._run_folder import LATEST, find_run
from pytest_ltm.reporting.html._build import build_report

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Write a report; return 0. LtmError if a run cannot be found or read."""
    chosen = _parser().parse_args(argv)
    runs = [find_run(text, Path(chosen.ltm_dir)) for text in chosen.runs or [LATEST]]
    out = Path(chosen.out)
    build_report(runs, out)
    print(f"{out} ({out.stat().st_size / 1_000_000:.1f} MB)")  # noqa: T201 - a command speaks
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm report",
        description="Write one self-contained HTML file about one or many runs. It opens offline.",
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a run folder, a run id, or 'latest' (the default)")
    parser.add_argument("-o", "--out", default="ltm-report.html", metavar="FILE", help="default: ltm-report.html")
    parser.add_argument("--ltm-dir", default=".ltm", metavar="DIR", help="where run ids are looked up (default: .ltm)")
    return parser
