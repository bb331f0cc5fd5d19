"""Concurrent conversations: each has the same result as alone, and its state is its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.modes import concurrency

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly("whole runs: each test has its turn within days", every=4),
]

MANY = ("--ltm-trials=8", "--ltm-concurrency=8")
BOTS = """
import asyncio, logging, os, pathlib, threading, time, warnings

HERE = pathlib.Path(__file__).parent

class Bot:
    # Its replies depend on all that it has heard, and come in any order.
    def __init__(self):
        self.heard = []

    async def reply(self, message):
        with open(HERE / "heard.txt", "a", encoding="utf-8") as file:
            file.write(repr(message) + "\\n")
        await asyncio.sleep(hash(message) % 4 / 500)
        self.heard.append(message)
        return f"{len(self.heard)} {sum(map(len, self.heard))} {message[-20:]}"

class Saved(Bot):
    def save(self):
        return repr(self.heard).encode()

    def load(self, state):
        self.heard = eval(state)

class Says:
    def __init__(self, conversation_id):
        self.name = conversation_id[-1]

    def reply(self, message):
        time.sleep(0.002)
        print(f"printed by {self.name}")
        logging.getLogger("bot").warning("logged by %s", self.name)
        logging.getLogger("bot").info("whispered by %s", self.name)
        warnings.warn(f"warned by {self.name}")
        return message

class Main:
    main_thread = True

    def reply(self, message):
        assert threading.current_thread() is threading.main_thread()
        return message

class Once:
    one = None

    def __new__(cls):
        cls.one = cls.one or super().__new__(cls)
        return cls.one

    def reset(self): ...

    def reply(self, message):
        time.sleep(0.01)
        return message

class Shared:
    def __init__(self):
        self.now = []

    def reset(self): ...

    def reply(self, message):
        self.now.append(message)
        assert len(self.now) == 1
        time.sleep(0.002)
        self.now.clear()
        return message

shared = Shared()
"""
TALK = """
import pytest
from ticks import tick

def talk(ltm, name):
    ltm.say(f"{name} speaks")
    ltm.wait(span=0.5)
    assert ltm.ask(f"{name} asks")

def test_a(ltm): talk(ltm, "A")
def test_b(ltm): talk(ltm, "B")
"""


def journals(project: Project) -> dict[str, bytes]:
    return {
        path.parent.name: path.read_bytes()
        for path in latest_run(project.path).glob("*/journal.jsonl")
    }


def results(project: Project) -> dict[str, str]:
    return {
        path.parent.name: path.read_text()
        for path in latest_run(project.path).glob("*/results.json")
    }


@pytest.fixture
def talking(project: Project) -> Project:
    project.file(BOTS, "bots.py")
    project.file(TALK)
    return project


@pytest.mark.parametrize("span", ["300", "isolated"])
def test_journals_and_results_are_those_of_conversations_played_alone(
    talking: Project, span: str
) -> None:
    both = "bots:Bot,saved=bots:Saved"
    talking.ltm("--ltm-trials=4", agent=both, span=span).assert_outcomes(passed=16)
    alone, rows = journals(talking), results(talking)
    talking.ltm(
        "--ltm-trials=4", "--ltm-concurrency=8", agent=both, span=span
    ).assert_outcomes(passed=16)
    assert journals(talking) == alone
    assert results(talking) == rows


def test_what_an_agent_prints_logs_and_warns_of_is_its_own_items(
    talking: Project,
) -> None:
    talking.file(
        """
import pytest
def test_a(ltm, caplog, request):
    caplog.set_level("INFO")
    ltm.say("Hello")
    assert False
"""
    )
    result = talking.ltm(*MANY, "-rN", "--tb=short", agent="bots:Says")
    result.assert_outcomes(failed=8, warnings=16)
    parts = "\n".join(result.outlines).split("_____ test_a")[1:]
    assert len(parts) == 8
    for part in parts:
        trial = part.partition("-0]")[0][-1]
        for what in ("printed", "logged", "whispered"):
            assert f"{what} by {trial}" in part
            assert not any(
                f"{what} by {other}" in part
                for other in range(8)
                if str(other) != trial
            )


FIXTURES = """
import pytest
from ticks import tick

