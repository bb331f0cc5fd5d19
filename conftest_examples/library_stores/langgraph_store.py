import json
from datetime import datetime

from langgraph.store.memory import InMemoryStore
from word_vectors import SIZE, vectors


class LangGraphStore:
    """LangGraph's store with an index over the texts."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.store, self.keys = (
            InMemoryStore(index={"dims": SIZE, "embed": vectors, "fields": ["text"]}),
            0,
        )

    def add(self, text, *, role, at, session, user):
        self.keys += 1
        self._put(str(self.keys), {"text": text, "role": role, "at": at.isoformat()})
        return str(self.keys)

    def _put(self, key, value):
        self.store.put(("said",), key, value)

    def search(self, query, *, k):
        found = self.store.search(("said",), query=query, limit=k)
        return [
            (
                one.key,
                one.value["text"],
                one.score,
                datetime.fromisoformat(one.value["at"]),
            )
            for one in found
        ]

    def save(self):
        return json.dumps(
            {
                one.key: one.value
                for one in self.store.search(("said",), limit=self.keys + 1)
            }
        ).encode()

    def load(self, state):
        self.reset()
        for key, value in sorted(
            json.loads(state).items(), key=lambda one: int(one[0])
        ):
            self._put(key, value)
            self.keys = int(key)
