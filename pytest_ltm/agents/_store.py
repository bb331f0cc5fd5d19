"""`store:pkg.mod:Class`: memories that are not agents, and who reads for them."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from pytest_ltm._calls import PARAMETERS
from pytest_ltm._model.agent import Promised
from pytest_ltm._storage.dotted import DottedPath
from pytest_ltm._storage.errors import AgentError, did_you_mean
from pytest_ltm._storage.schema import Field, to_record
from pytest_ltm.agents._adapt import AgentSource, is_keyless, source
from pytest_ltm.agents._openai import check_client
from pytest_ltm.agents.memory.reading import PARAMETERS as READING
from pytest_ltm.agents.memory.reading import reading
from pytest_ltm.agents.memory.stores import CrossTalkDetector, Stored
from pytest_ltm.agents.memory.thinker import make_thinker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm.agents.memory.reading import Reading
    from pytest_ltm.agents.memory.thinker import Thinker


ALWAYS = frozenset({"AcceptsHistory", "TimeAware", "ReportsUsage", "ShowsRetrieval", "Configured"})
_CALLS = {"add": ("text", "role", "at", "session", "user"), "search": ("query", "k")}
"""What a store has, and what its methods are called with: the first by place, the others by name."""


@dataclass(frozen=True, slots=True)
class StoreReader:
    """Who reads for a store, and how."""

    thinker: Callable[[], Thinker]
    reading: Reading
    record: Mapping[str, Any]


def make_store(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `store:pkg.mod:Class[?reader=openai:MODEL&k=5]`.

    In a file also with `store`, the parameters of the class. Raises AgentError, or DefinitionError with its place.
    """
    path, _, query = argument.partition("?")
    who = f"agent 'store:{path}'"
    fields, reads = reads_of(query, parameters, who, ("store",))
    given = DottedPath(path, what="store", error=AgentError).resolve()
    if not callable(given):
        raise AgentError(f"{who} is a {type(given).__name__}. Name a class, or a function that makes a store")
    if isinstance(given, type):
        _check(given, who)
    values = fields["store"].json() if "store" in fields else {}
    found = stored(functools.partial(given, **values), path, f"store:{argument}", reads, {})
    having = {"Resettable"} if hasattr(given, "reset") else set()
    having |= {"Checkpointable"} if hasattr(given, "save") and hasattr(given, "load") else set()
    found.given = Promised(ALWAYS | having)
    return found


def stored(
    make: Callable[[], Any], name: str, spec: str, reads: StoreReader, settings: Mapping[str, Any]
) -> AgentSource:
    """Return the source of conversations over stores that `make` makes, one for each."""
    heard = CrossTalkDetector()

    def made() -> Stored:
        store = make()
        _check(store, f"agent {spec!r}")
        return Stored(store, name, reads.thinker(), reads.reading, heard, {"path": name, **settings, **reads.record})

    return source(made, spec=spec)


def _check(store: object, who: str) -> None:
    """Raise AgentError if a store, or a class of stores, lacks a method or one cannot be called as it will be."""
    for method, (first, *names) in _CALLS.items():
        function = getattr(store, method, None)
        form = f"{method}({first}, *, {', '.join(names)})"
        if not callable(function):
            raise AgentError(f"{who} has no {form}")
        itself = [None] if isinstance(store, type) else []
        try:
            inspect.signature(function).bind(*itself, None, **dict.fromkeys(names))
        except TypeError as error:
            raise AgentError(f"{who}: its {method}() cannot be called as {form}: {error}") from None
        except ValueError:  # built in C, without a signature: calling it will tell
            continue


def reads_of(query: str, parameters: Field, who: str, own: tuple[str, ...]) -> tuple[Mapping[str, Field], StoreReader]:
    """Return what a spec's query and a file say, by name (`own`: what a file may say beside), and who reads.

    Raises AgentError, or DefinitionError with its place.
    """
    fields = _fields(query, parameters, who, own)
    return fields, _reads(fields, who)


def _fields(query: str, parameters: Field, who: str, own: tuple[str, ...]) -> dict[str, Field]:
    """Return what the spec and the file say, by name."""
    plain = ("reader", *READING)
    fields = parameters.mapping(known=[*plain, *own, *PARAMETERS])
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in plain:
            raise AgentError(
                f"{who}: unknown parameter {name!r}.{did_you_mean(name, plain)} There are {', '.join(plain)}."
            )
        if name in fields:
            raise AgentError(f"{who}: {name!r} is said twice.")
        fields[name] = Field(_value(text), who, name)
    return fields


def _value(text: str) -> object:
    return {"true": True, "false": False}.get(text, int(text) if text.isdecimal() else text)


def _reads(fields: Mapping[str, Field], who: str) -> StoreReader:
    chat = {name: one.value for name, one in fields.items() if name in PARAMETERS}
    reader = fields["reader"].text("'rules' or 'openai:MODEL'") if "reader" in fields else "rules"
    try:
        thinker, chosen = make_thinker(reader, Field(chat, who))
    except AgentError as error:
        raise AgentError(f"{who}: {error}") from error
    if chosen is not None and not is_keyless():
        check_client(chosen)
    how = reading(fields)
    return StoreReader(thinker, how, {"reading": to_record(how)})
