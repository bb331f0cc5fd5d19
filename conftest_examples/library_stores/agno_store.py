import logging

from agno.db.in_memory import InMemoryDb
from agno.db.schemas import UserMemory
from agno.memory import MemoryManager


class AgnoStore:
    """Agno's memory manager without a model, where search ignores the query and returns the newest memories."""

    def __init__(self):
        logging.getLogger("agno").setLevel(logging.ERROR)
        self.memory, self.times, self.user = MemoryManager(db=InMemoryDb()), {}, None

    def add(self, text, *, role, at, session, user):
        self.user = user
        stamp = int(at.timestamp())
        key = self.memory.add_user_memory(
            UserMemory(memory=text, topics=[role], updated_at=stamp), user_id=user
        )
        self.times[key] = at
        return key

    def search(self, query, *, k):
        if self.user is None:
            return []
        found = self.memory.search_user_memories(
            query, limit=k, retrieval_method="last_n", user_id=self.user
        )
        return [
            (one.memory_id, one.memory, None, self.times.get(one.memory_id))
            for one in reversed(found)
        ]
