from agents import Runner, SQLiteSession


class AgentsSdkAgent:
    """An agent of the OpenAI Agents SDK with a session in memory."""

    def __init__(self, agent):
        self.agent, self.session = agent, SQLiteSession("ltm")

    async def reply(self, message):
        return (await Runner.run(self.agent, message, session=self.session)).final_output

    async def accept(self, message, reply):
        said = [{"role": "user", "content": message}, {"role": "assistant", "content": reply}]
        await self.session.add_items(said)
