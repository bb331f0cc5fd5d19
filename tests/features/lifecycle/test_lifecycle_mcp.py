"""A memory server that speaks MCP is tested by suite lifecycle through tools of the usual names."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.lifecycle.bench import Bench
from pytest_ltm.lifecycle.lifecycle_session import run_test
from pytest_ltm.lifecycle.store_suite import TESTS
from pytest_ltm.lifecycle.stores_of_spec import store_maker
from pytest_ltm.lifecycle.subject import Subject

SERVER = """
import re
import sys

from mcp.server import MCPServer

notes = {}
server = MCPServer("notes")


def words(text):
    return set(re.findall(r"\\w+", text.lower()))


def seen(user):
    return {key: note for key, note in notes.items() if LEAKS or note[0] == user}


@server.tool()
def add(text: str, user: str) -> dict[str, str]:
    key = f"m{len(notes)}"
    notes[key] = (user, text)
    return {"id": key}


@server.tool()
def search(query: str, k: int, user: str) -> list[dict[str, str]]:
    own = [{"id": key, "text": text} for key, (_, text) in notes.items() if key in seen(user)]
    return sorted(own, key=lambda note: -len(words(note["text"]) & words(query)))[:k]


@server.tool()
def delete(id: str, user: str) -> None:
    if notes[id][0] == user:
        notes[id] = ("", "")


@server.tool()
def export(user: str) -> list[str]:
    return [text for _, text in seen(user).values()]


LEAKS = "--leaks" in sys.argv
server.run()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "leaks"), [("lists", False), ("lists", True), ("deleted", False)]
)
def test_a_server_is_tested_by_its_tools(
    tmp_path: Path, name: str, *, leaks: bool
) -> None:
    pytest.importorskip("mcp")
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    command = f"mcp:{sys.executable} {server}{' --leaks' * leaks}"
    [test] = [test for test in TESTS if test.name == name]
    make = store_maker(find_agent(command))
    bench = Bench(Subject(make, Pace()), random.Random(0))
    try:
        assert run_test(test, bench) == ""
    finally:
        bench.subject.close()
    looks = {cell.look: cell.state for cell in bench.row.cells}
    if leaks:
        assert looks["export"] == "fails"
    else:
        assert not bench.row.failures
        assert looks.get("export", looks.get("in what is kept", "ok")) == "ok"
