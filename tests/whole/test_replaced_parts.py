"""Parts of Python that an agent's module replaced are named when they end the session."""

from __future__ import annotations

import pytest
from conftest import Project

TALK = """
def test_cat(ltm):
    ltm.say("My cat is Kelvin.")
    assert "Kelvin" in ltm.ask("Who is my cat?")
"""
BOT = """
import builtins, json, os, threading

def refuse(*_, **__):
    raise RuntimeError("not today")

{part} = refuse

class Bot:
    def reply(self, message):
        return "Kelvin"
"""


@pytest.mark.parametrize(
    "part", ["json.loads", "os.fsync", "os.replace", "builtins.open", "os.open"]
)
def test_who_replaced_a_part_of_python_is_named_below_the_error(
    project: Project, part: str
) -> None:
    project.file(TALK)
    project.file(BOT.format(part=part), "bot.py")
    run = project.ltm(agent="bot:Bot", subprocess=True)
    text = run.stdout.str() + run.stderr.str()
    place = project.path / "bot.py"
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    assert f"ltm: {place}:4 replaces Python's own {part}" in text
    assert "--ltm-agent-process" in text


def test_it_is_named_while_plugins_are_configured_too(project: Project) -> None:
    project.file(TALK)
    project.file(BOT.format(part="json.dumps"), "bot.py")
    project.conftest(
        "import json, pytest\n\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_configure(): json.dumps([])\n"
    )
    run = project.ltm(agent="bot:Bot", subprocess=True)
    text = run.stdout.str() + run.stderr.str()
    assert "replaces Python's own json.dumps" in text


@pytest.mark.parametrize("part", ["json.loads", "os.fsync"])
def test_in_a_process_of_its_own_it_ends_no_session(
    project: Project, part: str
) -> None:
    project.file(TALK)
    project.file(BOT.format(part=part), "bot.py")
    run = project.ltm("--ltm-agent-process", agent="bot:Bot,echo", subprocess=True)
    assert run.parseoutcomes()["failed"] == 1  # that of echo
    assert run.ret in {1, 75}


def test_an_error_of_a_plugin_alone_names_nobody(project: Project) -> None:
    project.file(TALK)
    project.conftest("def pytest_runtestloop(): raise RuntimeError('not today')")
    run = project.ltm(subprocess=True)
    assert run.ret == pytest.ExitCode.INTERNAL_ERROR
    assert "stands in the place" not in run.stdout.str() + run.stderr.str()
