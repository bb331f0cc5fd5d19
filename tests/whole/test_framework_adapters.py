"""Framework adapters, each on its framework with a model on loopback; `.ci/frameworks` installs them."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest
from chat_server import Answer, Asked, ChatServer, calls
from conftest import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly("frameworks are installed by .ci/frameworks only"),
]
TALK = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_cat(ltm, number):
    ltm.say(f"Cat number {number} is called Kelvin.")
    ltm.wait(tokens=300)
    assert "Noted" in ltm.ask(f"What is cat {number} called?")
"""
BOTS = {
    "langgraph": """
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

model = ChatOpenAI(model="m", base_url="{url}", api_key="none", max_retries=0)

def answer(state):
    return {"messages": [model.invoke(state["messages"])]}

bot = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())
""",
    "langchain_openai": """
from langchain_openai import ChatOpenAI

bot = ChatOpenAI(model="m", base_url="{url}", api_key="none", max_retries=0)
""",
    "pydantic_ai": """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

bot = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url="{url}", api_key="none")))
""",
    "agents": """
from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
bot = Agent("bot", model=OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url="{url}", api_key="none")))
""",
    "llama_index.core.chat_engine": """
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.llms.openai_like import OpenAILike

model = OpenAILike(model="m", api_base="{url}", api_key="none", is_chat_model=True, context_window=100_000)
bot = SimpleChatEngine.from_defaults(llm=model, memory=ChatMemoryBuffer(token_limit=90_000))
""",
    "llama_index.core.agent.workflow": """
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

takes = {"is_chat_model": True, "is_function_calling_model": True}
model = OpenAILike(model="m", api_base="{url}", api_key="none", context_window=100_000, **takes)
bot = FunctionAgent(llm=model, streaming=False)
""",
    "agno": """
from agno.agent import Agent
from agno.models.openai.like import OpenAILike

bot = Agent(model=OpenAILike(id="m", base_url="{url}", api_key="none"), telemetry=False)
""",
    "agno.db.in_memory": """
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike

model = OpenAILike(id="m", base_url="{url}", api_key="none")
keeps = {"db": InMemoryDb(), "add_history_to_context": True, "num_history_runs": 100}
bot = Agent(model=model, telemetry=False, **keeps)
""",
    "haystack": """
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.utils import Secret

model = OpenAIChatGenerator(model="m", api_base_url="{url}", api_key=Secret.from_token("none"))
bot = Agent(chat_generator=model, system_prompt="Be kind.")
""",
    "google.adk": """
from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm

model = LiteLlm(model="openai/m", api_base="{url}", api_key="none")
bot = LlmAgent(name="bot", model=model, instruction="Be kind.")
""",
    "autogen_agentchat": """
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

cannot = dict.fromkeys(("vision", "json_output", "structured_output"), False)
facts = {"function_calling": True, "family": "unknown", **cannot}
client = OpenAIChatCompletionClient(model="m", base_url="{url}", api_key="none", model_info=facts)
bot = AssistantAgent("bot", model_client=client)
""",
    "agent_framework": """
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

bot = Agent(client=OpenAIChatCompletionClient("m", base_url="{url}", api_key="none"), instructions="Be kind.")
""",
    "smolagents": """
from smolagents import OpenAIModel, ToolCallingAgent

model = OpenAIModel("m", api_base="{url}", api_key="none")
bot = ToolCallingAgent(tools=[], model=model, verbosity_level=0)
""",
    "dspy": """
import dspy

dspy.configure(lm=dspy.LM("openai/m", api_base="{url}", api_key="none", cache=False))

class Talk(dspy.Signature):
    question: str = dspy.InputField()
    history: dspy.History = dspy.InputField()
    answer: str = dspy.OutputField()

bot = dspy.Predict(Talk)
""",
    "crewai": """
from crewai import LLM, Agent

model = LLM(model="openai/m", base_url="{url}", api_key="none")
bot = Agent(role="friend", goal="to remember", backstory="You listen.", llm=model)
""",
}
"""By the module that each bot requires."""
MODES = {
    "alone": ["--ltm-concurrency=1"],
    "together": ["--ltm-concurrency=4"],
    "process": ["--ltm-agent-process"],
    "workers": ["-n2"],
}


def answer(asked: Asked) -> Answer:
    """Return a reply in the form that the framework requires."""
    tools = asked.body.get("tools") or ()
    if any(tool["function"]["name"] == "final_answer" for tool in tools):
        return calls(("final_answer", json.dumps({"answer": "Noted."})))
    is_form = "[[ ## " in str(asked.messages[0]["content"])
    return (
        "[[ ## answer ## ]]\nNoted.\n\n[[ ## completed ## ]]" if is_form else "Noted."
    )


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def lengths_of_requests(
    project: Project, server: ChatServer, agent: str, *options: str
) -> list[int]:
    """Return the number of messages in each request of a run, minus the constant part that precedes them."""
    before = len(server.requests)
    run = project.pytest(
        f"--ltm-agent={agent}",
        "--ltm-suite=none",
        "--ltm-trials=4",
        *options,
        subprocess=True,
    )
    run.assert_outcomes(passed=12)
    lengths = sorted(len(asked.messages) for asked in server.requests[before:])
    return [length - lengths[0] + 1 for length in lengths]


@pytest.mark.parametrize("module", BOTS)
def test_a_framework_sends_its_model_the_history_that_our_own_agent_sends(
    project: Project,
    chat_server: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
) -> None:
    if not is_installed(module):
        pytest.skip(f"{module} is not installed")
    settings: dict[str, Any] = {
        "CREWAI_DISABLE_TELEMETRY": "true",
        "OTEL_SDK_DISABLED": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    chat_server.default = answer
    project.file(BOTS[module].replace("{url}", chat_server.url), "made.py")
    project.file(TALK)

    own = lengths_of_requests(project, chat_server, f"openai:m@{chat_server.url}")
    lengths = {
        mode: lengths_of_requests(project, chat_server, "made:bot", *options)
        for mode, options in MODES.items()
    }

    # Filler enters the history without a request; otherwise there would be more.
    assert lengths == dict.fromkeys(MODES, own)
