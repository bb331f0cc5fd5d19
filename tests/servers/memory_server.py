"""A small memory server that speaks MCP on stdio: keeps texts, finds those that share most words with a query.

`--plain` answers in text instead of objects, and has tools of other names. A search for "broken" is refused.
"""

from __future__ import annotations

import re
import sys
from typing import Any

if "--dies" in sys.argv:
    sys.exit("no database")

from mcp.server import MCPServer

notes: list[dict[str, Any]] = []


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def best(query: str, k: int) -> list[dict[str, Any]]:
    return sorted(notes, key=lambda note: -len(words(note["text"]) & words(query)))[:k]


def add(text: str, at: str) -> dict[str, Any]:
    notes.append({"id": f"m{len(notes)}", "text": text, "at": at})
    return notes[-1]


def search(query: str, k: int) -> list[dict[str, Any]]:
    if query == "broken":
        raise ValueError("the index is gone")
    return [{**note, "score": 0.5} for note in best(query, k)]


def remember(content: str) -> str:
    add(content, "")
    return "kept"


def recall(about: str, limit: int) -> list[str]:
    return [note["text"] for note in best(about, limit)]


if __name__ == "__main__":
    server = MCPServer("memory")
    for tool in (remember, recall) if "--plain" in sys.argv else (add, search):
        server.add_tool(tool)
    server.run()
