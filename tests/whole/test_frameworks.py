"""Agents of async frameworks, each with one client for all conversations: at once as one at a time."""

from __future__ import annotations

import pytest
from chance import chance_put_back
from chat_server import ChatServer, says
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.slow
TALK = """
import pytest

@pytest.mark.parametrize("name", ["Kelvin", "Celsius"])
def test_cat(ltm, name):
    ltm.say(f"One of my cats is called {name}.")
    ltm.wait(tokens=200)
    assert ltm.ask("What is that cat called?")
"""
CLIENT = """
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url="{url}", api_key="none", default_headers={{"Connection": "close"}})
"""
BOTS = {
    "openai": """
class Bot:
    def __init__(self):
        self.said = []

    async def reply(self, message):
        self.said.append({"role": "user", "content": message})
        reply = await client.chat.completions.create(model="m", messages=self.said)
        self.said.append({"role": "assistant", "content": reply.choices[0].message.content})
        return self.said[-1]["content"]
""",
    "langgraph": """
from uuid import uuid4
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

ROLES = {"human": "user", "ai": "assistant"}

async def answer(state):
    said = [{"role": ROLES[message.type], "content": message.text} for message in state["messages"]]
    reply = await client.chat.completions.create(model="m", messages=said)
    return {"messages": [("ai", reply.choices[0].message.content)]}

graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())

class Bot:
    def __init__(self):
        self.thread = {"configurable": {"thread_id": uuid4().hex}}

    async def reply(self, message):
        return (await graph.ainvoke({"messages": [("user", message)]}, self.thread))["messages"][-1].text
""",
    "pydantic_ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)))

class Bot:
    def __init__(self):
        self.history = []

    async def reply(self, message):
        result = await agent.run(message, message_history=self.history)
        self.history = result.all_messages()
        return result.output
""",
    "agents": """
from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, set_tracing_disabled

set_tracing_disabled(True)
agent = Agent("one", model=OpenAIChatCompletionsModel("m", client))

class Bot:
    def __init__(self):
        self.session = SQLiteSession("ltm")

    async def reply(self, message):
        return (await Runner.run(agent, message, session=self.session)).final_output
""",
}
"""By the module of the framework."""


@pytest.mark.filterwarnings("default")  # the libraries' own
@pytest.mark.parametrize("framework", BOTS)
def test_journals_of_eight_conversations_at_once_are_those_of_one_at_a_time(
    project: Project, chat_server: ChatServer, framework: str
) -> None:
    for module in ("openai", framework):
        pytest.importorskip(module)
    chat_server.default = says("Noted.")
    project.file(CLIENT.format(url=chat_server.url) + BOTS[framework], "bots.py")
    project.file(TALK)
    recorded = []
    for number in (1, 8):
        with chance_put_back():
            run = project.ltm(
                "--ltm-trials=8", f"--ltm-concurrency={number}", agent="bots:Bot"
            )
        run.assert_outcomes(passed=16)
        folder = latest_run(project.path)
        recorded.append(
            {
                path.parent.name: path.read_bytes()
                for path in folder.glob("*/journal.jsonl")
            }
        )
    assert len(recorded[0]) == 8
    assert recorded[1] == recorded[0]
