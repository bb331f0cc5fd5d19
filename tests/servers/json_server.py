"""A server on loopback that answers each POST with the result of a function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Post(NamedTuple):
    path: str
    headers: dict[str, str]
    body: Any


class Answer(NamedTuple):
    body: Any
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


class Loopback(NamedTuple):
    url: str
    posts: list[Post]


@contextmanager
def serving(answer: Callable[[Post], Answer | dict[str, Any]]) -> Iterator[Loopback]:
    """Serve on a free port; `answer` returns the body (JSON, or a text sent verbatim)."""
    posts: list[Post] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append(
                Post(
                    self.path,
                    {k.lower(): v for k, v in self.headers.items()},
                    json.loads(text),
                )
            )
            given = answer(posts[-1])
            said = given if isinstance(given, Answer) else Answer(given)
            body = (
                said.body if isinstance(said.body, str) else json.dumps(said.body)
            ).encode()
            self.send_response(said.status)
            for name, value in {
                **said.headers,
                "Content-Length": str(len(body)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Loopback(f"http://127.0.0.1:{server.server_port}", posts)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
