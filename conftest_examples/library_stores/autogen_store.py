import json
from datetime import datetime

from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType


class AutoGenStore:
    """AutoGen's ListMemory, which ranks nothing: a query returns everything, and the newest k are used."""

    def __init__(self):
        self.memory = ListMemory()

    async def add(self, text, *, role, at, session, user):
        about = {"role": role, "at": at.isoformat()}
        await self.memory.add(
            MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=about)
        )

    async def search(self, query, *, k):
        found = (await self.memory.query(query)).results
        return [
            (None, one.content, None, datetime.fromisoformat(one.metadata["at"]))
            for one in found[-k:][::-1]
        ]

    async def reset(self):
        await self.memory.clear()

    async def save(self):
        return self.memory.dump_component().model_dump_json().encode()

    async def load(self, state):
        self.memory = ListMemory.load_component(json.loads(state))
