"""`ltm`: its commands, and what it says to what it does not understand."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.__main__ import run
from pytest_ltm._cli import commands, main
from pytest_ltm._cli.longmemeval_score import COMPLETE
from pytest_ltm._lab.judge_check import NAMES
from pytest_ltm._lab.locomo.dialogue import SESSIONS, TURNS
from pytest_ltm._model import suite as _suite
from pytest_ltm._model.score import SCORINGS
from pytest_ltm._results.gate.baseline import FOLDER
from pytest_ltm.agents._registry import describe_embedded, find

if TYPE_CHECKING:
    from pathlib import Path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    try:
        assert main(words) == 0
    except SystemExit as ended:
        assert ended.code == 0  # noqa: PT017 - help and versions end so
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "pytest_ltm", "list", "suites"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "standard 1  (" in done.stdout


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_gets_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "pytest_ltm", "list", "suites"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_names_every_command_with_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(said(capsys, "--help").split())
    for name, command in commands().items():
        assert f"{name} {command['help']}" in shown


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


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_every_command_has_a_help_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: ltm {command} " in capsys.readouterr().out


def test_the_versions_of_plugin_python_and_pytest_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    shown = said(capsys, "--version")
    assert shown == f"pytest-ltm {version('pytest-ltm')}, Python {python}, pytest {pytest.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_what_is_written_is_named_by_output_and_a_run_by_its_place(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, command, "--help")
    assert ("-o " in shown) == ("--output " in shown)
    assert "--out " not in shown
    assert "--run" not in shown


def test_the_arguments_say_what_the_code_knows() -> None:
    arguments = {name: said["arguments"] for name, said in commands().items()}
    assert ", ".join(NAMES) in arguments["judge-check"]["--limit"]["help"]
    assert f"default: {SESSIONS}," in arguments["locomo-generate"]["--sessions"]["help"]
    assert f"default: {TURNS})" in arguments["locomo-generate"]["--turns"]["help"]
    assert ", ".join(COMPLETE) in arguments["longmemeval-score"]["file"]["help"]
    assert tuple(arguments["agreement"]["--scoring"]["choices"]) == SCORINGS
    assert arguments["compare"]["--baselines"]["default"] == FOLDER


@pytest.mark.slow
def test_a_command_imports_no_other(tmp_path: Path) -> None:
    code = "import sys, pytest_ltm._cli as c; c.main(['list', 'agents']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = {name.rpartition(".")[2] for name in done.stderr.split() if name.startswith("pytest_ltm._cli.")}
    assert loaded == {"listing"}


def test_the_console_script_is_the_module() -> None:
    [script] = [point for point in entry_points(group="console_scripts") if point.name == "ltm"]
    assert script.load() is run


def test_suites_are_listed_with_their_entries(capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, "list", "suites")
    for name in _suite.built_in_names():
        assert f"{_suite.built_in(name).title}  (" in shown
        for entry in _suite.built_in(name).entries:
            of = "" if entry.scenario == entry.name else f" ({entry.scenario})"
            assert f"  {entry.name}{of}: " in shown
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


def test_a_word_with_which_commands_begin_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "--help"]) == 0
    named = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert named == ["ltm logs check", "ltm logs redact", "ltm logs split"]
    assert main(["logs"]) == 2
    assert [line.partition(":")[0] for line in capsys.readouterr().err.splitlines()] == named
    assert main(["logs", "chek", "x"]) == 2
    assert "there is no command 'logs chek'. Did you mean 'logs check'?" in capsys.readouterr().err
