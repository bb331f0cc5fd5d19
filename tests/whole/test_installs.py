"""The package as users install it: from the folder, editable, and from a wheel, each in an empty environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.nightly("minutes of downloads: `.ci/package` installs the wheel, too"),
]

PROJECT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "*.egg-info", "__pycache__", "build", "dist", "venv*"
)
FOREIGN = (
    "PYTHONPATH",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "VIRTUAL_ENV",
)
OFFLINE = (
    "Temporary failure in name resolution",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Network is unreachable",
)
"""Messages of pip when it cannot reach the package registry."""


def run(*words: object, cwd: Path) -> str:
    """Run a command and return its output; skip the test if the registry cannot be reached."""
    environment = {
        name: value for name, value in os.environ.items() if name not in FOREIGN
    }
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode and any(sign in done.stdout for sign in OFFLINE):
        pytest.skip("pip cannot reach the package registry")
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the project, so that no build writes into the checkout."""
    return Path(shutil.copytree(PROJECT, tmp_path / "source", ignore=LEFT_OUT))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an empty environment without pip, which takes seconds to unpack."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    return tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python: Path, *words: object) -> None:
    """Install into an environment without compiling: most modules are never imported."""
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--no-compile", *words, cwd=python.parent)


def check_that_it_runs(python: Path, folder: Path) -> None:
    """Run the built-in suite in an empty folder, then the listing commands."""
    folder.mkdir()
    shown = run(python, "-m", "pytest", "--ltm-agent=full", cwd=folder)
    assert re.search(r"^plugins: .*\bltm-", shown, re.MULTILINE)
    assert "long-term memory" in shown
    assert "failed" not in shown
    assert " passed" in shown
    assert "standard" in run(python, "-m", "pytest_ltm", "list", "suites", cwd=folder)
    assert "pytest-ltm " in run(python.with_name("ltm"), "--version", cwd=folder)
    heavy = "from pytest_ltm.language.overlap import rouge_l; print(rouge_l('the cats sat', 'a cat sits'))"
    assert run(python, "-c", heavy, cwd=folder).strip() != "0.0"


def files(folder: Path, prefix: str) -> set[str]:
    """Return the files below a folder, as paths with a prefix."""
    found = (
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    )
    return {f"{prefix}/{path}" for path in found}


def test_a_plain_install_into_an_empty_environment_runs_the_suite(
    source: Path, python: Path, tmp_path: Path
) -> None:
    install(python, source)
    shutil.rmtree(source)
    check_that_it_runs(python, tmp_path / "empty")


def test_an_editable_install_runs_the_suite_and_sees_edits(
    source: Path, python: Path, tmp_path: Path
) -> None:
    install(python, "-e", source)
    check_that_it_runs(python, tmp_path / "empty")
    (source / "scenarios" / "of_mine.ltm-suite.yml").write_text(
        "scenarios: [colours]\n"
    )
    assert "of_mine" in run(
        python, "-m", "pytest_ltm", "list", "suites", cwd=tmp_path / "empty"
    )


def test_an_sdist_makes_a_whole_wheel_that_runs_the_suite(
    source: Path, python: Path, tmp_path: Path
) -> None:
    # the wheel built from the sdist
    run(
        sys.executable,
        "-m",
        "build",
        "--outdir",
        tmp_path / "dist",
        source,
        cwd=tmp_path,
    )
    (wheel,), (sdist,) = (
        (tmp_path / "dist").glob("*.whl"),
        (tmp_path / "dist").glob("*.tar.gz"),
    )
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = files(source / "pytest_ltm", "pytest_ltm") | files(
        source / "scenarios", "pytest_ltm/scenarios"
    )
    assert (
        {"pytest_ltm/py.typed", "pytest_ltm/scenarios/standard.ltm-suite.yml"}
        <= wanted
        <= held
    )
    assert {name.partition("/")[0].partition("-")[0] for name in held} == {"pytest_ltm"}
    licences = {name.rpartition("licenses/")[2] for name in held if "licenses/" in name}
    assert licences == {"LICENSE", "pytest_ltm/_core/model/bpe_ranks/LICENSE-tiktoken"}
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {
        "README.md",
        "CHANGELOG.md",
        "scenarios/colours.py",
        "tests/whole/test_installs.py",
    } <= names
    install(python, wheel)
    check_that_it_runs(python, tmp_path / "empty")
