"""`store:` and `mcp:COMMAND`: memories that are not agents, with a reader for them.

The memory is a Python class, or a server behind MCP.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from msgspec import Struct

from pytest_ltm.agents._mcp_tools import (
    FOLDER,
    NEW_ID,
    Tool,
    fill_template,
    parse_tool,
    preset_of,
)
from pytest_ltm.agents.capabilities import capabilities_of_class
from pytest_ltm.agents.line_process import guarded_command
from pytest_ltm.agents.memory.backends import Backend, backends_are_shared
from pytest_ltm.agents.memory.pace import pace_of_run
from pytest_ltm.agents.memory.reading import PARAMETERS as READING
from pytest_ltm.agents.memory.reading import NoteReading, parse_reading
from pytest_ltm.agents.memory.scopes import (
    SCOPE_PARTS,
    Scope,
    scope_arguments,
    takes_argument,
)
from pytest_ltm.agents.memory.stores import (
    TEXT_FIELDS,
    TIME_FIELDS,
    Stored,
    separates_users,
)
from pytest_ltm.agents.memory.thinker import READER_PARAMETERS, Thinker, make_thinker
from pytest_ltm.agents.sources import (
    AgentSource,
    AgentUnavailable,
    agent_source,
    is_keyless,
)
from pytest_ltm.api.model import Promised, operation_rows
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    DottedPath,
    Field,
    describe_error,
    to_record,
)
from pytest_ltm.providers import model_forms
from pytest_ltm.providers.specs import Spec

# The arguments available to a tool, by the store method that it implements; a server
# needs only the first two.
_GIVEN = {
    "add": ("text", "role", "at", "session", "user", "agent", NEW_ID),
    "search": ("query", "k", *SCOPE_PARTS),
    "settle": SCOPE_PARTS,
    "delete": ("id", *SCOPE_PARTS),
    "add_session": ("messages", "at", "session", "user", "agent"),
    "written": SCOPE_PARTS,
    "maintain": SCOPE_PARTS,
    "update": ("id", "text", *SCOPE_PARTS),
    "export": SCOPE_PARTS,
    "list": SCOPE_PARTS,
    "get": ("id", *SCOPE_PARTS),
    "size": (),
}
# The methods that just call their tool; conversations need the first two only, the
# others are for a memory's life cycle (docs/lifecycle.md).
_PLAIN = ("settle", "delete", "maintain", "update", "export", "list", "get", "size")
# The methods that a store must have, with their arguments: the first positional, the
# others by name.
_CALLS = {
    "add": ("text", "role", "at", "session", "user"),
    "add_session": ("messages", "at", "session", "user"),
    "search": ("query", "k"),
}


class StoreReader(Struct, frozen=True):
    """The reader for a store, and its settings."""

    thinker: Callable[[], Thinker]
    reading: NoteReading
    record: Mapping[str, Any]


def make_store(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `store:pkg.mod:Class[?reader=openai:MODEL&k=5]`.

    A file may also have `store`, the parameters of the class. Raises AgentError, or
    DefinitionError with its place.
    """
    spec = Spec.parse(f"store:{argument}", role="agent")
    path = spec.argument
    title = f"agent {spec.head!r}"
    fields, reads = reads_of(spec, parameters, ("store",))
    factory = DottedPath(path, what="store", error=AgentError).resolve()
    if not callable(factory):
        raise AgentError(
            f"{title} is a {type(factory).__name__}. Name a class, or a function that makes a store"
        )
    if isinstance(factory, type):
        _check_store(factory, title)
    values = fields["store"].json() if "store" in fields else {}
    having = set()
    if hasattr(factory, "reset"):
        having.add("Resettable")
    if hasattr(factory, "save") and hasattr(factory, "load"):
        having.add("Checkpointable")
    if isinstance(factory, type) and separates_users(factory):
        having.add("SeparatesUsers")
    make = functools.partial(factory, **values)
    return store_source(make, path, f"store:{argument}", reads, {}, having=having)


def store_source(
    make: Callable[[], Any],
    name: str,
    spec: str,
    reads: StoreReader,
    settings: Mapping[str, Any],
    *,
    having: Collection[str] = (),
) -> AgentSource:
    """Return the source of conversations with one store of `make` each.

    `having`: their additional capabilities.
    """
    texts = dict[int, str]()
    backend = Backend(make)
    if backends_are_shared() and "SeparatesUsers" in having:
        # One user must not reset or restore what all other users said.
        having = set(having) - {"Resettable", "Checkpointable"}

    def make_stored() -> Stored:
        store, is_shared = backend.store()
        _check_store(store, f"agent {spec!r}")
        return Stored(
            store,
            name,
            reads.thinker(),
            reads.reading,
            texts,
            {"path": name, **settings, **reads.record},
            is_shared=is_shared,
        )

    if pace_of_run().waits:
        having = {*having, "Settles"}
    return agent_source(
        make_stored,
        spec=spec,
        promise=Promised(capabilities_of_class(Stored) | set(having)),
    )


