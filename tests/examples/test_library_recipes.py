"""The recipes for agents of well-known libraries: their adapters against fakes, and stores with the real library."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from _commands import ROOT, run
from chance import chance_put_back
from json_server import Answer, serving

from pytest_ltm.agents.framework_adapters import load_frameworks

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

RECIPES = ROOT / "conftest_examples"


@pytest.mark.parametrize(
    ("recipe", "library"),
    {
        "langgraph_agent": "langgraph",
        "langchain_agent": "langchain",
        "pydantic_ai_agent": "pydantic-ai",
        "openai_agents_sdk": "agents",
    }.items(),
)
def test_a_recipe_is_what_init_writes(recipe: str, library: str) -> None:
    framework = load_frameworks()[library]
    written = {
        "ltm_agent.py": framework.adapter_text("bot", framework.name),
        "bot.py": framework.stand_in,
    }
    for name, text in written.items():
        # The recipe is formatted like the rest of this project.
        recorded = (RECIPES / recipe / name).read_text("utf-8")
        assert ast.dump(ast.parse(recorded)) == ast.dump(ast.parse(text)), name


@pytest.fixture
def adapter_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a factory for the agent class of a library's adapter, with the given object as its `bot`."""

    def make(library: str, given: Any) -> Any:
        framework = load_frameworks()[library]
        bot = ModuleType("bot")
        monkeypatch.setattr(bot, framework.name, given, raising=False)
        monkeypatch.setitem(sys.modules, "bot", bot)
        module = ModuleType("ltm_agent")
        exec(framework.adapter_text("bot", framework.name), vars(module))
        return module.Agent

    return make


