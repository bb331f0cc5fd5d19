"""Command-line coding agents without a screen: one process per message, JSON from its stdout.

Claude Code and Codex, as their documentation describes them: the message goes to stdin,
a session is resumed by its id, and a scenario's tools become an MCP server.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pytest_ltm.agents import sources
from pytest_ltm.agents._command import raise_told_error, require_program, split_command
from pytest_ltm.agents._tool_server import ToolServer
from pytest_ltm.agents.line_process import STDERR, Gone, LineProcess
from pytest_ltm.api.model import WORKSPACE, Reply, Tools, Usage
from pytest_ltm.api.storage import AgentFault, TextFolder

# Claude Code counts tokens read from a cache, or written to it, separately.
_READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class CodingAgent(ABC):
    """A command-line program in its own folder, the agent of one conversation.

    Checkpointable, TakesTools, Configured.

    `command`: the program, with the user's arguments. Its stderr goes to the file
    `stderr`, if given. A saved state holds the folder's files and the id of the
    session, which the program itself keeps.
    """

    kind: ClassVar[str]
    """The prefix of its specs."""
    program: ClassVar[str]
    """The default command."""
    saves_reference = True
    """See SAVES_REFERENCE: loading a state does not undo later messages."""

    def __init__(self, command: str, stderr: Path | None = None) -> None:
        self._command = command
        self._stderr = stderr
        self._words = _words_anywhere(command or self.program)
        self._session = ""
        self._home = ""

    def reply(self, message: str, tools: Tools | None = None) -> Reply:
        """Return the program's reply; AgentFault if the program failed or printed no reply."""
        offered = Tools() if tools is None else tools
        folder = offered.workspace
        if folder is not None:
            message = f"Your workspace is {folder}.\n\n{message}"
        words = self._arguments(folder)
        if all(tool.name == WORKSPACE for tool in offered):
            return self._ask(words, message)
        # The program reaches the workspace as a folder, not through a tool.
        with ToolServer(offered) as server:
            return self._ask(words + self._tool_arguments(server.command), message)

    def save(self) -> bytes:
        """Return the session's id, the folder, and its text files."""
        files = TextFolder(Path(self._home)).texts() if self._home else {}
        return json.dumps([self._session, self._home, files]).encode()

    def load(self, state: bytes) -> None:
        """Restore the session, and the folder with its text files."""
        session, home, files = json.loads(state)
        self.close()
        self._session = session
        self._home = home
        for name, text in files.items():
            TextFolder(Path(home)).write(name, text)

    def configuration(self) -> Mapping[str, Any]:
        """Return the command."""
        return {self.kind: self._command or self.program}

    def close(self) -> None:
        """Delete the folder."""
        if self._home:
            shutil.rmtree(self._home, ignore_errors=True)

    @abstractmethod
    def _arguments(self, workspace: Path | None) -> list[str]:
        """Return the arguments that follow the command; the program may change files in `workspace`."""

    @abstractmethod
    def _tool_arguments(self, server: Sequence[str]) -> list[str]:
        """Return the arguments that add an MCP server and allow its tools."""

    @abstractmethod
    def _read(self, printed: Sequence[dict[str, Any]]) -> Reply | None:
        """Return the reply found in the program's output, or None, and store the session's id.

        Raises the error that the program reports.
        """

    def _ask(self, arguments: Sequence[str], message: str) -> Reply:
        """Return the program's reply to a message."""
        process = self._started(arguments)
        try:
            process.write(message.encode())
            process.end_input()
            reply = self._read(list(_printed_objects(process)))
            ending = process.ending()
            if reply is None or not ending.endswith("status 0"):
                words = process.last_words()
                raise AgentFault(f"{self.kind} {ending} without a reply{words}")
        finally:
            process.kill()
            process.close()
        return reply

    def _started(self, arguments: Sequence[str]) -> LineProcess:
        # The program ties a session to the folder in which it began.
        self._home = self._home or tempfile.mkdtemp(prefix="ltm-")
        Path(self._home).mkdir(exist_ok=True)
        return LineProcess(
            [*self._words, *arguments], folder=self._home, more={}, stderr=self._stderr
        )

    def _refuse(self, text: object) -> None:
        """Raise the error that the program reported."""
        raise_told_error(self.kind, {"error": str(text)})