def _check_store(store: object, title: str) -> None:
    """Raise AgentError if a store, or a class of stores, lacks a method or one has the wrong signature."""
    unneeded = "add" if hasattr(store, "add_session") else "add_session"
    for method, (first, *more_names) in _CALLS.items():
        if method == unneeded:
            continue
        function = getattr(store, method, None)
        names = _names_told(function, more_names)
        form = f"{method}({first}, *, {', '.join(names)})"
        if not callable(function):
            raise AgentError(f"{title} has no {form}")
        itself = [None] if isinstance(store, type) else []
        try:
            inspect.signature(function).bind(*itself, None, **dict.fromkeys(names))
        except TypeError as error:
            raise AgentError(
                f"{title}: its {method}() cannot be called as {form}: {error}"
            ) from None
        # implemented in C, without a signature: calling it will show
        except ValueError:
            continue


def _names_told(function: object, names: Collection[str]) -> list[str]:
    """Return a method's keyword arguments: those of every store, and the parts of the scope it takes."""
    arguments = scope_arguments(function, Scope(user=""))
    if "scope" in arguments:
        own_names = []
        for name in names:
            if name not in SCOPE_PARTS and takes_argument(function, name):
                own_names.append(name)
        return [*own_names, "scope"]
    return [*names, *(name for name in arguments if name not in names)]


def reads_of(
    spec: Spec, parameters: Field, store_names: tuple[str, ...]
) -> tuple[Mapping[str, Field], StoreReader]:
    """Return the fields of a spec's query and file by name, and the reader.

    `store_names`: fields allowed only in files.

    Raises AgentError, or DefinitionError with its place.
    """
    names = (
        "reader",
        *READING,
        *(name for name in READER_PARAMETERS if name != "extra"),
    )
    fields = spec.merged(parameters, names, only_in_files=(*store_names, "extra"))
    chat = {}
    for name, field in fields.items():
        if name in READER_PARAMETERS:
            chat[name] = field.value
    if "reader" in fields:
        reader = fields["reader"].text(f"'rules' or {model_forms()[0]!r}")
    else:
        reader = "rules"
    where = f"{spec.role} {spec.head!r}"
    try:
        thinker, _ = make_thinker(reader, Field(chat, where), ready=not is_keyless())
    except AgentError as error:
        raise AgentError(f"{where}: {error}") from error
    how = parse_reading(fields)
    return fields, StoreReader(thinker, how, {"reading": to_record(how)})


_NEEDED = ("add", "search")
_TAIL = 300


