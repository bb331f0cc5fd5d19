"""How `ltm try` and `ltm init` choose a project's bot, and their messages about near misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ltm.agents.project import Project
from pytest_ltm.agents.project_choice import choose_candidate
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import AgentError, ConfigurationError

INNER = (
    "class {}:\n    def __init__(self, llm): ...\n    def chat(self, message): ...\n"
)
FOUND = {
    "a factory of a private class": (
        {"app.py": f"{INNER.format('_Bot')}def create_bot():\n    return _Bot(1)\n"},
        "app:create_bot",
    ),
    "a factory by way of a variable": (
        {
            "app.py": f"{INNER.format('Inner')}def make_app():\n    it = Inner(1)\n    return it\n"
        },
        "app:make_app",
    ),
    "an instance of a private class": (
        {"app.py": f"{INNER.format('_Bot')}bot = _Bot(1)\n"},
        "app:bot",
    ),
    "a static method": (
        {"app.py": "class Bot:\n    @staticmethod\n    def reply(message): ...\n"},
        "app:Bot",
    ),
    "a namespace package": (
        {"acme/bots/help.py": "class Help:\n    def respond(self, text): ...\n"},
        "acme.bots.help:Help",
    ),
    "a package with a main module": (
        {
            "pkg/__init__.py": "",
            "pkg/__main__.py": "from pkg.brain import Brain\nprint(Brain().reply(input()))\n",
            "pkg/brain.py": "class Brain:\n    def reply(self, message): ...\n",
        },
        "pkg.brain:Brain",
    ),
    "below a main guard": (
        {
            "bot.py": "def chat(message): ...\nif __name__ == '__main__':\n    print(chat(input()))\n"
        },
        "bot:chat",
    ),
    "a protocol and its class": (
        {
            "base.py": "from typing import Protocol\nclass Bot(Protocol):\n    def reply(self, message): ...\n",
            "real.py": "class Real:\n    def reply(self, message): ...\n",
        },
        "real:Real",
    ),
    "a base with a parameter": (
        {
            "app.py": (
                "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Base(Generic[T]):\n"
                "    def reply(self, message): ...\nclass Bot(Base[int]): ...\n"
            )
        },
        "app:Bot",
    ),
    "a message with a default": (
        {"app.py": "class Bot:\n    def reply(self, message='', user=None): ...\n"},
        "app:Bot",
    ),
    "any arguments": (
        {"app.py": "class Bot:\n    def reply(self, *args, **more): ...\n"},
        "app:Bot",
    ),
    "an agent of LangChain": (
        {
            "app.py": "from langchain.agents import create_agent\nagent = create_agent('x')\n"
        },
        "app:agent",
    ),
    "a fake among tests": (
        {
            "tests/fake.py": "class Fake:\n    def reply(self, message): ...\n",
            "app/bot.py": "class Bot:\n    def reply(self, message): ...\n",
        },
        "app.bot:Bot",
    ),
}


def project_of(folder: Path, files: dict[str, str]) -> Project:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Project.read(folder)


@pytest.mark.parametrize(("files", "spec"), FOUND.values(), ids=FOUND)
def test_the_bot_is_found(tmp_path: Path, files: dict[str, str], spec: str) -> None:
    assert choose_candidate(project_of(tmp_path, files), "try SPEC").spec == spec


NEAR = {
    "a class that needs arguments": (
        INNER.format("Bot"),
        "bot:Bot has chat(message), but needs 'llm': write `def make(): return Bot(...)`",
    ),
    "a function of more than a message": (
        "def chat(message, user): ...\n",
        "bot:chat takes 'message' and 'user': write `def reply(message): ...`",
    ),
    "a method of more than a message": (
        "class Bot:\n    def reply(self, message, user): ...\n",
        "bot:Bot.reply takes 'message' and 'user': add a method reply(message)",
    ),
    "a stream": (
        "class Bot:\n    def stream(self, message): yield message\n",
        "bot:Bot.stream gives parts",
    ),
    "a web route": (
        "@app.post('/chat')\nasync def talk(): ...\n",
        "bot:talk serves HTTP: start it, and name its address",
    ),
    "a loop at the keyboard": (
        "def main():\n    while True: print(input())\n",
        "bot asks with input(): move what replies into a function",
    ),
}


@pytest.mark.parametrize(("source", "sentence"), NEAR.values(), ids=NEAR)
def test_what_is_nearly_a_bot_is_named_with_the_way_out(
    tmp_path: Path, source: str, sentence: str
) -> None:
    project = project_of(tmp_path, {"bot.py": source})
    with pytest.raises(ConfigurationError) as error:
        choose_candidate(project, "ltm try SPEC")
    assert f"\n  {sentence}" in str(error.value)


def test_a_notebook_is_named(tmp_path: Path) -> None:
    project = project_of(tmp_path, {"mine.ipynb": "{}"})
    with pytest.raises(ConfigurationError, match=r"cells as mine\.py"):
        choose_candidate(project, "ltm try SPEC")
    with pytest.raises(AgentError, match=r"cells as mine\.py"):
        find_agent("mine:Bot", base=tmp_path)


def test_a_name_too_long_for_a_file_is_an_unknown_module(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="there is no module 'aaaa"):
        find_agent(f"{'a' * 300}:Bot", base=tmp_path)


def test_at_most_six_near_misses_are_listed(tmp_path: Path) -> None:
    source = "".join(f"def chat{number}_reply(a, b): ...\n" for number in range(9))
    with pytest.raises(ConfigurationError) as error:
        choose_candidate(project_of(tmp_path, {"bot.py": source}), "ltm try SPEC")
    assert str(error.value).count("\n") == 6


HINTS = {
    "bots.py": "'bots:Helper'",
    "src/bots.py": "'bots:Helper'",
    "Helper": "Did you mean 'bots:Helper'?",
    "botts:Helper": "Did you mean 'bots'?",
}


@pytest.mark.parametrize(("spec", "hint"), HINTS.items(), ids=HINTS)
def test_a_wrong_spec_is_corrected_by_what_the_project_has(
    tmp_path: Path, spec: str, hint: str
) -> None:
    source = "class Helper:\n    def respond(self, text): ...\n"
    project_of(tmp_path, {"bots.py": source, "src/bots.py": source})
    with pytest.raises(AgentError) as error:
        find_agent(spec, base=tmp_path)
    assert hint in str(error.value)
    assert "There are" not in str(error.value)


BROKEN = {
    "a missing package": (
        "import not_a_package_at_all\n",
        "(broken_1.py:1). Install it into ",
    ),
    "a relative import": (
        "from .memory import Memory\n",
        "Name it with its package, from the folder above",
    ),
    "a question at the keyboard": (
        "def input(_): raise EOFError\nname = input('Name? ')\n",
        "(broken_1.py:1). It reads from the keyboard",
    ),
    "a missing key": (
        "import os\nkey = os.environ['NO_SUCH_VARIABLE']\n",
        "(broken_1.py:2). Set that environment variable",
    ),
}


@pytest.mark.parametrize(("source", "told"), BROKEN.values(), ids=BROKEN)
def test_a_module_that_cannot_be_imported_has_a_place_and_a_cure(
    tmp_path: Path, source: str, told: str
) -> None:
    (tmp_path / "broken_1.py").write_text(source)
    with pytest.raises(AgentError) as error:
        find_agent("broken_1:Bot", base=tmp_path)
    assert told in str(error.value)
