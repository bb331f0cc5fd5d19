"""`ltm`: its commands, and its messages about invalid input."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from pytest_ltm.__main__ import run
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.journal import run_file
from pytest_ltm.api.scenarios import suite as _suite
from pytest_ltm.commands import COMMANDS, GROUPS, main, make_parser
from pytest_ltm.commands.arguments import BASELINES, LATEST
from pytest_ltm.gate.baseline import FOLDER


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
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_help_names_every_command_under_its_heading(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = said(capsys, "--help")
    for heading, group in GROUPS.items():
        block = shown.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        for name, command in group.items():
            line = name.partition(" ")[2] or f"  {name:14}  {command.summary}\n"
            assert line in f"{block}\n"
    assert max(map(len, shown.splitlines())) < 80


def test_the_commands_for_data_are_told_apart_by_their_own_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = said(capsys, "data", "--help").splitlines()
    assert [line.split("  ")[1] for line in shown] == [
        name for name in COMMANDS if name.startswith("data ")
    ]
    assert max(map(len, shown)) < 80
    assert main(["data"]) == 2
    assert capsys.readouterr().err.splitlines() == shown


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == said(capsys, "--help")


def test_an_unknown_command_is_one_sentence_with_the_cure_and_status_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lst"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "no command 'lst'. Did you mean 'list'?" in shown.err


def test_an_unknown_list_is_one_sentence_with_the_cure_and_status_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list", "scenario"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "no list 'scenario'. Did you mean 'scenarios'?" in shown


def test_the_help_of_lists_names_those_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["list", "--help"])
    shown = capsys.readouterr().out
    assert "suites|scenarios|agents|commands" in shown
    assert "prompts" not in shown


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help_of_its_own(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--help"])
    assert ended.value.code == 0
    assert f"usage: ltm {command} " in capsys.readouterr().out


def test_the_versions_of_plugin_python_and_pytest_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    shown = said(capsys, "--version")
    assert (
        shown
        == f"pytest-ltm {version('pytest-ltm')}, Python {python}, pytest {pytest.__version__}\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_written_is_named_by_output_and_a_run_by_its_place(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, *command.split(), "--help")
    assert ("-o " in shown) == ("--output " in shown)
    assert "--out " not in shown
    assert "--run" not in shown


def test_the_defaults_are_those_of_the_rooms_below() -> None:
    assert (LATEST, BASELINES) == (run_file.LATEST, FOLDER)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_says_what_it_is(command: str) -> None:
    parser = make_parser(command)
    assert parser.description
    assert all(action.help or action.metavar for action in parser._actions)


@pytest.mark.slow
def test_help_imports_no_command(tmp_path: Path) -> None:
    code = (
        "import sys, pytest_ltm.commands as c\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    loaded = {name for name in done.stderr.split() if name.startswith("pytest_ltm.")}
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms == {"_core", "api", "commands"}
    assert not [name for name in loaded if name.startswith("pytest_ltm.commands.")]


@pytest.mark.slow
def test_a_command_imports_no_other(tmp_path: Path) -> None:
    code = "import sys, pytest_ltm.commands as c; c.main(['list', 'agents']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    loaded = {
        name.rpartition(".")[2]
        for name in done.stderr.split()
        if name.startswith("pytest_ltm.commands.")
    }
    assert loaded == {"listing"}


def test_the_console_script_is_the_module() -> None:
    [script] = [
        point for point in entry_points(group="console_scripts") if point.name == "ltm"
    ]
    assert script.load() is run


def test_suites_are_listed_with_their_entries(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = said(capsys, "list", "suites")
    for name in _suite.built_in_names():
        assert f"{_suite.built_in(name).title}  (" in shown
        for entry in _suite.built_in(name).entries:
            of = "" if entry.scenario == entry.name else f" ({entry.scenario})"
            assert f"  {entry.name}{of}: " in shown
    assert "colour_changes=3, 3 examples" in shown
    assert "locomo  (a data set: --ltm-suite='locomo?data=FILE&NAME=VALUE')" in shown


def test_scenarios_are_listed_with_skills_version_and_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = said(capsys, "list", "scenarios").splitlines()
    assert [line.partition(" ")[0] for line in lines[::2]] == list(
        _suite.scenario_names()
    )
    assert all("(skills " in line and "version " in line for line in lines[::2])
    assert all(line.startswith("  ") and line.endswith(".") for line in lines[1::2])


def test_agents_are_listed_with_specs_that_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = said(capsys, "list", "agents")
    for kind in agent_kinds().values():
        assert kind.example in shown
        assert kind.help in shown


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["data", "logs-chek", "x"], "data logs-check"),
        (["data", "convrt"], "data convert"),
        (["logs-check"], "data logs-check"),
        (["cheat"], "lab cheats"),
    ],
)
def test_a_misspelt_command_names_the_one_that_is_meant(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert f"Did you mean {meant!r}?" in capsys.readouterr().err
