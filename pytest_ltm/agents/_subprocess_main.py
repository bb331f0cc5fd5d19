"""Child: the main loop of an agent's process (see `_subprocess_agent`).

The pipes are moved out of the agent's reach first: its prints go to stderr, and its
stdin is empty.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import functools
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import FunctionType, MethodType
from typing import IO, Any, ClassVar

from msgspec import to_builtins
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
_OK = {"ok": True}


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
        answer = next(
            answer for kind, answer in self._ANSWERS.items() if kind in request
        )
        clock: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
        if self._jump and "clock" in request:
            import time_machine

            clock = time_machine.travel(
                datetime.fromisoformat(request["clock"]), tick=True
            )
        with clock, self._errors.collected():
            fields = answer(self, request)
        # Only with the usage of a message or an exchange: other answers have no field
        # for it.
        if reply := fields.get("reply"):
            reply["mishaps"] = [*reply["mishaps"], *map(asdict, self._errors.take())]
        return fields

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        images = [base64.b64decode(encoded) for encoded in request.get("images", ())]
        if request.get("alone"):
            reply = self._call("answer_alone", request["message"], admit=_take_reply)
        elif images:
            reply = self._call(
                "reply_with_images", request["message"], images, admit=_take_reply
            )
        else:
            scope = Scope(user=request["user"])
            arguments = user_arguments(self._agent.reply, scope)
            reply = self._reply_with_tools(request, arguments)
        return {"reply": to_builtins(reply)}

    def _reply_with_tools(
        self, request: dict[str, Any], arguments: dict[str, Any]
    ) -> Reply:
        """Return the reply to a message, which may come with tools."""
        called_tools = _CalledTools(self._call_tool)
        if "tools" in request:
            arguments["tools"] = read_shown_tools(request, called_tools)
        try:
            reply: Reply = self._call(
                "reply", request["message"], admit=_take_reply, **arguments
            )
        finally:
            called_tools.end()
        return reply

    def _call_tool(self, call: Call) -> dict[str, Any]:
        """Return the scenario's result of a call."""
        fields = self._with_secrets({"call": to_builtins(call)})
        self._line.write(json.dumps(fields).encode())
        return self._line.read()

    def _accept(self, request: dict[str, Any]) -> dict[str, Any]:
        exchange = request["accept"]
        user = user_arguments(self._agent.accept, Scope(user=exchange["user"]))
        taking: Reply = self._call(
            "accept", exchange["message"], exchange["reply"], admit=check_taking, **user
        )
        reply = Reply("", taking.usage, taking.cost_usd)
        return _OK | {"reply": to_builtins(reply)}

    def _compact(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"reply": to_builtins(self._call("compact", admit=check_summary))}

    def _save(self, _: dict[str, Any]) -> dict[str, Any]:
        state: bytes = self._call("save", admit=answers.check_bytes)
        return {"state": base64.b64encode(state).decode()}

    def _count(self, request: dict[str, Any]) -> dict[str, Any]:
        tokens = self._call("count_tokens", request["count"], admit=_take_count)
        return {"tokens": tokens}

    def _close(self, _: dict[str, Any]) -> dict[str, Any]:
        try:
            name = closing_method(self._agent)
            return self._run(name) if name else _OK
        finally:
            self._loop.close()

    def _texts(self, method: str) -> dict[str, Any]:
        admit = functools.partial(answers.check_texts, method=method)
        return {method: self._call(method, admit=admit)}

    def _run(self, method: str, *arguments: object) -> dict[str, Any]:
        """Call a method of the agent that returns nothing."""
        self._call(method, *arguments)
        return _OK

    def _call(
        self,
        method: str,
        *arguments: object,
        admit: airlock.Admit = airlock.drop,
        **keywords: object,
    ) -> Any:
        if copied():
            raise AgentFault(FORK_MESSAGE, fatal=True)
        process = os.getpid()
        try:
            return self._loop.call(
                None,
                lambda: getattr(self._agent, method)(*arguments, **keywords),
                airlock.Gate(admit, _refuse),
            )
        finally:
            end_copy(process)

    _ANSWERS: ClassVar[
        Mapping[str, Callable[[Any, dict[str, Any]], dict[str, Any]]]
    ] = {
        "message": _reply,
        "accept": _accept,
        "save": _save,
        "compact": _compact,
        "count": _count,
        "close": _close,
        "load": lambda self, request: self._run(
            "load", base64.b64decode(request["load"])
        ),
        "now": lambda self, request: self._run(
            "tell_time", datetime.fromisoformat(request["now"])
        ),
        "delete": lambda self, request: self._run("delete", request["delete"]),
        "reset": lambda self, _: self._run("reset"),
        "settle": lambda self, _: self._run("settle"),
        "usage": lambda self, _: {
            "usage": asdict(self._call("usage", admit=answers.check_usage))
        },
        "retrieved": lambda self, _: self._texts("retrieved"),
        "in_context": lambda self, _: self._texts("in_context"),
        "written": lambda self, _: {
            "written": to_builtins(self._call("written", admit=answers.check_written))
        },
    }
    """Handlers by the field that identifies a request."""


def _check_source(source: AgentSource) -> None:
    """Raise AgentError for an object that its path does not fully describe: it would be another one here."""
    definition = source.definition
    if source.settings is not None and isinstance(definition, functools.partial):
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
