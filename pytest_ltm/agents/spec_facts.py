"""Facts from a spec alone: the chat model behind an agent, and whether the agent can cost anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import LtmError

if TYPE_CHECKING:
    from pytest_ltm.agents.sources import AgentSource
    from pytest_ltm.providers import ModelSpec

# Parameters of a chat model that determine its prompt.
SHOWN = ("system", "context", "tokenizer")


def spec_within(source: AgentSource) -> str:
    """Return the spec of the agent itself, also if a file names it."""
    settings = source.settings or {}
    return str(settings.get("agent", source.spec))


def model_of(spec: str) -> ModelSpec | None:
    """Return the chat model of an agent, judge or user, or None.

    The model may be behind `ts:` or `memory:`.
    """
    from pytest_ltm.providers import provider_names

    spec = spec.removeprefix("ts:")
    kind, _, argument = spec.partition(":")
    try:
        if kind == "memory":
            from pytest_ltm.agents._memory import model_within

            return model_within(argument)
        if kind not in provider_names():
            return None
        from pytest_ltm.providers import read_model

        return read_model(spec, role="agent", also=SHOWN)[0]
    except LtmError:  # reported where the agent is resolved
        return None


def is_free(spec: str) -> bool:
    """Return whether an agent never costs anything: it is embedded, or a person."""
    kind, _, argument = spec.partition(":")
    if kind == "length-bias":
        from pytest_ltm.agents.controls import Bias

        model = Bias.parse_bias(argument).model
        return model is None or is_free(model)
    if kind == "padded":
        from pytest_ltm.agents.wrapping import padded_spec

        return is_free(padded_spec(spec))
    return (
        is_embedded(kind)
        or kind == "human"
        or (kind == "memory" and model_of(spec) is None)
    )


def is_embedded(name: str) -> bool:
    """Return whether a kind of agents needs no key and no network."""
    kind = agent_kinds().get(name)
    return kind is not None and kind.embedded
