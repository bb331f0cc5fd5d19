"""Agents that cannot be interrupted, fork, or raise unusual exceptions: the run ends or continues in order."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.api.storage import AgentFault, Appender, DiskFault

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

needs_alarm = pytest.mark.skipif(
    sys.platform == "win32", reason="nothing can be interrupted there"
)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
TALK = (
    "def test_a(ltm):\n    ltm.say('one')\n    ltm.say('two')\n    ltm.ask('three?')\n"
)
HANGS = """
from pytest_ltm._core.calls import time_limits
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
def test_an_agent_that_ignores_interruptions_ends_the_process_with_the_stacks(
    project: Project, where: str
) -> None:
    project.file(f"WHERE = '{where}'\n{HANGS}", "bots.py")
    project.file(TALK)

    done = project.ltm("--ltm-reply-timeout=0.3", agent="bots:Bot", subprocess=True)

    assert done.ret == 75
    done.stderr.fnmatch_lines(
        ["ltm: the running code ignores all interruptions, *", "resume with: pytest *"]
    )
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
    """Returns twice, in parent and child."""

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
    with pytest.raises(AgentFault, match="the agent forked") as caught:
        speaker.ask("b")
    assert caught.value.fatal
    assert speaker.ask("c").text == "c"

    assert speaker.ask("fork").text == "fork"
    assert "the agent forked" in str(speaker.close())


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


LEAVES = """
import os, shutil, threading
class Bot:
    stateless = True
    def reply(self, message):
        if message == "two":
            ACT()
        return "all right"
"""


def test_a_thread_that_an_agent_leaves_is_named_and_the_process_ends(
    project: Project,
) -> None:
    project.conftest("from pytest_ltm.modes import signals\nsignals.LINGERS = 0.1\n")
    act = "threading.Thread(target=threading.Event().wait, name='left over').start()"
    project.file(LEAVES.replace("ACT()", act), "bots.py")
    project.file(TALK)
    done = project.ltm(agent="bots:Bot", subprocess=True)
    assert done.ret == 0
    done.assert_outcomes(passed=1)
    done.stderr.fnmatch_lines(
        [
            "ltm: threads of agents have not ended * after pytest: left over. This process ends now"
        ]
    )


@pytest.mark.parametrize(
    "act",
    ["os._exit(0)", "threading.Thread(target=lambda: os._exit(0)).start(); wait()"],
)
def test_an_agent_that_ends_the_process_is_never_green(
    project: Project, act: str
) -> None:
    bots = LEAVES.replace("ACT()", act) + "def wait(): threading.Event().wait()\n"
    project.file(bots, "bots.py")
    project.file(TALK)
    done = project.ltm(agent="bots:Bot", subprocess=True)
    assert done.ret == 75
    said = str(done.stderr)
    assert (
        "os._exit(0) was called, so this process ends in the middle of the run. --ltm-agent-process gives"
        in said
    )
    assert "resume with: pytest --ltm-resume=" in said


@needs_fork
def test_a_copy_of_the_process_may_end_as_it_likes(project: Project) -> None:
    act = "(child := os.fork()) or os._exit(3); assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3"
    project.file(LEAVES.replace("ACT()", act), "bots.py")
    project.file(TALK)
    assert project.ltm(agent="bots:Bot", subprocess=True).ret == 0


@pytest.mark.skipif(
    sys.platform == "win32", reason="what is open cannot be deleted there"
)
@pytest.mark.parametrize(
    ("deleted", "said"),
    [
        (".ltm", "* was deleted: there are no results, and nothing to resume"),
        ("../*/.ltm/runs/*/bots_Bot~300~0", "*journal.jsonl: it was deleted*"),
    ],
)
def test_a_run_whose_folder_is_deleted_sends_no_more_and_ends_with_75(
    project: Project, deleted: str, said: str
) -> None:
    note = "with open('heard.txt', 'a') as file: file.write('x')"
    act = f"import glob; exec({note!r}); [shutil.rmtree(one) for one in glob.glob({deleted!r})]"
    project.file(
        LEAVES.replace('if message == "two":\n            ACT()', act), "bots.py"
    )
    project.file(TALK)
    done = project.ltm("--ltm-no-probe", agent="bots:Bot")
    assert done.ret == 75
    done.stdout.fnmatch_lines([said])
    done.stdout.fnmatch_lines(
        ["*Nothing more is sent; its folder is gone, with all that was recorded there*"]
    )
    assert (project.path / "heard.txt").read_text() == "x"


def test_folders_of_runs_that_never_began_are_swept(project: Project) -> None:
    project.file(TALK)
    runs = project.path / ".ltm" / "runs"
    for name, content in {
        "killed": ".lock",
        "begun": "run.json",
        "young": ".lock",
    }.items():
        (runs / name).mkdir(parents=True)
        (runs / name / content).touch()
    for name in ("killed", "begun"):
        os.utime(runs / name, (0, 0))
    project.ltm()
    assert {path.name for path in runs.iterdir()} >= {"begun", "young"}
    assert not (runs / "killed").exists()
