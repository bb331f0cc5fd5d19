"""Tool: a tool that a scenario offers; Call, a call of it; AnsweredCall, with the result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from msgspec import Struct, field

from pytest_ltm._core.storage.errors import AgentFault, ScenarioError, did_you_mean
from pytest_ltm._core.storage.schema import show_value
from pytest_ltm._core.storage.secrets import redact_secrets

if TYPE_CHECKING:
    from pytest_ltm._core.storage.workspace import Workspace

# The maximum number of calls for one message: more indicate an endless loop.
MOST_CALLS = 32
# The maximum length of one call's arguments, as JSON, and of a tool's result, in
# characters.
LONGEST_ARGUMENTS = 20_000
LONGEST_RESULT = 100_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


# The tool for a scenario's workspace, and the result recorded for changes made there
# without the tool.
WORKSPACE = "workspace"
FOUND = "found in the folder"

# The checks on calls: that one was made, was made once, was not made, that they came in
# an order, that they are all, and that they are all and in order.
CallRule = Literal["called", "once", "not called", "order", "only", "sequence"]


class Call(Struct, frozen=True):
    """A tool call by an agent.

    >>> Call("book_table", {"day": "Friday", "time": "19:30"}).name
    'book_table'
    """

    name: str
    """The tool's name."""
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """Its arguments by name: JSON values, or a JSON text, as chat models write it."""
    id: str = ""
    """The agent's id for the call, if it has one."""


