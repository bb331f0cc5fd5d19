"""`--ltm-agent-process`: an agent that harms its process ends only its own conversation, and its capabilities work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from alone import alone
from conftest import Project
from run_folders import latest_run

from pytest_ltm.agents._hidden import can_hide_folders

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytest.importorskip("xdist")
pytestmark = [
    pytest.mark.long,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of POSIX"),
]

hides = pytest.mark.skipif(
    not can_hide_folders(),
    reason="the kernel cannot hide folders (Landlock, Linux 5.19)",
)
LIMIT = 12
"""Reply timeout in seconds of those that hang: a busy machine may need a few to start a process."""
PATIENCE = 600
"""Reply timeout in seconds of the others."""
TALK = """
def test_talk(ltm):
    ltm.say("Good morning.")
    ltm.say("Do it.")
    assert ltm.ask("Are you there?") == "Yes."
"""
BOT = """
import atexit, ctypes, os, resource, signal, subprocess, sys, threading, time

def swallow(busy=False):
    while True:
        try:
            while busy:
                pass
            time.sleep(600)
        except:
            pass

class Bot:
    def __init__(self):
        self.begin()

    def begin(self):
        pass

    def do(self):
        pass

    def reply(self, message):
        if message == "Do it.":
            done = self.do()
            if done is not None:
                return done
        return "Yes."
