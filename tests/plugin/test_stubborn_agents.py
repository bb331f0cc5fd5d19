"""Agents that cannot be interrupted, that fork, that raise what nobody raises: the run ends, or goes on, in order."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from run_folders import latest_run

from pytest_ltm._storage.disk import Appender
from pytest_ltm._storage.errors import AgentFault, DiskFault
from pytest_ltm.agents._caller import AgentCaller

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

needs_alarm = pytest.mark.skipif(sys.platform == "win32", reason="nothing can be interrupted there")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
TALK = "def test_a(ltm):\n    ltm.say('one')\n    ltm.say('two')\n    ltm.ask('three?')\n"
HANGS = """
from pytest_ltm._calls import time_limits
time_limits.PATIENCE = 0.1
time_limits.REPEAT = 0.05
def hang():
    while True:
        try:
            while True:
                pass
        except:
            pass
class Bot:
    stateless = True
    def __init__(self):
        if "init" in WHERE: hang()
    def reply(self, message):
        if "reply" in WHERE and message == "two": hang()
        return "all right"
    def close(self):
        if "close" in WHERE: hang()
"""


@needs_alarm
@pytest.mark.parametrize("where", ["init", "reply", "close"])
def test_an_agent_that_ignores_interruptions_ends_the_process_with_the_stacks(project: Project, where: str) -> None:
    project.file(f"WHERE = '{where}'\n{HANGS}", "bots.py")
    project.file(TALK)

    done = project.ltm("--ltm-reply-timeout=0.3", agent="bots:Bot", subprocess=True)

    assert done.ret == 75
    done.stderr.fnmatch_lines(["ltm: what runs goes on in spite of all interruptions, *", "resume with: pytest *"])
    run = latest_run(project.path)
    for text in (done.stderr.str(), (run / "hung.txt").read_text()):
        assert "in hang" in text
    journals = [path.read_text() for path in run.glob("*/journal.jsonl")]
    assert all(json.loads(line) for text in journals for line in text.splitlines())
    said = sum(text.count('"event":"reply"') for text in journals)
    assert said >= {"init": 0, "reply": 1, "close": 3}[where]


@needs_alarm
def test_making_an_agent_has_the_limit_of_a_reply(project: Project) -> None:
    project.file(
        "import time\nclass Bot:\n    def __init__(self): time.sleep(600)\n    def reply(self, m): return m\n",
        "bots.py",
    )
    project.file(TALK)

    done = project.ltm("--ltm-reply-timeout=0.3", agent="bots:Bot")

    assert done.ret == 75
    done.stdout.fnmatch_lines(["*agent 'bots:Bot' could not be made within 0.3 s*"])


@pytest.mark.parametrize("how", ["def", "async def"])
def test_generator_exit_is_a_fault(project: Project, how: str) -> None:
    project.file(f"{how} bot(message):\n    raise GeneratorExit\n", "bots.py")
    project.file(TALK)

    done = project.ltm(agent="bots:bot")

    assert done.ret == 75
    done.stdout.no_fnmatch_line("*INTERNALERROR*")


class Forks:
    """Comes back twice."""

    stateless = True

    def __init__(self) -> None:
        self.child = 0

    def reply(self, message: str) -> str:
        if message == "fork" and not (child := os.fork()):
            return "from the copy"
        if message == "fork":
            self.child = child
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 75
        return message


@needs_fork
def test_a_copy_that_comes_back_from_an_agent_ends_and_is_noticed() -> None:
    speaker = AgentCaller(Forks(), timeout=None)
    assert speaker.ask("fork").text == "fork"
    with pytest.raises(AgentFault, match="it has forked") as caught:
        speaker.ask("b")
    assert caught.value.fatal
    assert speaker.ask("c").text == "c"

    assert speaker.ask("fork").text == "fork"
    assert "it has forked" in str(speaker.close())


@needs_fork
def test_a_journal_is_written_by_the_process_that_opened_it(tmp_path: Path) -> None:
    file = Appender(tmp_path / "a", new=True)
    child = os.fork()
    if not child:
        try:
            file.append(b"twice")
        except DiskFault:
            os._exit(3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    file.append(b"once")
    file.close()
    assert (tmp_path / "a").read_bytes() == b"once"
