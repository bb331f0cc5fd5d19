"""The package in conftest_examples/own_package adds all that it says, by its entry point alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from _commands import ROOT

RECIPE = ROOT / "conftest_examples" / "own_package"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with its metadata, as an editable installation has them."""
    folder = tmp_path_factory.mktemp("package") / "own_package"
    shutil.copytree(RECIPE, folder)
    metadata = [sys.executable, "-c", "import setuptools; setuptools.setup()"]
    subprocess.run([*metadata, "-q", "egg_info"], cwd=folder, check=True)
    return folder


def said(package: Path, *words: str, status: int = 0) -> str:
    """Run a module of Python beside the package; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_agent_plays_its_data_set_with_its_figure_in_the_table(
    package: Path,
) -> None:
    words = ("--ltm-agent=last:3,echo", "--ltm-suite=diary?data=ann.json")
    text = said(package, "pytest", "-p", "no:cacheprovider", *words, status=1)

    assert "long replies" in text
    assert "2 passed" in text
    exported = said(package, "pytest_ltm", "export", "latest", "--to=diary")
    assert exported == "ltm-diary\n"
    assert (package / "ltm-diary").read_text().startswith("last_3: ")


@pytest.mark.slow
def test_its_command_and_its_kind_are_those_of_ltm(package: Path) -> None:
    assert "planted two pear trees" in said(package, "pytest_ltm", "diary", "ann.json")
    assert "last:3" in said(package, "pytest_ltm", "list", "agents")
    assert "print the days of a diary" in said(
        package, "pytest_ltm", "list", "commands"
    )
    assert "diary?data=FILE" in said(package, "pytest_ltm", "list", "suites")


@pytest.mark.slow
def test_a_run_can_leave_it_out(package: Path) -> None:
    without = (
        "-p",
        "no:ltm-feature-diary",
        "--ltm-agent=last:3",
        "--ltm-suite=none",
        ".",
    )
    text = said(package, "pytest", *without, status=4)
    assert text == ""