def adapter(recipe: str) -> Any:
    """Return the adapter module of a recipe."""
    spec = importlib.util.spec_from_file_location(
        f"{recipe}_adapter", RECIPES / recipe / "adapter.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_runnable_gets_all_messages_so_far(adapter_of: Callable[..., Any]) -> None:
    seen: list[Any] = []

    def invoke(messages: Any) -> Any:
        seen.append(list(messages))
        return SimpleNamespace(text="hi")

    agent = adapter_of("langchain", SimpleNamespace(invoke=invoke))()
    agent.accept("filler", "done")
    assert agent.reply("a") == "hi"
    agent.reply("b")
    assert seen[1] == [
        ("user", "filler"),
        ("ai", "done"),
        ("user", "a"),
        ("ai", "hi"),
        ("user", "b"),
    ]


def test_a_graph_gets_one_thread_for_each_conversation(
    adapter_of: Callable[..., Any],
) -> None:
    calls: list[Any] = []

    def invoke(state: Any, config: Any) -> Any:
        calls.append((state["messages"], config["configurable"]["thread_id"]))
        return {"messages": [SimpleNamespace(text="old"), SimpleNamespace(text="new")]}

    def update_state(config: Any, state: Any) -> None:
        calls.append((state["messages"], config["configurable"]["thread_id"]))

    graph = SimpleNamespace(
        invoke=invoke, update_state=update_state, checkpointer="in memory"
    )
    one, other = (make() for make in [adapter_of("langgraph", graph)] * 2)
    assert one.reply("a") == "new"
    one.accept("filler", "done")
    other.reply("b")
    assert [messages for messages, _ in calls] == [
        [("user", "a")],
        [("user", "filler"), ("ai", "done")],
        [("user", "b")],
    ]
    assert calls[0][1] == calls[1][1] != calls[2][1]


def test_a_graph_without_a_checkpointer_is_sent_all_messages(
    adapter_of: Callable[..., Any],
) -> None:
    calls: list[Any] = []

    def invoke(state: Any, _: Any) -> Any:
        calls.append(list(state["messages"]))
        answer = SimpleNamespace(text=f"{len(calls)}")
        return {"messages": [*state["messages"], answer]}

    graph = SimpleNamespace(invoke=invoke, checkpointer=None)
    agent = adapter_of("langgraph", graph)()
    assert agent.reply("a") == "1"
    agent.accept("filler", "done")
    assert agent.reply("b") == "2"
    first, second = calls
    assert second[:1] == first
    assert second[2:] == [("user", "filler"), ("ai", "done"), ("user", "b")]


def test_a_session_of_the_agents_sdk_is_told_filler(
    monkeypatch: pytest.MonkeyPatch, adapter_of: Callable[..., Any]
) -> None:
    class Session:
        def __init__(self, _: str) -> None:
            self.items: list[Any] = []

        async def add_items(self, items: Any) -> None:
            self.items += items

    async def run(agent: str, message: str, session: Session) -> Any:
        session.items.append({"role": "user", "content": message})
        return SimpleNamespace(final_output=f"{agent} has {len(session.items)}")

    fake = ModuleType("agents")
    monkeypatch.setattr(fake, "FunctionTool", object, raising=False)
    monkeypatch.setattr(fake, "Runner", SimpleNamespace(run=run), raising=False)
    monkeypatch.setattr(fake, "SQLiteSession", Session, raising=False)
    monkeypatch.setitem(sys.modules, "agents", fake)
    agent = adapter_of("agents", "it")()
    asyncio.run(agent.accept("filler", "done"))
    assert asyncio.run(agent.reply("a")) == "it has 3"


@pytest.fixture
def fake_module(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that installs a fake for a missing library's module."""

    def put(name: str, **members: Any) -> None:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            module = ModuleType(".".join(parts[:length]))
            monkeypatch.setitem(sys.modules, module.__name__, module)
        vars(sys.modules[name]).update(members)

    return put


def test_an_agent_of_pydantic_ai_gets_its_messages_back(
    adapter_of: Callable[..., Any], fake_module: Callable[..., None]
) -> None:
    async def run(message: str, message_history: Any, toolsets: Any) -> Any:
        assert toolsets is None
        messages = [*message_history, message]
        used = SimpleNamespace(input_tokens=len(messages), output_tokens=1)
        return SimpleNamespace(
            output=" ".join(messages), all_messages=lambda: messages, usage=used
        )

    fake_module(
        "pydantic_ai.messages",
        UserPromptPart=str,
        TextPart=str,
        ModelRequest="".join,
        ModelResponse="".join,
    )
    vars(sys.modules["pydantic_ai"]).update(FunctionToolset=list, Tool=object)
    agent = adapter_of("pydantic-ai", SimpleNamespace(run=run))()
    asyncio.run(agent.reply("a"))
    agent.accept("filler", "done")
    second = asyncio.run(agent.reply("b"))
    assert second.text == "a filler done b"
    assert (second.usage.input_tokens, second.usage.output_tokens) == (4, 1)


def test_an_agent_of_llama_index_is_shown_its_history(
    adapter_of: Callable[..., Any], fake_module: Callable[..., None]
) -> None:
    async def run(user_msg: str, chat_history: list[Any]) -> str:
        return " ".join([*(each["content"] for each in chat_history), user_msg])

    fake_module("llama_index.core.llms", ChatMessage=dict)
    fake_module("llama_index.core.tools", FunctionTool=object, ToolMetadata=object)
    agent = adapter_of("llama-index-agent", SimpleNamespace(run=run))()
    asyncio.run(agent.reply("a"))
    agent.accept("filler", "done")
    assert asyncio.run(agent.reply("b")) == "a a filler done b"


# --- stores


def words(text: str) -> list[float]:
    """Return a vector that is close for texts with common words."""
    vector = [0.0] * 64
    for word in text.lower().split():
        vector[sum(map(ord, word)) % 64] += 1.0
    return vector


def embeddings(post: Any) -> Answer:
    """Answer like OpenAI's embeddings endpoint."""
    texts = (
        [post.body["input"]]
        if isinstance(post.body["input"], str)
        else post.body["input"]
    )
    data = [
        {"object": "embedding", "index": i, "embedding": words(text)}
        for i, text in enumerate(texts)
    ]
    body = {
        "object": "list",
        "model": "m",
        "data": data,
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }
    return Answer(body, headers={"Connection": "close"})


def test_a_store_of_mem0_works_behind_a_chat_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    with chance_put_back(), serving(embeddings) as server:
        mem0 = pytest.importorskip("mem0", reason="mem0 is not installed")
        service = {"api_key": "none", "openai_base_url": server.url, "model": "m"}
        memory = mem0.Memory.from_config(
            {
                "embedder": {
                    "provider": "openai",
                    "config": {**service, "embedding_dims": 64},
                },
                "llm": {"provider": "openai", "config": service},
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": str(tmp_path / "q"), "embedding_model_dims": 64},
                },
                "history_db_path": str(tmp_path / "history.db"),
            }
        )
        store = SimpleNamespace(
            search=memory.search,
            add=lambda messages, user_id: memory.add(
                messages, user_id=user_id, infer=False
            ),
        )
        module = adapter("memory_store")
        one, other = (
            module.StoreAgent(store, lambda notes, _: " ".join(notes)) for _ in range(2)
        )
        one.reply("My train to Ghent leaves from platform 14.")
        one.accept("filler about walnuts", "done")
        assert "platform 14" in one.reply(
            "From which platform leaves my train to Ghent?"
        )
        assert one.retrieved()
        assert other.reply("From which platform leaves my train to Ghent?") == ""


class Letta:
    """Stands in for a Letta server: its client's requests, and its answers."""

    def __init__(self) -> None:
        self.agents = SimpleNamespace(
            create=self.create, delete=self.delete, messages=self
        )
        self.notes: dict[str, list[str]] = {}
        self.deleted: list[str] = []

    def create(
        self, *path: str, messages: Sequence[Mapping[str, str]] = (), **settings: Any
    ) -> Any:
        if not path:
            self.notes[settings["model"]] = []
            return SimpleNamespace(id=settings["model"])
        self.notes[path[0]] += [message["content"] for message in messages]
        return SimpleNamespace(
            messages=[
                SimpleNamespace(message_type="reasoning_message", reasoning="hm"),
                SimpleNamespace(
                    message_type="assistant_message",
                    content=" ".join(self.notes[path[0]]),
                ),
            ]
        )

    def delete(self, agent: str) -> None:
        self.deleted.append(agent)


def test_an_agent_on_a_letta_server_is_made_asked_and_deleted() -> None:
    server = Letta()
    agent = adapter("memory_store").LettaAgent(server, model="m")
    agent.reply("a")
    assert agent.reply("b") == "a b"
    agent.close()
    assert server.deleted == ["m"]


def test_the_client_of_letta_finds_what_the_adapter_asks_for() -> None:
    letta = pytest.importorskip("letta_client", reason="letta_client is not installed")

    def answer(post: Any) -> dict[str, Any]:
        if post.path.rstrip("/").endswith("/messages"):
            said = [
                {
                    "message_type": "assistant_message",
                    "id": "1",
                    "date": "2026-01-01T00:00:00Z",
                    "content": "hi",
                }
            ]
            stop = {"message_type": "stop_reason", "stop_reason": "end_turn"}
            return {
                "messages": said,
                "stop_reason": stop,
                "usage": {"message_type": "usage_statistics"},
            }
        return {"id": "agent-1", "name": "n"}

    with serving(answer) as server:
        client = letta.Letta(base_url=server.url, api_key="none")
        agent = adapter("memory_store").LettaAgent(client, model="m", embedding="e")
        assert agent.reply("a") == "hi"
    made, asked = server.posts
    assert made.body == {"model": "m", "embedding": "e"}
    assert "agent-1" in asked.path
    assert asked.body["messages"] == [{"role": "user", "content": "a"}]


# --- servers


@contextmanager
def started(folder: Path) -> Iterator[str]:
    """Start the recipe's server as its README says; yield its address."""
    command = [sys.executable, "server.py"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.kill()


@WHOLE_RUN
def test_the_recipe_of_an_agent_behind_http_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx2", reason="the extra `http` is not installed")
    folder = shutil.copytree(RECIPES / "http_agent", tmp_path / "recipe")
    command = "pytest --ltm-agent=bot.yml test_train.py"
    assert command in (folder / "README.md").read_text(encoding="utf-8")
    monkeypatch.setenv("BOT_TOKEN", "open sesame")
    with started(folder) as address:
        monkeypatch.setenv("BOT_HOST", address)
        assert run(command, folder).counts() == {"passed": 1}
        os.environ["BOT_TOKEN"] = "wrong"
        assert "401 Unauthorized" in "\n".join(run(command, folder).printed)
    written = "".join(
        path.read_text(encoding="utf-8") for path in folder.rglob("*.json*")
    )
    assert "open sesame" not in written
