"""Agents of frameworks, each with one client: concurrent and sequential results agree, also with tools."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from chance import chance_put_back
from chat_server import Asked, ChatServer, Says, calls, says
from conftest import Project
from run_folders import latest_run

from pytest_ltm.agents import framework_adapters

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

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

client = AsyncOpenAI(base_url="{url}", api_key="none")
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
"""By module of the framework."""


@WHOLE_RUN
@pytest.mark.filterwarnings("default")  # the libraries' own warnings
@pytest.mark.parametrize("framework", BOTS)
def test_journals_of_eight_conversations_at_once_are_those_of_one_at_a_time(
    project: Project, chat_server: ChatServer, framework: str
) -> None:
    for module in ("openai", framework):
        pytest.importorskip(module)
    chat_server.default = says("Noted.")
    chat_server.keeps_open = False
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


# --- Tools that scenarios offer.


ACTING = """
import pytest
from pytest_ltm import Call

@pytest.mark.ltm(requires=["TakesTools"])
@pytest.mark.parametrize("name", ["Kelvin", "Celsius"])
def test_table(ltm, name):
    time = {"Kelvin": "19:30", "Celsius": "20:15"}[name]
    ltm.tool("book", {"person": "string", "time": "string"}, returns="booked for $time")
    ltm.say(f"Tables for {name} are always for {time}.")
    ltm.wait(tokens=200)
    reply = ltm.ask(f"Book a table for {name}.")
    ltm.check_only_calls(Call("book", {"person": name, "time": time}))
    ltm.check("replies with the result", "booked for" in reply)
"""
ACTORS = {
    "langchain": """
from langchain_openai import ChatOpenAI

agent = ChatOpenAI(
    model="m", base_url="{url}", api_key="none"
)
""",
    "pydantic_ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)))
""",
    "agents": """
from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled

set_tracing_disabled(True)
agent = Agent("one", model=OpenAIChatCompletionsModel("m", client))
""",
    "llama_index": """
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model="m", api_base="{url}", api_key="none",
    is_chat_model=True, is_function_calling_model=True,
)
agent = FunctionAgent(llm=llm, streaming=False)
""",
    "langgraph": """
from uuid import uuid4
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

model = ChatOpenAI(
    model="m", base_url="{url}", api_key="none"
)
threads = InMemorySaver()

def offered(tool, tools):
    def call(**arguments):
        return tools.call(tool.name, **arguments)

    return StructuredTool.from_function(
        call, name=tool.name, description=tool.description, args_schema=dict(tool.schema)
    )

class agent:
    def __init__(self):
        self.thread = {{"configurable": {{"thread_id": uuid4().hex}}}}

    def reply(self, message, tools=()):
        graph = create_agent(model, [offered(tool, tools) for tool in tools], checkpointer=threads)
        return graph.invoke({{"messages": [("user", message)]}}, self.thread)["messages"][-1].text
""",
    "agno": """
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike

keeps = {{"db": InMemoryDb(), "add_history_to_context": True, "num_history_runs": 100}}
agent = Agent(model=OpenAILike(id="m", base_url="{url}", api_key="none"), telemetry=False, **keeps)
""",
    "haystack": """
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret

agent = Agent(chat_generator=OpenAIChatGenerator(model="m", api_base_url="{url}", api_key=Secret.from_token("none")))
""",
    "google.adk": """
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

agent = LlmAgent(name="bot", model=LiteLlm(model="openai/m", api_base="{url}", api_key="none"))
""",
    "autogen_agentchat": """
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

cannot = dict.fromkeys(("vision", "json_output", "structured_output"), False)
facts = {{"function_calling": True, "family": "unknown", **cannot}}
model = OpenAIChatCompletionClient(model="m", base_url="{url}", api_key="none", model_info=facts)
agent = AssistantAgent("bot", model_client=model)
""",
    "agent_framework": """
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

agent = Agent(client=OpenAIChatCompletionClient("m", base_url="{url}", api_key="none"))
""",
    "smolagents": """
from smolagents import OpenAIModel, ToolCallingAgent

agent = ToolCallingAgent(tools=[], model=OpenAIModel("m", api_base="{url}", api_key="none"), verbosity_level=0)
""",
    "dspy": """
import dspy

dspy.configure(lm=dspy.LM("openai/m", api_base="{url}", api_key="none", cache=False))

class Talk(dspy.Signature):
    question: str = dspy.InputField()
    history: dspy.History = dspy.InputField()
    answer: str = dspy.OutputField()

agent = dspy.ReAct(Talk, tools=[])
""",
    "crewai": """
from crewai import LLM, Agent

model = LLM(model="openai/m", base_url="{url}", api_key="none")
agent = Agent(role="friend", goal="to remember", backstory="You listen.", llm=model)
""",
}
"""By module of the framework: its object `agent`, or a factory if such an object takes no further tools."""


OWN_PROCESS = {"crewai", "agent_framework", "google.adk"}
"""Frameworks that leave threads or classes in the process, so each of their runs has its own."""


