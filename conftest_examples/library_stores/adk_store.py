from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.genai.types import Content, Part


class AdkStore:
    """Google ADK's in-memory memory service, which searches by the words of a query."""

    package = "google-adk"

    def __init__(self):
        self.service, self.times = InMemoryMemoryService(), {}

    async def add(self, text, *, role, at, session, user):
        told = Content(role="user", parts=[Part(text=text)])
        event = Event(author=role, content=told, id=f"e{len(self.times)}")
        self.times[event.id] = at
        place = {"app_name": "ltm", "user_id": user, "session_id": session}
        await self.service.add_events_to_memory(events=[event], **place)
        return event.id

    async def search(self, query, *, k, user):
        place = {"app_name": "ltm", "user_id": user}
        found = await self.service.search_memory(query=query, **place)
        rows = [(hit.id, hit.content.parts[0].text) for hit in found.memories[:k]]
        return [(key, text, None, self.times.get(key)) for key, text in rows]