"""


@dataclass(frozen=True)
class Hostile:
    """A misbehaving agent: `code` replaces a method, or is placed at the beginning of its module."""

    code: str
    says: str = ""
    """Text in the ending of its conversation; "": the conversation ends well."""
    where: str = "do"
    """The method; "module" for its beginning; "method" if the code is a whole method."""


SEGFAULT = "ctypes.string_at(0)"
HOSTILE = {
    # --- hanging
    "hangs_in_init": Hostile("swallow()", "could not be made within 12 s", "begin"),
    "hangs_in_reply": Hostile(
        "swallow(busy=True)", "did not return from reply() within 12 s"
    ),
    "sleeps": Hostile("time.sleep(600)", "did not return from reply() within 12 s"),
    "waits_in_c": Hostile(
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "did not return from reply() within 12 s",
    ),
    "hangs_when_imported": Hostile(
        "time.sleep(600)", "could not be made within 12 s", "module"
    ),
    "hangs_when_closed": Hostile("def close(self):\n        swallow()", "", "method"),
    "hangs_at_exit": Hostile("atexit.register(swallow)"),
    "leaves_a_thread": Hostile("threading.Thread(target=swallow).start()"),
    "leaves_a_daemon_thread": Hostile(
        "threading.Thread(target=swallow, daemon=True).start()"
    ),
    "stops_itself": Hostile(
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "did not return from reply() within 12 s",
    ),
    # --- ending
    "exits_in_init": Hostile(
        "os._exit(3)", "could not be made: its process ended with status 3", "begin"
    ),
    "exits_in_reply": Hostile("os._exit(3)", "its process ended with status 3"),
    "exits_with_success": Hostile("os._exit(0)", "its process ended with status 0"),
    "exits_when_imported": Hostile(
        "os._exit(3)", "its process ended with status 3", "module"
    ),
    "exits_at_exit": Hostile("atexit.register(os._exit, 3)"),
    "exits_from_a_thread": Hostile(
        "threading.Timer(0.2, os._exit, [3]).start(); time.sleep(60)", "status 3"
    ),
    "segfaults": Hostile(SEGFAULT, "its process was ended by SIGSEGV"),
    "segfaults_in_init": Hostile(SEGFAULT, "was ended by SIGSEGV", "begin"),
    "aborts": Hostile("os.abort()", "was ended by SIGABRT"),
    "kills_itself": Hostile(
        "os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"
    ),
    "kills_its_parent": Hostile(
        "os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)", "was ended by SIGKILL"
    ),
    "kills_its_group": Hostile("os.killpg(0, signal.SIGKILL)", "was ended by SIGKILL"),
    "leaks": Hostile(
        "resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29)); hold = [bytearray(2**25) for _ in range(40)]",
        "raised in reply(): MemoryError",
    ),
    "leaks_and_survives": Hostile(
        "resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\n"
        "        try:\n            hold = [bytearray(2**25) for _ in range(40)]\n"
        "        except MemoryError:\n            return None"
    ),
    # --- raising
    "raises_in_init": Hostile(
        "raise ValueError('no model')",
        "could not be made: ValueError: no model",
        "begin",
    ),
    "raises": Hostile(
        "raise ValueError('no model')", "raised in reply(): ValueError: no model"
    ),
    "leaves_with_sys_exit": Hostile("sys.exit(5)", "raised in reply(): SystemExit: 5"),
    "raises_ctrl_c": Hostile(
        "raise KeyboardInterrupt", "raised in reply(): KeyboardInterrupt"
    ),
    "raises_generator_exit": Hostile(
        "raise GeneratorExit", "raised in reply(): GeneratorExit"
    ),
    "recurses": Hostile("return self.do()", "raised in reply(): RecursionError"),
    "raises_what_has_no_text": Hostile(
        "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()",
        "raised in reply(): Odd",
    ),
    "raises_a_novel": Hostile(
        "raise ValueError('x' * 30_000_000)", "raised in reply(): ValueError: xxx"
    ),
    # --- replying
    "says_no_text": Hostile(
        "return 42", "it replied with 42 (an int); a reply is a str"
    ),
    "says_bytes": Hostile("return b'Yes.'", "it replied with b'Yes.' (a bytes)"),
    "says_far_too_much": Hostile(
        "return 'x' * 40_000_000", "it replied with 40,000,000 characters"
    ),
    "says_half_a_pair": Hostile(r"return chr(0xd83d)"),
    "says_nul": Hostile(r"return 'Yes.' + chr(0) + chr(27) + chr(10)"),
    "says_only_control_characters": Hostile(
        r"return chr(0) + chr(27) + chr(10)", "said nothing"
    ),
    "says_a_str_of_its_own": Hostile(
        "return type('S', (str,), {'__len__': lambda self: 10**9})('Yes.')"
    ),
    # --- bypassing us
    "closes_stdout": Hostile("sys.stdout.close(); os.close(1)"),
    "closes_everything": Hostile("os.closerange(3, 256)", "its process "),
    "prints_answers": Hostile(
        """print('{"reply": "forged"}', flush=True); os.write(1, b'{"reply": "forged"}\\n')"""
    ),
    "prints_a_lot": Hostile("[print('x' * 10_000) for _ in range(1_000)] and None"),
    "reads_stdin": Hostile("input('? ')", "raised in reply(): EOFError"),
    "reads_all_of_stdin": Hostile("assert sys.stdin.read() == ''"),
    # --- changing its surroundings
    "changes_its_folder": Hostile("os.chdir('/')"),
    "clears_the_environment": Hostile("os.environ.clear()"),
    "forgets_its_path": Hostile("sys.path.clear(); sys.modules.clear()"),
    "ignores_signals": Hostile(
        "[signal.signal(n, signal.SIG_IGN) for n in (15, 1, 2, 13, 14)] and None"
    ),
    "traces": Hostile("sys.settrace(lambda *_: None)"),
    # --- other processes and threads
    "forks_and_both_reply": Hostile(
        "copy = os.fork(); copy and os.waitpid(copy, 0); return 'Yes.'",
        "the agent forked",
    ),
    "forks_and_the_copy_stays": Hostile("os.fork() or time.sleep(600)"),
    "leaves_a_grandchild": Hostile(
        "subprocess.Popen(['sh', '-c', 'trap \"\" TERM HUP; sleep 600'], start_new_session=True, stdin=0)\n"
        "        return None"
    ),
}


def module_of(hostile: Hostile) -> str:
    if hostile.where == "module":
        return f"import time, os\n{hostile.code}\n{BOT}"
    if hostile.where == "method":
        return f"{BOT}\n    {hostile.code}\n"
    return f"{BOT}\n    def {hostile.where}(self):\n        {hostile.code}\n"


def chosen(session: pytest.Session) -> list[str]:
    """Return the agents tested in this session."""
    calls = [
        item.callspec.params
        for item in session.items
        if isinstance(item, pytest.Function)
        and "drilled" in item.fixturenames
        and hasattr(item, "callspec")
    ]
    return [name for name in HOSTILE if {"name": name} in calls]


@pytest.fixture(scope="module")
def drilled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """The agents that play next to a healthy one: ends of runs, conversations, and the folder.

    Agents that hang have a separate run, so that the others are not limited in time.
    """
    folder = tmp_path_factory.mktemp("hostile")
    names = chosen(request.session)
    for name in names:
        (folder / "hostile").mkdir(exist_ok=True)
        (folder / "hostile" / f"{name}.py").write_text(
            module_of(HOSTILE[name]), encoding="utf-8"
        )
    (folder / "well.py").write_text(BOT, encoding="utf-8")
    (folder / "test_it.py").write_text(TALK, encoding="utf-8")
    hanging = [
        name
        for name in names
        if f"{LIMIT} s" in HOSTILE[name].says or "swallow" in HOSTILE[name].code
    ]
    ends = [
        play(folder, hanging, LIMIT),
        play(folder, [name for name in names if name not in hanging], PATIENCE),
    ]
    found = {
        path.parent.name.partition("~")[0]: json.loads(path.read_text(encoding="utf-8"))
        for path in folder.glob(".ltm/runs/*/*/results.json")
    }
    return ends, found, folder


def play(
    folder: Path, names: list[str], limit: int
) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    """Play these agents and a healthy one on workers."""
    agents = [f"--ltm-agent={name}=hostile.{name}:Bot" for name in names]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n3",
            *agents,
            "--ltm-agent=well=well:Bot",
            "--ltm-agent-process",
            "--ltm-suite=none",
            f"--ltm-reply-timeout={limit}",
            "test_it.py",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
        env={**os.environ, **alone(), "PYTEST_ADDOPTS": "", "LTM_HOSTILE": str(folder)},
    )
    assert (folder / ".ltm").exists(), done.stdout + done.stderr
    return names, done


@pytest.mark.nightly(
    "some processes for each agent: each has its turn within days", every=6
)
@pytest.mark.parametrize("name", [*HOSTILE, "well"])
def test_what_an_agent_does_ends_at_most_its_own_conversation(
    drilled: Any, name: str
) -> None:
    _, found, _ = drilled
    (row,) = found[name]["scenarios"]
    says = HOSTILE[name].says if name in HOSTILE else ""
    if says:
        assert says in f"{row['reason']} {found[name].get('gone', '')}"
        assert row["outcome"] in {"error", "skipped"}
    else:
        assert (row["outcome"], found[name]["ended"]) == ("passed", "complete")


def test_the_run_ends_in_order_and_nothing_is_left_of_any_agent(
    drilled: Any, request: pytest.FixtureRequest
) -> None:
    ends, found, folder = drilled
    for names, done in ends:
        fails = any(HOSTILE[name].says for name in names)
        assert done.returncode == (75 if fails else 0), (
            done.stdout[-3000:] + done.stderr[-3000:]
        )
        assert "INTERNALERROR" not in done.stdout
        assert "worker 'gw" not in done.stdout
    assert len(found) == len(chosen(request.session)) + 1
    assert left_of(folder) == []


def left_of(folder: Path) -> list[str]:
    """Return the command lines of processes left by a run in this folder."""
    mark = f"LTM_HOSTILE={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


# --- a run with such agents

SAVES = """
import json, os, signal, time
from pathlib import Path

