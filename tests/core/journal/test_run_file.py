"""`run.json`, and the resolution of run names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm._core.journal.run_file import (
    RunFile,
    find_run,
    newest_first,
    read_run_file,
    write_run_file,
)
from pytest_ltm._core.storage.errors import ConfigurationError

RUN = RunFile(
    run="r1",
    options={"ltm_agent": ["full"], "ltm": True, "ltm_span": "2k"},
    paths=("tests",),
    folder=".",
    settings={"seed": 0},
    versions={"pytest": "9"},
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_run_file(tmp_path, RUN)
    assert read_run_file(tmp_path) == RUN


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "another"}, "not a run file that this version can resume"),
        ({"paths": "tests"}, "paths is 'tests', not a list"),
        ({"paths": [1]}, "options and paths must be texts"),
        ({"options": {"ltm_span": {"a": 1}}}, "options and paths must be texts"),
        ({"options": {"ltm_span": False}}, "options and paths must be texts"),
        ({"folder": None}, "folder is None, not a str"),
    ],
)
def test_what_is_wrong_with_it_is_said(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    write_run_file(tmp_path, RUN)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ConfigurationError, match=says):
        read_run_file(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "null"])
def test_what_is_no_run_file_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"run\.json"):
        read_run_file(tmp_path)


def test_a_run_is_found_by_latest_by_its_id_and_by_its_folder(tmp_path: Path) -> None:
    for name in ("r1", "r2"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        write_run_file(tmp_path / "runs" / name, RUN)
    (tmp_path / "latest").write_text("r2\n")
    found = {
        said: find_run(said, tmp_path, tmp_path).name
        for said in ("latest", "r1", "runs/r1")
    }
    assert found == {"latest": "r2", "r1": "r1", "runs/r1": "r1"}


def test_the_latest_run_of_a_folder_above_is_named_and_not_used(
    tmp_path: Path,
) -> None:
    (tmp_path / ".ltm").mkdir()
    (tmp_path / ".ltm" / "latest").write_text("r1\n")
    with pytest.raises(ConfigurationError) as caught:
        find_run("latest", tmp_path / "src" / "tests" / ".ltm")
    assert str(caught.value).endswith(
        f". There is one in {tmp_path / '.ltm'}: name it with --ltm-dir"
    )


def test_a_run_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there are no runs in"):
        find_run("r1", tmp_path, tmp_path)
    with pytest.raises(ConfigurationError, match="there is no latest run"):
        find_run("latest", tmp_path, tmp_path)
    for number in range(7):
        (tmp_path / "runs" / f"run-{number}").mkdir(parents=True)
    with pytest.raises(
        ConfigurationError,
        match=r"Did you mean 'run-1'\? Runs: latest, run-6, .* \.\.\.",
    ):
        find_run("run_1", tmp_path, tmp_path)
    write_run_file(tmp_path, RUN)
    (tmp_path / "latest").write_text("../latest/..\n")
    with pytest.raises(ConfigurationError, match=r"there is no run '\.\./latest/\.\.'"):
        find_run("latest", tmp_path, tmp_path)


def test_runs_are_listed_by_the_time_at_which_they_were_begun(tmp_path: Path) -> None:
    begun = {
        "20260105-101500-ffff": 50,
        "20260105-101500-0000": 60,
        "zebra": 40,
        "aardvark": 1767608200,
    }
    for name, at in begun.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        write_run_file(tmp_path / "runs" / name, RUN)
        os.utime(tmp_path / "runs" / name / "run.json", (at, at))
    listed = ["aardvark", "20260105-101500-0000", "20260105-101500-ffff", "zebra"]
    assert [path.name for path in newest_first(tmp_path)] == listed
    with pytest.raises(ConfigurationError, match=f"Runs: latest, {', '.join(listed)}"):
        find_run("other", tmp_path, tmp_path)
    assert newest_first(tmp_path / "nowhere") == []
