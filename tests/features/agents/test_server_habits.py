"""Behaviours of servers that imitate OpenAI's, each over real HTTP on loopback."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from chat_server import Answer, Asked, ChatServer
from habits import HABITS, Habit

from pytest_ltm import providers as calls
from pytest_ltm.agents.chat_agent import CUT_SILENTLY
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.calls import classify_failure
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentFault, Field

NOW = datetime(2024, 3, 4, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def _own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    calls.share_limits(None)
    monkeypatch.setattr(
        "pytest_ltm.providers.completions.sleep_interruptibly", lambda _: None
    )


def agent_at(server: ChatServer, query: str = "", **parameters: Any) -> Any:
    from pytest_ltm.agents.registry import source_of_kind

    return source_of_kind(
        agent_kinds()["openai"],
        f"m@{server.url}?{query}",
        Field(parameters, "bot.yml", "parameters"),
    ).make()


@pytest.mark.slow
@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.name)
def test_a_habit_of_servers_is_understood(
    chat_server: ChatServer, habit: Habit
) -> None:
    def default(asked: Asked) -> Answer:
        return habit.refuses(asked) or "Teal."

    chat_server.default = default
    agent = agent_at(chat_server, system="Be kind.", max_tokens=500)
    for number in range(12):
        agent.accept(f"Here is number {number} of many.", "Noted.")
    chat_server.next(*habit.answers)
    if habit.fault:
        with pytest.raises(AgentFault, match=habit.fault) as caught:
            agent.reply("Which colour?")
        assert (classify_failure(caught.value, now=NOW) is not None) is habit.passing
    else:
        reply = agent.reply("Which colour?")
        assert reply.text == habit.comes_to
        assert reply.thoughts == habit.thoughts
        assert habit.finish_reason in (None, reply.finish_reason)
    if habit.requests is not None:
        assert len(chat_server.requests) == habit.requests
    before = len(chat_server.requests)
    assert agent.reply("And now?").text == "Teal."  # the conversation continues
    # a learned limitation is not probed again
    assert habit.requests is None or len(chat_server.requests) == before + 1
    assert not habit.thoughts or habit.thoughts not in str(
        chat_server.requests[-1].messages
    )
    agent.close()


def test_a_server_that_counts_far_less_than_it_was_sent_is_noticed(
    chat_server: ChatServer,
) -> None:
    agent = agent_at(chat_server)
    agent.reply("Here is a first word of mine. " * 40)
    for number in range(90):
        agent.accept(
            f"Here is number {number} of many, and some more words.",
            "That is noted, be assured.",
        )
    chat_server.count = lambda _: 0  # with its framing about 700 tokens of 4,000
    assert [mishap.what for mishap in agent.reply("Which colour?").mishaps] == [
        CUT_SILENTLY
    ]
    agent.close()


# --- hostile bodies and addresses


@contextmanager
def answering(body: bytes, status: int = 200, **headers: str) -> Iterator[str]:
    """Yield the address of a server with a constant response."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Ignore errors: some tests hang up on purpose."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _asked_at(url: str) -> Any:
    agent: Any = find_agent(f"openai:m@{url}").make()
    try:
        return agent.reply("a")
    finally:
        agent.close()


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_end_is_not_read_to_its_end(status: int) -> None:
    with (
        answering(b'{"a": "' + b"a" * 2**25 + b'"}', status) as url,
        pytest.raises(AgentFault, match=r"more than 16,777,216 bytes"),
    ):
        _asked_at(url)


@pytest.mark.slow
def test_a_body_counts_with_its_size_once_unpacked() -> None:
    with (
        answering(gzip.compress(b"a" * 2**25), Content_Encoding="gzip") as url,
        pytest.raises(AgentFault, match=r"more than 16,777,216 bytes"),
    ):
        _asked_at(url)


def test_a_packing_that_nobody_asked_for_is_not_unpacked() -> None:
    with (
        answering(b"x", Content_Encoding="br") as url,
        pytest.raises(AgentFault, match="packed as 'br'"),
    ):
        _asked_at(url)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_redirect_to_another_server_is_not_followed(host: str) -> None:
    elsewhere = f"http://{host}:1/v1/chat/completions"
    with (
        answering(b"{}", 307, Location=elsewhere) as url,
        pytest.raises(AgentFault, match=f"redirects to {elsewhere}"),
    ):
        _asked_at(url)
