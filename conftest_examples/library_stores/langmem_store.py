import json
import re

from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool
from word_vectors import SIZE, vectors

PLACE = ("texts", "{user}")


class LangMemStore:
    """langmem's tools, called directly instead of by a model: texts are stored verbatim."""

    package = "langmem"

    def __init__(self):
        store = InMemoryStore(index={"dims": SIZE, "embed": vectors})
        self.manage = create_manage_memory_tool(PLACE, store=store)
        self.find = create_search_memory_tool(PLACE, store=store)

    def add(self, text, *, role, at, session, user):
        told = {"content": text, "action": "create"}
        made = self.manage.invoke(told, {"configurable": {"user": user}})
        return re.findall(r"[0-9a-f-]{36}", made)[0]

    def search(self, query, *, k, user):
        asked = {"query": query, "limit": k}
        found = self.find.invoke(asked, {"configurable": {"user": user}})
        rows = json.loads(found)
        return [(r["key"], r["value"]["content"], r.get("score"), None) for r in rows]

    def delete(self, key, *, user):
        told = {"id": key, "action": "delete"}
        self.manage.invoke(told, {"configurable": {"user": user}})
