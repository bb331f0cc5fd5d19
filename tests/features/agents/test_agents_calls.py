"""Agents that reply through a method other than `reply`."""

from __future__ import annotations

import asyncio
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents.capabilities import capabilities_of, shown_capabilities
from pytest_ltm.agents.profile import profile_of
from pytest_ltm.agents.replying import CALLS
from pytest_ltm.agents.sources import agent_source, dotted_source
from pytest_ltm.api.storage import AgentError


def kind(**members: Any) -> type:
    return types.new_class("Bot", exec_body=lambda body: body.update(members))


def says(self: object, message: str) -> str:
    return f"{type(self).__name__} heard {message}"


def needs_more(_: object, message: str, history: list[str]) -> str:  # noqa: ARG001 - the point
    return message


@pytest.mark.parametrize("name", CALLS)
def test_the_only_method_of_a_known_name_replies(name: str) -> None:
    found = agent_source(kind(**{name: says}), spec="x:Bot")
    assert found.calls == name
    assert found.owned
    assert found.make().reply("Hi") == "Bot heard Hi"


@pytest.mark.parametrize("name", [name for name in CALLS if name != "__call__"])
def test_so_it_does_of_an_object(name: str) -> None:
    found = agent_source(kind(**{name: says})(), spec="x:bot")
    assert (found.calls, found.serves_many) == (name, False)
    assert found.make().reply("Hi") == "Bot heard Hi"


def test_reply_comes_first() -> None:
    found = agent_source(kind(reply=says, chat=needs_more, run=says), spec="x:Bot")
    assert (found.calls, found.make().reply("Hi")) == ("", "Bot heard Hi")


def test_one_that_does_not_take_the_message_alone_does_not_count() -> None:
    assert agent_source(kind(chat=needs_more, run=says), spec="x:Bot").calls == "run"


def test_static_and_class_methods_are_called_as_python_calls_them() -> None:
    assert (
        agent_source(kind(chat=staticmethod(lambda message: message)), spec="x:Bot")
        .make()
        .reply("Hi")
        == "Hi"
    )
    assert (
        agent_source(kind(chat=classmethod(says)), spec="x:Bot").make().reply("Hi")
        == "type heard Hi"
    )


def test_what_it_can_do_besides_stays() -> None:
    heard: list[tuple[str, str]] = []
    members = {
        "chat": says,
        "reset": lambda _: heard.clear(),
        "accept": lambda _, m, r: heard.append((m, r)),
    }
    agent: Any = agent_source(kind(**members), spec="x:Bot").make()
    assert {"Resettable", "AcceptsHistory"} <= capabilities_of(agent)
    agent.accept("a", "b")
    assert heard == [("a", "b")]


def test_each_conversation_is_told_its_name(tmp_path: Path) -> None:
    told: list[str] = []
    bot = kind(chat=says, start=lambda _, conversation_id: told.append(conversation_id))
    agent_source(bot, spec="x:Bot").make(folder=tmp_path / "one")
    assert told == [f"{tmp_path.name}-one"]


def test_an_async_method_is_awaited_by_whoever_talks() -> None:
    async def chat(_: object, message: str) -> str:
        await asyncio.sleep(0)
        return message.upper()

    agent: Any = agent_source(kind(chat=chat), spec="x:Bot").make()
    assert asyncio.run(agent.reply("hi")) == "HI"


@pytest.mark.parametrize(
    ("members", "told"),
    [
        (
            {"chat": says, "run": says},
            r"but chat\(\) and run\(\)\. Name the one that replies, as in 'x:Bot\.chat'",
        ),
        (
            {"chat": needs_more},
            r"It has chat\(message, history\); what replies takes the message alone",
        ),
        (
            {"send_message": says, "ask": says},
            r"It has ask\(message\), send_message\(message\)\. If .* it: 'x:Bot\.ask'",
        ),
        ({"rply": says, "other": says}, r"It has rply\(message\)\. If rply replies"),
        (
            {"other": says},
            r"Bot has no reply\(message\)\. Write `def reply\(self, message\)`\.",
        ),
        ({"chat": "not a method", "other": says}, r"Write `def reply"),
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_a_class_or_an_object_without_any_is_refused_before_it_is_called(
    members: dict[str, Any], told: str, *, made: bool
) -> None:
    bot = kind(**members)
    with pytest.raises(AgentError, match=told):
        agent_source(bot() if made else bot, spec="x:Bot")


def test_a_class_that_gets_reply_when_it_is_made_is_believed() -> None:
    class Late:
        def __init__(self) -> None:
            self.reply = lambda message: f"late {message}"

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            if name != "reply":
                raise AttributeError(name)
            return lambda message: f"proxied {message}"

    assert agent_source(Late, spec="x:Late").make().reply("Hi") == "late Hi"
    assert agent_source(Proxy, spec="x:Proxy").make().reply("Hi") == "proxied Hi"


def test_a_factory_may_return_one() -> None:
    def make() -> object:
        return kind(chat=says)()

    assert agent_source(make, spec="x:make").make().reply("Hi") == "Bot heard Hi"


def test_a_path_may_name_the_method(tmp_path: Path) -> None:
    (tmp_path / "calls_by_path.py").write_text(
        "class Base:\n"
        "    def chat(self, text): return type(self).__name__ + text\n"
        "    def run(self, text): return 'run'\n"
        "    def two(self, text, more): return 'run'\n"
        "class Child(Base): pass\n"
        "class Tools:\n"
        "    @staticmethod\n"
        "    def answer(text): return 'static'\n"
    )
    assert (
        dotted_source("calls_by_path:Base.chat", base=tmp_path).make().reply("!")
        == "Base!"
    )
    assert (
        dotted_source("calls_by_path.Child.chat", base=tmp_path).make().reply("!")
        == "Child!"
    )
    assert (
        dotted_source("calls_by_path:Tools.answer", base=tmp_path).make().reply("!")
        == "static"
    )
    with pytest.raises(AgentError, match="cannot reply"):
        dotted_source("calls_by_path:Base.two", base=tmp_path).make()


DESCRIBED = """
import pytest

def misbehave(*_):
    {how}

class Described:
    __get__ = misbehave

class Bot:
    reply = Described()

class Meta(type):
    __getattr__ = misbehave

class Other(metaclass=Meta):
    pass
"""


@pytest.mark.parametrize("name", ["Bot", "Other"])
@pytest.mark.parametrize(
    "how", ["pytest.skip('later')", "raise SystemExit(3)", "raise GeneratorExit", "1/0"]
)
def test_a_class_whose_parts_cannot_be_looked_at_is_an_error_of_that_agent(
    how: str, name: str, tmp_path: Path
) -> None:
    module = f"described_{name.lower()}_{sum(how.encode())}"
    code = DESCRIBED.format(how=how)
    (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    with pytest.raises(AgentError, match=f"{module}:{name}'.*could not be examined"):
        dotted_source(f"{module}:{name}", base=tmp_path)


class Unsigned:
    """A callable whose parameters cannot be inspected."""

    def __getattr__(self, _: str) -> Any:
        raise SystemExit(3)

    def __call__(self, message: str) -> str:
        return message


def test_what_cannot_be_looked_at_shows_no_capabilities() -> None:
    bot = kind(reply=Unsigned(), stateless=True)
    assert shown_capabilities(bot()) == frozenset()
    source = agent_source(kind(reply=says), spec="bots:Bot")
    unsigned = replace(source, definition=bot)
    assert profile_of(unsigned).capabilities == frozenset()
