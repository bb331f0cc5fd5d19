"""The registry of providers: Anthropic, the Responses API, Azure and commands, each with a real server or process."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_server import Answer, Loopback, serving

from pytest_ltm import providers as calls
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.journal import Price, read_price
from pytest_ltm.api.model import Usage
from pytest_ltm.api.scenarios import PROMPTS
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    ConfigurationError,
    DatasetError,
    TransientFault,
)
from pytest_ltm.judges.judge_registry import find_judge
from pytest_ltm.providers import (
    RequestRefused,
    list_price,
    open_model,
    provider_names,
    provider_of,
    read_model,
)
from pytest_ltm.providers.anthropic_messages import Anthropic
from pytest_ltm.providers.chat_model import ENDPOINTS
from pytest_ltm.providers.openai_chat import OpenAi
from pytest_ltm.providers.openai_responses import OpenAiResponses
from pytest_ltm.providers.provider import Provider
from pytest_ltm.providers.refusal import too_long


@pytest.fixture(autouse=True)
def _own_limits() -> None:
    calls.share_limits(None)


def replies(spec: str, *messages: str) -> list[Any]:
    """Return an agent's replies to the messages of one conversation."""
    agent: Any = find_agent(spec).make()
    try:
        return [agent.reply(message) for message in messages]
    finally:
        agent.close()


# --- The registry


def test_each_provider_has_all_that_a_provider_has() -> None:
    # for mypy: the registry imports by name
    providers: list[Provider] = [
        OpenAi(),
        OpenAiResponses(),
        Anthropic(),
    ]
    assert {provider.name for provider in providers} == {*provider_names()}
    members = {name for name in vars(Provider) if not name.startswith("_")}
    assert all(members <= {*dir(provider_of(kind))} for kind in provider_names())


# --- Anthropic


def message(
    *parts: dict[str, Any], stop_reason: str = "end_turn", **usage: int
) -> dict[str, Any]:
    counted = {"input_tokens": 10, "output_tokens": 3, **usage}
    return {
        "type": "message",
        "role": "assistant",
        "content": list(parts),
        "stop_reason": stop_reason,
        "usage": counted,
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def anthropic(server: Loopback, query: str = "") -> str:
    return f"anthropic:claude-x@{server.url}?key_env=SOME_KEY&{query}"


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "planted")


@pytest.mark.slow
@pytest.mark.usefixtures("_key")
def test_a_model_of_anthropic_is_asked_through_its_own_api() -> None:
    parts = (
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        text("Te"),
        text("al."),
    )
    with serving(lambda _: message(*parts, cache_read_input_tokens=90)) as server:
        first, _ = replies(
            anthropic(server, "max_tokens=50&system=Be+kind."), "Which?", "And now?"
        )
    assert (first.text, first.thoughts, first.finish_reason) == (
        "Teal.",
        "Hm.",
        "end_turn",
    )
    assert first.usage == Usage(
        input_tokens=100, output_tokens=3, cached_tokens=90, calls=1
    )
    post = server.posts[-1]
    assert post.path == "/v1/messages"
    assert "planted" in {
        post.headers.get("x-api-key"),
        post.headers.get("authorization", "").removeprefix("Bearer "),
    }
    assert (post.body["system"], post.body["max_tokens"], post.body["temperature"]) == (
        "Be kind.",
        50,
        0,
    )
    assert [each["content"] for each in post.body["messages"]] == [
        "Which?",
        "Teal.",
        "And now?",
    ]


@pytest.mark.slow
def test_no_other_endpoint_is_ever_given_the_key_of_anthropic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "planted")
    with serving(lambda _: message(text("Teal."))) as server:
        replies(f"anthropic:claude-x@{server.url}", "a")
    assert "planted" not in str(server.posts[0].headers)


@pytest.mark.slow
@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (message(text("I"), stop_reason="refusal"), AgentFault, "content filter"),
        (message(stop_reason="max_tokens"), AgentFault, "used up its response limit"),
        (
            {
                "type": "error",
                "error": {"type": "overloaded_error", "message": "Overloaded"},
            },
            AgentFault,
            "Overloaded",
        ),
        (
            Answer(
                {
                    "error": {
                        "message": "prompt is too long: 9000 tokens > 8000 maximum"
                    }
                },
                400,
            ),
            AgentFault,
            "too long",
        ),
        (Answer({"error": {"message": "Overloaded"}}, 529), RequestRefused, "529"),
        (
            Answer({"error": {"message": "invalid x-api-key"}}, 401),
            RequestRefused,
            "environment variable SOME_KEY",
        ),
        (
            Answer({"error": {"message": "Not found"}}, 404),
            RequestRefused,
            r"There is no http://[\d.:]+/v1/messages\.$",
        ),
        ({"choices": []}, AgentFault, "not with the content of a message"),
    ],
    ids=["refusal", "limit", "error", "overflow", "529", "key", "404", "schema"],
)
def test_what_is_not_an_answer_of_anthropic_is_a_fault(
    answer: Any, kind: type[Exception], says: str
) -> None:
    with serving(lambda _: answer) as server, pytest.raises(kind, match=says):
        replies(anthropic(server), "a")


