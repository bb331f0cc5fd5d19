"""Child: the main loop of an agent's process (see `_subprocess_agent`).

The pipes are moved out of the agent's reach first: its prints go to stderr, and its
stdin is empty.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import methodcaller
from pathlib import Path
from types import FunctionType, MethodType
from typing import IO, Any, NamedTuple

from msgspec import convert, to_builtins
from msgspec.structs import asdict, astuple

from pytest_ltm.agents import answers
from pytest_ltm.agents._hidden import can_hide_folders, hide_folder
from pytest_ltm.agents.caller import check_summary, check_taking
from pytest_ltm.agents.capabilities import (
    capabilities_of,
    closing_method,
    near_misses,
    user_arguments,
)
from pytest_ltm.agents.logged_errors import LoggedErrors
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.sources import AgentSource, allow_missing_keys, dotted_source
from pytest_ltm.api.calls import (
    FORK_MESSAGE,
    LoopShare,
    airlock,
    broken_off,
    classify_failure,
    copied,
    end_copy,
)
from pytest_ltm.api.model import CAPABILITIES, Call, Reply, read_shown_tools
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    known_secrets,
    text_of,
    wall_time,
)

# Longest traceback to report, in characters: its beginning and its end are kept.
_LONGEST = 20_000


def _refuse(text: str) -> AgentFault:
    """Return the error of a reply that arrived, is unusable, and may be billed."""
    fault = AgentFault(f"it {text}")
    fault.refused = True
    return fault


def main() -> None:
    """Answer requests until there are no more."""
    line = _Line(os.fdopen(os.dup(0), "rb"), os.dup(1))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    # The agent's prints would mix with the answers.
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    # Nothing else would show a crash in C.
    faulthandler.enable()
    child = _Child(line)
    while request := line.read():
        line.write(child.answer(request))


class _Line:
    """The connection to the scenario's process: one JSON object per line, each way."""

    def __init__(self, requests: IO[bytes], answers: int) -> None:
        self._requests = requests
        self._answers = answers

    def read(self) -> dict[str, Any]:
        """Return the next object; {} at the end."""
        request: dict[str, Any] = json.loads(self._requests.readline() or b"{}")
        return request

    def write(self, answer: bytes) -> None:
        """Write an object."""
        data = memoryview(answer + b"\n")
        while data:
            data = data[os.write(self._answers, data) :]