def booking_of(asked: Asked) -> dict[str, str] | None:
    """Return the requested booking, at the time that the user named for this person."""
    said = [
        str(message["content"])
        for message in asked.messages
        if message["role"] == "user"
    ]
    wanted = re.findall(r"Book a table for (\w+)\.", said[-1] if said else "")
    if not wanted:
        return None
    told = re.findall(
        rf"Tables for {wanted[-1]} are always for ([\d:]+)\.", " ".join(said)
    )
    return {"person": wanted[-1], "time": told[-1]}


def books(asked: Asked) -> Says:
    """Book a table, or reply with the result, each in the form that the framework requires."""
    newest = str(asked.messages[-1]["content"])
    booked = re.search(r"booked for [$\w:]+", newest)
    booking = None if booked else booking_of(asked)
    reply = f"It is {booked[0]}." if booked else "Noted."
    if "[[ ## " in str(asked.messages[0]["content"]):
        return says(fill_form(asked, booking, reply))
    tools = {tool["function"]["name"] for tool in asked.body.get("tools") or ()}
    if booking and "book" in tools:
        return calls(("book", json.dumps(booking)))
    if "final_answer" in tools:
        return calls(("final_answer", json.dumps({"answer": reply})))
    return says(reply)


def fill_form(asked: Asked, booking: dict[str, str] | None, reply: str) -> str:
    """Return the fields that DSPy requires."""
    fields = {"reasoning": "So.", "answer": reply}
    if "next_tool_name" in str(asked.messages[0]["content"]):
        fields = {
            "next_thought": "So.",
            "next_tool_name": "book" if booking else "finish",
            "next_tool_args": json.dumps(booking or {}),
        }
    parts = [f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items()]
    return "\n\n".join([*parts, "[[ ## completed ## ]]"])


def journals(project: Path) -> dict[str, bytes]:
    folder = latest_run(project)
    return {
        path.parent.name: path.read_bytes() for path in folder.glob("*/journal.jsonl")
    }


@pytest.mark.filterwarnings("default")  # the libraries' own warnings
@pytest.mark.parametrize("framework", ACTORS)
def test_calls_pass_through_a_framework_one_at_a_time_four_at_once_in_processes_and_by_workers(
    project: Project,
    chat_server: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    framework: str,
) -> None:
    for module in ("openai", framework):
        pytest.importorskip(module)
    if framework in ("langchain", "langgraph"):
        pytest.importorskip("langchain_openai")
    monkeypatch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    chat_server.default = books
    chat_server.keeps_open = False
    source = (CLIENT + ACTORS[framework]).format(url=chat_server.url)
    project.file(source, "bots.py")
    project.file(ACTING)
    recorded = []
    modes = ("--ltm-concurrency=1", "--ltm-concurrency=4", "--ltm-agent-process", "-n2")
    for mode in modes:
        with chance_put_back():
            run = project.ltm(
                "--ltm-trials=4",
                mode,
                agent="bots:agent",
                subprocess=framework in OWN_PROCESS,
            )
        run.assert_outcomes(passed=8)
        recorded.append(journals(project.path))
    assert b'"calls":[{"name":"book"' in b"".join(recorded[0].values())
    assert recorded[1:] == recorded[:1] * 3


@pytest.mark.parametrize("offers", [False, True])
def test_a_model_that_binds_no_tools_takes_no_part(
    project: Project, *, offers: bool
) -> None:
    pytest.importorskip("langchain_core")
    bind = "\n    def bind_tools(self, tools, **_):\n        return self\n"
    project.file(
        "from langchain_core.language_models.chat_models import SimpleChatModel\n\n"
        "class Model(SimpleChatModel):\n    _llm_type = 'stand-in'\n"
        f"{bind * offers}\n"
        "    def _call(self, *_, **__):\n        return 'Noted.'\n\n"
        "agent = Model()\n",
        "bots.py",
    )
    project.file(ACTING)
    run = project.ltm("-rs", agent="bots:agent")
    run.assert_outcomes(failed=2 * offers, skipped=2 * (not offers))


# --- The agent that `ltm init` writes into a project without one.


TOLD = """
def test_cat(ltm):
    ltm.say("My theorbo stands in Porto.")
    ltm.wait(tokens=200)
    ltm.check("Porto", "Porto" in ltm.ask("Where is the theorbo?"))
"""
BESIDE_RECIPES = sorted(
    path.stem for path in Path(framework_adapters.__file__).parent.glob("frameworks/*")
)


@pytest.mark.filterwarnings("default")  # the libraries' own warnings
@pytest.mark.parametrize("name", BESIDE_RECIPES)
def test_a_stand_in_remembers_what_it_is_told(project: Project, name: str) -> None:
    framework = framework_adapters.load_frameworks()[name]
    pytest.importorskip(framework.package)
    project.file(framework.stand_in, "bot.py")
    project.file(framework.adapter_text("bot", framework.name), "ltm_agent.py")
    project.file(TOLD)
    with chance_put_back():
        run = project.ltm(agent="ltm_agent", subprocess=name in OWN_PROCESS)
    run.assert_outcomes(passed=1)
