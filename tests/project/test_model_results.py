"""Recorded runs of real models: packed, rescored, and shown on their page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from alone import alone

from benchmarks.model_results import (
    PAGE,
    RECORDED,
    RecordedRun,
    pack_run,
    page_with,
    recorded_runs,
    table_lines,
)

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

TALK = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.check("knows it", "Kelvin" in ltm.ask("What is my cat called?"))
"""


@WHOLE_RUN
@pytest.mark.slow
def test_a_run_is_packed_without_what_only_resuming_needs_and_scored_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_it.py").write_text(TALK, encoding="utf-8")
    words = [
        "--ltm-agent=full",
        "--ltm-span=2k",
        "--ltm-suite=needle",
        "--ltm-price=full=0/0",
        "-q",
    ]
    played = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        env={**os.environ, **alone()},
    )
    assert played.returncode in {0, 1}, played.stdout
    [run] = (tmp_path / ".ltm" / "runs").iterdir()
    for archive in ("a.zip", "b.zip"):
        pack_run(run, tmp_path / archive)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    lines = list(
        table_lines([RecordedRun("a", "rules", "everything", "nothing")], tmp_path)
    )
    assert lines[2].startswith("| rules | everything | 2k | ")
    assert " of " in lines[2]
    assert len({line.count("|") for line in lines}) == 1


def test_the_page_takes_the_table_in_place_of_the_one_that_it_has() -> None:
    page = page_with(PAGE.read_text(encoding="utf-8"), ["| one |"])
    assert page_with(page, ["| one |"]) == page
    assert page.count("| one |") == 1
    assert "## Add a run" in page


def test_each_archive_is_listed_and_has_a_row() -> None:
    runs = recorded_runs()
    assert sorted(path.stem for path in RECORDED.glob("*.zip")) == sorted(
        run.run for run in runs
    )
    page = PAGE.read_text(encoding="utf-8")
    assert [
        run.run for run in runs if f"| {run.model} | {run.memory} |" not in page
    ] == []


@pytest.mark.slow
@pytest.mark.nightly("scores all recorded runs again")
@pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" in os.environ, reason="one process for each run is enough"
)
def test_the_page_has_what_the_recorded_runs_are_worth_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_with(text, list(table_lines(recorded_runs()))) == text, (
        "run python -m benchmarks model-results"
    )