def scoped(scope):
    @pytest.fixture(scope=scope, name=scope)
    def fixture(request):
        tick("up", scope)
        yield f"{scope}'s"
        tick("down", scope)
    return fixture

session, package, module, function = map(scoped, ("session", "package", "module", "function"))
"""
USES = """
from ticks import tick

def test_it(ltm, session, package, module, function, tmp_path, capsys):
    print("body")
    ltm.say(f"{session} {package} {module} {function}")
    ltm.wait(span=0.3)
    ltm.ask("Well?")
    assert capsys.readouterr().out == "body\\n"
    tick("body")
"""


def test_wide_fixtures_live_until_the_last_item_of_any_conversation(
    talking: Project,
) -> None:
    talking.conftest(FIXTURES)
    talking.file(USES)
    talking.file(USES.replace("test_it", "test_other"), "test_other.py")
    talking.ltm(*MANY, agent="bots:Bot").assert_outcomes(passed=16)
    counts = Counter(talking.ticks)
    assert (
        counts["up session"]
        == counts["down session"]
        == counts["up package"]
        == counts["down package"]
        == 1
    )
    assert counts["up module"] == counts["down module"] == 2
    assert counts["up function"] == counts["down function"] == counts["body"] == 16
    assert talking.ticks[-1] == "down session"


def test_what_one_conversation_patches_no_other_sees(talking: Project) -> None:
    talking.file(
        """
import os
def test_a(ltm, monkeypatch):
    assert "PATCHED" not in os.environ
    monkeypatch.setenv("PATCHED", "yes")
    ltm.say("Hello")
    ltm.wait(span=0.3)
    ltm.ask("Well?")
    assert os.environ["PATCHED"] == "yes"
"""
    )
    talking.ltm(*MANY, agent="bots:Bot").assert_outcomes(passed=8)


def test_who_needs_the_main_thread_is_played_alone(talking: Project) -> None:
    agents = "bots:Bot,main=bots:Main,shared=bots:shared"
    talking.ltm(
        "--ltm-trials=3", "--ltm-concurrency=auto", agent=agents
    ).assert_outcomes(passed=18)


def test_one_object_for_several_conversations_is_refused_in_a_sentence(
    talking: Project,
) -> None:
    result = talking.ltm(*MANY, "-rs", agent="bots:Once")
    result.stdout.fnmatch_lines(
        ["*the same object from each call*--ltm-concurrency=1*"]
    )


FAILS = """
def test_c(ltm):
    ltm.say("C speaks")
    ltm.ask("C asks")
    assert False
"""


def test_under_x_what_is_in_flight_is_kept_and_can_be_resumed(talking: Project) -> None:
    talking.file(TALK + FAILS)
    talking.ltm(*MANY, agent="bots:Saved").assert_outcomes(passed=16, failed=8)
    whole = journals(talking)
    result = talking.ltm(*MANY, "-x", agent="bots:Saved")
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])
    for name, text in results(talking).items():
        assert json.loads(text)["ended"] == "interrupted"
        events = [
            json.loads(line)["event"] for line in journals(talking)[name].splitlines()
        ]
        assert events.count("message") == events.count("reply") > 0
    talking.pytest("--ltm-resume=latest", "--maxfail=0").assert_outcomes(
        passed=16, failed=8
    )
    assert journals(talking) == whole


def test_ctrl_c_interrupts_all_of_them_at_once(talking: Project) -> None:
    talking.file(
        """
