"""A local server with scripted failures, and agents that talk to it over real HTTP."""

from __future__ import annotations

import http.server
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

RESET = -1
"""In place of a status: reset the connection in the middle of the response."""


class Server(http.server.ThreadingHTTPServer):
    """Answers each request with the next (status, headers) of `script`, then with 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script: list[tuple[int, dict[str, str]]] = []
        self.requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests += 1
        status, headers = self.server.script.pop(0) if self.server.script else (200, {})
        if status == RESET:
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.connection.close()
            return
        self.send_response_only(status)  # without its default Date header
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def post(url: str, message: str) -> str:
    """Send a message with Python's own HTTP client and return the reply."""
    request = urllib.request.Request(url, message.encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        error.close()
        raise


@contextmanager
def server() -> Iterator[Server]:
    """Serve until the block ends."""
    one = Server()
    thread = threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield one
    finally:
        one.shutdown()
        one.server_close()
        thread.join()
