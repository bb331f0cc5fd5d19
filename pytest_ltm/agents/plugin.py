"""The built-in kinds of agents: readers and controls without a key, chat models, memories, servers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pytest_ltm.api import AgentKind, hookimpl, lazy

_AGENTS = "pytest_ltm.agents"
_reader = partial(AgentKind, yardstick=True, embedded=True)
_adapter = partial(AgentKind, parameters=True)


@hookimpl(tryfirst=True)
def pytest_ltm_agents(register: Callable[[AgentKind], None]) -> None:
    """Register the agents that need no key, and the adapters of all others."""
    for kind in (*_readers(), *_controls(), *_adapters()):
        register(kind)


def _readers() -> list[AgentKind]:
    policy = lazy(f"{_AGENTS}.controls:make_policy")
    return [
        _reader(
            "full",
            partial(policy, "full"),
            "Reads by rules and forgets nothing: shows that every scenario can be solved.",
        ),
        _reader(
            "window",
            partial(policy, "window"),
            "The same reader, seeing only the last 8,000 tokens (or any other number).",
            "8k",
        ),
        _reader(
            "bm25",
            partial(policy, "bm25"),
            "The same reader, seeing 8,000 tokens: the newest, and older ones found by BM25.",
            "8k",
        ),
        _reader(
            "forgetful",
            partial(policy, "forgetful"),
            "The same reader, forgetting every fifth exchange at random.",
            "0.2",
        ),
        _reader(
            "compactor",
            lazy(f"{_AGENTS}._compacting:make_compactor"),
            "The same reader, which can compact; `compactor:reasons` loses the reasons when it does.",
        ),
        _reader(
            "folder",
            lazy(f"{_AGENTS}._memory_folder:make_folder_reader"),
            "The same reader, which keeps notes in a folder of files; only those last from session to session.",
        ),
        _reader(
            "length-bias",
            lazy(f"{_AGENTS}.controls:make_length_bias"),
            "The same reader, seeing 8,000 tokens: the longest messages. `shortest:8k`: the shortest.",
            "8k",
        ),
        _reader(
            "cost",
            lazy(f"{_AGENTS}.controls:make_cost"),
            "Spends nothing; reports what a chat at 3 and 15 dollars a million tokens in and out would cost.",
            "3/15",
        ),
        _reader(
            "echo",
            lazy(f"{_AGENTS}.controls:make_echo"),
            "Replies with the message itself.",
        ),
        _reader(
            "silent",
            lazy(f"{_AGENTS}.controls:make_silent"),
            "Replies with the empty text.",
        ),
    ]


def _controls() -> list[AgentKind]:
    return [
        AgentKind(
            "oracle",
            lazy(f"{_AGENTS}.controls:make_oracle"),
            "Gives the expected answers whose needles it still sees. A control.",
            control=True,
            embedded=True,
        ),
        AgentKind(
            "replay",
            lazy(f"{_AGENTS}.replay:replay_source"),
            "Gives the replies that a run recorded (or a journal.jsonl, or a published master log).",
            "RUN",
            embedded=True,
        ),
        AgentKind(
            "padded",
            lazy(f"{_AGENTS}.wrapping:make_padded"),
            "Another agent that adds 1,500 tokens of kind words to each reply; `padded:question:`, `padded:filler:`.",
            "1500:window:4k",
            control=True,
            cheat=True,
            embedded=True,
        ),
    ]


def _adapters() -> list[AgentKind]:
    from pytest_ltm.providers import provider_names

    chat = lazy(f"{_AGENTS}.chat_agent:make_chat")
    web = lazy(f"{_AGENTS}._http:make_http")
    chat_models = []
    for name in provider_names():
        description = f"Talks to a chat model of {name}, or of another server behind the same API."
        chat_models.append(
            _adapter(name, partial(chat, name), description, "MODEL@URL")
        )
    return [
        *chat_models,
        _adapter(
            "store",
            lazy(f"{_AGENTS}.mcp:make_store"),
            "A memory store that is not an agent; rules read what it finds, or a model: `?reader=openai:MODEL`.",
            "pkg.mod:Class",
        ),
        _adapter(
            "mcp",
            lazy(f"{_AGENTS}.mcp:make_mcp"),
            "A memory server that speaks MCP over stdio, as a store; a file says which tools add and search.",
            "COMMAND",
        ),
        _adapter(
            "ts",
            lazy(f"{_AGENTS}.chat_agent:make_timed"),
            "Another agent, told with each message how much time has passed: `ts:openai:MODEL`, `ts:mypkg.bot:Bot`.",
            "SPEC",
        ),
        AgentKind(
            "compacting",
            lazy(f"{_AGENTS}._compacting:make_compacting"),
            "Another agent, which compacts by writing a summary, being reset, and continuing from that.",
            "SPEC",
        ),
        AgentKind(
            "with-folder",
            lazy(f"{_AGENTS}._memory_folder:make_with_folder"),
            "Another agent that takes tools, with a memory folder: `with-folder:openai:MODEL`.",
            "SPEC",
        ),
        _adapter(
            "memory",
            lazy(f"{_AGENTS}._memory:make_memory"),
            "A memory system of the papers, read by rules (`memory:rules?preset=ltm-2`) or by a model "
            "(`memory:openai:MODEL`). `list agents --expand PRESET` prints a preset.",
            "rules",
        ),
        _adapter(
            "http",
            partial(web, "http"),
            "Posts JSON to a server; a YAML file names other fields than the usual ones.",
            "//HOST/PATH",
        ),
        _adapter("https", partial(web, "https"), "The same, encrypted.", "//HOST/PATH"),
        _adapter(
            "cmd",
            lazy(f"{_AGENTS}._command:make_command"),
            "Talks to a process of its own for each conversation, in JSON lines.",
            "COMMAND",
        ),
        AgentKind(
            "claude-code",
            lazy(f"{_AGENTS}._coding_agents:make_claude_code"),
            "Calls Claude Code (`claude`) without a screen for each message.",
            "COMMAND",
        ),
        AgentKind(
            "codex",
            lazy(f"{_AGENTS}._coding_agents:make_codex"),
            "Calls Codex (`codex exec`) without a screen for each message.",
            "COMMAND",
        ),
        _adapter(
            "human",
            lazy(f"{_AGENTS}._human:make_human"),
            "Asks the person at the terminal (with -s).",
        ),
    ]
