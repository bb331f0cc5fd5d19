"""ModelResponse: a model's reply, how it ended, and its usage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm.api.model import (
    SCORED,
    SPOKEN,
    Account,
    Outcome,
    account_of,
    escape_surrogates,
    name_end,
    sort_end,
)
from pytest_ltm.api.storage import AgentFault, TransientFault, redact_secrets

if TYPE_CHECKING:
    from pytest_ltm.providers.chat_model import ModelSpec


# For pytest: the message already has the server's answer.
__tracebackhide__ = True

# Of one request: a larger count must be wrong, and would spoil every sum.
MOST_TOKENS = 10**10


class Used(Struct, frozen=True):
    """Tokens as counted and billed by the provider; None if not reported, or invalid."""

    input: int | None = None
    output: int | None = None
    cached: int = 0
    """Part of `input`."""


class ToolCall(Struct, frozen=True):
    """A tool call of the model; a tool of this name need not exist."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: JSON, if valid; without secrets."""

    def to_message(self) -> dict[str, Any]:
        """Return the call in the form that a later prompt shows."""
        function = {"name": self.name, "arguments": self.arguments or "{}"}
        return {"id": self.id, "type": "function", "function": function}


class ModelResponse(Struct, frozen=True):
    """A model's reply."""

    text: str
    """Without secrets, in the record and when it is shown to the model again."""
    used: Used
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    """The provider's finish reason; "" if not reported."""
    thoughts: str = ""
    """The model's thoughts, if separate from the text; without secrets."""
    account: Account = "whole"
    """How it ended: whole, cut, or unknown; any other account is a fault."""

    @property
    def was_cut(self) -> bool:
        """Whether it ended at the response limit."""
        return self.account == "cut"


def received(text: object) -> str:
    """Return a text from a server, encodable and without secrets; "" for anything else."""
    if isinstance(text, str):
        return redact_secrets(escape_surrogates(text))
    return ""


def read_count(holder: Any, name: str) -> int | None:
    """Return a number of tokens; None if missing or invalid."""
    value = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and 0 <= value <= MOST_TOKENS
    ):
        return value
    return None


class Reception(Struct, frozen=True, kw_only=True):
    """The context for reading an answer."""

    model: ModelSpec
    offered: bool = False
    """Whether the model was offered tools, which it may call instead of replying."""
    says: Callable[[str], bool] = SPOKEN.says_something
    """Returns whether any part of a text is speech."""


def response_of(
    reception: Reception,
    text: object,
    used: Used,
    *,
    finish_reason: object,
    thoughts: str = "",
    calls: Sequence[ToolCall] = (),
) -> ModelResponse:
    """Return the response with this text; raises the fault of its account if it is not an answer."""
    end = name_end(finish_reason)
    outcome = account_of(
        text,
        end,
        ends=reception.model.ends,
        thoughts=thoughts,
        calls=len(calls),
        offered=reception.offered,
        says=reception.says,
    )
    if outcome.account not in SCORED:
        raise fault_of(outcome, reception.model, thoughts=bool(thoughts), text=text)
    return ModelResponse(
        received(text),
        used,
        tuple(calls) if reception.offered else (),
        "stop" if end and end == reception.model.ends else received(end),
        received(thoughts),
        outcome.account,
    )


def fault_of(
    outcome: Outcome, model: ModelSpec, *, thoughts: bool = False, text: object = None
) -> AgentFault:
    """Return the fault of a reply that is not an answer, with the reason if known."""
    end = f" (finish_reason {outcome.reason!r})" if outcome.reason else ""
    subject = f"model {model.name!r}"
    if outcome.account == "broken off":
        words = f"{model.base_url} broke off the answer of {subject}{end}"
    elif outcome.account == "kept back":
        words = f"the provider's content filter kept back the answer of {subject}{end}"
    elif outcome.account == "asked for a tool":
        words = (
            f"{subject} called a tool instead of answering, and was offered none{end}"
        )
    elif sort_end(outcome.reason) == "cut":
        words = f"{subject} used up its response limit before it said anything. Give it more: max_tokens=NUMBER"
    elif isinstance(text, str) and text.strip():
        words = f"{subject} answered only with thoughts, calls of tools, or marks of a turn{end}"
    else:
        only = ", only with thoughts" if thoughts else ""
        words = f"{subject} answered without a text{only}{end}"
    fault = TransientFault(words) if outcome.passing else AgentFault(words)
    fault.account = outcome.account
    return fault


def no_answer(answer: Mapping[str, Any], model: ModelSpec, expected: str) -> AgentFault:
    """Return the fault of a body that is not an answer."""
    fields = ", ".join(sorted(answer))
    content = f"with the fields {fields}" if fields else "with something else"
    return AgentFault(
        f"{model.base_url} answered {content}, not with {expected}. "
        f"Is it the address of such an endpoint, as http://localhost:8000/v1 is of an OpenAI-compatible one?"
    )


def read_vectors(
    answer: Mapping[str, Any], model: ModelSpec, count: int
) -> list[list[float]]:
    """Return the vectors in a body in the order of their texts; AgentFault unless there is one for each."""
    data = answer.get("data")
    if isinstance(data, list):
        rows = [row for row in data if isinstance(row, dict)]
    else:
        rows = []
    rows.sort(key=lambda row: read_count(row, "index") or 0)
    vectors = [row.get("embedding") for row in rows]
    are_valid = all(isinstance(vector, list) and vector for vector in vectors)
    if len(vectors) != count or not are_valid:
        raise AgentFault(
            f"model {model.name!r} gave {len(vectors)} vectors for {count} texts, or some are invalid"
        )
    return vectors  # type: ignore[return-value]  # they were just looked at
