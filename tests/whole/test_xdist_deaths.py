"""When a worker dies, its conversation continues or each of its items is explained; nothing is doubled or lost."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from _pytest.pytester import RunResult
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

pytest.importorskip("xdist")

UNMEASURABLE = 75
BOTS = """
import json
import os
import signal
from pathlib import Path
from ticks import tick

DIED = Path(__file__).with_name("died")

def reply(message):
    tick(message)
    if message.startswith("die once") and not DIED.exists():
        DIED.touch()
        os.kill(os.getpid(), signal.SIGKILL) if hasattr(signal, "SIGKILL") else os._exit(9)
    if message.startswith("die always"):
        os._exit(3)
    return f"re: {message}"

class Bot:
    stateless = True
    def reply(self, message): return reply(message)

class Forgets:
    def reply(self, message): return reply(message)

class Remembers:
    def __init__(self): self.heard = []
    def reply(self, message):
        self.heard.append(message)
        return f"{len(self.heard)}: {reply(message)}"
    def save(self): return json.dumps(self.heard).encode()
    def load(self, state): self.heard = json.loads(state)
"""
SUITE = """
import os
from pathlib import Path

def talk(ltm, name, word=""):
    ltm.say(f"{name} one")
    ltm.wait(span=0.3)
    ltm.say(f"{word}{name} two")
    ltm.wait(span=0.6)
    assert ltm.ask(f"{name} three?")

def test_a(ltm): talk(ltm, "A")

def test_b(ltm):
    ltm.say("B one")
    assert ltm.ask("B two?")

def test_c(ltm): talk(ltm, "C", "DIE")

