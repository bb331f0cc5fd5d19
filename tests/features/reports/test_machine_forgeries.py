"""The record alone reveals generated forgeries, except those that need rescoring; the intact run passes."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest
from recorded_bundles import BUNDLES, WHOLE

from benchmarks.machine_forgeries import MACHINE_FORGERIES
from pytest_ltm.api.storage import for_file
from pytest_ltm.commands.bundle import open_bundle
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.reports.summary import verdicts_csv
from pytest_ltm.reports.verification import find_discrepancies

BY_RECORD = ("journal", "summary", "plan", "definition", "torn", "mixed", "table")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    opened, _ = open_bundle(BUNDLES / WHOLE, tmp_path / "bundle", None)
    table = verdicts_csv(read_run(opened).result)
    (opened / "verdicts.csv").write_bytes(for_file(table))
    assert find_discrepancies(read_run(opened)) == []
    return opened


@pytest.mark.parametrize("kind", BY_RECORD)
def test_whatever_a_machine_changes_is_named(kind: str, run: Path) -> None:
    for seed in range(12):
        forged = run.parents[1] / "forged" / str(seed) / run.name
        shutil.copytree(run, forged)
        MACHINE_FORGERIES[kind](forged, Random(seed))
        assert find_discrepancies(read_run(forged)) != [], seed


def test_a_copied_folder_is_counted_once_and_named(run: Path) -> None:
    conversation = min(path.parent for path in run.glob("*/results.json"))
    rows = len(read_run(run).result.scenarios)
    shutil.copytree(conversation, run / f"{conversation.name}-copy")

    copied = read_run(run)

    assert len(copied.result.scenarios) == rows
    assert any("hold the same conversation" in note for note in copied.result.notices)
