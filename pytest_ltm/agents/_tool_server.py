"""ToolServer: the tools of one message, for a program that speaks the Model Context Protocol (MCP)."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm.api.model import Call, Tools
from pytest_ltm.api.storage import AgentFault

if TYPE_CHECKING:
    from typing_extensions import Self

_PIPE = str(Path(__file__).with_name("_tool_pipe.py"))
# JSON-RPC 2.0, section 5.1.
_NO_METHOD = -32601
_NEWEST = "2025-06-18"


class ToolServer:
    """Answers tool calls on loopback while it is entered; callers must send the secret word.

    `command` starts the MCP server for the program, which speaks on its standard
    streams.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._lock = threading.Lock()
        self._is_open = True
        self._word = secrets.token_hex(16)
        self._socket = socket.create_server(("127.0.0.1", 0))

    @property
    def command(self) -> list[str]:
        """The words that start an MCP server with these tools."""
        port = self._socket.getsockname()[1]
        return [sys.executable, "-I", _PIPE, str(port), self._word]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True, name="ltm-tools").start()
        return self

    def __exit__(self, *_: object) -> None:
        """Refuse further calls, after a pending call has been answered."""
        with self._lock:
            self._is_open = False
        # Wakes the thread that accepts connections.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the response to an MCP request; None for a notification."""
        if "id" not in request:
            return None
        head = {"jsonrpc": "2.0", "id": request["id"]}
        parameters = request.get("params") or {}
        match request.get("method"):
            case "initialize":
                result = _introduce(parameters.get("protocolVersion", _NEWEST))
            case "ping":
                result = {}
            case "tools/list":
                result = {"tools": self._list_tools()}
            case "tools/call":
                result = self._call(parameters)
            case method:
                error = {"code": _NO_METHOD, "message": f"no method {method!r}"}
                return head | {"error": error}
        return head | {"result": result}

    def _list_tools(self) -> list[dict[str, Any]]:
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": dict(tool.schema),
            }
            for tool in self._tools
        ]

    def _call(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        call = Call(str(parameters.get("name")), parameters.get("arguments") or {})
        try:
            with self._lock:
                text, is_refused = self._make(call)
        except AgentFault as fault:
            text = f"error: {fault}"
            is_refused = True
        return {"content": [{"type": "text", "text": text}], "isError": is_refused}

    def _make(self, call: Call) -> tuple[str, bool]:
        if not self._is_open:
            return "error: the message has been replied to", True
        self._tools.answer([call])
        answered = self._tools.results[0]
        return answered.result, answered.refused

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, line.makefile("rb") as requests, suppress(OSError, ValueError):
            word = requests.readline(len(self._word) + 1).strip()
            if not hmac.compare_digest(word, self._word.encode()):
                return
            for request in requests:
                answer = self.answer(json.loads(request))
                if answer is not None:
                    line.sendall(json.dumps(answer).encode() + b"\n")


def _introduce(version: object) -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "ltm", "version": "1"},
    }