def test_d(ltm): talk(ltm, "D")
"""


def play(
    project: Project,
    word: str,
    *options: str,
    agent: str = "x=bots:Bot",
    span: str = "300",
) -> RunResult:
    project.file(BOTS, "bots.py")
    project.file(SUITE.replace("DIE", word))
    return project.ltm("--junitxml=junit.xml", "-v", *options, agent=agent, span=span)


def rows(project: Project) -> dict[str, tuple[str, str]]:
    """Return kind and message of each test case; no case may occur twice."""
    found = {}
    for case in ET.parse(project.path / "junit.xml").iter("testcase"):
        said = [child for child in case if child.tag in {"failure", "error", "skipped"}]
        name = str(case.get("name"))
        assert name not in found
        found[name] = (
            (said[0].tag, str(said[0].get("message"))) if said else ("passed", "")
        )
    return found


def files(project: Project) -> dict[str, bytes]:
    """Return journals and results of the only run, and remove the run."""
    (folder,) = (project.path / ".ltm" / "runs").iterdir()
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.name in {"journal.jsonl", "results.json"}
    }
    folder.rename(project.path / folder.name)
    return found


def results(project: Project, folder: str) -> dict[str, Any]:
    (path,) = (project.path / ".ltm" / "runs").glob(f"*/{folder}/results.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.nightly(
    "a run on workers for each moment: each has its turn within days", every=3
)
@pytest.mark.parametrize("bot", ["Bot", "Remembers"])
def test_the_result_is_that_of_an_undisturbed_run(project: Project, bot: str) -> None:
    agents = f"x=bots:{bot},echo"
    (project.path / "died").touch()
    play(project, "die once ", "-n1", agent=agents)
    asked, calm = project.ticks, (rows(project), files(project))
    (project.path / "ticks.txt").unlink()
    (project.path / "died").unlink()

    result = play(project, "die once ", "-n1", agent=agents)

    assert (rows(project), files(project)) == calm
    assert sorted(project.ticks) == sorted([*asked, "die once C two"])
    assert len(calm[0]) == 8
    result.assert_outcomes(passed=8)
    result.stdout.re_match_lines(
        [
            r"ltm: x-300-0: worker gw0 died at message #\d+ of c/0; the conversation continues .*"
        ]
    )


def test_who_was_speaking_is_blamed_and_the_rest_is_not_reached(
    project: Project,
) -> None:
    result = play(project, "die always ", "-n2", agent="x=bots:Bot,echo")

    assert result.ret == UNMEASURABLE
    found = rows(project)
    assert {name for name, row in found.items() if row[0] == "passed"} == {
        "test_b[x-300-0-0]",
        *(f"test_{one}[echo-300-0-0]" for one in "abcd"),
    }
    assert found["test_c[x-300-0-0]"][0] == "error"
    assert re.search(
        r"worker gw\d died at message #\d+ of c/0, .* 2 workers died at this point",
        result.stdout.str(),
    )
    assert found["test_a[x-300-0-0]"][0] == found["test_d[x-300-0-0]"][0] == "skipped"
    assert "not reached: worker gw" in found["test_a[x-300-0-0]"][1]
    assert project.ticks.count("die always C two") == 2
    said = results(project, "x~300~0")
    assert [
        (row["scenario"], row["outcome"], row["cause"]) for row in said["scenarios"]
    ] == [
        ("a", "skipped", "not reached"),
        ("b", "passed", ""),
        ("c", "error", "agent"),
        ("d", "skipped", "not reached"),
    ]
    assert said["plan_fingerprint"].startswith("sha256:")
    assert said["exchanges"] > 0
    # their recorded messages count
    assert all(row["tokens"] > 0 for row in said["scenarios"])


def notes(result: RunResult) -> list[str]:
    """Return the notes below the table, each on one line."""
    text = re.sub(r"\n      +", " ", str(result.stdout))
    return [line for line in text.splitlines() if line.startswith("note: ")]


def test_why_a_conversation_was_given_up_is_told_by_the_example_that_spoke(
    project: Project,
) -> None:
    result = play(project, "die always ", "-n1")

    (note,) = notes(result)
    assert re.fullmatch(
        r"note: x at 300: the conversation ended early: worker gw1 died at message #\d+ of c/0",
        note,
    )
    why = [
        line
        for line in re.sub(r"\n      +", " ", str(result.stdout)).splitlines()
        if line.startswith("  ")
    ]
    lost = [line for line in why if "worker gw" in line]
    assert len(lost) == 2
    assert "2 workers died at this point (x at 300: c)" in lost[1]
    assert lost[0].startswith("  2 not reached: worker gw1 died at message #")
    assert lost[0].endswith("of c/0, and the conversation is given up (x at 300: a, d)")


def test_a_conversation_that_goes_on_has_one_note_however_many_workers_it_takes(
    project: Project,
) -> None:
    project.file(BOTS, "bots.py")
    project.file(
        "import os\nfrom pathlib import Path\n"
        "def fall(name):\n"
        "    if not Path(name).exists():\n        Path(name).touch()\n        os._exit(1)\n"
        "def test_a(ltm):\n    ltm.say('A')\n    fall('one')\n    ltm.say('B')\n    fall('two')\n    ltm.ask('C?')\n"
    )

    result = project.ltm("-n1", agent="x=bots:Bot")

    result.assert_outcomes(passed=1)
    (note,) = notes(result)
    death = "worker gw1 died after message #2 of a/0"
    assert (
        note
        == f"note: x-300-0: 2 workers died, the last time {death}; the conversation continued where it stopped"
    )


def test_a_complete_conversation_whose_workers_die_behind_it_is_told_of(
    project: Project,
) -> None:
    project.conftest(
        "import os, pytest\n"
        "@pytest.hookimpl(wrapper=True)\n"
        "def pytest_sessionstart(session):\n"
        "    workers = [one for one in session.config.pluginmanager.get_plugins() if hasattr(one, 'sendevent')]\n"
        "    for worker in workers:\n"
        "        worker.sendevent = dies_behind(worker.sendevent)\n"
        "    yield\n"
        "def dies_behind(send):\n"
        "    def sendevent(name, **given):\n"
        "        if given.get('kind') == 'over':\n"
        "            os._exit(1)\n"
        "        send(name, **given)\n"
        "    return sendevent\n"
    )
    project.file("def test_a(ltm):\n    ltm.say('A')\n    assert ltm.ask('B?')\n")

    result = project.ltm("-n1", agent="echo")

    result.assert_outcomes(passed=1)
    (note,) = notes(result)
    death = "worker gw1 died after message #2 of a/0"
    assert (
        note
        == f"note: echo-300-0: {death}, and the conversation is given up: 2 workers died at this point"
    )


FILLED = """
import os
class Bot:
    stateless = True
    def reply(self, message):
        if WHEN:
            os._exit(1)
        return "all right"
