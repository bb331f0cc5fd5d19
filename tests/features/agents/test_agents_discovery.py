"""The only agent of a module, framework objects, and the hint for replies of a wrong type."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from pytest_ltm.agents.answers import cure_reply
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.framework_adapters import load_frameworks
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.replying import ROOTS
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.calls import close_loops, share_in_thread
from pytest_ltm.api.storage import AgentError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "mybot"]:
        del sys.modules[name]


CHAT = "def chat(self, message): return message"
REPLY = "def reply(self, message): return 'mine: ' + message"
ONE = {
    "a class": f"class Bot:\n    {REPLY}",
    "a class beside an object of it": f"class Bot:\n    {REPLY}\nbot = Bot()",
    "an object of a class that needs more": f"class Bot:\n    def __init__(self, m): ...\n    {REPLY}\nbot = Bot(1)",
    "a class beside helpers": f"import re\nfrom pathlib import Path\ndef clean(text): ...\nclass Bot:\n    {REPLY}",
    "a class beside its abstract parent": (
        "import abc\nclass Base(abc.ABC):\n    @abc.abstractmethod\n    def reply(self, m): ...\n"
        f"class Bot(Base):\n    {REPLY}"
    ),
    "a class that replies by another name": "class Bot:\n    def chat(self, message): return 'mine: ' + message",
    "a function": "def answer(message): return 'mine: ' + message",
    "a function of an annotated text": (
        "def load(path: bytes): ...\ndef _hidden(x): ...\ndef answer(message: str) -> str: return 'mine: ' + message"
    ),
}


@pytest.mark.parametrize("source", ONE.values(), ids=ONE)
def test_a_module_with_one_agent_names_it(project: Path, source: str) -> None:
    (project / "mybot.py").write_text(source)
    assert find_agent("mybot", base=project).make().reply("x") == "mine: x"


def test_a_package_names_the_agent_that_it_exports(project: Path) -> None:
    (project / "mybot").mkdir()
    (project / "mybot/__init__.py").write_text("from mybot.core import Bot")
    (project / "mybot/core.py").write_text(f"class Bot:\n    {REPLY}")
    assert find_agent("mybot", base=project).make().reply("x") == "mine: x"
    assert find_agent("mybot.core", base=project).make().reply("x") == "mine: x"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            f"class A:\n    {REPLY}\nclass B:\n    {REPLY}",
            "with 2 agents. Name one: 'mybot:A' or 'mybot:B'.",
        ),
        (
            "def a(x): ...\ndef b(x): ...",
            "a module with 2 agents. Name one: 'mybot:a' or 'mybot:b'.",
        ),
        (
            "X = 3",
            "'mybot' is a module without an agent: a class or object with reply(message), or one function",
        ),
    ],
)
def test_a_module_with_more_or_none_names_the_candidates(
    project: Path, source: str, message: str
) -> None:
    (project / "mybot.py").write_text(source)
    with pytest.raises(AgentError) as caught:
        find_agent("mybot", base=project)
    assert message in str(caught.value)


def test_an_empty_package_names_its_modules(project: Path) -> None:
    (project / "mybot").mkdir()
    (project / "mybot/__init__.py").touch()
    (project / "mybot/core.py").touch()
    with pytest.raises(
        AgentError, match=r"It has modules: name one that has, as in 'mybot\.core'\."
    ):
        find_agent("mybot", base=project)


def test_a_misspelt_embedded_agent_is_no_module(project: Path) -> None:
    with pytest.raises(
        AgentError, match=r"unknown agent 'ful'\. Did you mean 'full'\?"
    ):
        find_agent("ful", base=project)


def test_all_recognized_packages_have_an_adapter_that_compiles() -> None:
    frameworks = load_frameworks()
    assert {each.package.partition(".")[0] for each in frameworks.values()} == ROOTS | {
        "mem0"
    }
    for name, framework in frameworks.items():
        compile(framework.adapter_text("pkg.bot", framework.name), name, "exec")
        compile(framework.stand_in, name, "exec")


def framework_kind(name: str) -> type:
    """Return a class that looks like a framework's."""
    framework = load_frameworks()[name]
    root = framework.package.partition(".")[0]
    kind = type(framework.classes[0], (), {"__module__": f"{root}.some"})
    return type("Special", (kind,), {"__module__": f"{root}.other"})


@pytest.mark.parametrize("name", sorted({*load_frameworks()} - {"mem0"}))
def test_a_class_of_a_framework_is_refused_with_its_adapter(name: str) -> None:
    framework = load_frameworks()[name]
    with pytest.raises(AgentError) as caught:
        agent_source(framework_kind(name), spec="bot:thing").make()
    assert (
        f"is a Special of {framework.title}, which needs an adapter. Run `ltm init --from={name}`"
        in str(caught.value)
    )
    assert (
        f"from bot import thing as {framework.name}\n" in str(caught.value)
        or name == "openai"
    )


