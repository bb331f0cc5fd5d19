"""Servers that send too much: their responses are refused while being read."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentError, Field

pytest.importorskip("httpx2")
LIMIT = 2**24
"""Largest readable response, in unpacked bytes."""


@contextmanager
def server(how: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            bomb = gzip.compress(b" " * LIMIT + b'{"reply": "x"}')
            good = gzip.compress(b'{"reply": "packed"}')
            self.send_response(200)
            if how == "endless":
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                with suppress(OSError):
                    while True:
                        self.wfile.write(b"10000\r\n" + b" " * 2**16 + b"\r\n")
                return
            body = bomb if how == "bomb" else good
            self.send_header("content-encoding", "gzip")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}/"
        finally:
            running.shutdown()
            thread.join()


@contextmanager
def agent(how: str) -> Iterator[Any]:
    with server(how) as url:
        field = Field({}, "bot.yml", "parameters")
        made: Any = source_of_kind(agent_kinds()["http"], url, field).make()
        with closing(made):
            yield made


@pytest.mark.slow
@pytest.mark.parametrize("how", ["bomb", "endless"])
def test_an_answer_without_end_is_refused_as_it_comes(how: str) -> None:
    with (
        agent(how) as made,
        pytest.raises(AgentError, match="answered with more than 16,777,216 bytes"),
    ):
        made.reply("a")


def test_a_packed_answer_is_read() -> None:
    with agent("good") as made:
        assert made.reply("a").text == "packed"
