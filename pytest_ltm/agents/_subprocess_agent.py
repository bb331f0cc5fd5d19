"""AgentApart: agents named by dotted paths, each in its own process.

The protocol is that of `cmd:` processes.

The process is a fresh interpreter that runs `_subprocess_main.py`; this process imports
none of the agent's code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, to_builtins

from pytest_ltm.agents.line_process import STDERR, LineProcess, OutOfStep
from pytest_ltm.agents.processes import Processes
from pytest_ltm.agents.sources import AgentUnavailable, grant_capabilities, is_keyless
from pytest_ltm.api.calls import (
    OutOfTime,
    RemoteCause,
    Trouble,
    call_within,
    runs_in_own_thread,
)
from pytest_ltm.api.model import (
    Apart,
    Call,
    Capabilities,
    Promised,
    Reply,
    Tools,
    Usage,
    shown_tools,
)
from pytest_ltm.api.storage import (
    AgentFault,
    Traceback,
    can_interrupt,
    redact_secrets,
    remember_secret,
)

# With our sys.path, so that the module resolves as it would here.
_BOOT = "import sys; sys.path[:] = eval(sys.argv.pop(1)); from pytest_ltm.agents._subprocess_main import main; main()"


class ApartPlace(Struct, frozen=True):
    spec: str
    base: str | None
    is_file: bool
    how: Processes

    def started(self, stderr: Path | None = None) -> LineProcess:
        texts: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
        command = [sys.executable, *texts, "-c", _BOOT, repr(sys.path)]
        return LineProcess(command, folder=None, more={}, stderr=stderr)

    def begin(self, **more: Any) -> dict[str, Any]:
        """Return the first request."""
        return {
            "agent": self.spec,
            "base": self.base,
            "is_file": self.is_file,
            "jump": self.how.jump,
            "hidden": self.how.hidden,
            **more,
        }

    def promised_capabilities(self) -> Promised | None:
        """Return the capabilities that the agent's process reports, or None.

        Raises AgentError if there is no such agent.
        """
        process = self.started()
        ask = partial(
            process.ask,
            self.begin(look=True, keyless=is_keyless()),
            field_name="named",
            seconds=_own_limit(self.how.limit),
        )
        try:
            answer = call_within(self.how.limit, ask)
        except (OutOfStep, OutOfTime):
            return None
        finally:
            # Killed first: a process that is still importing does not notice that its
            # stdin is closed.
            process.kill()
            process.close()
        _learn_secrets(answer)
        if "error" in answer:
            raise AgentUnavailable(answer["error"]) from _remote_cause(answer)
        return Promised(frozenset(answer["named"]), answer["max_message_tokens"])


def _own_limit(limit: float | None) -> float | None:
    """Return the limit to enforce ourselves: None if the caller can interrupt the call."""
    return None if can_interrupt() or runs_in_own_thread() else limit


class AgentApart(Apart):
    """Proxy for the agent of one conversation, with the agent's capabilities.

    Its process is started at once. If a process has ended, another one replaces it if
    the conversation can be replayed or loaded. Raises AgentUnavailable if the agent
    cannot be created.
    """

    def __init__(self, where: ApartPlace, folder: Path | None = None) -> None:
        self._where = where
        self._folder = folder
        self._process: LineProcess | None = None
        self._time = ""
        answer = self._start()
        self._capabilities = Capabilities(answer["made"])
        self._configured: Mapping[str, Any] = answer["configuration"]
        self.near_misses = answer["near_misses"]
        limit = None
        if "LimitsMessages" in self._capabilities:
            limit = answer["max_message_tokens"]
        grant_capabilities(self, self._capabilities, limit)
        if "Stateless" in self._capabilities:
            self.stateless = True

    def reply(self, message: str) -> Reply:
        """Return the agent's reply.

        Raises the agent's error, or AgentFault if its process ended or is out of step.
        """
        return self._reply(message)

    def note_time(self, now: datetime) -> None:
        """Set the time that the clock of the process, if it jumps, shows from the next call on."""
        if self._where.how.jump:
            self._time = now.isoformat()

    def close(self) -> None:
        """Close the agent; end its process and everything that the process started."""
        try:
            if self._process is not None and not self._process.killed:
                self._call("close")
        finally:
            process = self._process
            self._process = None
            if process is not None:
                process.close()

    # --- capabilities, if it has them

    def _reply(self, message: str, user: str = "") -> Reply:
        return convert(self._call("reply", message, user=user), Reply)

    def _reply_with_tools(
        self, message: str, user: str = "", tools: Tools | None = None
    ) -> Reply:
        offered = Tools() if tools is None else tools
        return convert(self._call("reply", message, user=user, tools=offered), Reply)

    def _answer_alone(self, message: str) -> Reply:
        return convert(self._call("answer_alone", message), Reply)

    def _reply_with_images(self, message: str, images: Sequence[bytes]) -> Reply:
        return convert(self._call("reply_with_images", message, images), Reply)

    def _begin_session(self, user: str) -> None:
        """Do nothing: the session begins when the agent is created."""

    def _compact(self) -> Reply:
        return convert(self._call("compact"), Reply)

    def _reset(self) -> None:
        self._call("reset")

    def _accept(self, message: str, reply: str, user: str = "") -> Reply:
        return convert(self._call("accept", message, reply, user=user), Reply)

    def _save(self) -> bytes:
        return convert(self._call("save"), bytes)

    def _load(self, state: bytes) -> None:
        self._call("load", state)

    def _tell_time(self, now: datetime) -> None:
        self._call("tell_time", now)

    def _usage(self) -> Usage:
        return convert(self._call("usage"), Usage)

    def _count_tokens(self, text: str) -> int:
        return convert(self._call("count_tokens", text), int)

    def _configuration(self) -> Mapping[str, Any]:
        return self._configured

    def _retrieved(self) -> Any:
        return self._call("retrieved")

    def _in_context(self) -> Any:
        return self._call("in_context")

    def _written(self) -> list[tuple[str, str, str | None]]:
        rows = self._call("written")
        return [(row["what"], row.get("record", ""), row.get("text")) for row in rows]

    def _settle(self) -> None:
        self._call("settle")

    def _delete(self, record: str) -> None:
        self._call("delete", record)

    # --- the process

    def _start(self) -> dict[str, Any]:
        """Start the process and return its description of the agent."""
        folder = self._folder
        self._process = self._where.started(None if folder is None else folder / STDERR)
        try:
            answer = self._process.ask(
                self._where.begin(folder=None if folder is None else str(folder)),
                field_name="made",
                seconds=_own_limit(self._where.how.limit),
            )
        except OutOfStep as error:
            raise AgentUnavailable(
                f"agent {self._where.spec!r} could not be made: its process {error}"
            ) from None
        _learn_secrets(answer)
        if "error" in answer:
            self._process.kill()
            raise AgentUnavailable(answer["error"]) from _remote_cause(answer)
        return answer

    def _call(
        self,
        method: str,
        *arguments: object,
        user: str = "",
        tools: Tools | None = None,
    ) -> Any:
        """Return the result of a method of the agent, as JSON values; a process out of step is ended.

        `tools`: the tools that the agent may call before it returns.
        """
        # It ended during an earlier call; the caller will load or replay the
        # conversation.
        if self._process is None or self._process.killed:
            self._start()
        request = {"call": method, "arguments": to_builtins(arguments), "user": user}
        if tools is not None:
            request |= shown_tools(tools)
        if self._time:
            request["clock"] = self._time
        answer = self._exchange(request)
        while tools is not None and "tool" in answer:
            answer = self._exchange(_call_tool(tools, answer["tool"]))
        if "error" not in answer:
            return answer["result"]
        raised = _remote_cause(answer)
        fault_fields = answer["fault"]
        if not fault_fields:
            raise raised
        # An AgentFault that the adapter raised itself, unchanged.
        fault = AgentFault(answer["error"], fatal=fault_fields["fatal"])
        fault.refused = fault_fields["refused"]
        if fault_fields["usage"] is not None:
            fault.usage = Usage(**fault_fields["usage"])
        raise fault from raised

    def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer of the process: a result, an error, or a call of a tool."""
        assert self._process is not None
        limit = _own_limit(self._where.how.limit)
        try:
            answer = self._process.ask(
                request, field_name="result", instead="tool", seconds=limit
            )
        except OutOfStep as error:
            fatal = not self._capabilities.restorable
            raise AgentFault(
                f"its process {error}", fatal=fatal, interrupted=True
            ) from None
        _learn_secrets(answer)
        return answer


def _call_tool(tools: Tools, call: Mapping[str, Any]) -> dict[str, str]:
    """Return the result of a tool call, or the reason why it is refused, for the process."""
    try:
        tools.answer([convert(call, Call)])
    except AgentFault as fault:
        return {"fault": str(fault)}
    return {"result": tools.results[0].result}


def _learn_secrets(answer: Mapping[str, Any]) -> None:
    """Redact from now on what the process has added to its environment, for instance by `load_dotenv()`."""
    for name, value in answer.get("secrets", ()):
        remember_secret(name, value)


def _remote_cause(answer: Mapping[str, Any]) -> RemoteCause:
    """Return an exception with the name of the remote one, and the remote traceback as its cause."""
    name = answer["type"]
    passing = answer["passing"]
    error: RemoteCause = type(name, (RemoteCause,), {"__module__": __name__})(
        answer["error"]
    )
    error.passing = None if passing is None else Trouble(*passing)
    error.lost = answer["lost"]
    if answer["traceback"]:
        error.__cause__ = Traceback(
            redact_secrets(f"in the agent's process\n{answer['traceback']}")
        )
    return error