HERE = Path(__file__).parent

class Bot:
    def __init__(self):
        self.heard = []
    def reply(self, message):
        self.heard.append(message)
        if message == "two" and (HERE / "controller").exists():
            (HERE / "agent").write_text(str(os.getpid()))
            pid = int((HERE / "controller").read_text())
            (HERE / "controller").unlink()
            os.kill(pid, signal.SIGKILL)
            time.sleep(600)
        if message == "fall" and not (HERE / "fallen").exists():
            (HERE / "fallen").touch()
            os._exit(3)
        return " ".join(self.heard[1:]) + f" {os.getpid()}" * (message == "pid?")
    def save(self):
        return json.dumps(self.heard).encode()
    def load(self, state):
        self.heard = json.loads(state)
    def configuration(self):
        return {"size": 3}
"""
LONG = """
def test_a(ltm):
    ltm.say("one")
    ltm.say("two")
    assert ltm.ask("three?") == "one two three?"
"""


def is_alive(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


@WHOLE_RUN
def test_a_killed_run_leaves_no_agent_and_is_resumed(project: Project) -> None:
    project.file(SAVES, "saves.py")
    project.file(LONG)
    project.conftest(
        "import os\nfrom pathlib import Path\n"
        "def pytest_sessionstart():\n"
        "    if not Path('agent').exists():\n        Path('controller').write_text(str(os.getpid()))\n"
    )

    killed = project.ltm("--ltm-agent-process", agent="saves:Bot", subprocess=True)

    assert killed.ret == -signal.SIGKILL
    agent = int((project.path / "agent").read_text())
    for _ in range(500):
        if not is_alive(agent):
            break
        time.sleep(0.02)
    assert not is_alive(agent)
    resumed = project.pytest("--ltm-resume=latest", subprocess=True)
    resumed.assert_outcomes(passed=1)
    assert resumed.ret == 0


def test_an_agent_that_saves_goes_on_in_another_process(project: Project) -> None:
    project.file(SAVES, "saves.py")
    project.file(
        "def test_a(ltm):\n    ltm.say('one')\n    ltm.ask('two?')\n"
        "def test_b(ltm):\n    ltm.say('fall')\n    ltm.ask('x?')\n"
        "def test_c(ltm):\n    ltm.say('three')\n    assert 'one' in ltm.ask('four?')\n"
    )

    done = project.ltm("--ltm-agent-process", agent="saves:Bot", span="40")

    assert {name: row["outcome"] for name, row in project.results().items()} == {
        "a": "passed",
        "b": "error",
        "c": "passed",
    }
    assert done.ret == 75


def test_the_agent_is_the_same_there_as_here(project: Project) -> None:
    project.file(SAVES, "saves.py")
    project.file(LONG)

    def facts(*words: str) -> Any:
        project.ltm(*words, agent="saves:Bot").assert_outcomes(passed=1)
        (path,) = latest_run(project.path).glob("*/results.json")
        header = json.loads((path.parent / "journal.jsonl").read_text().splitlines()[0])
        return json.loads(path.read_text())["agent_fingerprint"], header["agent"]

    assert facts("--ltm-agent-process") == facts()


def test_the_option_has_an_ini_twin_and_every_conversation_a_process(
    project: Project,
) -> None:
    project.file(SAVES, "saves.py")
    project.file(
        "def test_a(ltm):\n    ltm.say('one')\n    print('pid', ltm.ask('pid?').split()[-1])\n"
    )
    (project.path / "pytest.ini").write_text("[pytest]\nltm_agent_process = true\n")

    done = project.ltm("--ltm-trials=2", "-rP", agent="saves:Bot")

    pids = {line.split()[1] for line in done.outlines if line.startswith("pid ")}
    assert len(pids) == 2
    assert str(os.getpid()) not in pids


def test_the_fixture_ltm_agent_refuses(project: Project) -> None:
    project.file(SAVES, "saves.py")
    project.file(
        "def test_a(ltm, ltm_agent):\n    ltm.say('one')\n    ltm.ask('two?')\n"
    )

    done = project.ltm("--ltm-agent-process", agent="saves:Bot")

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(
        ["*ltm_agent: the agent is in a process of its own (--ltm-agent-process*"]
    )


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (
            "made",
            "the hook pytest_ltm_make_agent makes 'made' in this process*Name a class or a plain function*",
        ),
        (
            "saves:bot",
            "agent 'saves:bot' is *made where its module is imported*Name a class or a plain function*",
        ),
        ("saves:Nobody", "*has no 'Nobody'*"),
        ("broken:Bot", "*No module named 'no_such_thing'*"),
    ],
)
def test_what_cannot_be_had_there_is_refused_before_the_first_message(
    project: Project, agent: str, says: str
) -> None:
    project.file(f"{SAVES}\nbot = Bot()\n", "saves.py")
    project.file("import no_such_thing\n", "broken.py")
    project.file(LONG)
    project.conftest(
        "import pytest\n@pytest.hookimpl(optionalhook=True)\n"
        "def pytest_ltm_make_agent(config, spec):\n"
        "    return (lambda message: message) if spec == 'made' else None\n"
    )

    done = project.ltm("--ltm-agent-process", agent=agent)

    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --ltm-agent: {says}"])
    assert not list(project.path.glob(".ltm/runs/*/*/journal.jsonl"))


def test_a_traceback_of_there_is_in_the_report_of_the_item(project: Project) -> None:
    project.file(
        "def deeper():\n    raise ValueError('at the bottom')\ndef bot(message):\n    deeper()\n",
        "bots.py",
    )
    project.file(LONG)

    done = project.ltm("--ltm-agent-process", agent="bots:bot")

    done.stdout.fnmatch_lines(
        [
            "*in the agent's process*",
            "*bots.py*in deeper*",
            "*raise ValueError*",
            "*raised in reply(): ValueError: at*",
        ]
    )


def test_the_process_has_no_file_of_the_run_open(project: Project) -> None:
    project.file(
        "import os\n"
        "def bot(message):\n"
        "    return ' '.join(os.path.realpath(f'/proc/self/fd/{name}') for name in os.listdir('/proc/self/fd'))\n",
        "bots.py",
    )
    project.file(
        "def test_a(ltm):\n    ltm.say('one')\n    print('open', ltm.ask('two?'))\n"
    )

    done = project.ltm("--ltm-agent-process", "-rP", agent="bots:bot")

    (line,) = (line for line in done.outlines if line.startswith("open "))
    assert ".ltm" not in line


def test_a_dry_run_knows_its_capabilities_and_makes_none(project: Project) -> None:
    project.file(
        "class Bot:\n    stateless = True\n    def __init__(self):\n        1 / 0\n    def reply(self, m): ...\n",
        "bots.py",
    )
    project.file(LONG)

    done = project.ltm("--ltm-agent-process", "--ltm-dry-run", agent="bots:Bot")

    assert done.ret == 0
    done.stdout.no_fnmatch_line("*ZeroDivisionError*")


@WHOLE_RUN
def test_an_agent_that_forks_doubles_no_line_of_the_journal(project: Project) -> None:
    project.file(
        "import os\ndef bot(message):\n    copy = os.fork()\n    if copy:\n        os.waitpid(copy, 0)\n"
        "    return message\nbot.stateless = True\n",
        "bots.py",
    )
    project.file(LONG)

    for words in ([], ["--ltm-agent-process"]):
        project.ltm(*words, agent="bots:bot", subprocess=True)
        (path,) = latest_run(project.path).glob("*/journal.jsonl")
        events = [json.loads(line) for line in path.read_text().splitlines()]
        sent = [event["exchange"] for event in events if event["event"] == "message"]
        assert len(sent) == len(set(sent))
        assert sum(event["event"] == "reply" for event in events) == 1
        assert "the agent forked" in path.read_text()


READER = """
import glob

class Bot:
    def reply(self, message):
        if "?" not in message:
            return "Yes."
        paths = glob.glob(".ltm/runs/*/*/plan.json")
        assert paths
        return open(paths[0]).read()
"""
WRITER = """
class Bot:
    def reply(self, message):
        open("notes.txt", "w").write(message)
        return open("notes.txt").read()
"""


@hides
def test_an_agent_in_a_process_of_its_own_cannot_read_the_run_folder(
    project: Project,
) -> None:
    project.file(TALK)
    project.file(READER, "reader.py")
    done = project.ltm("--ltm-agent-process", agent="reader:Bot")

    done.stdout.fnmatch_lines(
        [
            "*raised in reply(): PermissionError: *Permission denied: '.ltm/runs/*plan.json'*"
        ]
    )


@hides
def test_an_agent_that_cannot_read_what_it_made_beside_the_run_folder_is_told_the_way_out(
    project: Project,
) -> None:
    project.file(TALK)
    project.file(WRITER, "writer.py")
    done = project.ltm("--ltm-agent-process", agent="writer:Bot")

    assert "or move the run folder elsewhere with --ltm-dir" in " ".join(
        done.stdout.str().split()
    )