class _CalledTools:
    """Forwards tool calls to the scenario's process, from any thread of the agent, one at a time."""

    def __init__(self, call: Callable[[Call], dict[str, Any]]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._process: int | None = os.getpid()

    def __call__(self, call: Call) -> str:
        with self._lock:
            # Only the process that received the message may call, not a fork of it.
            if self._process != os.getpid():
                raise AgentFault(f"{call.name} was called when no message was open")
            answer = self._call(call)
        if "fault" in answer:
            raise AgentFault(answer["fault"])
        result: str = answer["result"]
        return result

    def end(self) -> None:
        """Refuse all further calls, after a pending call has been answered."""
        with self._lock:
            self._process = None


def _take_reply(value: object, refuse: airlock.Refuse) -> Reply:
    """Return the reply; a plain text is checked by the parent process."""
    is_text = type(value) is str and str.__len__(value) <= airlock.LONGEST_REPLY
    return Reply(value) if is_text else answers.check_reply(value, refuse)  # type: ignore[arg-type]


def _take_count(value: object, refuse: airlock.Refuse) -> int:
    if not airlock.is_count(value):
        raise refuse(
            f"counted {airlock.shown(value)} tokens; count_tokens() returns a whole number"
        )
    return int(airlock.exact_scalar(value))  # type: ignore[call-overload,no-any-return]


class _Child:
    """Answers requests; the first one names the agent."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self._agent: Any = None
        self._loop = LoopShare()
        self._errors = LoggedErrors()
        self._jump = False
        self._hidden: Path | None = None
        self._told_secrets = known_secrets()
        """The secrets that the parent knows: initially those of this environment, which is the parent's."""

    def answer(self, request: dict[str, Any]) -> bytes:
        """Return the answer to a request as JSON; it may report an error."""
        try:
            if "agent" in request:
                fields = self._begin(request)
            else:
                fields = self._answer(request)
            return json.dumps(self._with_secrets(fields)).encode()
        except BaseException as error:  # noqa: BLE001 - also what ends a process: that would take the memory along
            fields = _error_fields(error, self._hidden)
            return json.dumps(self._with_secrets(fields)).encode()

    def _with_secrets(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return an answer with the secrets that are new since the last answer."""
        secrets = known_secrets()
        new = sorted(secrets - self._told_secrets)
        self._told_secrets = secrets
        return {**fields, "secrets": new} if new else fields

    def _begin(self, request: dict[str, Any]) -> dict[str, Any]:
        self._jump = request["jump"]
        hidden = request["hidden"]
        if hidden is not None and not request.get("look") and can_hide_folders():
            self._hidden = Path(hidden).resolve()
            hide_folder(self._hidden)
        spec = request["agent"]
        base = None if request["base"] is None else Path(request["base"])
        with (
            allow_missing_keys() if request.get("keyless") else contextlib.nullcontext()
        ):
            if not request["is_file"]:
                source = dotted_source(spec, base=base)
            else:  # imported only here because every conversation waits for imports
                from pytest_ltm.agents.registry import find_agent

                source = find_agent(spec, base=base)
        _check_source(source)
        if request.get("look"):
            from pytest_ltm.agents.profile import profile_of

            profile = profile_of(source)
            return {
                "named": sorted(profile.capabilities),
                "max_message_tokens": profile.max_message_tokens,
            }
        folder = request["folder"]
        agent = self._agent = source.make(
            folder=None if folder is None else Path(folder)
        )
        source.settings = None  # the parent process knows them
        return {
            "made": sorted(capabilities_of(agent)),
            "max_message_tokens": _limit_of(agent),
            "configuration": source.configuration(agent),
            "near_misses": near_misses(agent, CAPABILITIES),
        }

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        clock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if self._jump and "clock" in request:
            import time_machine

            clock = time_machine.travel(
                datetime.fromisoformat(request["clock"]), tick=True
            )
        with clock, self._errors.collected():
            if request["call"] == "close":
                self._close()
                result = None
            else:
                result = self._run(request)
        # Errors go with the usage of a message or an exchange: other results have no
        # field for them.
        if isinstance(result, Reply):
            mishaps = (*result.mishaps, *self._errors.take())
            result = replace(result, mishaps=mishaps)
        return {"result": to_builtins(result)}

    def _run(self, request: dict[str, Any]) -> Any:
        """Return the result of a method, which may come with a user and with tools."""
        method = request["call"]
        form = _METHODS[method]
        arguments = convert(request["arguments"], form.takes)
        called_tools = _CalledTools(self._call_tool)
        named: dict[str, Any] = {}
        if "tools" in request:
            named["tools"] = read_shown_tools(request, called_tools)
        scope = Scope(user=request["user"])

        def call() -> Any:
            function = getattr(self._agent, method)
            return function(*arguments, **named, **user_arguments(function, scope))

        try:
            return self._call(call, form.admit)
        finally:
            called_tools.end()

    def _call_tool(self, call: Call) -> dict[str, Any]:
        """Return the scenario's result of a call."""
        fields = self._with_secrets({"tool": to_builtins(call)})
        self._line.write(json.dumps(fields).encode())
        return self._line.read()

    def _close(self) -> None:
        try:
            name = closing_method(self._agent)
            if name:
                self._call(partial(methodcaller(name), self._agent), airlock.drop)
        finally:
            self._loop.close()

    def _call(self, call: Callable[[], Any], admit: airlock.Admit) -> Any:
        """Return the admitted result of the agent's code."""
        if copied():
            raise AgentFault(FORK_MESSAGE, fatal=True)
        process = os.getpid()
        try:
            return self._loop.call(None, call, airlock.Gate(admit, _refuse))
        finally:
            end_copy(process)


class _Method(NamedTuple):
    """A method of the agent that a request may name."""

    admit: airlock.Admit = airlock.drop
    takes: Any = tuple[()]
    """The types of its arguments."""


_METHODS = {
    "reply": _Method(_take_reply, tuple[str]),
    "answer_alone": _Method(_take_reply, tuple[str]),
    "reply_with_images": _Method(_take_reply, tuple[str, list[bytes]]),
    "accept": _Method(check_taking, tuple[str, str]),
    "compact": _Method(check_summary),
    "tell_time": _Method(takes=tuple[datetime]),
    "save": _Method(answers.check_bytes),
    "load": _Method(takes=tuple[bytes]),
    "reset": _Method(),
    "settle": _Method(),
    "delete": _Method(takes=tuple[str]),
    "usage": _Method(answers.check_usage),
    "count_tokens": _Method(_take_count, tuple[str]),
    "retrieved": _Method(partial(answers.check_texts, method="retrieved")),
    "in_context": _Method(partial(answers.check_texts, method="in_context")),
    "written": _Method(answers.check_written),
}


def _check_source(source: AgentSource) -> None:
    """Raise AgentError for an object that its path does not fully describe: it would be another one here."""
    definition = source.definition
    if source.settings is not None and isinstance(definition, partial):
        # with a file's parameters
        definition = definition.func
    if isinstance(definition, MethodType):  # a bound method
        definition = definition.__self__
    is_function = isinstance(definition, FunctionType) and (
        definition.__closure__ is None or hasattr(definition, "__wrapped__")
    )
    if not (isinstance(definition, type) or is_function):
        raise AgentError(
            f"agent {source.spec!r} is {airlock.shown(definition)}, made where its module is imported: in a process of "
            "its own (--ltm-agent-process) it would be a different object. Name a class or a plain function"
        )


def _limit_of(agent: object) -> object:
    limit = airlock.exact_scalar(airlock.read_attribute(agent, "max_message_tokens"))
    return limit if airlock.is_count(limit) else None


def _error_fields(error: BaseException, hidden: Path | None) -> dict[str, Any]:
    """Return an exception as an answer: type, text and traceback, and whether another attempt may succeed."""
    fault = None
    if isinstance(error, AgentFault):
        fault = {
            "fatal": error.fatal,
            "refused": error.refused,
            "usage": None if error.usage is None else asdict(error.usage),
        }
    lines = ""
    if not isinstance(error, AgentError) or error.__cause__ is not None:
        lines = _agent_traceback(error)
    trouble = classify_failure(error, now=wall_time())
    return {
        "error": text_of(error)[:_LONGEST] + _hidden_hint(error, hidden),
        "type": type(error).__name__,
        "traceback": lines,
        "passing": None if trouble is None else astuple(trouble),
        "lost": broken_off(error),
        "fault": fault,
    }


def _hidden_hint(error: BaseException, hidden: Path | None) -> str:
    """Return the cure if an agent cannot read its own new file because the run folder is hidden."""
    if (
        hidden is None
        or not isinstance(error, PermissionError)
        or not isinstance(error.filename, str)
    ):
        return ""
    folder = Path(error.filename).resolve().parent
    if folder not in hidden.parents:
        return ""
    return (
        f" (the run folder is hidden from this process, and with it whatever is made right in {str(folder)!r}: make it "
        "in a folder below, or move the run folder elsewhere with --ltm-dir)"
    )


def _agent_traceback(error: BaseException) -> str:
    """Return the traceback, starting at the agent's first frame."""
    if isinstance(error, AgentError) and error.__cause__ is not None:
        error = error.__cause__
    frame = error.__traceback__
    while (
        frame is not None
        and frame.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _OURS
    ):
        frame = frame.tb_next
    text = "".join(traceback.format_exception(type(error), error, frame))
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}"


_OURS = {"pytest_ltm", "asyncio", "importlib"}
