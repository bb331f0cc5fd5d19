"""An agent keeps one identity however it is named: all readers of its run agree with the run's own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.commands import main

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytestmark = pytest.mark.slow
BOT = """
class Bot:
    def __init__(self): self.heard = []
    def {method}(self, message):
        self.heard.append(message)
        return self.heard[0]
"""
FILES = {
    "test_cat.py": """
def test_cat(ltm):
    ltm.say("My cat is Kelvin.")
    ltm.check("knows", "Kelvin" in ltm.ask("Who is my cat?"))
""",
    "onebot.py": BOT.format(method="reply"),
    "chatty.py": BOT.format(method="chat"),
    "twobots.py": BOT.format(method="reply") + "\nclass Other(Bot): pass\n",
    "answering.py": "def answer(message: str) -> str:\n    return 'You said ' + message\n",
    "made.py": "from onebot import Bot as _Bot\n\nbot = _Bot()\ndef make(): return _Bot()\n",
    "single.py": "from onebot import Bot as _Bot\n\nbot = _Bot()\n",
    "package/__init__.py": BOT.format(method="reply"),
    "package/inner.py": BOT.format(method="respond"),
    "file.yml": "agent: onebot:Bot\n",
    "module.yml": "agent: onebot\n",
    "embedded.yml": "agent: window:4k\n",
    "words.py": """
class Store:
    def __init__(self): self.texts = []
    def add(self, text, **_): self.texts.append(text)
    def search(self, query, **_): return self.texts[-3:]
""",
    "program.py": """
import json, sys
for line in sys.stdin:
    print(json.dumps({"reply": json.loads(line)["message"]}), flush=True)
""",
    "conftest.py": """
import pytest

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_agent(config, spec):
    import onebot
    return {"hooked": onebot.Bot, "hooked:with.dots": onebot, "hooked-once": onebot.Bot()}.get(spec)
""",
    "pytest.ini": "[pytest]\nltm_agents =\n    mine = onebot\n    other = window:8k\n    filed = module.yml\n",
}
WAYS = (
    "full",
    "window:8k",
    "window:08000",
    "bm25:4000",
    "forgetful:0.20",
    "length-bias:8k",
    "cost:3/15",
    "echo",
    "silent",
    "oracle",
    "dump",
    "hedge:unsure",
    "padded:question:window:4k",
    "onebot",
    "onebot:Bot",
    "onebot.Bot",
    "dotted=onebot.Bot",
    "chatty",
    "chatty:Bot",
    "chatty:Bot.chat",
    "answering",
    "answering:answer",
    "twobots:Other",
    "made:make",
    "made:bot",
    "single",
    "package",
    "package.inner",
    "package.inner:Bot",
    "file.yml",
    "module.yml",
    "embedded.yml",
    "mine",
    "own=mine",
    "other",
    "filed",
    "hooked",
    "hooked:with.dots",
    "hooked-once",
    "store:words:Store",
    "memory:rules",
    "memory:rules?reading.k=5,7",
    "ts:onebot:Bot",
    "cmd:python program.py",
)


@pytest.fixture
def project_of_all(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with an agent for each way of naming one."""
    for name, text in FILES.items():
        project.file(text, name)
    monkeypatch.chdir(project.path)
    monkeypatch.syspath_prepend(project.path)
    return project


def differences(run: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    main(["verify", str(run), "--json", "--pytest=-p no:randomly", *words])
    verification = json.loads(capsys.readouterr().out)
    return verification["differs"], verification["unchecked"]


def specs_in(run: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the agents named in the run's file and those named in its results."""
    began = json.loads((run / "run.json").read_text("utf-8"))
    results = [
        json.loads(path.read_text("utf-8")) for path in run.glob("*/results.json")
    ]
    return began["settings"]["agents"], {
        result["agent"]: result["agent_spec"] for result in results
    }


@WHOLE_RUN
def test_every_reader_agrees_on_an_agent_however_it_is_named(
    project_of_all: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"--ltm-agent={way}" for way in WAYS]
    options = ["--ltm-suite=none", "--ltm-span=2k", *words]
    played = project_of_all.pytest(*options)
    assert played.ret in {0, 1}, played.errlines[-5:]
    run = latest_run(project_of_all.path)
    named, in_results = specs_in(run)
    assert named == in_results
    assert len(named) == len(WAYS) + 1  # one way names two agents
    assert named["mine"] == named["onebot"] == named["own"] == "onebot:Bot"
    assert differences(run, capsys) == ([], [])
    assert main(["export", str(run), "--to=csv", "-o", "rows.csv"]) == 0
    assert main(["report", str(run), "-o", "page.html"]) == 0
    assert "does not hold" not in Path("page.html").read_text("utf-8")
    assert main(["compare", f"{run}@mine", f"{run}@onebot"]) == 0
    again = project_of_all.pytest("--ltm-resume=latest")
    assert "not the same" not in again.stdout.str()
    rescored = project_of_all.pytest(f"--ltm-rescore={run}")
    assert rescored.ret in {0, 1}
    second = latest_run(project_of_all.path)
    assert second != run
    assert specs_in(second) == (named, named)
    assert differences(second, capsys, "--record-only")[0] == []


@WHOLE_RUN
@pytest.mark.parametrize("way", ["mine", "own=mine", "onebot", "module.yml", "hooked"])
def test_a_baseline_and_a_bundle_name_the_agent_that_the_run_names(
    project_of_all: Project, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    options = ["--ltm-suite=none", "--ltm-span=2k", f"--ltm-agent={way}"]
    assert project_of_all.pytest(*options, "--ltm-save=main").ret in {0, 1}
    run = latest_run(project_of_all.path)
    named, _ = specs_in(run)
    saved = Path("ltm_baselines/main.json").read_text("utf-8")
    assert json.loads(saved)["agent_spec"] in named.values()
    assert main(["lab", "bundle", str(run), "-o", "run.ltm.zip"]) == 0
    assert differences(Path("run.ltm.zip"), capsys, "--record-only") == ([], [])
    held = project_of_all.pytest(*options, "--ltm-compare=main")
    held.stdout.no_fnmatch_line("*another agent*")