"""


@pytest.mark.nightly(
    "a run on workers for each moment: each has its turn within days", every=3
)
@pytest.mark.parametrize(
    ("when", "where"),
    [
        (
            "message.startswith('Here is a quiz')",
            r"at message #\d+, which belongs to no example",
        ),
        ("'A one' in message", "at .*of a/0"),
    ],
)
def test_a_conversation_that_kills_its_workers_between_two_examples_is_an_error_too(
    project: Project, when: str, where: str
) -> None:
    project.file(FILLED.replace("WHEN", when), "fallen.py")
    result = play(project, "", "-n1", "--ltm-filler=trivia", agent="x=fallen:Bot")

    assert result.ret == UNMEASURABLE
    found = rows(project)
    assert found["test_a[x-300-0-0]"][0] == "error"
    assert {found[f"test_{one}[x-300-0-0]"][0] for one in "cd"} == {"skipped"}
    assert re.search(
        f"ltm: x-300-0: worker gw1 died {where}, and the conversation is given up",
        result.stdout.str(),
    )


def test_the_number_of_tries_is_an_option(project: Project) -> None:
    result = play(project, "die always ", "-n1", "--ltm-worker-tries=1")

    assert (result.ret, project.ticks.count("die always C two")) == (UNMEASURABLE, 1)


def test_an_agent_that_cannot_be_put_back_is_not_asked_again(project: Project) -> None:
    result = play(project, "die once ", "-n1", agent="x=bots:Forgets")

    assert result.ret == UNMEASURABLE
    assert {name: row[0] for name, row in rows(project).items()} == {
        "test_a[x-300-0-0]": "skipped",
        "test_b[x-300-0-0]": "passed",
        "test_c[x-300-0-0]": "error",
        "test_d[x-300-0-0]": "skipped",
    }
    assert project.ticks.count("A one") == project.ticks.count("die once C two") == 1
    assert "the agent cannot be restored to where it was" in result.stdout.str()


def test_a_test_that_ends_the_process_is_blamed_itself(project: Project) -> None:
    project.file(
        "import os\ndef test_a(ltm):\n    ltm.say('one')\n    ltm.wait(span=0.9)\n    ltm.ask('two?')\n"
        "def test_b(ltm):\n    ltm.say('b')\n    os._exit(1)\n"
    )

    result = project.ltm("-n1", "--junitxml=junit.xml")

    assert result.ret == UNMEASURABLE
    found = rows(project)
    assert [found[f"test_{one}[echo-300-0-0]"][0] for one in "ab"] == [
        "skipped",
        "error",
    ]


def test_without_any_worker_left_what_was_not_played_is_told(project: Project) -> None:
    result = play(project, "die once ", "-n1", "--max-worker-restart=0", span="300,400")

    assert result.ret == UNMEASURABLE
    found = rows(project)
    assert len(found) == 8
    assert {row[0] for row in found.values()} == {"passed", "skipped"}
    assert "no worker was left to play it" in found["test_a[x-300-0-0]"][1]


def test_x_after_a_death_counts_each_failure_once(project: Project) -> None:
    project.file(BOTS, "bots.py")
    project.file(
        "def test_a(ltm):\n    ltm.say('A')\n    ltm.ask('A?')\n    assert False\n"
        "def test_b(ltm):\n    ltm.say('B')\n    ltm.ask('die once')\n    assert False\n"
        "def test_c(ltm):\n    ltm.say('C')\n    ltm.ask('C?')\n"
    )

    result = project.ltm("-n1", "--maxfail=3", agent="x=bots:Bot")

    result.assert_outcomes(failed=2, passed=1)


BIRTH = """
import os, signal
from pathlib import Path
import pytest

def strike(moment):
    if moment == MOMENT and "PYTEST_XDIST_WORKER" in os.environ:
        try:
            os.close(os.open(Path(__file__).with_name("struck"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os._exit(9)

def pytest_configure():
    strike("configured")
@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart():
    strike("started")
def pytest_collection_modifyitems():
    strike("collecting")
@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    strike("collected")
@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    strike("ready")
"""
SPAWN = """
import os, sys
from pathlib import Path
if any("exec(eval(" in word for word in getattr(sys, "orig_argv", ())):
    try:
        os.close(os.open(Path(__file__).with_name("struck"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        os._exit(9)
"""


@pytest.mark.nightly(
    "a run on workers for each moment: each has its turn within days", every=3
)
@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", ["spawned", "configured", "started", "collecting", "collected", "ready"]
)
def test_a_worker_that_dies_while_it_starts_is_replaced(
    project: Project, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    project.conftest(BIRTH.replace("MOMENT", repr(moment)))
    if moment == "spawned":
        project.file(SPAWN, "sitecustomize.py")
        paths = [str(project.path), *filter(None, [os.environ.get("PYTHONPATH")])]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))

    result = play(project, "", "-n2", agent="x=bots:Bot,y=bots:Bot,z=bots:Bot")

    assert (project.path / "struck").exists()
    assert result.ret == 0
    assert {row[0] for row in rows(project).values()} == {"passed"}
    assert len(rows(project)) == 12