class AnsweredCall(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A call with its result, as recorded in the journal."""

    name: str
    """The tool's name."""
    arguments: Mapping[str, Any]
    """Its arguments by name; JSON values."""
    result: str
    """The result given to the agent."""
    id: str = ""
    """The agent's id for the call."""
    refused: bool = False
    """It was not executed: there is no such tool, or the arguments are invalid."""
    tokens: int = 0
    """Tokens of its name and arguments, by the run's tokenizer."""
    result_tokens: int = 0
    """Tokens of the result, by the run's tokenizer."""

    def __str__(self) -> str:
        return format_call(self.name, self.arguments)


def format_call(name: str, arguments: Mapping[str, object]) -> str:
    """Return a call in readable form: `book_table(day='Friday', time='19:30')`."""
    listed = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"{name}({listed})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A mocked tool: a call has no effect, but is recorded and answered."""

    name: str
    """The tool's name."""
    description: str
    """A description for the agent."""
    schema: Mapping[str, Any]
    """The JSON Schema of its arguments, an object."""
    returns: object = "done"
    """The result of a call: a text or JSON value, or a function of the arguments that returns one."""

    def __call__(self, **arguments: Any) -> str:
        """Return the result of a call; ScenarioError if it is neither a text nor a JSON value."""
        value = self.returns(**arguments) if callable(self.returns) else self.returns
        try:
            text = value if isinstance(value, str) else json.dumps(value)
        except (TypeError, ValueError) as error:
            raise ScenarioError(
                f"the tool {self.name!r} returns {value!r}, which is neither a text nor a JSON value"
            ) from error
        if len(text) > LONGEST_RESULT:
            raise ScenarioError(
                f"the tool {self.name!r} returns {len(text):,} characters; it may return {LONGEST_RESULT:,}"
            )
        return text

    def complaint(self, arguments: Mapping[str, Any]) -> str:
        """Return the problem with the names and types of arguments; "" if there is none."""
        properties: Mapping[str, Any] = self.schema.get("properties", {})
        missing = [
            name for name in self.schema.get("required", ()) if name not in arguments
        ]
        if missing:
            return f"{self.name} needs {', '.join(missing)}"
        for name, value in arguments.items():
            if name not in properties:
                near = did_you_mean(name, properties)
                return f"{self.name} has no argument {name!r}.{near} It has {', '.join(properties)}"
            kinds = _types_of(properties[name])
            if kinds and not _is_of(value, kinds):
                return (
                    f"{name} is of type {' or '.join(kinds)}, not {show_value(value)}"
                )
            choices = properties[name].get("enum")
            if choices and value not in choices:
                return f"{name} is one of {', '.join(map(str, choices))}, not {show_value(value)}"
        return ""


def _types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types that a schema names; () if it allows any."""
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)


def _is_of(value: object, kinds: Sequence[str]) -> bool:
    if value is None:
        return "null" in kinds
    classes = [kind for name in kinds for kind in _TYPES.get(name, ())]
    if isinstance(value, bool):
        return bool in classes
    return isinstance(value, tuple(classes))


def make_tool(
    name: str, schema: Mapping[str, Any], *, returns: object, description: str
) -> Tool:
    """Create a tool; ScenarioError for an invalid name or schema.

    `schema`: a JSON Schema of an object, or the form of each argument: `"string"`, or a
    schema of its own. All arguments of the short form are required.
    """
    if not _NAME.fullmatch(str(name)):
        raise ScenarioError(
            f"a tool has a name such as 'book_table': letters, digits and underscores, not {name!r}"
        )
    if not isinstance(schema, Mapping):
        raise ScenarioError(
            f"the tool {name!r} needs the schema of its arguments, such as {{'day': 'string'}}, not {schema!r}"
        )
    full_schema = _whole_schema(name, schema)
    try:
        json.dumps(full_schema)
    except (TypeError, ValueError) as error:
        raise ScenarioError(
            f"the schema of the tool {name!r} is not JSON: {error}"
        ) from error
    return Tool(name=name, description=description, schema=full_schema, returns=returns)


def _whole_schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping):
        return dict(schema)
    properties: dict[str, Any] = {}
    for argument, kind in schema.items():
        is_type = isinstance(kind, str) and kind in _TYPES
        if not is_type and not isinstance(kind, Mapping):
            types = ", ".join(_TYPES)
            raise ScenarioError(
                f"the tool {name!r}: {argument!r} is {kind!r}; say its type ({types}), or give a JSON Schema"
            )
        properties[argument] = {"type": kind} if is_type else dict(kind)
    return {"type": "object", "properties": properties, "required": list(properties)}


class Tools(Sequence[Tool]):
    """The tools that go with one message, as an agent gets them.

    An agent that runs its own loop calls them: `tools.call("book_table", day="Friday")`
    returns the result as a text. One that only requests calls returns
    `Reply("", calls=[Call(...)])`, and is asked again with the same message and the
    answers to these calls in `results`.

    Args:
        tools: The tools on offer.
        results: The answers to the calls of the previous reply.
        files: The scenario's workspace, if it has one.
    """

    def __init__(
        self,
        tools: Sequence[Tool] = (),
        *,
        results: Sequence[AnsweredCall] = (),
        files: Workspace | None = None,
    ) -> None:
        self._tools = tuple(tools)
        self._files = files
        self.workspace = None if files is None else files.path
        """The scenario's folder, which the agent may use in addition to the tool `workspace`; None: there is none."""
        self.results = tuple(results)
        """The answers to the calls of the previous reply; empty for a new message."""
        self.answered: list[AnsweredCall] = []
        """All calls for this message so far."""
        self.failure: Exception | None = None
        """The exception of a function of the scenario."""

    @overload
    def __getitem__(self, index: int) -> Tool: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Tool]: ...

    def __getitem__(self, index: int | slice) -> Tool | Sequence[Tool]:
        """Return a tool by its index."""
        return self._tools[index]

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def functions(self) -> list[dict[str, Any]]:
        """The tools in the format of OpenAI's chat completions."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.schema),
                },
            }
            for tool in self._tools
        ]

    def call(self, name: str, /, **arguments: Any) -> str:
        """Call a tool and return its result.

        Args:
            name: The tool's name.
            **arguments: Its arguments, JSON values.

        Returns:
            The result as a text; it begins with "error:" if the call was refused.

        Raises:
            AgentFault: If the agent has made too many calls for this message.
        """
        return self._answer(Call(name, arguments)).result

    def caller(self, name: str) -> Callable[..., Coroutine[Any, Any, str]]:
        """Return a tool as an async function, as many frameworks expect it.

        Args:
            name: The tool's name.

        Returns:
            A function of the arguments by name, which does the same as `call`.
        """

        async def call(**arguments: Any) -> str:
            return self.call(name, **arguments)

        return call

    def begin(self) -> None:
        """Restart the message: earlier calls for it do not count."""
        self.results = ()
        self.failure = None
        self.answered.clear()
        if self._files is not None:
            self._files.put_back()

    def answer(self, calls: Sequence[Call]) -> None:
        """Answer the calls of a reply and keep the answers in `results`; AgentFault after too many calls.

        Args:
            calls: The calls in order.
        """
        self.results = tuple([self._answer(call) for call in calls])

    def note_changes(self) -> None:
        """Record the agent's direct changes of the workspace among its calls, as commands with the same effect."""
        if self._files is None:
            return
        for change in self._files.changes():
            arguments = {name: redact_secrets(text) for name, text in change.items()}
            call = AnsweredCall(name=WORKSPACE, arguments=arguments, result=FOUND)
            self.answered.append(call)
        self._files.look()

    def repeat(self, calls: Sequence[AnsweredCall]) -> None:
        """Repeat recorded calls to the scenario's functions; the recorded results count.

        Args:
            calls: The recorded calls in order.
        """
        for call in calls:
            if not call.refused:
                self._carry_out(call.name, call.arguments)

    def replay(self, calls: Sequence[AnsweredCall]) -> None:
        """Use recorded calls, with their results, as the calls for this message.

        Args:
            calls: The recorded calls in order.
        """
        self.answered.extend(calls)
        self.repeat(calls)

    def _answer(self, call: Call) -> AnsweredCall:
        # Before the call, because it happened before: in this order, a record leads to
        # the same files.
        self.note_changes()
        calls_before = [call for call in self.answered if call.result != FOUND]
        if len(calls_before) >= MOST_CALLS:
            raise AgentFault(
                f"called tools {MOST_CALLS} times for one message, and wants to call {call.name!r} again"
            )
        arguments, complaint = read_arguments(call.arguments)
        complaint = complaint or self._complaint(call.name, arguments)
        result = complaint or self._carry_out(call.name, arguments)
        answered = AnsweredCall(
            name=redact_secrets(call.name),
            arguments=arguments,
            result=f"error: {complaint}" if complaint else redact_secrets(result),
            id=call.id,
            refused=bool(complaint),
        )
        self.answered.append(answered)
        return answered

    def _complaint(self, name: str, arguments: Mapping[str, Any]) -> str:
        tool = self._find(name)
        if tool is not None:
            return tool.complaint(arguments)
        names = [tool.name for tool in self._tools]
        return f"there is no tool {name!r}.{did_you_mean(name, names)} Available: {', '.join(names) or 'none'}"

    def _carry_out(self, name: str, arguments: Mapping[str, Any]) -> str:
        tool = self._find(name)
        try:
            return "" if tool is None else tool(**arguments)
        except Exception as error:  # noqa: BLE001 - the scenario's own function: it is reported there
            self.failure = error
            return "error: the tool is out of order"

    def _find(self, name: str) -> Tool | None:
        return next((tool for tool in self._tools if tool.name == name), None)