import os, signal, time
from ticks import tick
class Slow:
    heard = 0
    def reply(self, message):
        tick("heard")
        Slow.heard += 1
        if Slow.heard == 8:
            os.kill(os.getpid(), signal.SIGINT)
        while Slow.heard < 8:
            time.sleep(0.01)
        time.sleep(0.5)
        return message
    def close(self):
        tick("closed")
""",
        "slow.py",
    )
    # background jobs of a shell ignore it
    given = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = talking.ltm(*MANY, agent="slow:Slow", subprocess=True)
    finally:
        signal.signal(signal.SIGINT, given)
    assert "KeyboardInterrupt" in result.stdout.str()
    assert talking.ticks.count("heard") <= 2 * 8
    assert talking.ticks.count("closed") == 8


@WHOLE_RUN
def test_a_killed_run_is_resumed_with_all_that_was_in_flight(talking: Project) -> None:
    words = [
        "--ltm-trials=32",
        "--ltm-concurrency=32",
        "--ltm-agent=bots:Saved",
        "--ltm-span=300",
        "--ltm-suite=none",
    ]
    talking.pytest(*words, "--ltm-dir=whole").assert_outcomes(passed=64)
    heard = talking.path / "heard.txt"
    once = Counter(heard.read_text().splitlines())
    heard.unlink()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *words],
        cwd=talking.path,
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while not heard.exists() or heard.stat().st_size < 2_000:
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    talking.pytest("--ltm-resume=latest").assert_outcomes(passed=64)
    assert journals(talking) == _journals(talking.path / "whole")
    again = Counter(heard.read_text().splitlines()) - once
    assert again.total() <= 32


def _journals(folder: Path) -> dict[str, bytes]:
    return {
        path.parent.name: path.read_bytes()
        for path in folder.glob("runs/*/*/journal.jsonl")
    }


def test_a_budget_holds_for_all_that_are_in_flight(talking: Project) -> None:
    result = talking.ltm(
        *MANY, "--ltm-max-tokens=400", "--ltm-price=1/1", agent="bots:Bot"
    )
    result.stdout.fnmatch_lines(["*the budget is spent*"])
    spent = json.loads((latest_run(talking.path) / "budget.json").read_text())
    tokens = sum(
        row[1] if isinstance(row, list) else row["tokens"]
        for row in spent["agent"].values()
    )
    assert 400 <= tokens < 900


def test_judges_are_asked_for_all_at_once(talking: Project) -> None:
    talking.file(
        """
import time
class Judge:
    asking = 0
    def assess(self, inquiry):
        assert not Judge.asking
        Judge.asking += 1
        time.sleep(0.005)
        print("judging")
        Judge.asking -= 1
        return "GRADE: yes"
""",
        "judging.py",
    )
    talking.file(
        """
def test_a(ltm, capsys):
    ltm.say("The sky is green.")
    ltm.wait(span=0.3)
    answer = ltm.ask("What colour is the sky?")
    assert ltm.judge.ask("Is that a colour?", answer)
    assert capsys.readouterr().out == "judging\\n"
"""
    )
    talking.ltm(
        *MANY,
        "--ltm-judge=judging:Judge?cache=off&canaries=off",
        agent="bots:Bot",
    ).assert_outcomes(passed=8)


@pytest.mark.parametrize("text", ["0", "many", "-1", "100000000"])
def test_what_cannot_be_played_at_once_is_refused(talking: Project, text: str) -> None:
    result = talking.ltm(f"--ltm-concurrency={text}")
    result.stderr.fnmatch_lines(["ERROR: --ltm-concurrency*"])


BAD = """
import signal, threading, time

class Computes:
    def reply(self, message):
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        return message

class Signals:
    def reply(self, message):
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        return message

class Main(Signals):
    main_thread = True
