from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.genai.types import Content, Part


class AdkStore:
    """Google ADK's memory service in memory, which goes by the words of a query."""

    def __init__(self):
        self.user = None
        self.reset()

    def reset(self):
        self.service, self.times = InMemoryMemoryService(), {}

    async def add(self, text, *, role, at, session, user):
        self.user = user
        content = Content(
            role="user" if role == "user" else "model", parts=[Part(text=text)]
        )
        event = Event(
            author=role,
            content=content,
            timestamp=at.timestamp(),
            id=f"e{len(self.times)}",
        )
        self.times[event.id] = at
        await self.service.add_events_to_memory(
            app_name="ltm", user_id=user, events=[event], session_id=session
        )
        return event.id

    async def search(self, query, *, k):
        if self.user is None:
            return []
        found = (
            await self.service.search_memory(
                app_name="ltm", user_id=self.user, query=query
            )
        ).memories[:k]
        return [
            (one.id, one.content.parts[0].text, None, self.times.get(one.id))
            for one in found
        ]
