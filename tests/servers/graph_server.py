"""A stand-in for knowledge graph servers: takes lists of objects, and finds those sharing most words with a query.

`--prose`: `search_nodes` answers in sentences.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

FILE = Path(os.environ["GRAPH_FILE"])


def entities() -> list[dict[str, Any]]:
    text = FILE.read_text(encoding="utf-8") if FILE.exists() else "[]"
    kept: list[dict[str, Any]] = json.loads(text)
    return kept


def write(kept: list[dict[str, Any]]) -> None:
    FILE.write_text(json.dumps(kept), encoding="utf-8")


def create_entities(entities_: list[dict[str, Any]], source: str) -> str:
    if source != "test":
        raise ValueError("no source")
    write(entities() + entities_)
    return "done"


def search_nodes(query: str) -> Any:
    words = set(re.findall(r"\w+", query.casefold()))
    texts = {entity["name"]: " ".join(entity["observations"]) for entity in entities()}
    fit = {
        name: len(words & set(re.findall(r"\w+", text.casefold())))
        for name, text in texts.items()
    }
    found = sorted(entities(), key=lambda entity: -fit[entity["name"]])
    if "--prose" in sys.argv:
        return "\n".join(
            f"{entity['name']} says: {entity['observations'][0]}" for entity in found
        )
    return {"entities": found, "relations": []}


def read_graph() -> dict[str, Any]:
    return {"entities": entities(), "relations": []}


def delete_entities(names: list[str]) -> None:
    write([entity for entity in entities() if entity["name"] not in names])


if __name__ == "__main__":
    server = MCPServer("graph")
    for tool in (create_entities, search_nodes, read_graph, delete_entities):
        server.add_tool(tool)
    server.run()
