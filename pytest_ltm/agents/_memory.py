"""`memory:rules` and `memory:openai:MODEL`: the memory systems of `agents/memory/` as agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from msgspec import structs

from pytest_ltm.agents.chat_agent import longest_message
from pytest_ltm.agents.memory.embeddings import make_embeds
from pytest_ltm.agents.memory.parameters import GROUPS, NAMES, PRESETS, memory_settings
from pytest_ltm.agents.memory.thinker import READER_PARAMETERS, Thinker, make_thinker
from pytest_ltm.agents.sources import AgentSource, agent_source, is_keyless
from pytest_ltm.agents.unbuilt import Remembering
from pytest_ltm.api.storage import AgentError, Field
from pytest_ltm.providers import ModelSpec
from pytest_ltm.providers.specs import Spec


def make_memory(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `memory:rules` or `memory:openai:MODEL`.

    Parameters come from the query, `?name=value&...`, or from a file.

    Raises AgentError, or DefinitionError with the place in the file.
    """
    if find_spec("numpy") is None:
        raise AgentError("agents memory:… need numpy: pip install 'pytest-ltm[memory]'")
    # Both are slow to import, and every run looks up agents.
    from pytest_ltm.agents.memory.paging import Paging
    from pytest_ltm.agents.memory.pipeline import Pipeline
    from pytest_ltm.agents.memory.user_memories import UserMemories

    thinker, chosen, fields = _parse_memory_spec(
        argument, parameters, ready=not is_keyless()
    )
    how = memory_settings(fields)
    embeds, embedding = make_embeds(how.index, ready=not is_keyless())
    also = {} if embedding is None else {"embeddings": embedding.configuration()}
    kind = Pipeline if how.pressure is None else Paging
    abilities = Remembering(
        how.longest_prompt,
        longest_message(how.window),
        free=chosen is embedding is None,
        longest_reply=None if chosen is None else chosen.max_tokens,
    )
    return agent_source(
        lambda: UserMemories(lambda: kind(how, thinker(), embeds(), also)),
        spec=f"memory:{argument}",
        promise=abilities,
    )


def model_within(argument: str) -> ModelSpec | None:
    """Return the chat model in a `memory:` spec; None for rules, or if a parameter is wrong."""
    return _parse_memory_spec(argument, Field({}, f"memory:{argument}"))[1]


def _parse_memory_spec(
    argument: str, parameters: Field, *, ready: bool = False
) -> tuple[Callable[[], Thinker], ModelSpec | None, Mapping[str, Field]]:
    """Return a factory of thinkers, the model that they use, and the parameters of the memory itself."""
    spec = Spec.parse(f"memory:{argument}", role="agent")
    fields = spec.merged(parameters, [*NAMES, *READER_PARAMETERS], groups=GROUPS)
    chat = {}
    memory_fields = {}
    for name, field in fields.items():
        if name in READER_PARAMETERS:
            chat[name] = field.value
        else:
            memory_fields[name] = field
    chat_field = structs.replace(parameters, value=chat)
    try:
        thinker, chosen = make_thinker(
            spec.argument, chat_field, role="reader", ready=ready
        )
    except AgentError as error:
        spec_meant = f"memory:rules?preset={spec.argument}"
        hint = f". Did you mean {spec_meant!r}?" if spec.argument in PRESETS else ""
        raise AgentError(f"agent {spec.head!r}: {error}{hint}") from error
    return thinker, chosen, memory_fields
