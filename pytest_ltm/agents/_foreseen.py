"""What is known of an agent from its spec and its class, before it is made: nobody is asked, nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import LtmError
from pytest_ltm._fields import Field
from pytest_ltm.agents._embedded import EMBEDDED

if TYPE_CHECKING:
    from pytest_ltm._providers import Model
    from pytest_ltm.agents._adapt import AgentSource

SHOWN = ("system", "context", "tokenizer")
"""Parameters of a chat model that say what it is shown."""


def spec_within(source: AgentSource) -> str:
    """Return the spec of the agent itself, also where a file names it."""
    settings = source.settings or {}
    return str(settings.get("agent", source.spec))


def model_of(spec: str) -> Model | None:
    """Return the chat model of an `openai:` or `ts:openai:` spec, of an agent or a judge; None for any other."""
    kind, _, argument = spec.removeprefix("ts:").partition(":")
    if kind != "openai":
        return None
    from pytest_ltm._providers import model  # noqa: PLC0415 - other agents do without

    try:
        return model(argument, Field({}, spec), also=SHOWN)[0]
    except LtmError:  # it is told where the agent is looked up
        return None


def is_free(spec: str) -> bool:
    """Return whether an agent costs nothing, whoever asks it: it is ours, or a person."""
    kind, _, argument = spec.partition(":")
    if kind == "length-bias":
        return "openai" not in argument and "." not in argument.partition(":")[2]
    return kind in EMBEDDED or kind == "human"
