from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from pytest_ltm._cli import USAGE, main

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = ["ltm_agent.py", "test_ltm_appointment.py", ".github/workflows/ltm.yml", ".gitignore"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def init(*words: str) -> int:
    return main(["init", "--no-play", *words])


def workflow(root: Path) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((root / ".github/workflows/ltm.yml").read_text())["jobs"]["ltm"]
    return job


def commands(root: Path) -> list[str]:
    return [step["run"] for step in workflow(root)["steps"] if "run" in step]


@pytest.mark.slow
@pytest.mark.parametrize("library", ["python", "command"])
def test_it_ends_with_a_baseline_against_which_its_workflow_is_green(folder: Path, library: str) -> None:
    begun = subprocess.run([sys.executable, "-m", "pytest_ltm", "init", f"--from={library}"], check=False)
    assert begun.returncode == 0
    assert (folder / "ltm_baselines/main.json").is_file()
    ran = subprocess.run(
        f"{sys.executable} -m {commands(folder)[-1]}", shell=True, check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0
    assert "gate: passed" in ran.stdout


@pytest.mark.slow
def test_the_workflow_writes_the_summary_of_its_step_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["init"]) == 0
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    subprocess.run(f"{sys.executable} -m {commands(folder)[-1]}", shell=True, check=False, capture_output=True)
    assert (folder / "summary.md").read_text().count("## Long-term memory") == 1


@pytest.mark.parametrize(
    ("path", "source", "agent", "seen"),
    [
        ("bot.py", "class Bot:\n    def reply(self, message): ...", "bot:Bot", "a class with reply(message): bot:Bot"),
        (
            "src/pkg/bot.py", "from langgraph.graph import StateGraph\ngraph = StateGraph(int).compile()", "ltm_agent",
            "found a bot made with LangGraph: pkg.bot.graph",
        ),
        ("a.py", "from pydantic_ai import Agent\nsupport = Agent('x')", "ltm_agent", "with Pydantic AI: a.support"),
        ("a.py", "from agents import Agent\nbot = Agent('x')", "ltm_agent", "with the OpenAI Agents SDK: a.bot"),
        ("a.py", "import openai", "ltm_agent", "wrote a bot for the OpenAI library"),
        ("a.py", "import langchain_core", "ltm_agent", "found no bot of LangChain that is made when"),
        ("a.py", "import os", "ltm_agent", "found no agent and no library for bots"),
        ("a.py", "".join(f"class {name}:\n    def reply(self, m): ...\n" for name in "AB"), "ltm_agent", "found no"),
        ("a.py", "from openai import (", "ltm_agent", "found no agent"),
    ],
)  # fmt: skip
def test_it_sees_what_the_project_is_made_with(
    folder: Path, capsys: pytest.CaptureFixture[str], path: str, source: str, agent: str, seen: str
) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(source)
    assert init() == 0
    assert seen in capsys.readouterr().out
    assert commands(folder)[-1].startswith(f"pytest --ltm-agent={agent} --ltm-span=2k --ltm-compare=main")


def test_the_adapter_imports_the_bot_that_was_found(folder: Path) -> None:
    (folder / "bot.py").write_text("from langgraph.graph import StateGraph\napp = StateGraph(int).compile()\n")
    assert init() == 0
    assert "from bot import app as graph\n" in (folder / "ltm_agent.py").read_text()
    assert not (folder / "ltm_bot.py").exists()


def test_the_workflow_names_the_agent_there_is(folder: Path) -> None:
    assert init("--agent=cmd:python mybot.py") == 0
    assert not (folder / "ltm_agent.py").exists()
    assert commands(folder)[-1].startswith("pytest --ltm-agent='cmd:python mybot.py' --ltm-span=")


def test_the_workflow_belongs_to_the_root_of_the_repository(folder: Path) -> None:
    (folder.parent / ".git").mkdir()
    assert init() == 0
    assert workflow(folder.parent)["defaults"] == {"run": {"working-directory": "project"}}
    assert workflow(folder.parent)["steps"][-1]["with"]["path"] == "project/ltm.html"


def test_the_workflow_installs_what_the_project_needs(folder: Path) -> None:
    (folder / "requirements.txt").touch()
    assert init("--from=openai") == 0
    assert commands(folder)[0] == "pip install pytest-ltm -r requirements.txt"
    assert workflow(folder)["steps"][-2]["env"] == {"OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"}


def test_the_scenario_is_of_the_project(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "trip-planner"\n')
    assert init() == 0
    assert '"""A scenario of trip-planner: put in' in (folder / "test_ltm_appointment.py").read_text()


def test_no_file_is_overwritten_and_nothing_written_beside_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_ltm_appointment.py").write_text("mine")
    assert init() == USAGE
    told = capsys.readouterr().err
    assert "there already: test_ltm_appointment.py" in told
    assert told.endswith("name another folder: ltm init FOLDER\n")
    assert [path.name for path in folder.iterdir()] == ["test_ltm_appointment.py"]
    assert (folder / "test_ltm_appointment.py").read_text() == "mine"


@pytest.mark.parametrize("before", ["", "*.pyc\n", "*.pyc", ".ltm/\n"])
def test_gitignore_keeps_what_it_has_and_gets_each_line_once(folder: Path, before: str) -> None:
    (folder / ".gitignore").write_text(before)
    assert init() == 0
    after = (folder / ".gitignore").read_text()
    assert after.startswith(before)
    assert sorted(after.split()) == sorted({*before.split(), ".ltm/", "ltm.html"})


def test_another_folder_is_made_and_entered_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("new folder") == 0
    assert "cd 'new folder'" in capsys.readouterr().out
    assert all((folder / "new folder" / path).is_file() for path in WRITTEN)
