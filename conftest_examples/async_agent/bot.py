import asyncio

limit = asyncio.Semaphore(2)  # shared by all conversations


class Bot:
    """Searches its notes in the background, like an agent with a database."""

    def __init__(self):
        self.notes = asyncio.Queue()

    async def reply(self, message):
        if not message.endswith("?"):
            await self.notes.put(message)
            return "Noted."
        async with limit:
            known = [await self.notes.get() for _ in range(self.notes.qsize())]
            for note in known:
                await self.notes.put(note)
        return " ".join(note for note in known if "Lisbon" in note)

    async def aclose(self):
        """Called once, at the end of the conversation."""
        print(f"closed with {self.notes.qsize()} notes")