@pytest.mark.slow
@pytest.mark.usefixtures("_key")
def test_a_stream_of_anthropic_is_put_together() -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message(output_tokens=1)},
        {"type": "content_block_start", "index": 0, "content_block": text("")},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Teal."},
        },
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]
    body = "".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
    )
    with serving(
        lambda _: Answer(body, headers={"Content-Type": "text/event-stream"})
    ) as server:
        (reply,) = replies(anthropic(server, "stream=true"), "a")
    assert (reply.text, reply.finish_reason, reply.usage.output_tokens) == (
        "Teal.",
        "max_tokens",
        7,
    )
    assert server.posts[0].body["stream"] is True


@pytest.mark.slow
@pytest.mark.usefixtures("_key")
def test_tools_and_their_results_are_said_as_anthropic_has_them() -> None:
    called = {
        "type": "tool_use",
        "id": "t1",
        "name": "search",
        "input": {"query": "colour"},
    }
    with serving(lambda _: message(called, stop_reason="tool_use")) as server:
        model = open_model(read_model(anthropic(server), role="reader")[0])
        call = {
            "id": "t0",
            "type": "function",
            "function": {"name": "search", "arguments": '{"query": "a"}'},
        }
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": "Which?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t0", "content": "Nothing."},
        ]
        tool = {
            "type": "function",
            "function": {
                "name": "search",
                "description": "Look.",
                "parameters": {"type": "object"},
            },
        }
        response = model.complete(messages, tools=[tool])
        model.close()
    body = server.posts[0].body
    assert [(each.name, json.loads(each.arguments)) for each in response.calls] == [
        ("search", {"query": "colour"})
    ]
    assert body["tools"] == [
        {"name": "search", "description": "Look.", "input_schema": {"type": "object"}}
    ]
    assert body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "t0", "name": "search", "input": {"query": "a"}}
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t0", "content": "Nothing."}
    ]


# --- the Responses API


def output(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 20,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens": 5,
        "total_tokens": 25,
    }
    return {
        "object": "response",
        "status": "completed",
        "error": None,
        "output": list(items),
        "usage": usage,
        **more,
    }


def spoken(words: str) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": words}],
    }


THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}


@pytest.mark.slow
def test_the_responses_api_is_asked_without_storing_anything() -> None:
    with serving(lambda _: output(THOUGHT, spoken("Teal."))) as server:
        spec = f"openai-responses:o9@{server.url}/v1?max_tokens=50&reasoning_effort=low&seed=1"
        first, _ = replies(spec, "Which?", "And now?")
    assert (first.text, first.thoughts, first.finish_reason) == (
        "Teal.",
        "Hm.",
        "completed",
    )
    assert first.usage == Usage(
        input_tokens=20, output_tokens=5, cached_tokens=8, calls=1
    )
    post = server.posts[-1]
    assert post.path == "/v1/responses"
    assert {
        "store": False,
        "max_output_tokens": 50,
        "reasoning": {"effort": "low"},
    }.items() <= post.body.items()
    assert [each["content"] for each in post.body["input"]] == [
        "Which?",
        "Teal.",
        "And now?",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (
            output(
                status="failed",
                error={"message": "The server had an error", "code": "server_error"},
            ),
            AgentFault,
            "had an",
        ),
        (
            output(
                spoken("I"),
                status="incomplete",
                incomplete_details={"reason": "content_filter"},
            ),
            AgentFault,
            "filter",
        ),
        (
            output(
                status="incomplete", incomplete_details={"reason": "max_output_tokens"}
            ),
            AgentFault,
            "response limit",
        ),
        (output(status="cancelled"), TransientFault, "broke off"),
        (output(THOUGHT), AgentFault, "only with thoughts"),
    ],
    ids=["failed", "filter", "limit", "cancelled", "thoughts"],
)
def test_what_is_not_an_answer_of_the_responses_api_is_a_fault(
    answer: Any, kind: type[Exception], says: str
) -> None:
    with serving(lambda _: answer) as server, pytest.raises(kind, match=says):
        replies(f"openai-responses:o9@{server.url}/v1", "a")


@pytest.mark.slow
def test_a_stream_of_the_responses_api_ends_with_all_of_it() -> None:
    events = [
        {"type": "response.created"},
        {"type": "response.completed", "response": output(spoken("Teal."))},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    with serving(
        lambda _: Answer(body, headers={"Content-Type": "text/event-stream"})
    ) as server:
        (reply,) = replies(f"openai-responses:o9@{server.url}/v1?stream=true", "a")
    assert reply.text == "Teal."


# --- Azure


@pytest.mark.slow
@pytest.mark.usefixtures("_key")
def test_a_deployment_of_azure_gets_its_version_and_its_key() -> None:
    choices = [
        {"message": {"role": "assistant", "content": "Teal."}, "finish_reason": "stop"}
    ]
    with serving(lambda _: {"choices": choices}) as server:
        spec = f"openai:dep@{server.url}/openai/deployments/dep?api-version=2024-10-21&key_env=SOME_KEY"
        assert replies(spec, "a")[0].text == "Teal."
    post = server.posts[0]
    assert (
        post.path == "/openai/deployments/dep/chat/completions?api-version=2024-10-21"
    )
    assert post.headers["api-key"] == "planted"


# --- commands


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str], str]:
    """Create the spec of a command: a Python program that has the prompt in `prompt`."""

    def make(program: str) -> str:
        path = tmp_path / "model.py"
        path.write_text(f"import sys\nprompt = sys.stdin.read()\n{program}\n")
        return f"cmd:{sys.executable} {path}"

    return make