@pytest.mark.parametrize("is_made", [False, True])
def test_an_object_of_a_framework_is_an_agent(*, is_made: bool) -> None:
    kind = framework_kind("langchain")
    kind.invoke = lambda _self, messages: SimpleNamespace(  # type: ignore[attr-defined]
        text=f"{len(messages)} messages"
    )
    given = kind()
    source = agent_source((lambda: given) if is_made else given, spec="bot:thing")
    first, second = source.make(), source.make()
    assert [first.reply("a"), first.reply("b")] == ["1 messages", "3 messages"]
    assert second.reply("a") == "1 messages"


def test_a_package_of_the_project_is_no_framework(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "agents").mkdir()
    (project / "agents/__init__.py").write_text(f"class Agent:\n    {CHAT}")
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    agent = find_agent("agents:Agent", base=project).make()
    del sys.modules["agents"]  # of this project only
    assert agent.reply("x") == "x"


def test_code_that_takes_the_messages_so_far_is_shown_them(project: Path) -> None:
    (project / "mybot.py").write_text(
        "def talk(messages):\n    return {'content': messages[0]['content'], 'role': 'assistant'}"
    )
    source = find_agent("mybot:talk", base=project)
    first, second = source.make(), source.make()
    assert source.serves_many
    assert [first.reply("a"), first.reply("b")] == ["a", "a"]
    assert second.reply("c") == "c"


@pytest.mark.parametrize(
    "source",
    [
        "def talk(message, history):\n    return f'{len(history)} {message}'",
        "def talk(history, message, mood='good'):\n    return f'{len(history)} {message}'",
        "async def talk(message, chat_history):\n    return f'{len(chat_history)} {message}'",
    ],
)
def test_a_function_of_a_message_and_a_history_is_shown_what_was_said_before(
    project: Path, source: str
) -> None:
    (project / "mybot.py").write_text(source)
    source_of_agents = find_agent("mybot:talk", base=project)
    share_in_thread()
    first = AgentCaller(source_of_agents.make(), timeout=5, name="talk", owned=True)
    replies = [first.ask(message).text for message in "ab"]
    close_loops()
    assert replies == ["0 a", "2 b"]
    assert source_of_agents.serves_many


@pytest.mark.parametrize(
    "source",
    [
        "def answer(question='', mood='good'): return question",
        "answer = lambda message: message",
    ],
)
def test_a_function_with_a_default_or_without_a_name_of_its_own_takes_the_message(
    project: Path, source: str
) -> None:
    (project / "mybot.py").write_text(source)
    assert find_agent("mybot:answer", base=project).make().reply("x") == "x"


def test_a_factory_with_a_default_prompt_is_a_factory(project: Path) -> None:
    (project / "mybot.py").write_text(
        f"class Bot:\n    {REPLY}\ndef make(prompt='You help.'): return Bot()"
    )
    assert find_agent("mybot:make", base=project).make().reply("x") == "mine: x"


def test_a_subclass_that_replies_is_an_agent_of_its_own() -> None:
    kind = type("Agent", (), {"__module__": "pydantic_ai.agent"})
    mine = type("Mine", (kind,), {"reply": lambda _self, message: message})
    assert agent_source(mine, spec="bot:Mine").make().reply("x") == "x"


@dataclass
class Result:
    output: object = None


CURES = [
    ({"content": "hi"}, "its ['content']"),
    (
        {"messages": [SimpleNamespace(content="a"), SimpleNamespace(content="hi")]},
        "its ['messages'][-1].content",
    ),
    (Result("hi"), "its output"),
    (Result(Result("hi")), "its output.output"),
    (
        SimpleNamespace(choices=[SimpleNamespace(message=Result("hi"))]),
        "its choices[-1].message.output",
    ),
    (
        {"choices": [{"index": 1, "text": "a"}, {"index": 0, "text": "hi"}]},
        "its ['choices'][1]['text']",
    ),
    (
        {"choices": [SimpleNamespace(index=n, text=str(n)) for n in (2, 0, 1)]},
        "its ['choices'][1].text",
    ),
    (
        SimpleNamespace(content=[SimpleNamespace(type="text", text="hi")]),
        "its content[-1].text",
    ),
    (["a", "hi"], "its [-1]"),
    ({"odd": "hi"}, "its ['odd']"),
    ((part for part in "hi"), "''.join(it)"),
    (b"hi", "it.decode()"),
]


@pytest.mark.parametrize(("given", "cure"), CURES, ids=[cure for _, cure in CURES])
def test_a_reply_of_another_type_says_where_its_text_is(
    given: object, cure: str
) -> None:
    assert cure_reply(given) == f". Return {cure}"


@pytest.mark.parametrize(
    "given", [3, {}, [], {"a": "x", "b": "y"}, ModuleType("x"), object()]
)
def test_a_reply_without_a_text_is_asked_for_one(given: object) -> None:
    assert cure_reply(given) == ". Return its text"


def test_who_prints_is_told_to_return() -> None:
    assert cure_reply(None) == ". Return the text: printed output is ignored"
