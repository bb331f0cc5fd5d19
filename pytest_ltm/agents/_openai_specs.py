"""What `openai:` and `ts:openai:` specs and their parameters mean; everything wrong is told before a run begins."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentError
from pytest_ltm._providers import Model, model
from pytest_ltm._tokens import counter
from pytest_ltm.agents._adapt import AgentSource, source
from pytest_ltm.agents._keyless import is_keyless
from pytest_ltm.agents._openai import ENCODING, OpenAiChat, Shown, TimedOpenAiChat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._fields import Field

_OWN = ("system", "context", "tokenizer")


def make_openai(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `openai:MODEL[@URL|@NAME][?parameter=value&...]`; AgentError with a cure."""
    return _source(OpenAiChat, "openai:", argument, parameters)


def make_timed(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `ts:openai:...`; AgentError with a cure."""
    kind, _, inner = argument.partition(":")
    if kind != "openai":
        raise AgentError(f"agent 'ts:{argument}': 'ts' stands before a chat model only: ts:openai:MODEL")
    return _source(TimedOpenAiChat, "ts:openai:", inner, parameters)


def _source(agent: type[OpenAiChat], kind: str, argument: str, parameters: Field) -> AgentSource:
    try:
        chosen, own = model(argument, parameters, also=_OWN)
        shown = _shown(own)
    except AgentError as error:
        name = argument.partition("?")[0].partition("@http")[0]  # what stands behind it may hold a key by mistake
        raise AgentError(f"agent '{kind}{name}': {error}") from error
    if not is_keyless():
        _check(chosen)
    made = source(lambda: agent(chosen, shown), spec=f"{kind}{argument}")
    made.given = Offer(agent, chosen, shown)
    return made


@dataclass(frozen=True, slots=True)
class Offer:
    """A chat model that has not been asked yet."""

    agent: type[OpenAiChat]
    model: Model
    shown: Shown


def _check(chosen: Model) -> None:
    """Raise the AgentError of a missing client or key before the run instead of in it."""
    if find_spec("openai") is None:
        raise AgentError(
            f"agent 'openai:{chosen.name}' needs the 'openai' client, which is not installed: "
            f"pip install 'pytest-ltm[openai]'"
        )
    chosen.key()


def _shown(fields: Mapping[str, Field]) -> Shown:
    said = {name: field for name, field in fields.items() if field.value is not None}
    context = said["context"].tokens() if "context" in said else None
    tokenizer = said["tokenizer"].text() if "tokenizer" in said else ENCODING
    counter(tokenizer)  # an unknown one is told now
    return Shown(system=said["system"].text() if "system" in said else None, context=context, tokenizer=tokenizer)
