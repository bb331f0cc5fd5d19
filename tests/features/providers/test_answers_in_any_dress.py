"""Equal content has one account, whatever the names, positions and neighbours of its fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from pytest_ltm import providers
from pytest_ltm.api.calls import classify_failure
from pytest_ltm.api.storage import AgentFault, wall_time
from pytest_ltm.providers import provider_of
from pytest_ltm.providers.chat_model import ModelSpec
from pytest_ltm.providers.completions import Completions
from pytest_ltm.providers.provider import Provider
from pytest_ltm.providers.transport import Arrived, Transport

TEXT = "You live in Riga."
ENDS = {
    "whole": ("stop", "end turn", "eos", "stop sequence", "completed", "done"),
    "cut": ("length", "max tokens", "model length", "token budget", "truncated"),
    "kept back": ("content filter", "safety", "recitation", "prohibited content"),
    "broken off": ("server error", "user cancelled", "timeout", "not finished"),
    "unknown": ("odd", "somehow", "strange end", "unspecified"),
}
ERRORS = {
    True: ("The model is overloaded", "Rate limit reached", "Try again in 2 seconds"),
    False: (
        "This model is not supported",
        "temperature must be at most 2",
        "Your credit is used up",
    ),
}
THOUGHTS = "First Malmo, then Oporto."
NOTHING: tuple[str | None, ...] = (None, "", " \n", "<think>Malmo", "<|im_end|>")
GARBAGE: tuple[Any, ...] = (None, True, 7, -0.5, 10**30, "x", [], {}, [[]], [{}])

DAMAGE = [value for value in GARBAGE if not isinstance(value, str)]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a response, independent of its format."""

    text: str | None
    end: str = ""
    """In words; "" if the server names none."""
    thoughts: str = ""
    calls: bool = False
    error: str = ""

    account: str = "whole"
    passing: bool = False


def draw_content(rng: Random) -> Content:
    kind = rng.choice(("error", "nothing", "calls", *ENDS, *ENDS))
    thoughts = rng.choice(("", THOUGHTS))
    if kind == "error":
        passing = rng.random() < 0.5
        text = rng.choice((None, TEXT))
        error = rng.choice(ERRORS[passing])
        account = "broken off" if passing else "error"
        return Content(text, error=error, account=account, passing=passing)
    if kind == "nothing":
        text = rng.choice(NOTHING)
        end = rng.choice(("", *ENDS["whole"], *ENDS["cut"]))
        return Content(text, end, thoughts, account="nothing said")
    if kind == "calls":
        text = rng.choice((None, "", TEXT))
        end = rng.choice(("", "tool calls", "function call", "stop"))
        is_lost = "call" in end and rng.random() < 0.3
        return Content(
            text,
            end,
            thoughts,
            not is_lost,
            account="asked for a tool",
            passing=is_lost,
        )
    end = rng.choice(ENDS[kind])
    passing = kind == "broken off"
    return Content(TEXT, end, thoughts, account=kind, passing=passing)


def spell(name: str, rng: Random) -> str:
    parts = name.split()
    joined = rng.choice(("_".join, "-".join, " ".join))(parts)
    camel = parts[0] + "".join(part.title() for part in parts[1:])
    return rng.choice((joined, joined, joined.upper(), joined.title(), camel))


