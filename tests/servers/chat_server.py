"""An OpenAI-compatible chat server on loopback, for tests: it gives scripted answers or those of the embedded reader.

With the fixture `chat_server`:

    chat_server.next("Hello.", refuses(429, retry_after=1), says("Again.", cached=12))
    ... --ltm-agent=openai:some-model@{chat_server.url} ...
    assert chat_server.requests[0].messages[-1]["content"] == "Hi."

Answers queued with `next` are used first, then `default` (a text, an answer, or a
function of the request). The server speaks real HTTP and is independent of pytest-ltm,
except to read like the embedded agents (`reads`).
"""

from __future__ import annotations

import importlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from chat_answers import (
    DIALECTS,
    Answer,
    Says,
    calls,
    error,
    fails,
    garbled,
    made,
    overflows,
    refuses,
    resets,
    says,
    slow,
    truncated,
    wrong_schema,
)

__all__ = [
    "DIALECTS",
    "Answer",
    "Asked",
    "ChatServer",
    "Says",
    "calls",
    "fails",
    "garbled",
    "overflows",
    "refuses",
    "resets",
    "says",
    "serving",
    "slow",
    "truncated",
    "wrong_schema",
]

# pytester forgets the modules that a run in this process imports, while the client
# keeps tables of its classes.
for _name in (
    "openai.resources.chat.completions",
    "httpx",
    "httpcore",
    "httpx2",
    "httpcore2",
):
    with suppress(ImportError):
        importlib.import_module(_name)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    """Header names in lower case."""
    body: Any
    prompt_tokens: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["messages"]
        return found

    @property
    def last(self) -> str:
        """The text of the newest message."""
        return str(self.messages[-1]["content"])


class ChatServer:
    """A running chat server; see the module. All attributes may be set at any time."""

    def __init__(self) -> None:
        self.requests: list[Asked] = []
        self.default: Answer | Callable[[Asked], Answer] = "Understood."
        self.key: str | None = None
        """The bearer token that requests must carry; None accepts all."""
        self.context: int | None = None
        """Longer prompts, in tokens, are refused as too long."""
        self.dialect = "openai"
        self.not_taken: frozenset[str] = frozenset()
        """Parameters that are refused, as reasoning models refuse `temperature`."""
        self.count: Callable[[str], int] = lambda text: max(1, len(text) // 4)
        """Count the tokens of a text."""
        self.embeds: Callable[[str], list[float]] | None = None
        """Returns the vector of a text; None: there is no embeddings endpoint."""
        self.keeps_open = True
        """Whether a connection serves further requests; clients inside libraries may never close it."""
        self.most_at_once = 0
        """The largest number of simultaneous requests so far."""
        self._under_way = 0
        self._queue: deque[Answer] = deque()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.chat = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The base URL for clients."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def next(self, *answers: Answer) -> None:
        """Queue these answers for the next requests, one each."""
        with self._lock:
            self._queue.extend(answers)

    def reads(self, policy: str, argument: str = "") -> None:
        """From now on, answer as the embedded reader with this memory policy, given the request's messages."""
        from chat_reading import Reading

        self.default = Reading(policy, argument)

    def close(self) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    # --- for the handler

    @contextmanager
    def under_way(self) -> Iterator[None]:
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1

    def answer(
        self, path: str, headers: Mapping[str, str], body: Any
    ) -> tuple[Asked, Says]:
        texts = [
            str(message.get("content") or "") for message in body.get("messages", ())
        ]
        asked = Asked(path, headers, body, sum(self.count(text) + 4 for text in texts))
        with self._lock:
            self.requests.append(asked)
            refusal = self._refusal(asked)
            if refusal is not None:
                return asked, refusal
            if self._queue:
                return asked, made(self._queue.popleft())
            given = self.default
        return asked, made(given(asked) if callable(given) else given)

    def wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _refusal(self, asked: Asked) -> Says | None:
        if (
            self.key is not None
            and asked.headers.get("authorization") != f"Bearer {self.key}"
        ):
            return Says(
                status=401,
                body=error("Incorrect API key provided.", code="invalid_api_key"),
            )
        if self.embeds is not None and asked.path.endswith("/embeddings"):
            texts = asked.body["input"]
            data = [
                {"object": "embedding", "index": n, "embedding": self.embeds(text)}
                for n, text in enumerate(texts)
            ]
            used = sum(map(self.count, texts))
            usage = {"prompt_tokens": used, "total_tokens": used}
            return Says(
                body={
                    "object": "list",
                    "model": asked.body["model"],
                    "data": data[::-1],
                    "usage": usage,
                }
            )
        if not asked.path.endswith("/chat/completions"):
            return Says(status=404, body={"detail": "Not Found"})
        for name in sorted(self.not_taken & asked.body.keys()):
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            return Says(
                status=400, body=error(text, code="unsupported_parameter", param=name)
            )
        if self.context is not None and asked.prompt_tokens > self.context:
            return overflows(self.context, asked.prompt_tokens, dialect=self.dialect)
        return None

    def completion(self, asked: Asked, answer: Says) -> Any:
        called = [
            {
                "id": f"call_{n}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for n, (name, arguments) in enumerate(answer.calls)
        ]
        body: dict[str, Any] = {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 0,
            "model": asked.body.get("model"),
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": answer.text,
                        **({"tool_calls": called} if called else {}),
                    },
                    "finish_reason": answer.finish_reason,
                }
            ],
        }
        if answer.usage:
            output = self.count(answer.text or "")
            body["usage"] = {
                "prompt_tokens": asked.prompt_tokens,
                "completion_tokens": output,
                "total_tokens": asked.prompt_tokens + output,
            }
            if answer.cached is not None:
                body["usage"]["prompt_tokens_details"] = {
                    "cached_tokens": answer.cached
                }
        return body


@contextmanager
def serving() -> Iterator[ChatServer]:
    """Yield a running server, and stop it at the end."""
    server = ChatServer()
    try:
        yield server
    finally:
        server.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    chat: ChatServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: some tests hang up on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        chat = cast("_Http", self.server).chat
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with chat.under_way():
            try:
                asked, answer = chat.answer(self.path, headers, body)
            except Exception as mistake:  # noqa: BLE001 - a mistake in a test is seen in the client's error
                self._send(
                    Says(status=418), error(f"the test server failed: {mistake!r}")
                )
                return
            chat.wait(answer.after)
            self._send(
                answer,
                chat.completion(asked, answer) if answer.body is None else answer.body,
            )

    def do_GET(self) -> None:
        self._send(Says(status=404), {"detail": "Not Found"})

    def _send(self, answer: Says, body: Any) -> None:
        if answer.reset:
            # A linger time of zero makes closing reset the connection.
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.connection.close()
            self.close_connection = True
            return
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(answer.status)
        kind = "text/html" if isinstance(body, str) else "application/json"
        keeps_open = cast("_Http", self.server).chat.keeps_open
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **answer.headers,
        }.items():
            self.send_header(name, value)
        if not keeps_open:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if answer.cut else data)
        self.close_connection = answer.cut or not keeps_open

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
