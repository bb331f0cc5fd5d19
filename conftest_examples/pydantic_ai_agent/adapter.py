from pytest_ltm.agents import Reply, Usage


class PydanticAiAgent:
    """An agent of Pydantic AI, with the history that it hands back and what it used."""

    def __init__(self, agent):
        self.agent, self.history = agent, []

    async def reply(self, message):
        result = await self.agent.run(message, message_history=self.history)
        self.history, used = result.all_messages(), result.usage
        return Reply(result.output, Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens))
