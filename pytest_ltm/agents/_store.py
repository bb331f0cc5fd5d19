"""`store:pkg.mod:Class`: memories that are not agents, and who reads for them."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._calls import FORMS, PARAMETERS, Spec
from pytest_ltm._model.agent import Promised
from pytest_ltm._storage.dotted import DottedPath
from pytest_ltm._storage.errors import AgentError
from pytest_ltm._storage.schema import Field, to_record
from pytest_ltm.agents._adapt import AgentSource, agent_source, is_keyless
from pytest_ltm.agents._capabilities import takes_user
from pytest_ltm.agents.memory.reading import PARAMETERS as READING
from pytest_ltm.agents.memory.reading import parse_reading
from pytest_ltm.agents.memory.stores import CrossTalkDetector, Stored
from pytest_ltm.agents.memory.thinker import make_thinker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm.agents.memory.reading import Reading
    from pytest_ltm.agents.memory.thinker import Thinker


STORE_CAPABILITIES = frozenset(
    {"AnswersAlone", "AcceptsHistory", "TimeAware", "ReportsUsage", "ShowsRetrieval", "Configured"}
)
# What a store has, and what its methods are called with: the first by place, the others by name.
_CALLS = {
    "add": ("text", "role", "at", "session", "user"), "add_session": ("messages", "at", "session", "user"),
    "search": ("query", "k"),
}  # fmt: skip


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
    spec = Spec.parse(f"store:{argument}", role="agent")
    path, who = spec.argument, f"agent {spec.head!r}"
    fields, reads = reads_of(spec, parameters, ("store",))
    given = DottedPath(path, what="store", error=AgentError).resolve()
    if not callable(given):
        raise AgentError(f"{who} is a {type(given).__name__}. Name a class, or a function that makes a store")
    if isinstance(given, type):
        _check_store(given, who)
    values = fields["store"].json() if "store" in fields else {}
    source = store_source(functools.partial(given, **values), path, f"store:{argument}", reads, {})
    having = {"Resettable"} if hasattr(given, "reset") else set()
    having |= {"Checkpointable"} if hasattr(given, "save") and hasattr(given, "load") else set()
    source.given = Promised(STORE_CAPABILITIES | having)
    return source


def store_source(
    make: Callable[[], Any], name: str, spec: str, reads: StoreReader, settings: Mapping[str, Any]
) -> AgentSource:
    """Return the source of conversations over stores that `make` makes, one for each."""
    heard = CrossTalkDetector()

    def made() -> Stored:
        store = make()
        _check_store(store, f"agent {spec!r}")
        return Stored(store, name, reads.thinker(), reads.reading, heard, {"path": name, **settings, **reads.record})

    return agent_source(made, spec=spec)


def _check_store(store: object, who: str) -> None:
    """Raise AgentError if a store, or a class of stores, lacks a method or one cannot be called as it will be."""
    unneeded = "add" if hasattr(store, "add_session") else "add_session"
    for method, (first, *others) in ((name, words) for name, words in _CALLS.items() if name != unneeded):
        function = getattr(store, method, None)
        names = [*others, *["user"] * (method == "search" and takes_user(function))]
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


def reads_of(spec: Spec, parameters: Field, own: tuple[str, ...]) -> tuple[Mapping[str, Field], StoreReader]:
    """Return what a spec's query and a file say, by name (`own`: what a file may say beside), and who reads.

    Raises AgentError, or DefinitionError with its place.
    """
    known = ("reader", *READING, *(name for name in PARAMETERS if name != "extra"))
    fields = spec.merged(parameters, known, only_in_files=(*own, "extra"))
    chat = {name: field.value for name, field in fields.items() if name in PARAMETERS}
    reader = fields["reader"].text(f"'rules' or {FORMS[0]!r}") if "reader" in fields else "rules"
    where = f"{spec.role} {spec.head!r}"
    try:
        thinker, _ = make_thinker(reader, Field(chat, where), ready=not is_keyless())
    except AgentError as error:
        raise AgentError(f"{where}: {error}") from error
    how = parse_reading(fields)
    return fields, StoreReader(thinker, how, {"reading": to_record(how)})
