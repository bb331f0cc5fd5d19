from agents import Runner, SQLiteSession
from bot import agent


class Agent:
    """An agent of the OpenAI Agents SDK, with a session in memory."""

    def __init__(self):
        self.session = SQLiteSession("ltm")

    async def reply(self, message):
        return str(
            (await Runner.run(agent, message, session=self.session)).final_output
        )

    async def accept(
        self, message, reply
    ):  # filler goes into the session without calling the model
        said = [
            {"role": "user", "content": message},
            {"role": "assistant", "content": reply},
        ]
        await self.session.add_items(said)
