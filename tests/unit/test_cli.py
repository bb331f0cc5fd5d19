"""`python -m pytest_ltm`: its commands, and what it says to what it does not understand."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_ltm import _suite
from pytest_ltm._cli import COMMANDS, main
from pytest_ltm.agents._specs import describe_embedded, find


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "pytest_ltm", "list", "suites"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "standard  (" in done.stdout


def test_a_reader_that_has_seen_enough_gets_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "pytest_ltm", "list", "suites"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_names_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(said(capsys, "--help").split())
    for name, command in COMMANDS.items():
        assert f"{name} {command.help}" in shown


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == said(capsys, "--help")


def test_an_unknown_command_is_one_sentence_with_the_cure_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lst"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "no command 'lst'. Did you mean 'list'?" in shown.err


def test_an_unknown_list_is_one_sentence_with_the_cure_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "scenario"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "no list 'scenario'. Did you mean 'scenarios'?" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"python -m pytest_ltm {command}" in capsys.readouterr().out


def test_suites_are_listed_with_their_entries(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "list", "suites")
    for name in _suite.built_in_names():
        assert f"{name}  (" in shown
        for entry in _suite.built_in(name).entries:
            assert f"  {entry.name}: " in shown
    assert "colour_changes=3, 3 examples" in shown
    assert "locomo  (a data set: --ltm-data=FILE, or one made by locomo-generate)" in shown


def test_scenarios_are_listed_with_skills_version_and_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "list", "scenarios").splitlines()
    assert [line.partition(" ")[0] for line in lines[::2]] == list(_suite.scenario_names())
    assert all("(skills " in line and "version " in line for line in lines[::2])
    assert all(line.startswith("  ") and line.endswith(".") for line in lines[1::2])


def test_agents_are_listed_with_specs_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "list", "agents")
    for spec, sentence in describe_embedded():
        assert "RUN" in spec or find(spec).make() is not None
        assert spec in shown
        assert sentence in shown
