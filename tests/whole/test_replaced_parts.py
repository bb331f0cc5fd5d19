"""What an agent puts in the place of Python's own functions is called by the agent, and ends nobody else's run."""

from __future__ import annotations

import pytest
from conftest import Project

TALK = """
def test_cat(ltm):
    ltm.say("My cat is Kelvin.")
    assert "Kelvin" in ltm.ask("Who is my cat?")
"""
PARTS = """
import builtins, json, os, tempfile, threading, time

def refuse(*_, **__):
    raise RuntimeError("not today")

def replace_parts():
    {parts}
"""
AT_IMPORT = """
replace_parts()

class Bot:
    def reply(self, message):
        return "Kelvin"
"""
IN_REPLY = """
class Bot:
    def reply(self, message):
        replace_parts()
        return "Kelvin"
"""
AWAITED = """
class Bot:
    async def reply(self, message):
        replace_parts()
        return "Kelvin"
"""
FUNCTIONS = [
    *("json.dumps", "json.loads", "os.fsync", "os.replace", "os.open", "os.stat"),
    *("builtins.open", "builtins.isinstance", "time.time", "os.getcwd"),
    *("threading.Thread.start", "threading.Thread", "tempfile.mkdtemp"),
]


def replaced(*parts: str) -> str:
    return PARTS.format(parts="\n    ".join(f"{part} = refuse" for part in parts))


@pytest.mark.parametrize("options", [(), ("--ltm-concurrency=2",), ("-n2",)], ids=str)
@pytest.mark.parametrize("when", [AT_IMPORT, IN_REPLY], ids=["import", "reply"])
def test_all_agents_go_on_where_one_replaces_functions(
    project: Project, when: str, options: tuple[str, ...]
) -> None:
    project.file(TALK)
    project.file(replaced(*FUNCTIONS) + when, "bot.py")
    run = project.ltm(*options, agent="bot:Bot,full", subprocess=True)
    assert run.ret == 0, run.stdout.str() + run.stderr.str()
    assert run.parseoutcomes()["passed"] == 2


@pytest.mark.parametrize("options", [(), ("--ltm-concurrency=2",), ("-n2",)], ids=str)
def test_a_loop_that_is_turned_within_the_agents_call_fails_that_agent_alone(
    project: Project, options: tuple[str, ...]
) -> None:
    project.file(TALK)
    project.file(replaced(*FUNCTIONS) + AWAITED, "bot.py")
    run = project.ltm(*options, agent="bot:Bot,full", subprocess=True)
    assert run.parseoutcomes() in ({"passed": 2}, {"passed": 1, "errors": 1})
    assert run.ret in {0, 75}


@pytest.mark.slow
@pytest.mark.parametrize("when", [AT_IMPORT, IN_REPLY], ids=["import", "reply"])
@pytest.mark.parametrize("part", FUNCTIONS)
def test_each_is_kept_by_itself(project: Project, part: str, when: str) -> None:
    project.file(TALK)
    project.file(replaced(part) + when, "bot.py")
    run = project.ltm(agent="bot:Bot,full", subprocess=True)
    assert run.ret == 0, run.stdout.str() + run.stderr.str()


def test_a_deleted_function_is_put_back(project: Project) -> None:
    project.file(TALK)
    project.file(
        "import json, os\ndel json.dumps, os.fsync\n" + AT_IMPORT[17:], "bot.py"
    )
    assert project.ltm(agent="bot:Bot", subprocess=True).ret == 0


@pytest.mark.parametrize("method", ["def", "async def"])
def test_the_agent_calls_what_it_has_put_there(project: Project, method: str) -> None:
    project.file(TALK)
    project.file(
        f"""
import contextlib, glob, json, os, threading

original = json.dumps
json.dumps = lambda value: original({{"mine": value}})
os.scandir = lambda path: contextlib.nullcontext(())  # for the library's glob, too

class Bot:
    {method} reply(self, message):
        found = []
        thread = threading.Thread(target=lambda: found.append(json.dumps(2)))
        thread.start()
        thread.join()
        assert found == ['{{"mine": 2}}']
        assert json.dumps(1) == '{{"mine": 1}}'
        assert glob.glob("*") == []
        return "Kelvin"
""",
        "bot.py",
    )
    run = project.ltm(agent="bot:Bot", subprocess=True)
    assert run.ret == 0, run.stdout.str() + run.stderr.str()


def test_a_body_sees_what_its_own_fixtures_have_patched(project: Project) -> None:
    project.file(
        """
import time
import pytest

@pytest.fixture
def stopped(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 5.0)

def test_cat(ltm, stopped):
    ltm.say("My cat is Kelvin.")
    assert time.time() == 5.0
    assert "Kelvin" in ltm.ask("Who is my cat?")
    assert time.time() == 5.0

def test_time_goes_on(ltm):
    ltm.say("My cat is Kelvin.")
    assert "Kelvin" in ltm.ask("Is my cat Kelvin?")
    assert time.time() > 5.0
"""
    )
    project.file(AT_IMPORT.replace("replace_parts()", ""), "bot.py")
    run = project.ltm(agent="bot:Bot", subprocess=True)
    assert run.ret == 0, run.stdout.str() + run.stderr.str()


@pytest.mark.parametrize("part", ["json.loads", "os.fsync"])
def test_in_a_process_of_its_own_it_ends_its_conversations_only(
    project: Project, part: str
) -> None:
    project.file(TALK)
    project.file(replaced(part) + AT_IMPORT, "bot.py")
    run = project.ltm("--ltm-agent-process", agent="bot:Bot,echo", subprocess=True)
    assert run.parseoutcomes()["failed"] == 1  # that of echo
    assert run.ret in {1, 75}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["os", "threading", "re", "logging", "json"])
def test_all_functions_of_a_module_may_be_replaced(
    project: Project, module: str
) -> None:
    project.file(TALK)
    project.file(
        f"""
import {module} as module
from types import BuiltinFunctionType, FunctionType

def refuse(*_, **__):
    raise RuntimeError("not today")

class Bot:
    def reply(self, message):
        for name, value in list(vars(module).items()):
            if type(value) in (BuiltinFunctionType, FunctionType):
                setattr(module, name, refuse)
        return "Kelvin"
""",
        "bot.py",
    )
    run = project.ltm(agent="bot:Bot,full", subprocess=True)
    assert run.ret == 0, run.stdout.str() + run.stderr.str()
