from bot import agent
from pydantic_ai import FunctionToolset, Tool
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from pytest_ltm import Reply, Usage


def offered(tools):
    """Convert a scenario's tools to Pydantic AI."""
    made = [
        Tool.from_schema(
            tools.caller(tool.name), tool.name, tool.description, dict(tool.schema)
        )
        for tool in tools
    ]
    return [FunctionToolset(made)]


class Agent:
    """An agent of Pydantic AI, with its returned history and token usage."""

    def __init__(self):
        self.history = []

    async def reply(self, message, tools=()):
        result = await agent.run(
            message,
            message_history=self.history,
            toolsets=offered(tools) if tools else None,
        )
        self.history, used = result.all_messages(), result.usage
        return Reply(
            str(result.output),
            Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens),
        )

    def accept(self, message, reply):
        # filler goes into the history without a model call
        asked, said = UserPromptPart(message), TextPart(reply)
        self.history = [*self.history, ModelRequest([asked]), ModelResponse([said])]
