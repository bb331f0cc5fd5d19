"""The package in conftest_examples/own_package adds everything it promises, through its entry point alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from _commands import ROOT
from json_server import Answer, Post, serving

RECIPE = ROOT / "conftest_examples" / "own_package"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with its metadata, as in an editable installation."""
    folder = tmp_path_factory.mktemp("package") / "own_package"
    shutil.copytree(RECIPE, folder)
    metadata = [sys.executable, "-c", "import setuptools; setuptools.setup()"]
    subprocess.run([*metadata, "-q", "egg_info"], cwd=folder, check=True)
    return folder


def said(
    package: Path,
    *words: str,
    status: int = 0,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a Python module with the package installed; return its output, or its errors if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=package,
        env={
            **os.environ,
            "PYTHONPATH": str(package),
            "PYTEST_ADDOPTS": "",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status < 4 else done.stdout + done.stderr


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


def answer_listener(post: Post) -> Answer | dict[str, Any]:
    """Answer like the example's service, with a line that is right for no question and is no grade."""
    words = len(post.body["lines"])
    return {"line": "You never told me.", "read": words, "written": 3}


@pytest.mark.slow
def test_its_provider_is_asked_in_its_own_protocol(package: Path) -> None:
    with serving(answer_listener) as server:
        agent = f"--ltm-agent=listener:some-model@{server.url}?max_tokens=50"
        suite = "--ltm-suite=diary?data=ann.json"
        text = said(package, "pytest", agent, suite, status=1)
    assert "tokens read a reply" in text
    post = server.posts[-1]
    assert (post.path, post.body["listener"]) == ("/listen", "some-model")
    assert post.body["words"] == 50
    assert post.body["lines"][-1].startswith("user: ")
    assert "listener:MODEL@URL" in said(package, "pytest_ltm", "list", "agents")


@pytest.mark.slow
def test_its_provider_is_a_judge_that_is_asked_what_any_judge_is(package: Path) -> None:
    with serving(answer_listener) as server:
        judge = f"--ltm-judge=listener:some-model@{server.url}"
        words = ("--ltm-agent=echo", judge, "--ltm-suite=diary?data=ann.json")
        text = said(package, "pytest", *words, status=75)
    assert "the judge fails the canary 'wrong'" in text
    assert all("the cello" in post.body["lines"][-1] for post in server.posts)


@pytest.mark.slow
def test_its_provider_needs_its_key_before_anything_is_asked(package: Path) -> None:
    words = ("--ltm-agent=listener:some-model", "--ltm-suite=diary?data=ann.json")
    environment = {"LISTENER_KEY": "", "LISTENER_URL": ""}
    error = said(package, "pytest", *words, status=4, environment=environment)
    assert "the environment variable LISTENER_KEY is not set" in error


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
    assert "unknown agent 'last:3'" in text


@pytest.mark.slow
def test_ltm_can_leave_it_out(package: Path) -> None:
    """Without it, its command, data set, kind and exporter are gone; the name of an unknown feature is refused."""
    ltm = ("pytest_ltm", "-p", "no:ltm-feature-diary")
    assert "print the days of a diary" not in said(package, *ltm, "list", "commands")
    assert "diary?data=FILE" not in said(package, *ltm, "list", "suites")
    assert "last:3" not in said(package, *ltm, "list", "agents")
    for words in (("diary", "ann.json"), ("export", "latest", "--to=diary")):
        done = subprocess.run(
            [sys.executable, "-m", *ltm, *words],
            cwd=package,
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "'diary'" in done.stderr
    error = said(package, "pytest_ltm", "-pno:ltm-feature-dairy", "runs", status=2)
    assert error == ""


@pytest.mark.slow
def test_a_run_that_leaves_it_out_has_none_of_its_figures(package: Path) -> None:
    (package / "test_hat.py").write_text(
        "def test_hat(ltm):\n    ltm.say('My hat is red.')\n    ltm.check('asked', ltm.ask('Which colour?') != '')\n"
    )
    words = ("pytest", "--ltm-agent=echo", "--ltm-suite=none", "test_hat.py")

    assert "long replies" in said(package, *words)
    assert "long replies" not in said(package, *words, "-p", "no:ltm-feature-diary")