"""


def test_an_agent_that_computes_instead_of_waiting_is_named(
    talking: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "MUCH", 0.1)
    # processor time, so that other load does not count
    monkeypatch.setattr(concurrency, "stopwatch_seconds", time.process_time)
    talking.file(BAD, "bad.py")
    result = talking.ltm(
        "--ltm-trials=2", "--ltm-concurrency=2", "--ltm-no-probe", agent="bad:Computes"
    )
    result.stdout.fnmatch_lines(
        ["note: agents in this process computed for * s, *Computes the most: *"]
    )
    result = talking.ltm("--ltm-trials=2", "--ltm-concurrency=2", agent="bots:Bot")
    result.stdout.no_fnmatch_line("*computed for*")


def test_who_needs_the_main_thread_is_told_how_to_say_so(talking: Project) -> None:
    talking.file(BAD, "bad.py")
    result = talking.ltm("--ltm-concurrency=2", agent="bad:Signals,bad:Main")
    result.assert_outcomes(passed=2, errors=2)
    assert "main_thread = True" in " ".join(result.stdout.str().split())


def test_where_the_system_has_no_more_threads_fewer_are_played_at_once(
    talking: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if sum(one.name == thread.name for one in threading.enumerate()) >= 2:
            # two threads of agents may exist; other kinds have one
            raise RuntimeError("can't start new thread")
        started(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    result = talking.ltm(*MANY, agent="bots:Bot")
    result.assert_outcomes(passed=16)
    result.stdout.fnmatch_lines(
        ["note: fewer conversations were played at once than*can't start new thread*"]
    )


WORKERS = ("-n2", "--ltm-trials=4", "--ltm-concurrency=2")


@WHOLE_RUN
def test_each_worker_plays_several_at_once(talking: Project) -> None:
    agents = "bots:Bot,saved=bots:Saved,main=bots:Main"
    talking.ltm("--ltm-trials=4", agent=agents).assert_outcomes(passed=24)
    alone, rows = journals(talking), results(talking)
    talking.conftest(
        """
import pytest

class Watch:
    most = 0

    def pytest_ltm_exchange(self, config):
        Watch.most = max(Watch.most, len(config.pluginmanager.get_plugin("ltm-run").all_playing))

def pytest_configure(config):
    config.pluginmanager.register(Watch())

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        from ticks import tick
        tick(Watch.most)
"""
    )
    talking.ltm(*WORKERS, agent=agents).assert_outcomes(passed=24)
    assert talking.ticks == ["2", "2"]
    assert journals(talking) == alone
    assert results(talking) == rows


def test_a_worker_that_dies_loses_none_of_the_conversations_that_it_plays(
    talking: Project,
) -> None:
    talking.file(
        """
import os, pathlib
from bots import Saved

class Dies(Saved):
    async def reply(self, message):
        if "B asks" in message and not (died := pathlib.Path("died")).exists():
            died.touch()
            os._exit(1)
        return await super().reply(message)
""",
        "dying.py",
    )
    died, heard = talking.path / "died", talking.path / "heard.txt"
    died.touch()
    talking.ltm("--ltm-trials=4", agent="dying:Dies").assert_outcomes(passed=8)
    once = Counter(heard.read_text().splitlines())
    died.unlink()
    heard.unlink()
    result = talking.ltm(*WORKERS, agent="dying:Dies")
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(
        ["*worker gw* died*the conversation continues where it stopped*"]
    )
    again = Counter(heard.read_text().splitlines())
    assert not once - again
    # the other conversation's message in flight, which the dead agent had not received
    assert (again - once).total() <= 1


def test_under_x_no_worker_sends_anything_new(talking: Project) -> None:
    talking.file(TALK + FAILS)
    talking.ltm("--ltm-trials=4", agent="bots:Saved").assert_outcomes(
        passed=8, failed=4
    )
    whole = journals(talking)
    talking.ltm(*WORKERS, "-x", agent="bots:Saved")
    assert {json.loads(text)["ended"] for text in results(talking).values()} <= {
        "interrupted",
        "complete",
    }
    talking.pytest("--ltm-resume=latest", "--maxfail=0", "-n0").assert_outcomes(
        passed=8, failed=4
    )
    assert journals(talking) == whole
