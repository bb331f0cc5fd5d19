from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from pytest_ltm._cli import USAGE, main

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = ["ltm_agent.py", "test_ltm_appointment.py", ".github/workflows/ltm.yml", ".gitignore"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_what_it_writes_is_a_first_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    told = capsys.readouterr().out
    assert all((folder / path).is_file() and f"wrote {path}" in told for path in WRITTEN)
    command = next(line.split() for line in told.splitlines() if line.startswith("  pytest "))
    run = subprocess.run(
        [sys.executable, "-m", *command, "--ltm-suite=none", "test_ltm_appointment.py"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 passed" in run.stdout, run.stdout + run.stderr


def test_the_workflow_names_the_agent_there_is(folder: Path) -> None:
    assert main(["init", "--agent=mybot.core:Bot"]) == 0
    assert not (folder / "ltm_agent.py").exists()
    workflow = yaml.safe_load((folder / ".github/workflows/ltm.yml").read_text())
    run = [step["run"] for step in workflow["jobs"]["ltm"]["steps"] if "run" in step][-1]
    assert run.startswith("pytest --ltm-agent=mybot.core:Bot --ltm-span=")


def test_no_file_is_overwritten_and_nothing_written_beside_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_ltm_appointment.py").write_text("mine")
    assert main(["init"]) == USAGE
    told = capsys.readouterr().err
    assert "there already: test_ltm_appointment.py" in told
    assert told.endswith("name another folder: ltm init FOLDER\n")
    assert [path.name for path in folder.iterdir()] == ["test_ltm_appointment.py"]
    assert (folder / "test_ltm_appointment.py").read_text() == "mine"


@pytest.mark.parametrize("before", ["", "*.pyc\n", "*.pyc", ".ltm/\n"])
def test_gitignore_keeps_what_it_has_and_gets_each_line_once(folder: Path, before: str) -> None:
    (folder / ".gitignore").write_text(before)
    assert main(["init"]) == 0
    after = (folder / ".gitignore").read_text()
    assert after.startswith(before)
    assert sorted(after.split()) == sorted({*before.split(), ".ltm/", "ltm.html"})


def test_another_folder_is_made_and_entered_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "new folder"]) == 0
    assert "cd 'new folder'" in capsys.readouterr().out
    assert (folder / "new folder/ltm_agent.py").is_file()
