"""Agents that are somewhere else, behind a name of ours: over HTTP, in a process, at the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentError, DefinitionError
from pytest_ltm._fields import Field

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm.agents._adapt import AgentSource


def _http(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._http import make_http  # noqa: PLC0415 - other agents do without

    return make_http(f"http:{argument}" if argument.startswith("//") else argument, parameters)


def _https(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._http import make_http  # noqa: PLC0415 - other agents do without

    return make_http(f"https:{argument}", parameters)


def _command(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._command import make_command  # noqa: PLC0415 - other agents do without

    return make_command(argument, parameters)


def _human(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._human import make_human  # noqa: PLC0415 - other agents do without

    return make_human(argument, parameters)


def _openai(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._openai_specs import make_openai  # noqa: PLC0415 - other agents do without

    return make_openai(argument, parameters)


def _timed(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._openai_specs import make_timed  # noqa: PLC0415 - other agents do without

    return make_timed(argument, parameters)


def _rag(argument: str, parameters: Field) -> AgentSource:
    from pytest_ltm.agents._rag import make_rag  # noqa: PLC0415 - other agents do without
    from pytest_ltm.agents._specs import find  # noqa: PLC0415 - which looks up here

    return make_rag(argument, parameters, find)


ADAPTERS: dict[str, Callable[[str, Field], AgentSource]] = {
    "http": _http,
    "https": _https,
    "cmd": _command,
    "human": _human,
    "openai": _openai,
    "ts": _timed,
    "rag": _rag,
}
"""What stands before the `:` of a spec, and what makes agents from what stands behind it and from parameters.

The parameters are a mapping, from a YAML file or empty; DefinitionError for a wrong one.
"""


def adapted(name: str, argument: str) -> AgentSource:
    """Return the source of the agents of one adapter, without parameters; AgentError for a wrong argument."""
    try:
        return ADAPTERS[name](argument, Field({}, f"agent '{name}:{argument}'"))
    except DefinitionError as error:
        raise AgentError(str(error)) from None


def describe_adapters() -> list[tuple[str, str]]:
    """Return for each adapter the form of its spec, and a sentence about it."""
    return [
        (
            "openai:MODEL@URL",
            "Talks to a chat model behind any OpenAI-compatible endpoint (without @URL: OpenAI's own).",
        ),
        ("ts:openai:MODEL", "The same, and tells it with each message how much time has passed."),
        ("rag:5:SPEC", "Has another agent read, for each message anew, the five best matches of what was told."),
        ("http://HOST/PATH", "Posts JSON to a server; a YAML file names other fields than the usual ones."),
        ("https://HOST/PATH", "The same with encryption."),
        ("cmd:COMMAND", "Talks to a process of its own for each conversation, in JSON lines."),
        ("human", "Asks the person at the terminal (with -s)."),
    ]
