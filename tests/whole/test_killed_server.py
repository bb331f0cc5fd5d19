"""A server that dies during eight conversations: lost requests are repeated, and none is paid for twice."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import Project

pytestmark = pytest.mark.slow
SCENARIOS = """
import pytest

@pytest.mark.parametrize("number", range(2))
def test_cat(ltm, number):
    ltm.say(f"Cat number {number} is called Kelvin.")
    ltm.wait(span=0.9)
    assert "Kelvin" in ltm.ask(f"What is cat {number} called?")
"""


class DyingServer(ThreadingHTTPServer):
    """Answers chat completions until it has answered `lasts` questions; then it is gone, as if killed."""

    daemon_threads = True

    def __init__(self, port: int, *, lasts: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lasts = lasts
        self.answered: Counter[str] = Counter()
        """Paid answers by the first three words of the last message."""
        self.lock = threading.Lock()

    def handle_error(self, *_: object) -> None:
        """Ignore errors: clients are cut off on purpose."""

    def dies_at(self, message: str) -> bool:
        """Return whether the server dies at this message, or is already dead."""
        kind = " ".join(message.split()[:3])
        with self.lock:
            if kind == "What is cat":
                self.lasts -= 1
            if self.lasts >= 0:
                self.answered[kind] += 1
        return self.lasts < 0


class Handler(BaseHTTPRequestHandler):
    server: DyingServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        messages = json.loads(self.rfile.read(length))["messages"]
        if self.server.dies_at(messages[-1]["content"]):
            self.close_connection = True
            return
        message = {"role": "assistant", "content": "It is called Kelvin."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
        body = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def served(port: int = 0, *, lasts: int) -> Iterator[DyingServer]:
    server = DyingServer(port, lasts=lasts)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.nightly(
    "three runs of eight conversations for each point: one before each merge", every=9
)
@pytest.mark.parametrize("lasts", [0, 5, 11])
def test_eight_conversations_lose_a_server_and_pay_each_answer_once(
    project: Project, lasts: int
) -> None:
    project.file(SCENARIOS)
    with served(lasts=lasts) as server:
        port = server.server_port
        lost = project.pytest(
            f"--ltm-agent=openai:m@http://127.0.0.1:{port}/v1",
            "--ltm-suite=none",
            "--ltm-span=600",
            "--ltm-trials=8",
            "--ltm-concurrency=8",
            "--ltm-retries=0",
        )
    assert lost.ret == 75
    assert server.answered["What is cat"] == lasts

    with served(port, lasts=100) as again:
        found = project.pytest("--ltm-resume=latest")
        once_more = project.pytest("--ltm-resume=latest")

    assert (found.ret, once_more.ret) == (0, 0)
    found.assert_outcomes(passed=16)
    paid = server.answered + again.answered
    assert paid["What is cat"] == 16
    assert paid["Cat number 0"] == paid["Cat number 1"] == 8
