from agents import SQLiteSession


class AgentsSdkStore:
    """A session of the OpenAI Agents SDK, a history without search: returns the newest k messages."""

    def __init__(self):
        self.session, self.times = SQLiteSession("ltm"), {}

    async def add(self, text, *, role, at, session, user):
        await self.session.add_items([{"role": role, "content": text}])
        self.times[text] = at

    async def search(self, query, *, k):
        found = [one["content"] for one in await self.session.get_items(limit=k)]
        return [(None, text, None, self.times.get(text)) for text in reversed(found)]

    async def reset(self):
        await self.session.clear_session()

    def close(self):
        self.session.close()
