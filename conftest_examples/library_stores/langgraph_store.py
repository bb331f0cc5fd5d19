from datetime import datetime
from uuid import uuid4

from langgraph.store.memory import InMemoryStore
from word_vectors import SIZE, vectors

INDEX = {"dims": SIZE, "embed": vectors, "fields": ["text"]}


class LangGraphStore:
    """LangGraph's store with a text index, and a namespace per user."""

    package = "langgraph"

    def __init__(self):
        self.store = InMemoryStore(index=INDEX)

    def add(self, text, *, role, at, session, user):
        key, row = str(uuid4()), {"text": text, "at": at.isoformat()}
        self.store.put((user,), key, row)
        return key

    def search(self, query, *, k, user):
        found = self.store.search((user,), query=query, limit=k)
        times = [datetime.fromisoformat(hit.value["at"]) for hit in found]
        rows = zip(found, times, strict=True)
        return [(hit.key, hit.value["text"], hit.score, at) for hit, at in rows]

    def delete(self, key, *, user):
        self.store.delete((user,), key)
