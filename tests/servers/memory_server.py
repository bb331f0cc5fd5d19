"""A small memory server that speaks MCP on stdio: stores texts, and finds those sharing most words with a query.

`--sessions`: takes whole sessions, reports what it stored, and fails `search` until
settled. `--plain`: answers in text instead of objects, under other tool names. A search
for "broken" is refused.
"""

from __future__ import annotations

import re
import sys
from typing import Any

if "--dies" in sys.argv:
    sys.exit("no database")

from mcp.server import MCPServer

notes: list[dict[str, Any]] = []
pending: list[int] = []
settled: list[int] = []


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
    if "--sessions" in sys.argv and settled[-1:] != [len(notes)]:
        raise ValueError("not settled")
    return [{**note, "score": 0.5} for note in best(query, k)]


def add_session(messages: list[dict[str, str]], session: str) -> None:
    for message in messages:
        add(message["content"], message["at"])
        notes[-1]["text"] = f"{session}: {message['content'].upper()}"
    pending.append(len(messages))


def written() -> list[dict[str, Any]]:
    new = notes[-pending[-1] :] if pending[-1] else []
    return [{"what": "added", "id": note["id"], "text": note["text"]} for note in new]


def settle() -> None:
    settled.append(len(notes))


def delete(id: str) -> None:  # noqa: A002 - the name that the tool's argument has
    notes[:] = [note for note in notes if note["id"] != id]
    pending.append(0)


def remember(content: str) -> str:
    add(content, "")
    return "kept"


def recall(about: str, limit: int) -> list[str]:
    return [note["text"] for note in best(about, limit)]


if __name__ == "__main__":
    server = MCPServer("memory")
    more = (add_session, written, settle, delete) if "--sessions" in sys.argv else ()
    for tool in (remember, recall) if "--plain" in sys.argv else (add, search, *more):
        server.add_tool(tool)
    server.run()
