"""Specs of chat models, and refusals before any request."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from chat_server import ChatServer

from pytest_ltm.agents.chat_agent import ChatAgent, TimedChatAgent
from pytest_ltm.agents.registry import find_agent, source_of_kind
from pytest_ltm.api.calls import carry_trace
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentError, DefinitionError, Field, errors


def made(spec: str) -> Any:
    agent: Any = find_agent(spec).make()
    agent.close()
    return agent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "name", "url", "key_env"),
    [
        ("m@http://localhost:1/v1/", "m", "http://localhost:1/v1", ""),
        ("org/llama3:8b@ollama", "org/llama3:8b", "http://localhost:11434/v1", ""),
        ("claude@20240620@http://h/v1", "claude@20240620", "http://h/v1", ""),
        ("m@http://h/v1?key_env=SOME_KEY", "m", "http://h/v1", "SOME_KEY"),
        (
            "m@https://api.together.xyz/v1",
            "m",
            "https://api.together.xyz/v1",
            "TOGETHER_API_KEY",
        ),
        ("m@anthropic", "m", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        ("m", "m", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("@cf/meta/m@http://h/v1", "@cf/meta/m", "http://h/v1", ""),
    ],
)
def test_a_spec_names_model_endpoint_and_where_the_key_is(
    monkeypatch: pytest.MonkeyPatch, spec: str, name: str, url: str, key_env: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv(key_env or "UNUSED_KEY", "planted")
    agent = made(f"openai:{spec}")
    assert isinstance(agent, ChatAgent)
    found = agent._model
    assert (found.name, found.base_url, found.key_env) == (name, url, key_env)
    assert isinstance(made(f"ts:openai:{spec}"), TimedChatAgent)


def test_the_clients_own_variable_names_the_endpoint_where_the_spec_does_not(
    chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "planted")
    agent: Any = find_agent("openai:m").make()
    with carry_trace("00-ab-cd-01"):
        agent.reply("a")
    agent.close()
    assert chat_server.requests[0].headers["authorization"] == "Bearer planted"
    assert chat_server.requests[0].headers["traceparent"] == "00-ab-cd-01"


def test_a_key_that_is_not_set_is_told_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(
        AgentError,
        match=r"OPENAI_API_KEY is not set\. Set it, or name another with key_env=NAME",
    ):
        find_agent("openai:m")


def test_without_the_client_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(AgentError, match=r"pip install 'pytest-ltm\[openai\]'"):
        find_agent("openai:m@http://localhost:1/v1")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("openai:", "no model is named"),
        (
            "openai:m@together?contxt=8k",
            r"unknown parameter 'contxt'\. Did you mean 'context'",
        ),
        (
            "openai:m@togethr",
            r"no endpoint is called 'togethr'\. Did you mean 'together'",
        ),
        ("openai:m@http://", "'http://' is not an address"),
        ("openai:m@http://h:99999/v1", "is not an address"),
        ("openai:m@http://h/v1?context=none", "a number of tokens"),
        ("openai:m@http://h/v1?temperature=9", "a number from 0 to 5"),
        ("openai:m@http://h/v1?seed=1&seed=2", "given twice"),
        ("openai:m@http://h/v1?tokenizer=cl200k", "unknown tokenizer 'cl200k'"),
        ("openai:m@http://h/v1?extra=1", "needs a YAML file"),
        ("ts:", "names no agent"),
    ],
)
def test_a_wrong_spec_is_told_with_a_cure(spec: str, told: str) -> None:
    with pytest.raises((AgentError, errors.TokenizerError), match=told):
        find_agent(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "openai:m@http://user:planted@h/v1",
        "openai:m@http://planted@h/v1",
        "openai:m@http://h/v1?api_key=planted",
        "openai:m@http://h/v1?key_env=sk-planted",
    ],
)
def test_a_key_in_a_spec_is_refused_and_not_shown(spec: str) -> None:
    with pytest.raises(AgentError, match="environment variable") as caught:
        find_agent(spec)
    assert "planted" not in str(caught.value)


def test_a_parameter_in_the_file_and_in_the_spec_is_told_with_its_place() -> None:
    with pytest.raises(
        (AgentError, DefinitionError),
        match=r"bot\.yml: parameters\.seed: is also in the spec",
    ):
        source_of_kind(
            agent_kinds()["openai"],
            "m@http://h/v1?seed=1",
            Field({"seed": 2}, "bot.yml", "parameters"),
        )
