"""Command-line coding agents: their invocation, their output, and their tools as an MCP server."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_ltm.agents import Usage
from pytest_ltm.agents._tool_server import ToolServer
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.line_process import STDERR
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import SAVES_REFERENCE, Tools, make_tool
from pytest_ltm.api.storage import AgentError, AgentFault

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
STAND_IN = ROOT / "conftest_examples" / "coding_agents" / "stand_in.py"
KINDS = {"claude-code": "claude", "codex": "codex"}
CLAUDE = {"type": "result", "is_error": False, "result": "Hi.", "session_id": "s"}


def made(kind: str, program: object = STAND_IN, folder: Path | None = None) -> Any:
    word = KINDS[kind] if program is STAND_IN else ""
    return find_agent(f"{kind}:{sys.executable} {program} {word}".strip()).make(
        folder=folder
    )


def booking() -> Tools:
    tool = make_tool(
        "book", {"time": "string"}, returns="booked", description="Books a table."
    )
    return Tools([tool])


@pytest.fixture
def printing(tmp_path: Path) -> Callable[..., Any]:
    """Create an agent whose program prints these lines for any request."""

    def make(kind: str, *lines: object, status: int = 0) -> Any:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        script = tmp_path / "program.py"
        script.write_text(
            f"import sys\nsys.stdin.read()\nprint({chr(10).join(texts)!r})\n"
            f"print('last words', file=sys.stderr)\nsys.exit({status})\n"
        )
        return made(kind, script, tmp_path)

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_is_resumed_with_each_message_and_by_another_agent(kind: str) -> None:
    first, second = made(kind), made(kind)
    with closing(first), closing(second):
        reply = first.reply("Tables are always for 19:30.")
        assert reply.usage == Usage(input_tokens=5, output_tokens=2)
        assert reply.cost_usd == (0.01 if kind == "claude-code" else None)
        first.reply("How are you?")
        second.load(first.save())
        tools = booking()
        assert second.reply("Book a table.", tools).text == "It says: booked"
    assert [str(call) for call in tools.answered] == ["book(time='19:30')"]


@pytest.mark.parametrize("kind", KINDS)
def test_its_capabilities_are_known_before_it_is_called(kind: str) -> None:
    source = find_agent(f"{kind}:{sys.executable} {STAND_IN}")
    wanted = {"TakesTools", "Checkpointable", "Configured", SAVES_REFERENCE}
    having = capabilities_of(source.make())
    assert wanted <= having
    assert ("Compacts" in having) == (kind == "claude-code")
    assert "in a process of its own" in source.place


def test_a_state_has_the_files_of_its_folder_which_goes_with_the_agent() -> None:
    agent = made("codex")
    agent.reply("Hello.")
    home = Path(agent._home)
    (home / "AGENTS.md").write_text("Be brief.")
    state = agent.save()
    agent.close()
    assert not home.exists()
    agent.load(state)
    assert (home / "AGENTS.md").read_text() == "Be brief."
    agent.close()


def test_claude_code_compacts_by_its_own_command(
    printing: Callable[..., Any],
) -> None:
    assert printing("claude-code", CLAUDE).compact() is None


def test_lines_that_are_for_people_are_left_out(printing: Callable[..., Any]) -> None:
    agent = printing("claude-code", "An update is there.", {"type": "system"}, CLAUDE)
    assert agent.reply("Hello.").text == "Hi."


@pytest.mark.parametrize(
    ("kind", "lines", "status", "words"),
    [
        ("claude-code", [], 3, "ended with status 3.*last words"),
        ("codex", [], 3, "ended with status 3.*last words"),
        ("claude-code", ["{}"], 0, "ended with status 0 without a reply"),
        ("codex", [{"type": "turn.completed"}], 0, "status 0 without a reply"),
        (
            "claude-code",
            [CLAUDE | {"is_error": True, "result": "Invalid API key"}],
            1,
            "reported an error: 'Invalid API key'",
        ),
        (
            "codex",
            [{"type": "turn.failed", "error": {"message": "no credit"}}],
            1,
            "reported an error: 'no credit'",
        ),
        ("codex", ["{"], 0, "JSONDecodeError"),
    ],
)
def test_what_goes_wrong_is_a_fault_with_its_words(
    printing: Callable[..., Any], kind: str, lines: list[Any], status: int, words: str
) -> None:
    speaker = AgentCaller(printing(kind, *lines, status=status), timeout=60)
    with pytest.raises(AgentFault, match=words):
        speaker.ask("Hello.")
    speaker.close()


def test_what_it_writes_to_stderr_is_kept(
    printing: Callable[..., Any], tmp_path: Path
) -> None:
    printing("claude-code", CLAUDE).reply("Hello.")
    assert (tmp_path / STDERR).read_text() == "last words\n"


def test_a_program_that_is_not_there_is_told_before_anything_else() -> None:
    with pytest.raises(AgentError, match="there is no program 'no-such-program'"):
        find_agent("codex:no-such-program --fast")


# --- Tools as an MCP server.


def test_a_client_of_mcp_lists_and_calls_them() -> None:
    client = pytest.importorskip("mcp")
    stdio = pytest.importorskip("mcp.client.stdio")
    tools = booking()

    async def talk(command: list[str]) -> list[Any]:
        place = stdio.StdioServerParameters(command=command[0], args=command[1:])
        async with (
            stdio.stdio_client(place) as streams,
            client.ClientSession(*streams) as session,
        ):
            await session.initialize()
            listed = await session.list_tools()
            called = [
                await session.call_tool("book", {"time": time})
                for time in ("19:30", 1930)
            ]
            return [listed.tools[0].name, *(row.content[0].text for row in called)]

    with ToolServer(tools) as server:
        name, booked, refused = asyncio.run(talk(server.command))
    assert (name, booked) == ("book", "booked")
    assert refused == "error: time is of type string, not 1930"
    assert [call.refused for call in tools.answered] == [False, True]


def ask_server(server: ToolServer, word: str, **request: Any) -> bytes:
    """Return the reply line to a connection that presents this secret."""
    port = int(server.command[-2])
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"{word}\n{json.dumps({'id': 1, **request})}\n".encode())
        line.shutdown(socket.SHUT_WR)
        try:
            return line.makefile("rb").readline()
        except ConnectionResetError:
            return b""


def test_who_does_not_know_the_secret_word_is_not_answered() -> None:
    with ToolServer(booking()) as server:
        word = server.command[-1]
        assert ask_server(server, word, method="ping")
        assert not ask_server(server, "x" * len(word), method="ping")
        assert not ask_server(server, "", method="ping")


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"method": "resources/list"}, "no method 'resources/list'"),
        ({"method": "tools/call", "params": {"name": "pay"}}, "no tool 'pay'"),
        ({"method": "tools/call"}, "no tool 'None'"),
    ],
)
def test_what_it_does_not_know_is_an_error(
    request_: dict[str, Any], words: str
) -> None:
    with ToolServer(booking()) as server:
        answer = ask_server(server, server.command[-1], **request_)
    assert words in answer.decode()


def test_a_call_after_the_reply_is_refused_and_not_recorded() -> None:
    tools = booking()
    with ToolServer(tools) as server:
        pass
    call = {"name": "book", "arguments": {"time": "19:30"}}
    answer = server.answer({"id": 1, "method": "tools/call", "params": call})
    assert "has been replied to" in str(answer)
    assert tools.answered == []
    assert server.answer({"method": "notifications/initialized"}) is None