class ClaudeCode(CodingAgent):
    """`claude -p --output-format json`. Compacts."""

    kind = "claude-code"
    program = "claude"

    def compact(self) -> None:
        """Make the program compact its context; no summary is available."""
        self._ask(self._arguments(None), "/compact")

    def _arguments(self, workspace: Path | None) -> list[str]:
        words = ["-p", "--output-format", "json"]
        if workspace is not None:
            words += ["--add-dir", str(workspace), "--permission-mode", "acceptEdits"]
        return [*words, *(["--resume", self._session] if self._session else [])]

    def _tool_arguments(self, server: Sequence[str]) -> list[str]:
        command, *arguments = server
        servers = {"mcpServers": {"ltm": {"command": command, "args": arguments}}}
        return ["--mcp-config", json.dumps(servers), "--allowedTools", "mcp__ltm"]

    def _read(self, printed: Sequence[dict[str, Any]]) -> Reply | None:
        results = [answer for answer in printed if answer.get("type") == "result"]
        if not results:
            return None
        result = results[-1]
        text = result.get("result") or ""
        if result.get("is_error"):
            self._refuse(text or result.get("subtype"))
        self._session = result["session_id"]
        usage = _tokens_of(result.get("usage") or {})
        return Reply(text, usage, result.get("total_cost_usd"))


class Codex(CodingAgent):
    """`codex exec --json`."""

    kind = "codex"
    program = "codex"

    def _arguments(self, workspace: Path | None) -> list[str]:
        words = ["exec", "--json", "--skip-git-repo-check"]
        if workspace is not None:
            words += ["--sandbox", "workspace-write", "--add-dir", str(workspace)]
        return words

    def _tool_arguments(self, server: Sequence[str]) -> list[str]:
        # Values are TOML; JSON strings and lists of strings are valid TOML.
        command, *arguments = server
        return [
            "--config",
            f"mcp_servers.ltm.command={json.dumps(command)}",
            "--config",
            f"mcp_servers.ltm.args={json.dumps(arguments)}",
        ]

    def _started(self, arguments: Sequence[str]) -> LineProcess:
        resumed = ["resume", self._session] if self._session else []
        # The message comes from stdin.
        return super()._started([*arguments, *resumed, "-"])

    def _read(self, printed: Sequence[dict[str, Any]]) -> Reply | None:
        text = None
        usage = None
        for event in printed:
            item = event.get("item") or {}
            match event.get("type"):
                case "thread.started":
                    self._session = event["thread_id"]
                case "item.completed" if item.get("type") == "agent_message":
                    text = item["text"]
                case "turn.completed":
                    usage = _tokens_of(event.get("usage") or {})
                case "turn.failed":
                    self._refuse((event.get("error") or {}).get("message"))
        return None if text is None else Reply(text, usage)


def _printed_objects(process: LineProcess) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that a program prints, skipping its other lines."""
    while True:
        try:
            line = process.read(None)
        except Gone:
            return
        if line.startswith(b"{"):
            yield json.loads(line)


def _words_anywhere(command: str) -> list[str]:
    """Return the words of a command with paths made absolute, so that it runs in any folder."""
    program, *words = split_command(command)
    # The system looks up a bare name in PATH, even if a file has the same name.
    if Path(program).name != program:
        program = str(Path(program).absolute())
    return [program, *map(_path_anywhere, words)]


def _path_anywhere(word: str) -> str:
    if Path(word).is_file():
        return str(Path(word).absolute())
    return word


def _tokens_of(used: Mapping[str, Any]) -> Usage:
    cached = used.get("cache_read_input_tokens", used.get("cached_input_tokens", 0))
    return Usage(
        input_tokens=sum(used.get(name, 0) for name in _READ),
        output_tokens=used.get("output_tokens", 0),
        cached_tokens=cached,
    )


def _make(kind: type[CodingAgent], command: str) -> sources.AgentSource:
    spec = f"{kind.kind}:{command}" if command else kind.kind
    require_program(spec, command or kind.program)
    return sources.AgentSource(
        lambda: kind(command),
        spec=spec,
        owned=True,
        definition=kind,
        produce_in=lambda folder: kind(command, folder / STDERR),
    )


make_claude_code = partial(_make, ClaudeCode)
"""Return the source of `claude-code`; AgentError if the program is missing."""
make_codex = partial(_make, Codex)
"""Return the source of `codex`; AgentError if the program is missing."""
