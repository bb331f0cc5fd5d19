import json
import re

from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool
from word_vectors import SIZE, vectors


class LangMemStore:
    """langmem's tools, called by us and not by a model: what is said is remembered word by word."""

    def __init__(self):
        self.reset()

    def reset(self):
        store = InMemoryStore(index={"dims": SIZE, "embed": vectors})
        self.manage = create_manage_memory_tool(("said",), store=store)
        self.find = create_search_memory_tool(("said",), store=store)
        self.times = {}

    def add(self, text, *, role, at, session, user):
        key = re.findall(
            r"[0-9a-f-]{36}", self.manage.invoke({"content": text, "action": "create"})
        )[0]
        self.times[key] = at
        return key

    def search(self, query, *, k):
        found = json.loads(self.find.invoke({"query": query, "limit": k}))
        return [
            (
                one["key"],
                one["value"]["content"],
                one.get("score"),
                self.times.get(one["key"]),
            )
            for one in found
        ]
