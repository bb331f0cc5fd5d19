"""Agents in separate processes: their capabilities work as usual, and their failures are reported here."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents import Reply, Usage
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import near_misses
from pytest_ltm.agents.line_process import STDERR
from pytest_ltm.agents.processes import Processes
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.calls import Retries
from pytest_ltm.api.model import CAPABILITIES, MemoryOperation, Tools, make_tool
from pytest_ltm.api.storage import AgentError, AgentFault

pytestmark = pytest.mark.slow

BOTS = '''
import asyncio, concurrent.futures, datetime, json, os, sys
from pytest_ltm import AgentFault, Call, Reply, TransientFault, Usage

class Able:
    """Has all capabilities."""
    stateless = True
    max_message_tokens = 77

    def __init__(self, conversation_id, tone="dry"):
        self.id, self.tone, self.heard, self.now, self.used = conversation_id, tone, [], None, 0

    async def begin_session(self, user):
        self.user = user

    def reply(self, message, user="", tools=None):
        if user:
            return f"for {user}"
        if message == "user":
            return self.user
        self.heard.append(message)
        self.used += 10
        if message == "path":
            return json.dumps([os.getpid(), os.getcwd(), sys.path, os.environ.get("LTM_MARK"), sys.executable])
        if message == "told":
            return f"{self.id} {self.tone} {self.now} {self.heard}"
        return Reply("re: " + message, usage=Usage(input_tokens=3, output_tokens=1), cost_usd=0.5, hypothetical=True)

    def answer_alone(self, message): return message + " alone"
    def reply_with_images(self, message, images): return f"{message} {images}"
    def reset(self): self.heard = []
    def compact(self): return "summary"
    def save(self): return json.dumps(self.heard).encode() + bytes([0, 255])
    def load(self, state): self.heard = json.loads(state[:-2])
    def accept(self, message, reply):
        self.heard.append((message, reply))
        return Usage(input_tokens=7)
    def tell_time(self, now): self.now = now.isoformat()
    def usage(self): return Usage(input_tokens=self.used)
    def count_tokens(self, text): return len(text)
    def retrieved(self): return ["a", "b"]
    def in_context(self): return ["c"]
    def written(self): return [("added", 7, "a record"), ("deleted", "8", None)]
    def settle(self): self.heard.append("settled")
    def delete(self, record): self.heard.append("deleted " + record)
    def configuration(self): return {"tone": self.tone}

class Kept(Able):
    """Can be put back by what it saved."""
    stateless = False
    def reply(self, message):
        if message == "die":
            os._exit(3)
        return super().reply(message)

def plain(message):
    return message.upper()

def outer():
    hidden = []
    def closed(message):
        hidden.append(message)
        return "x"
    return closed

closed, instance, imported_wrong = outer(), Able("x"), None

class Loops:
    async def reply(self, message):
        self.loop = getattr(self, "loop", asyncio.get_running_loop())
        await asyncio.sleep(0)
        return str(self.loop is asyncio.get_running_loop())
    async def aclose(self):
        print("closed in its loop", self.loop is asyncio.get_running_loop(), file=sys.stderr)

class Fails:
    stateless = True
    tries = 0
    def reply(self, message):
        Fails.tries += 1
        if message == "deep": self.deeper(2)
        if message == "busy": raise TransientFault("the queue is full", retry_after=0.01)
        if message == "lost" and Fails.tries < 3: raise ConnectionResetError("gone")
        if message == "fatal": raise AgentFault("no more credit", fatal=True)
        return str(Fails.tries)
    def deeper(self, n):
        if not n: raise ValueError("at the bottom")
        self.deeper(n - 1)
    def close(self): raise OSError("will not close")

class Nearly:
    def reply(self, message): return message
    def save(self, path): ...

class Calls:
    """Calls the tool `add`, from where the message says."""
    late = None
    def reply(self, message, tools=None):
        if message == "late":
            return type(self).late.call("add", numbers=[1])
        type(self).late = tools
        return getattr(self, message)(tools)
    def here(self, tools):
        return tools.call("add", numbers=[1, 2])
    def threads(self, tools):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            called = pool.map(lambda number: tools.call("add", numbers=[number, 1]), range(8))
            return " ".join(called)
    async def loop(self, tools):
        return " ".join(await asyncio.gather(*(tools.caller("add")(numbers=[n, 1]) for n in range(8))))
    def wrong(self, tools):
        return tools.call("add", numbers=object()) + " " + tools.call("minus")
    def often(self, tools):
        while True:
            tools.call("add", numbers=[1])
    def broken(self, tools):
        return tools.call("add", numbers=["one"])
    def dies(self, tools):
        tools.call("add", numbers=[1])
        os._exit(4)
    def returns(self, tools):
        return tools.results[0].result if tools.results else Reply("", calls=[Call("add", {"numbers": [3, 4]})])

class Clock:
    def reply(self, message): return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H")
'''
NOON = datetime(2030, 5, 6, 12, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "apart_bots.py").write_text(BOTS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("LTM_MARK", "as here")
    return tmp_path


@contextmanager
def talking(
    name: str,
    folder: Path | None = None,
    *,
    jump: bool = False,
    most: int = 0,
    **how: Any,
) -> Iterator[Any]:
    """Yield the caller of an agent in a separate process."""
    source = find_agent(
        f"apart_bots:{name}", apart=Processes(every=True, jump=jump, look=False, **how)
    )
    retries = (
        Retries(most=most, rng=random.Random(0), sleep=lambda _: None) if most else None
    )
    speaker = AgentCaller(source.make(folder=folder), timeout=60, retries=retries)
    try:
        yield speaker
    finally:
        speaker.close()


def test_an_agent_can_do_there_what_it_can_do_here(bots: Path) -> None:
    folder = bots / "run" / "able~2k~0"
    folder.mkdir(parents=True)
    with talking("Able", folder) as speaker:
        agent = speaker.agent
        assert speaker.capabilities == set(CAPABILITIES)
        assert speaker.ask("user").text == "run-able~2k~0"
        assert speaker.ask("hello", user="ann").text == "for ann"
        assert speaker.max_message_tokens == 77
        assert agent.configuration() == {"tone": "dry"}
        reply = speaker.ask("one")
        assert (reply.text, reply.usage, reply.cost_usd, reply.hypothetical) == (
            "re: one",
            Usage(input_tokens=3, output_tokens=1),
            0.5,
            True,
        )
        assert speaker.usage() == Usage(input_tokens=10)
        assert speaker.tell("m", "r") == Reply("", usage=Usage(input_tokens=7))
        speaker.tell_time(NOON)
        assert (
            speaker.ask("told").text
            == f"run-able~2k~0 dry {NOON.isoformat()} ['one', ('m', 'r'), 'told']"
        )
        state = speaker.save()
        assert state[-2:] == bytes([0, 255])
        agent.reset()
        speaker.load(state)
        assert "'one', ['m', 'r'], 'told'" in speaker.ask("told").text
        assert (speaker.retrieved(), speaker.in_context()) == (("a", "b"), ("c",))
        assert agent.count_tokens("four") == 4
        assert speaker.written() == (
            MemoryOperation("added", "7", "a record"),
            MemoryOperation("deleted", "8"),
        )
        speaker.settle()
        speaker.delete("8")
        assert "'settled', 'deleted 8'" in speaker.ask("told").text
        assert agent.reply_with_images("see", [b"\xff"]).text == "see [b'\\xff']"
        assert speaker.ask("why?", alone=True).text == "why? alone"


def test_what_it_nearly_can_do_there_is_told_here() -> None:
    with talking("Nearly") as speaker:
        said = near_misses(speaker.agent, ["Resettable", "Checkpointable"])
    assert list(said) == ["Checkpointable"]
    assert (
        "its save() cannot be called with no arguments, it has no load()"
        in said["Checkpointable"]
    )


def test_it_has_our_path_folder_and_environment_and_is_another_process() -> None:
    with talking("Able") as speaker:
        pid, folder, path, mark, executable = json.loads(speaker.ask("path").text)
    assert pid != os.getpid()
    assert (folder, path, mark, executable) == (
        str(Path.cwd()),
        sys.path,
        "as here",
        sys.executable,
    )


def test_a_plain_function_is_an_agent_of_as_many_conversations_as_there_are() -> None:
    source = find_agent("apart_bots:plain", apart=Processes(every=True))
    assert source.serves_many
    with talking("plain") as speaker:
        assert speaker.ask("loud").text == "LOUD"


def adding() -> Tools:
    """Return the tool that the agent `Calls` calls."""
    tool = make_tool(
        "add",
        {"numbers": "array"},
        returns=lambda numbers: str(sum(numbers)),
        description="Adds.",
    )
    return Tools([tool])


@pytest.mark.parametrize(
    ("message", "reply", "made"),
    [
        ("here", "3", 1),
        ("threads", "1 2 3 4 5 6 7 8", 8),
        ("loop", "1 2 3 4 5 6 7 8", 8),
        ("returns", "7", 1),
        ("broken", "error: the tool is out of order", 1),
    ],
)
def test_an_agent_there_calls_tools_that_are_answered_here(
    message: str, reply: str, made: int
) -> None:
    tools = adding()
    with talking("Calls") as speaker:
        assert speaker.ask(message, tools=tools).text == reply
    assert [(call.name, call.refused) for call in tools.answered] == [
        ("add", False)
    ] * made
    assert isinstance(tools.failure, TypeError) == (message == "broken")


def test_calls_from_there_that_cannot_be_are_refused_and_recorded_as_those_from_here() -> (
    None
):
    tools = adding()
    with talking("Calls") as speaker:
        text = speaker.ask("wrong", tools=tools).text
    assert "not a JSON object" in text
    assert "there is no tool 'minus'" in text
    assert [call.refused for call in tools.answered] == [True, True]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("often", "called tools 32 times for one message"),
        ("dies", "ended with status 4"),
    ],
)
def test_an_agent_there_that_calls_without_end_or_ends_is_at_fault(
    message: str, words: str
) -> None:
    with talking("Calls") as speaker, pytest.raises(AgentFault, match=words):
        speaker.ask(message, tools=adding())


def test_a_call_from_there_after_the_reply_is_refused_and_disturbs_nobody() -> None:
    with talking("Calls") as speaker:
        speaker.ask("here", tools=adding())
        with pytest.raises(AgentFault, match="no message was open"):
            speaker.ask("late")
        assert speaker.ask("here", tools=adding()).text == "3"


def test_an_async_agent_has_one_loop(bots: Path) -> None:
    folder = bots / "talk"
    folder.mkdir()
    with talking("Loops", folder) as speaker:
        assert [speaker.ask(text).text for text in "ab"] == ["True", "True"]
    assert "closed in its loop True" in (folder / STDERR).read_text()


def test_a_process_that_died_is_followed_by_one_that_is_put_back() -> None:
    with talking("Kept") as speaker:
        speaker.ask("one")
        state = speaker.save()
        with pytest.raises(
            AgentFault, match="its process ended with status 3"
        ) as caught:
            speaker.ask("die")
        assert (caught.value.fatal, caught.value.interrupted) == (False, True)
        speaker.load(state)
        assert "['one', 'told']" in speaker.ask("told").text


@pytest.mark.parametrize("name", ["instance", "closed"])
def test_what_only_exists_here_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(
        AgentError,
        match=r"it would be a different object\. Name a class or a plain function",
    ):
        find_agent(f"apart_bots:{name}", apart=Processes(every=True))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("apart_bots:Nobody", "has no 'Nobody'"),
        ("nowhere_at_all:Bot", "there is no module 'nowhere_at_all'"),
    ],
)
def test_a_wrong_path_is_told_before_anything_else(spec: str, says: str) -> None:
    with pytest.raises(AgentError, match=says):
        find_agent(spec, apart=Processes(every=True))


def test_other_specs_stay_where_they_are() -> None:
    assert not find_agent("echo", apart=Processes(every=True)).apart
    assert not find_agent("window:8k", apart=Processes(every=True)).apart


def test_a_file_may_ask_for_it_and_gives_its_parameters(bots: Path) -> None:
    path = bots / "able.yml"
    path.write_text("agent: apart_bots:Able\nparameters: {tone: warm}\nprocess: true\n")
    source = find_agent(str(path), apart=Processes())
    assert source.apart
    agent: Any = source.make()
    assert source.configuration(agent) == {
        "file": {"agent": "apart_bots:Able", "parameters": {"tone": "warm"}, "env": []},
        "agent": {"tone": "warm"},
    }
    agent.close()
    path.write_text("agent: echo\nprocess: true\n")
    with pytest.raises(
        AgentError, match=r"able\.yml:2: process: 'echo' is not a dotted path"
    ):
        find_agent(str(path), apart=Processes())


def test_what_is_raised_comes_back_with_its_type_its_text_and_its_traceback() -> None:
    with talking("Fails") as speaker:
        with pytest.raises(
            AgentFault, match=r"raised in reply\(\): ValueError: at the bottom"
        ) as caught:
            speaker.ask("deep")
        trace = str(caught.value.__cause__.__cause__)  # type: ignore[union-attr]
        assert trace.count("in deeper") == 3
        assert "raise ValueError" in trace
        assert "_subprocess_main.py" not in trace
        with pytest.raises(AgentFault, match="no more credit") as fatal:
            speaker.ask("fatal")
        assert fatal.value.fatal
        notice = speaker.close()
    assert "raised in close(): OSError: will not close" in str(notice)


def test_passing_faults_are_tried_again() -> None:
    with talking("Fails", most=2) as speaker:
        assert speaker.ask("lost").text == "3"
        with pytest.raises(AgentFault, match=r"the queue is full \(tried 3 times"):
            speaker.ask("busy")


def test_time_jumps_there() -> None:
    pytest.importorskip("time_machine")
    with talking("Clock", jump=True) as speaker:
        speaker.tell_time(NOON)
        assert speaker.ask("?").text == "2030-05-06 12"
    assert datetime.now(timezone.utc).year != 2030


def test_where_nobody_can_interrupt_the_wait_has_its_own_limit(bots: Path) -> None:
    (bots / "apart_slow.py").write_text("import time\ntime.sleep(60)\n")
    source = find_agent(
        "apart_slow:Bot", apart=Processes(every=True, limit=0.3, look=False)
    )
    # only the main thread can be interrupted
    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(source.make).exception()
    assert isinstance(error, AgentError)
    assert "its process gave no answer within 0.3 s" in str(error)