def shuffled(fields: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    names = list(fields)
    rng.shuffle(names)
    return {name: fields[name] for name in names}


def add_error(body: dict[str, Any], words: str, rng: Random) -> dict[str, Any]:
    """Return a body that also reports an error, at a random place under a random name."""
    message: Any = {spell(rng.choice(("message", "msg", "error message")), rng): words}
    code: Any = {"code": rng.choice((None, "", 0, "bad", 1002))}
    error = rng.choice((message, words, [message], {**message, **code}))
    named: Any = {spell(rng.choice(("error", "errors", "exception")), rng): error}
    if rng.random() < 0.2:
        named = {"base resp": {"status code": 1002, "status msg": words}}
    if rng.random() < 0.2:
        return {"type": "error", **message}
    if rng.random() < 0.2:
        state: Any = rng.choice(
            ({"success": False}, {"ok": False}, {"status": "failed"})
        )
        return shuffled({**state, **message}, rng)
    for _ in range(rng.randrange(3)):
        named = {spell(rng.choice(("result", "data", "response")), rng): named}
    choices = body.get("choices")
    if isinstance(choices, list) and rng.random() < 0.3:
        return {**body, "choices": [{**choices[0], **named}]}
    return {**body, **named}


def add_garbage(fields: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Return fields with additional ones that are meaningless or empty."""
    names = ("x meta", "service tier", "system fingerprint", "index", "logprobs", "id")
    strange = {spell(rng.choice(names), rng): rng.choice(GARBAGE)}
    empty: Any = {
        rng.choice(("error", "errors", "warning")): rng.choice((None, "", [], {}))
    }
    return shuffled({**strange, **empty, **fields}, rng)


def write_usage(rng: Random) -> dict[str, Any]:
    counts = (9, "9", 9.0, None, -1, True, 10**40, "many", [9], {"n": 9})
    names = ("prompt tokens", "completion tokens", "total tokens", "input tokens")
    usage: Any = {spell(name, rng): rng.choice(counts) for name in names}
    return rng.choice(({}, {"usage": usage}, {"usage": rng.choice(GARBAGE)}))


def write_chat(content: Content, rng: Random) -> dict[str, Any]:
    """Return the body of a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": content.text}
    choice: dict[str, Any] = {}
    body: dict[str, Any] = write_usage(rng)
    if content.text and rng.random() < 0.3:
        message["content"] = [{"type": "text", "text": content.text}]
    if content.thoughts:
        name = rng.choice(("reasoning content", "reasoning", "thinking", "thoughts"))
        parts = [{"type": "reasoning.text", "text": content.thoughts}]
        message[spell(name, rng)] = rng.choice((content.thoughts, parts))
    if content.calls:
        function = {"name": "recall", "arguments": rng.choice(("{}", {"city": 1}))}
        calls = [{"id": rng.choice((None, "c1")), "function": function}]
        name = rng.choice(("tool calls", "function call", "tool call"))
        is_list = name == "tool calls"
        message[spell(name, rng)] = calls if is_list else function
    if content.end:
        name = rng.choice(("finish reason", "stop reason", "native finish reason"))
        end: Any = spell(content.end, rng)
        end = rng.choice((end, end, {"type": end}))
        holder = rng.choice((choice, choice, message, body))
        holder[spell(name, rng)] = end
        if holder is choice and rng.random() < 0.3:
            choice["stop_reason_again"] = None
    choice["message"] = add_garbage(message, rng)
    body["choices"] = [add_garbage(choice, rng)]
    return add_garbage(body, rng)


def write_messages(content: Content, rng: Random) -> dict[str, Any]:
    """Return the body of a response in the format of Anthropic's API."""
    parts: list[Any] = []
    if content.thoughts:
        parts.append({"type": "thinking", "thinking": content.thoughts})
    if content.text is not None:
        parts.append({"type": "text", "text": content.text})
    if content.calls:
        parts.append({"type": "tool_use", "name": "recall", "input": {"City": 1}})
    body = {"type": "message", "content": parts, **write_usage(rng)}
    if content.end:
        body[spell("stop reason", rng)] = spell(content.end, rng)
    return add_garbage(body, rng)


def write_response(content: Content, rng: Random) -> dict[str, Any]:
    """Return the body of a response in the format of the Responses API."""
    items: list[Any] = []
    if content.thoughts:
        summary = [{"type": "summary_text", "text": content.thoughts}]
        items.append({"type": "reasoning", "summary": summary})
    if content.text is not None:
        part = {"type": "output_text", "text": content.text}
        items.append({"type": "message", "content": [part]})
    if content.calls:
        items.append({"type": "function_call", "name": "recall", "arguments": "{}"})
    body: dict[str, Any] = {"output": items, **write_usage(rng)}
    details: Any = {spell("incomplete details", rng): None}
    if content.end:
        end = spell(content.end, rng)
        details = {spell("incomplete details", rng): {"reason": end}}
        body["status"] = "completed"
    return add_garbage({**body, **details}, rng)


WRITERS: Mapping[str, Callable[[Content, Random], dict[str, Any]]] = {
    "openai": write_chat,
    "anthropic": write_messages,
    "openai-responses": write_response,
}


def write_stream(body: dict[str, Any], rng: Random) -> str:
    """Return a chat completion as a stream of chunks."""
    choices = body.get("choices")
    if not isinstance(choices, list):
        return f"data: {json.dumps(body)}\n\n"
    message = choices[0]["message"]
    events: list[Any] = []
    for name in message:
        value = message[name]
        if isinstance(value, str) and name.lower() != "role" and "eason" not in name:
            cut = rng.randrange(len(value) + 1)
            events += [{name: value[:cut]}, {name: value[cut:]}]
        else:
            events.append({name: value})
    around = {name: choices[0][name] for name in choices[0] if name != "message"}
    beside = {name: body[name] for name in body if name != "choices"}
    lines = [{"choices": [{"delta": event}]} for event in events]
    lines.append({"choices": [{"delta": {}, **around}], **beside})
    end = rng.choice(("\n", "\r\n"))
    said = [f"data: {json.dumps(line, ensure_ascii=False)}{end}{end}" for line in lines]
    asides = ("", ": ping", "event: message", "id: 7", "retry: 30", "data:")
    mixed = [f"{rng.choice(asides)}{end}{event}" for event in said]
    return "".join([*rng.choice((said, mixed)), f"data: [DONE]{end}{end}"])


class Told:
    """A transport that gives a prepared response."""

    def __init__(self) -> None:
        self.answer = Arrived(200, {}, "")

    def post(self, path: str, body: Mapping[str, Any]) -> Arrived:
        assert path
        assert body
        return self.answer

    def close(self) -> None:
        """Have nothing to close."""


def asked_by(kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Completions, Told]:
    """Return a model of this kind, and the transport that answers for its server."""
    providers.share_limits(None)
    told = Told()

    def connect(_: Provider, *__: Any, **___: Any) -> Transport:
        return told

    provider = provider_of(kind)
    monkeypatch.setattr(type(provider), "connect", connect)
    model = ModelSpec(name="m", provider=kind, base_url="http://127.0.0.1:1/v1")
    return Completions(model, provider), told


def account_from(model: Completions) -> tuple[str, bool, str]:
    """Return the account of a response, whether it is transient, and its text."""
    try:
        response = model.complete([{"role": "user", "content": "Where do I live?"}])
    except AgentFault as fault:
        passing = classify_failure(fault, now=wall_time()) is not None
        # a transient error is a reply that was cut off
        named = fault.account or ("broken off" if passing else "error")
        return named, passing, ""
    return response.account, False, response.text


@pytest.mark.slow
@pytest.mark.nightly("20,000 bodies: one part in fifteen at a merge", every=15)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", WRITERS)
def test_a_content_has_one_account_in_any_dress(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"{kind} {seed}")
    model, told = asked_by(kind, monkeypatch)

    for _ in range(680):
        content = draw_content(rng)
        body = WRITERS[kind](content, rng)
        if content.error:
            body = add_error(body, content.error, rng)
        text = json.dumps(body)
        if kind == "openai" and rng.random() < 0.3:
            text = write_stream(body, rng)
        told.answer = Arrived(200, {"content-type": "application/json"}, text)

        account, passing, said = account_from(model)

        assert (account, passing) == (content.account, content.passing), text
        assert said in {"", content.text}, text


@pytest.mark.slow
@pytest.mark.nightly("2,000 streams: one part in five at a merge", every=5)
@pytest.mark.parametrize("seed", range(5))
def test_a_stream_that_is_torn_is_never_a_whole_answer_that_it_was_not(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"torn {seed}")
    model, told = asked_by("openai", monkeypatch)

    for _ in range(400):
        content = draw_content(rng)
        stream = write_stream(write_chat(content, rng), rng)
        text = stream[: rng.randrange(len(stream))]
        told.answer = Arrived(200, {"content-type": "text/event-stream"}, text)

        account, _, said = account_from(model)

        is_whole = content.account == "whole" and said == content.text
        assert account != "whole" or is_whole, text


def damaged(value: Any, rng: Random) -> Any:
    """Return a JSON value with some parts replaced by others."""
    if rng.random() < 0.05:
        return rng.choice(DAMAGE)
    if isinstance(value, list):
        return [damaged(part, rng) for part in value]
    if isinstance(value, dict):
        return {name: damaged(part, rng) for name, part in value.items()}
    return value


@pytest.mark.slow
@pytest.mark.nightly("20,000 bodies: one part in fifteen at a merge", every=15)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", WRITERS)
def test_a_damaged_body_is_a_fault_or_less_than_whole_and_never_a_crash(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"damaged {kind} {seed}")
    model, told = asked_by(kind, monkeypatch)

    for _ in range(680):
        content = draw_content(rng)
        body = damaged(WRITERS[kind](content, rng), rng)
        text = json.dumps(body)
        is_stream = rng.random() < 0.5
        if is_stream:
            text = text.replace("\n", " ")
            events = [f"data: {text}", f"data: {json.dumps(damaged(body, rng))}"]
            text = "\n\n".join(["", *events, "data: [DONE]", ""])
        headers = {"content-type": "text/event-stream" if is_stream else ""}
        told.answer = Arrived(rng.choice((200, 200, 201)), headers, text)

        account, _, said = account_from(model)

        # the chunks of two responses form one text
        assert account != "whole" or not said.replace(TEXT, ""), text