class Server:
    """One server process and the conversation with it; close it at the end."""

    def __init__(
        self,
        command: list[str],
        tools: Mapping[str, Tool],
        env: Mapping[str, str] | None = None,
    ) -> None:
        """`env`: additions to the environment of pytest; values may contain `{folder}`."""
        self._tools = tools
        self._scope_values: dict[str, Any] = Scope(user="").values() | {"at": ""}
        self._added = 0
        self._folder = tempfile.TemporaryDirectory(prefix="ltm-mcp-")
        self.path = self._folder.name
        """Its own folder, for its data."""
        places = {FOLDER: self.path}
        self._command = [fill_template(word, places) for word in command]
        self._env = fill_template(dict(env or {}), places)
        self._title = f"MCP server {shlex.join(command)!r}"
        try:
            self._open()
        except BaseException:
            self._folder.cleanup()
            raise
        for name in ("written", "add_session"):
            if tools[name].name in self._schemas:
                setattr(self, name, getattr(self, f"_{name}"))
        for name in _PLAIN:
            if tools[name].name in self._schemas:
                setattr(self, name, self._plain_method(name))
        if self._command != command or self._env != dict(env or {}):
            self.reopen = self._reopen
        adds = "add_session" if hasattr(self, "add_session") else "add"
        if self.tool_takes(adds, "user") and self.tool_takes("search", "user"):
            self.search = self._search_as  # type: ignore[method-assign,assignment]

    def _open(self) -> None:
        """Start the server; AgentUnavailable if it does not start, or lacks a tool."""
        # The client is async, but a store is called from the conversation's thread.
        from anyio.from_thread import start_blocking_portal

        command = self._command
        title = self._title
        if shutil.which(command[0]) is None:
            raise AgentUnavailable(f"{title} did not start: no command {command[0]!r}")
        self._stack = ExitStack()
        # A file, not a pipe: nothing reads it while the server runs, and a full pipe
        # would block the server.
        self._errors = self._stack.enter_context(
            tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        )
        try:
            self._portal = self._stack.enter_context(start_blocking_portal())
            session = self._portal.wrap_async_context_manager(
                _open_session(command, self._env, self._errors)
            )
            self._session = self._stack.enter_context(session)
            offered = self._portal.call(self._session.list_tools).tools
        except Exception as error:
            reason = f"{describe_error(_first_of_group(error))}{self._tail()}"
            self._stack.close()
            raise AgentUnavailable(f"{title} did not start: {reason}") from error
        self._schemas = {tool.name: tool.input_schema for tool in offered}
        missing = []
        for name, tool in self._tools.items():
            is_needed = name in _NEEDED or tool != Tool(name)
            if is_needed and tool.name not in self._schemas:
                missing.append(tool.name)
        if missing:
            self._stack.close()
            raise AgentUnavailable(
                f"{title} has no tool {missing[0]!r}. It has {', '.join(self._schemas) or 'none'}; a file says which "
                "of them adds and which searches"
            )

    def _reopen(self) -> None:
        """End the server and start it again over the same folder."""
        self._stack.close()
        self._open()

    def _plain_method(self, name: str) -> Callable[..., Any]:
        """Return a method that calls a tool, with the scope only if the tool takes the user."""
        positional = [part for part in _GIVEN[name] if part not in SCOPE_PARTS]

        def call(*values: Any) -> Any:
            arguments = dict(zip(positional, values, strict=True))
            answer = self._call(name, {**self._scope_values, **arguments})
            tool = self._tools[name]
            return tool.records(answer) if tool.has_paths else answer

        def call_as(*values: Any, scope: Scope) -> Any:
            self._note_scope(scope)
            return call(*values)

        call.__name__ = call_as.__name__ = name
        return call_as if self.tool_takes(name, "user") else call

    def tool_takes(self, method: str, argument: str) -> bool:
        """Return whether the tool behind a method receives one of our arguments."""
        tool = self._tools[method]
        return tool.takes(argument, self._schemas[tool.name])

    def _written(self) -> Any:
        return operation_rows(_only_list(self._call("written", self._scope_values)))

    def _note_scope(self, scope: Scope) -> None:
        """Store the scope, for the tools whose methods do not receive one."""
        time_text = None if scope.at is None else scope.at.isoformat()
        self._scope_values = scope.values() | {"at": time_text}

    def _search_as(self, query: str, *, k: int, scope: Scope) -> list[Any]:
        self._note_scope(scope)
        return self._search(query, k)

    def _add_session(self, messages: list[dict[str, Any]], *, scope: Scope) -> None:
        self._note_scope(scope)
        dated_messages = []
        for message in messages:
            dated_messages.append(message | {"at": message["at"].isoformat()})
        self._call("add_session", {"messages": dated_messages, **self._scope_values})

    def add(self, text: str, *, role: str, scope: Scope) -> Any:
        """Add a text to the server's memory."""
        self._note_scope(scope)
        self._added += 1
        new_id = f"m{self._added}"
        fields = {"text": text, "role": role, NEW_ID: new_id, **self._scope_values}
        answer = self._call("add", fields)
        tool = self._tools["add"]
        if tool.has_paths:
            return [record["id"] for record in tool.records(answer)]
        if NEW_ID in tool.places():
            return new_id
        if isinstance(answer, dict):
            return answer.get("id")
        if isinstance(answer, (int, list)):
            return answer
        return None

    def search(self, query: str, *, k: int) -> list[Any]:
        """Return the memories that the server finds."""
        return self._search(query, k)

    def _search(self, query: str, k: int) -> list[Any]:
        tool = self._tools["search"]
        answer = self._call("search", {"query": query, "k": k, **self._scope_values})
        result = tool.records(answer) if tool.has_paths else _only_list(answer)
        if not isinstance(result, list):
            raise AgentFault(
                f"the MCP tool {tool.name!r} returned no list: {str(result)[:_TAIL]!r}"
            )
        if not self.tool_takes("search", "k"):
            result = result[:k]
        memories = []
        for record in result:
            if isinstance(record, dict):
                # In the form of a store: `(id, text, score, at)`, with no time if it is
                # unknown.
                text = _first_text(record, TEXT_FIELDS)
                time = _parse_time(_first_text(record, TIME_FIELDS))
                memories.append((record.get("id"), text, record.get("score"), time))
            else:
                memories.append(record)
        return memories

    def close(self) -> None:
        """End the server."""
        self._stack.close()
        self._folder.cleanup()

    def _call(self, method: str, values: Mapping[str, Any]) -> Any:
        tool = self._tools[method]
        arguments = tool.call_arguments(values, self._schemas[tool.name])
        try:
            answer = self._portal.call(self._session.call_tool, tool.name, arguments)
        except Exception as error:
            reason = f"{describe_error(_first_of_group(error))}{self._tail()}"
            raise AgentFault(f"the MCP tool {tool.name!r} failed: {reason}") from error
        texts = []
        for part in answer.content:
            if getattr(part, "text", None) is not None:
                texts.append(part.text)
        if answer.is_error:
            raise AgentFault(
                f"the MCP tool {tool.name!r} refused: {' '.join(texts)[:_TAIL]}"
            )
        if answer.structured_content is not None:
            return answer.structured_content.get("result", answer.structured_content)
        if len(texts) == 1:
            return _json_or_text(texts[0])
        return [_json_or_text(text) for text in texts]

    def _tail(self) -> str:
        self._errors.seek(0)
        errors = self._errors.read().strip()
        if errors:
            return f". Its stderr ends: {errors[-_TAIL:]}"
        return ""