class ShownTools(Tools):
    """Tools of a scenario in another process, which answers their calls.

    `ask`: returns the result of a call whose arguments are a JSON text.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        results: Sequence[AnsweredCall],
        workspace: str,
        ask: Callable[[Call], str],
    ) -> None:
        super().__init__(tools, results=results)
        self.workspace = Path(workspace) if workspace else None
        self._ask = ask

    def call(self, name: str, /, **arguments: Any) -> str:
        """Call a tool in the scenario's process, and return its result."""
        try:
            text = json.dumps(arguments)
        except (TypeError, ValueError, RecursionError):
            # It is not an object either, so the call is refused and recorded there.
            text = "null"
        return self._ask(Call(name, text))


def shown_tools(tools: Tools) -> dict[str, Any]:
    """Return the tools and the answers to their calls as JSON values; empty if none are offered."""
    if not tools:
        return {}
    offered = [
        {
            "name": tool.name,
            "description": tool.description,
            "schema": dict(tool.schema),
        }
        for tool in tools
    ]
    results = [
        {"id": call.id, "name": call.name, "result": call.result}
        for call in tools.results
    ]
    folder = {} if tools.workspace is None else {WORKSPACE: str(tools.workspace)}
    return {"tools": offered, "tool_results": results, **folder}


def read_shown_tools(shown: Mapping[str, Any], ask: Callable[[Call], str]) -> Tools:
    """Read the result of `shown_tools` in the receiving process.

    Args:
        shown: The result of `shown_tools`.
        ask: Makes the scenario's process answer a call, and returns the result.
    """
    tools = [Tool(**fields) for fields in shown["tools"]]
    results = [AnsweredCall(arguments={}, **fields) for fields in shown["tool_results"]]
    return ShownTools(tools, results, shown.get(WORKSPACE, ""), ask)


def read_arguments(arguments: object) -> tuple[dict[str, Any], str]:
    """Return a call's arguments as JSON values without secrets, and the problem with them ("": none)."""
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        if len(text) > LONGEST_ARGUMENTS:
            return (
                {},
                f"the arguments have {len(text):,} characters; they may have {LONGEST_ARGUMENTS:,}",
            )
        values = json.loads(
            redact_secrets(text) or "{}", parse_constant=_refuse_constant
        )
        # Lone surrogates and infinity are not allowed in the journal.
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return {}, "the arguments are not a JSON object"
    if not isinstance(values, dict):
        return {}, "the arguments are not a JSON object"
    return values, ""


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")