@pytest.mark.slow
def test_a_command_judges(command: Callable[[str], str]) -> None:
    judge = find_judge(
        command("print('GRADE: yes' if 'Turku' in prompt else 'GRADE: no')")
    )
    assert judge is not None
    inquiry = PROMPTS["answer"].inquiry(
        question="Where?", answer="In Turku.", reference="Turku"
    )
    reply: Any = judge.judge.assess(inquiry)
    assert reply.text == "GRADE: yes"


@pytest.mark.slow
def test_a_command_reads_for_a_memory(command: Callable[[str], str]) -> None:
    (reply,) = replies(
        f"memory:{command('print(prompt.count(chr(10)) > 0)')}", "Hello."
    )
    assert reply.text == "True"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("sys.exit('no such model')", "ended with 1: no such model"),
        ("print('a' * 2**21)", "more than 1,048,576 bytes"),
    ],
)
def test_a_command_that_fails_is_a_fault(
    command: Callable[[str], str], program: str, says: str
) -> None:
    model = open_model(read_model(command(program), role="judge")[0])
    with pytest.raises(AgentFault, match=says):
        model.complete([{"role": "user", "content": "a"}])


# --- specs


@pytest.mark.parametrize(
    ("spec", "url"),
    [
        ("openai:m@127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("openai:org/m:8b@localhost:8080", "http://localhost:8080"),
        ("openai:m@[::1]:8080/v1", "http://[::1]:8080/v1"),
    ],
)
def test_an_address_of_this_machine_needs_no_beginning(spec: str, url: str) -> None:
    assert read_model(spec, role="agent")[0].base_url == url


@pytest.mark.parametrize(
    "spec",
    [
        "openai:m@gpu:8000/v1",
        "openai:m@api.example.com/v1",
        "openai:m@10.0.0.7:8000/v1",
    ],
)
def test_an_address_without_its_beginning_is_never_a_model_at_somebody_elses_service(
    spec: str,
) -> None:
    with pytest.raises(
        AgentError,
        match=r"is an address without its beginning\. Write openai:m@https://",
    ):
        read_model(spec, role="agent")


@pytest.mark.parametrize(
    ("name", "meant"), [("gpt-4o", "openai:gpt-4o"), ("claude-x", "anthropic:claude-x")]
)
def test_a_model_named_alone_is_told_with_its_provider(name: str, meant: str) -> None:
    with pytest.raises(
        AgentError, match=f"A model is named with its provider: '{meant}'"
    ):
        find_agent(name)
    with pytest.raises(ConfigurationError, match=meant):
        find_judge(name)


@pytest.mark.parametrize(
    "role", ["agent", "judge", "user", "reader", "index", "--model"]
)
def test_an_error_says_what_the_model_was_to_be(role: str) -> None:
    with pytest.raises(
        DatasetError, match=f"^{role} 'openai:m': unknown parameter 'foo'"
    ):
        read_model("openai:m?foo=1", role=role, error=DatasetError)


def test_the_judge_of_a_wrong_spec_is_called_a_judge() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^judge 'openai:gpt-4o': unknown parameter 'foo'"
    ):
        find_judge("openai:gpt-4o?foo=1")


def test_a_command_that_is_not_there_is_told_before_anything_is_asked() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"judge 'cmd:no-such-program -p': there is no program 'no-such-program'",
    ):
        find_judge("cmd:no-such-program -p")


def test_a_prompt_of_anthropic_that_is_too_long_says_by_how_much() -> None:
    refusal = too_long(400, "prompt is too long: 9000 tokens > 8000 maximum")
    assert refusal is not None
    assert (refusal.asked, refusal.limit) == (9000, 8000)


# --- No other module knows their names


def test_no_module_beyond_the_registry_decides_by_the_name_of_a_provider() -> None:
    package = Path(calls.__file__).parents[1]
    names = {*provider_names()}
    compared = []
    for path in package.rglob("*.py"):
        code = path.read_text("utf-8")
        # parsing all files would take seconds
        if path.parent.name == "providers" or not any(name in code for name in names):
            continue
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Compare) and names & constants_in(node):
                compared.append(f"{path.relative_to(package)}:{node.lineno}")
    assert compared == []


def constants_in(node: ast.AST) -> set[object]:
    return {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}


def test_list_prices_are_known_at_the_addresses_of_the_registry() -> None:
    assert list_price(
        "claude-sonnet-4-20250514", provider_of("anthropic").default_address.base_url
    ) == Price(3, 15)
    assert all(
        read_price(text)
        for endpoint in ENDPOINTS.values()
        for text in endpoint.prices.values()
    )