@asynccontextmanager
async def _open_session(
    command: list[str], env: Mapping[str, str], errors: Any
) -> AsyncIterator[Any]:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    # Under a guard, as the server's own children would outlive it.
    program, *arguments = guarded_command(command)
    server = StdioServerParameters(
        command=program, args=arguments, env={**os.environ, **env}
    )
    async with (
        stdio_client(server, errlog=errors) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


def _first_of_group(error: BaseException) -> BaseException:
    """Return the first error inside an exception group; any other error unchanged."""
    inner = getattr(error, "exceptions", ())
    return _first_of_group(inner[0]) if inner else error


def _only_list(result: Any) -> Any:
    """Return the first list within an object; anything else unchanged."""
    if isinstance(result, dict):
        for value in result.values():
            if isinstance(value, list):
                return value
    return result


def _first_text(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        text = record.get(name)
        if isinstance(text, str):
            return text
    return None


def _parse_time(text: str | None) -> datetime | None:
    """Return the time in a text, if it has a time zone; None otherwise."""
    time = None
    if text is not None:
        with suppress(ValueError):
            time = datetime.fromisoformat(text)
    return time if time and time.tzinfo else None


def _json_or_text(text: str) -> Any:
    """Return a text parsed as JSON, or unchanged if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def make_mcp(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `mcp:COMMAND`.

    A file also names the tools to add and search. Raises AgentError with a cure.
    """
    title = f"agent 'mcp:{argument}'"
    try:
        command = shlex.split(argument)
    except ValueError as error:
        raise AgentError(f"{title}: {error}") from None
    if not command:
        raise AgentError(
            f"{title} names no command. Write it as in 'mcp:python my_server.py'"
        )
    # Found without an import, which is slow.
    if not is_keyless() and find_spec("mcp") is None:
        raise AgentError(
            f"{title} needs the 'mcp' package, which is not installed: pip install 'pytest-ltm[mcp]'"
        )
    preset = preset_of(command)
    if preset:
        # A file's settings override the preset of the server.
        parameters = Field(
            {**preset, **(parameters.value or {})},
            parameters.where,
            lines=parameters.lines,
        )
    fields, reads = reads_of(
        Spec("mcp", argument, "", "agent"), parameters, (*_GIVEN, "env")
    )
    tools = {}
    chosen = {}
    for method, ours in _GIVEN.items():
        tool = parse_tool(fields.get(method), method, ours)
        tools[method] = tool
        if method in {*_NEEDED, *fields}:
            chosen[tool.name] = tool.record()
    env = {}
    if "env" in fields:
        variables = fields["env"].mapping().items()
        env = {key: part.text_or_empty() for key, part in variables}
    name = f"mcp:{argument}"
    settings: dict[str, Any] = {"tools": chosen}
    if env:
        settings["env"] = env
    return store_source(
        lambda: Server(command, tools, env), name, name, reads, settings
    )
