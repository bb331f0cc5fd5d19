from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_ltm.agents.project import MOST_FILES
from pytest_ltm.api.storage import LtmError, write_output
from pytest_ltm.commands import USAGE, main, new_files
from pytest_ltm.commands.gate_proof import Forecast
from pytest_ltm.commands.init import TEMPLATE_FILES

NIGHTLY = pytest.mark.nightly(
    "whole runs of what is written: each test has its turn within days", every=8
)

WRITTEN = [
    "ltm_agent.py",
    "test_ltm_appointment.py",
    ".github/workflows/ltm.yml",
    ".gitignore",
]


@pytest.fixture
def folder(
    tmp_path: Path,
    few_plugins: None,  # noqa: ARG001 - for its effect
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def init(*words: str) -> int:
    return main(["init", "--no-play", *words])


def workflow(root: Path) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load(
        (root / ".github/workflows/ltm.yml").read_text()
    )["jobs"]["ltm"]
    return job


def commands(root: Path) -> list[str]:
    return [step["run"] for step in workflow(root)["steps"] if "run" in step]


def init_own_bot(folder: Path, library: str) -> None:
    """Write a stand-in for a library, turn it into another program, and have it played."""
    assert main(["init", f"--from={library}"]) == 0
    [path] = [*folder.glob("ltm_*.py")]
    path.write_text(f"{path.read_text()}# mine\n")
    agent = {"python": "ltm_agent", "command": "cmd:python ltm_bot.py"}[library]
    assert main(["init", f"--agent={agent}"]) == 0


@pytest.mark.parametrize(
    ("library", "agent"),
    [
        ("python", "ltm_agent"),
        ("command", "cmd:python ltm_bot.py"),
        ("http", "ltm_agent.yml"),
        ("langgraph", "ltm_agent"),
        ("openai", "ltm_agent"),
    ],
)
def test_a_stand_in_is_neither_played_nor_saved(
    folder: Path, capsys: pytest.CaptureFixture[str], library: str, agent: str
) -> None:
    assert main(["init", f"--from={library}"]) == 0
    told = capsys.readouterr().out
    assert "nothing was played, and no baseline saved" in told
    assert "ltm init --agent=" in told
    assert not (folder / ".github").exists()
    before = sorted(folder.iterdir())
    assert main(["init", f"--agent={agent}"]) == USAGE
    assert "is still the stand-in that `ltm init` wrote" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_a_stand_in_is_not_found_in_place_of_a_bot(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--from=python"]) == 0
    assert main(["init"]) == USAGE
    assert "ltm_agent.py is still the stand-in" in capsys.readouterr().err
    assert not (folder / "ltm_baselines").exists()


def test_a_scenario_that_is_there_is_kept_once_the_bot_is_named(folder: Path) -> None:
    assert main(["init", "--from=python"]) == 0
    (folder / "test_ltm_appointment.py").write_text("# mine\n")
    assert init("--agent=full") == 0
    assert (folder / "test_ltm_appointment.py").read_text() == "# mine\n"


@NIGHTLY
@pytest.mark.slow
@pytest.mark.parametrize("library", ["python", "command"])
def test_it_ends_with_a_baseline_against_which_its_workflow_is_green_and_told_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    init_own_bot(folder, library)
    assert (folder / "ltm_baselines/main.json").is_file()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    ran = subprocess.run(
        f"{sys.executable} -m {commands(folder)[-1]}",
        shell=True,
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0
    assert "gate: passed" in ran.stdout
    assert (folder / "summary.md").read_text().count("## Long-term memory") == 1


BOTS = {
    "a class": ("bot.py", "class Bot:\n    def reply(self, message): ...", "bot:Bot"),
    "another name of its method": (
        "bot.py",
        (
            "class Store:\n    def query(self, q): ...\n"
            "class Bot:\n    def send(self, text): return Store().query(text)"
        ),
        "bot:Bot",
    ),
    "the better evidence": (
        "bot.py",
        "class Mail:\n    def send(self, m): ...\nclass Bot:\n    def chat(self, m): ...",
        "bot:Bot",
    ),
    "below src": (
        "src/pkg/bot.py",
        "from langgraph.graph import StateGraph\ngraph = StateGraph(int).compile()",
        "pkg.bot:graph",
    ),
    "a whole and its parts": (
        "a.py",
        "from agents import Agent\npart = Agent('x')\nwhole = Agent('y', handoffs=[part])",
        "a:whole",
    ),
    "an own package with a library's name": (
        "agents/support.py",
        "class Support:\n    def chat(self, text): ...",
        "agents.support:Support",
    ),
    "a function": ("a.py", "def answer(message: str) -> str: ...", "a:answer"),
    "a function of messages": ("a.py", "def chat(messages): ...", "a:chat"),
    "a lambda": ("a.py", "answer = lambda message: message", "a:answer"),
    "a message and a history": ("a.py", "def chat(message, history): ...", "a:chat"),
    "defaults alone": ("a.py", "def chat(message='', mood=''): ...", "a:chat"),
    "a function that asks a team": (
        "a.py",
        (
            "from crewai import Agent, Crew\nhelper = Agent(role='r')\ncrew = Crew(agents=[helper])\n"
            "def talk(message): return crew.kickoff({'said': message})"
        ),
        "a:talk",
    ),
    "a factory": (
        "a.py",
        (
            "from langgraph.graph import StateGraph\n"
            "def build(checkpointer=None):\n    return StateGraph(int).compile()"
        ),
        "a:build",
    ),
    "an object that needed arguments": (
        "a.py",
        "class Bot:\n    def __init__(self, db): ...\n    def ask(self, text): ...\nbot = Bot(1)",
        "a:bot",
    ),
    "an inherited method": (
        "a.py",
        "from abc import ABC\nclass Base(ABC):\n    def reply(self, m): ...\nclass Bot(Base): ...",
        "a:Bot",
    ),
    "async": ("a.py", "class Bot:\n    async def respond(self, text): ...", "a:Bot"),
}


@NIGHTLY
@pytest.mark.parametrize(("path", "source", "agent"), BOTS.values(), ids=BOTS)
def test_it_finds_the_bot_of_a_project(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    path: str,
    source: str,
    agent: str,
) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(source)
    assert init() == 0
    assert capsys.readouterr().out.startswith("found a")
    assert not (folder / "ltm_agent.py").exists()
    command = (
        f"pytest --ltm-agent={agent} --ltm-span=2k --ltm-trials=5 --ltm-compare=main"
    )
    assert commands(folder)[-1].startswith(command)


UNCLEAR = {
    "several": (
        "".join(f"class {name}:\n    def reply(self, m): ...\n" for name in "AB"),
        ["There are several", "ltm init --agent=a:A    # a class with reply(message)"],
    ),
    "two methods": (
        "class A:\n    def chat(self, m): ...\n    def run(self, m): ...\n",
        ["ltm init --agent=a:A.chat", "ltm init --agent=a:A.run"],
    ),
    "behind a decorator": (
        "import web\n@web.post('/chat')\ndef chat(message): ...\n",
        ["This may be it", "ltm init --agent=a:chat"],
    ),
    "by its parameter alone": (
        "def turn(user_input: str) -> str: ...\ndef count(message) -> int: ...\ndef clean(text): ...",
        ["This may be it", "ltm init --agent=a:turn"],
    ),
    "by name alone": (
        "def answer(*, message): ...\nclass Bot:\n    def reply(self, *, text): ...",
        ["a:answer takes 'message' by name alone", "a:Bot.reply takes 'text' by name"],
    ),
    "a team": (
        "from crewai import Agent, Crew\nhelper = Agent(role='r')\ncrew = Crew(agents=[helper], tasks=[])",
        ["found no bot", "a:crew is a team of agents of CrewAI: write `def reply"],
    ),
    "a team that is made": (
        (
            "from autogen_agentchat.agents import AssistantAgent\nfrom autogen_agentchat.teams import Team\n"
            "def make():\n    one = AssistantAgent('a')\n    return Team([one, AssistantAgent('b')])"
        ),
        ["found no bot", "a:make is a function that makes a team of agents of AutoGen"],
    ),
    "nothing": ("import os", ["found no bot in this folder", "--agent=mypkg.bot:Bot"]),
    "only a client": ("import openai\nclient = openai.OpenAI()", ["found no bot"]),
    "no Python": ("from openai import (", ["found no bot", "a.py:1 cannot be parsed"]),
}


@NIGHTLY
@pytest.mark.parametrize(("source", "told"), UNCLEAR.values(), ids=UNCLEAR)
def test_where_the_bot_is_not_clear_it_asks_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, told: list[str]
) -> None:
    (folder / "a.py").write_text(source)
    assert init() == USAGE
    asked = capsys.readouterr().err
    assert all(words in asked for words in told), asked
    assert [path.name for path in folder.iterdir()] == ["a.py"]


def test_the_workflow_has_the_keys_that_the_bot_reads(folder: Path) -> None:
    (folder / "bot.py").write_text(
        "import os, anthropic\nkey = os.environ['SEARCH_API_KEY']\n"
        "class Bot:\n    def reply(self, message): ...\n"
    )
    assert init() == 0
    assert sorted(workflow(folder)["steps"][-2]["env"]) == [
        "ANTHROPIC_API_KEY",
        "SEARCH_API_KEY",
    ]


def test_the_scenario_is_written_where_pytest_collects_it(folder: Path) -> None:
    (folder / "checks").mkdir()
    (folder / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ntestpaths = ["checks", "more"]\n'
    )
    assert init("--from=python") == 0
    assert (folder / "checks/test_ltm_appointment.py").is_file()


@pytest.mark.parametrize("environment", [".venv", "env"])
def test_an_environment_in_the_project_does_not_hide_its_bot(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    environment: str,
) -> None:
    package = folder / environment / "lib" / "package"
    package.mkdir(parents=True)
    (folder / environment / "pyvenv.cfg").touch()
    for number in range(MOST_FILES + 1):
        (package / f"m{number}.py").write_text(
            "class Foreign:\n    def reply(self, message): ...\n"
        )
    (folder / "mybot.py").write_text("class Bot:\n    def reply(self, message): ...\n")
    assert init() == 0
    assert "a class with reply(message): mybot:Bot" in capsys.readouterr().out


def test_the_adapter_imports_the_bot_that_was_found(folder: Path) -> None:
    (folder / "bot.py").write_text(
        "from langgraph.graph import StateGraph\napp = StateGraph(int).compile()\n"
    )
    assert init("--from=langgraph") == 0
    assert "from bot import app as graph\n" in (folder / "ltm_agent.py").read_text()
    assert not (folder / "ltm_bot.py").exists()


def test_the_workflow_names_the_agent_there_is(folder: Path) -> None:
    assert init("--agent=cmd:python mybot.py") == 0
    assert not (folder / "ltm_agent.py").exists()
    assert commands(folder)[-1].startswith(
        "pytest --ltm-agent='cmd:python mybot.py' --ltm-span="
    )


def test_the_workflow_belongs_to_the_root_of_the_repository(folder: Path) -> None:
    (folder.parent / ".git").mkdir()
    assert init("--from=python") == 0
    assert workflow(folder.parent)["defaults"] == {
        "run": {"working-directory": "project"}
    }
    assert workflow(folder.parent)["steps"][-1]["with"]["path"] == "project/ltm.html"


def test_the_workflow_installs_what_the_project_needs(folder: Path) -> None:
    (folder / "requirements.txt").touch()
    assert init("--from=openai") == 0
    assert commands(folder)[0] == "pip install pytest-ltm -r requirements.txt"
    assert workflow(folder)["steps"][-2]["env"] == {
        "OPENAI_API_KEY": "${{ secrets.OPENAI_API_KEY }}"
    }


def test_the_scenario_is_of_the_project(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "trip-planner"\n')
    assert init("--from=python") == 0
    assert (
        '"""A stand-in for a scenario of trip-planner: put in'
        in (folder / "test_ltm_trip.py").read_text()
    )


@NIGHTLY
@pytest.mark.parametrize(
    ("readme", "subject", "seen"),
    [
        (
            "# Desk\n\nHelps customers of a shop with orders.\n",
            "delivery",
            "customers, shop, orders: delivery\n",
        ),
        (
            "# Chef\n\nPlans meals.\n\n" + "More.\n" * 9 + "Shop, shop.\n",
            "dinner",
            "chef, meals: dinner\n",
        ),
        ("# Bot\n", "appointment", ""),
    ],
)
def test_the_subject_of_the_scenario_is_one_that_the_readme_begins_with(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    readme: str,
    subject: str,
    seen: str,
) -> None:
    (folder / "README.md").write_text(readme)
    assert init("--from=python") == 0
    assert (
        f"def test_{subject}(ltm):" in (folder / f"test_ltm_{subject}.py").read_text()
    )
    shown = capsys.readouterr().out
    assert seen in shown if seen else "the scenario is about" not in shown


@NIGHTLY
@pytest.mark.slow
@pytest.mark.parametrize(
    "subject", [each["name"] for each in TEMPLATE_FILES["subjects"]]
)
def test_each_scenario_is_passed_by_the_stand_in_and_earns_a_forgetful_bot_nothing(
    folder: Path, subject: str
) -> None:
    (folder / "README.md").write_text(f"# {subject}\n")
    assert init("--from=python") == 0
    for agent, status in (("ltm_agent", 0), ("echo", 1)):
        words = [
            "-m",
            "pytest",
            f"--ltm-agent={agent}",
            "--ltm-span=1k",
            f"test_ltm_{subject}.py",
            "-q",
        ]
        ran = subprocess.run(
            [sys.executable, *words],
            check=False,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == status, ran.stdout
        assert status == 0 or "total 0.00 of 1" in ran.stdout


FINDS = """
import re

BROKEN = ""
EARLIER = [[], []]  # what was said in each conversation


def words(text):
    return set(re.findall(r"\\w{6,}", text))


def find(notes, message):
    if BROKEN == "cut":
        notes = []
    if BROKEN == "two messages":
        notes = notes[-1:]
    if BROKEN == "another user's":
        notes = EARLIER[-2]
    found = [note for note in reversed(notes) if words(message) & words(note)]
    if BROKEN == "stale":
        found.reverse()
    EARLIER[-1].append(message)
    return found[0] if found and message.endswith("?") else "Noted."
"""
SHAPES = {
    "a class": f"""{FINDS}
class Bot:
    def __init__(self):
        self.heard = []
        EARLIER.append(self.heard)

    def reply(self, message):
        return find(list(self.heard), message)
""",
    "messages, as chat models take them": f"""{FINDS}
def chat(messages):
    *notes, message = [said["content"] for said in messages if said["role"] == "user"]
    if not notes:
        EARLIER.append([])
    return {{"role": "assistant", "content": find(notes, message)}}
""",
}
BREAKS = {
    "cut": (1, "gate: regressed"),
    "two messages": (1, "gate: regressed"),
    "another user's": (75, "it knows in one conversation what"),
    "stale": (1, "gate: regressed"),
    "": (0, "gate: passed"),
}
"""By damage to the memory: exit status and message of the workflow; the last one is undamaged."""


@NIGHTLY
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_bot_whose_memory_is_broken_turns_its_workflow_red_and_mended_green_again(
    folder: Path, capfd: pytest.CaptureFixture[str], shape: str
) -> None:
    (folder / "bot.py").write_text(SHAPES[shape])
    assert main(["init"]) == 0
    assert "gate: regressed: bot_" in capfd.readouterr().out
    for broken, (status, told) in BREAKS.items():
        text = SHAPES[shape].replace('BROKEN = ""', f"BROKEN = {broken!r}")
        (folder / "bot.py").write_text(text)
        process = subprocess.run(
            f"{sys.executable} -m {commands(folder)[-1]}",
            shell=True,
            check=False,
            capture_output=True,
            text=True,
        )
        assert process.returncode == status, (broken, process.stdout)
        assert told in " ".join(process.stdout.split()), broken


@NIGHTLY
@pytest.mark.slow
def test_a_bot_without_memory_gets_no_gate(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "bot.py").write_text(
        "class Bot:\n    def reply(self, message): return 'Noted.'\n"
    )
    assert main(["init"]) == 1
    told = capfd.readouterr().out
    assert "to play, and once more for the proof: " in told
    assert (
        "no gate is written, and the baseline is removed, as none was seen to turn red: the bot scores"
        in told
    )
    assert not (folder / ".github").exists()
    assert not (folder / "ltm_baselines/main.json").exists()


@NIGHTLY
def test_what_costs_more_than_is_allowed_is_not_played(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pytest_ltm.commands.init.GateProof.forecast",
        lambda *_: Forecast("9 messages, $2.00", 2.0, 9),
    )
    assert main(["init", "--agent=full", "--max-cost=3"]) == 1
    told = capfd.readouterr().out
    assert told.index("9 messages, $2.00") < told.index("more than $3: give --max-cost")
    assert not (folder / ".github").exists()


@NIGHTLY
def test_a_bot_that_cannot_be_made_leaves_no_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bot.py").write_text(
        "import nowhere_at_all\nclass Bot:\n    def reply(self, message): ...\n"
    )
    assert main(["init"]) == USAGE
    assert "nowhere_at_all" in capsys.readouterr().err
    assert not list(folder.glob("test_ltm_*.py"))


def test_no_file_is_overwritten_and_nothing_written_beside_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_ltm_appointment.py").write_text("mine")
    assert init("--from=python") == USAGE
    told = capsys.readouterr().err
    assert "already exists: test_ltm_appointment.py" in told
    assert told.endswith("name another folder: ltm init FOLDER\n")
    assert [path.name for path in folder.iterdir()] == ["test_ltm_appointment.py"]
    assert (folder / "test_ltm_appointment.py").read_text() == "mine"


@pytest.mark.parametrize("before", ["", "*.pyc\n", "*.pyc", ".ltm/\n"])
def test_gitignore_keeps_what_it_has_and_gets_each_line_once(
    folder: Path, before: str
) -> None:
    (folder / ".gitignore").write_text(before)
    assert init("--from=python") == 0
    after = (folder / ".gitignore").read_text()
    assert after.startswith(before)
    assert sorted(after.split()) == sorted({*before.split(), ".ltm/", "ltm.html"})


def test_gitignore_keeps_how_its_lines_end(folder: Path) -> None:
    (folder / ".gitignore").write_bytes(b"*.pyc\r\n")
    assert init("--from=python") == 0
    assert (folder / ".gitignore").read_bytes() == b"*.pyc\r\n.ltm/\r\nltm.html\r\n"


def make_file_for_folder(folder: Path) -> str:
    (folder / ".github").write_text("mine")
    return ".github is a file, and .github/workflows/ltm.yml needs a folder there"


def make_foreign_text(folder: Path) -> str:
    (folder / ".gitignore").write_bytes("Entwürfe\n".encode("utf-16"))
    return ".gitignore: it is not a text in UTF-8"


def make_link_out(folder: Path) -> str:
    (folder.parent / "elsewhere").mkdir()
    (folder / ".github").symlink_to(folder.parent / "elsewhere")
    return ".github/workflows leads out of the project by a link"


def make_ignore_link_out(folder: Path) -> str:
    (folder.parent / "global").write_text("*.pyc\n")
    (folder / ".gitignore").symlink_to(folder.parent / "global")
    return ".gitignore leads out of the project by a link"


def make_dangling_link(folder: Path) -> str:
    (folder / "ltm_agent.py").symlink_to(folder.parent / "nowhere")
    return "already exists: ltm_agent.py"


@pytest.mark.parametrize(
    "make",
    [
        make_file_for_folder,
        make_foreign_text,
        make_link_out,
        make_ignore_link_out,
        make_dangling_link,
    ],
)
def test_nothing_is_written_where_one_file_cannot_be(
    folder: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], str]
) -> None:
    sentence = make(folder)
    before = {path: path.lstat().st_mtime_ns for path in folder.parent.rglob("*")}
    assert init("--from=python") == USAGE
    assert sentence in capsys.readouterr().err
    after = {path: path.lstat().st_mtime_ns for path in folder.parent.rglob("*")}
    assert after == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no FIFOs")
@pytest.mark.parametrize("name", ["conftest.py", "../pytest.ini", "pyproject.toml"])
def test_nothing_is_written_where_pytest_would_wait_at_a_pipe(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    os.mkfifo(folder / name)
    assert init("--from=python") == USAGE
    assert f"{Path(name).name} is not a regular file" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] in ([], [name])


def test_a_committed_baseline_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ltm_baselines").mkdir()
    (folder / "ltm_baselines/main.json").write_text("{}")
    assert main(["init", "--agent=full"]) == USAGE
    assert "already exists: ltm_baselines/main.json" in capsys.readouterr().err
    assert sorted(folder.rglob("*.*")) == [folder / "ltm_baselines/main.json"]


def test_what_was_written_is_taken_back_where_the_next_file_cannot_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(path: Path, data: bytes) -> None:
        if path.name.startswith("test_ltm_"):
            raise LtmError(f"{path}: cannot be written (no space)")
        write_output(path, data)

    monkeypatch.setattr(new_files, "write_output", write)
    assert init("--from=python") != 0
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_another_folder_is_made_and_entered_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init("new folder", "--from=python") == 0
    assert "cd 'new folder'" in capsys.readouterr().out
    assert all((folder / "new folder" / path).is_file() for path in WRITTEN)
