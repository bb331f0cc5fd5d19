import json

from agents import FunctionTool, Runner, SQLiteSession
from bot import agent


def offered(tool, tools):
    """Convert a scenario's tool to this SDK."""

    async def call(_, arguments):
        return tools.call(tool.name, **json.loads(arguments))

    return FunctionTool(
        tool.name, tool.description, dict(tool.schema), call, strict_json_schema=False
    )


class Agent:
    """An agent of the OpenAI Agents SDK, with an in-memory session."""

    def __init__(self):
        self.session = SQLiteSession("ltm")

    async def reply(self, message, tools=()):
        made = [offered(tool, tools) for tool in tools]
        acting = agent.clone(tools=[*agent.tools, *made]) if made else agent
        return str(
            (await Runner.run(acting, message, session=self.session)).final_output
        )

    async def accept(self, message, reply):
        # filler goes into the session without a model call
        said = [
            {"role": "user", "content": message},
            {"role": "assistant", "content": reply},
        ]
        await self.session.add_items(said)
