"""An agent in its own process: JSON lines to its stdin, JSON lines from its stdout."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from pytest_ltm.agents import sources
from pytest_ltm.agents.line_process import STDERR, LineProcess, OutOfStep
from pytest_ltm.api.calls import is_amount
from pytest_ltm.api.model import (
    Call,
    Promised,
    Reply,
    Tools,
    Usage,
    operation_rows,
    shown_tools,
)
from pytest_ltm.api.storage import AgentError, AgentFault, Field, to_record
from pytest_ltm.providers.answer_fields import find_end, find_thoughts
from pytest_ltm.providers.refusal import RequestRefused, read_refusal

# The capabilities that a process may declare.
CAPABILITIES = (
    "Resettable",
    "SeparatesUsers",
    "TakesTools",
    "Compacts",
    "AnswersAlone",
    "AcceptsHistory",
    "Checkpointable",
    "TimeAware",
    "ShowsWrites",
    "Settles",
    "DeletesRecords",
)
# Placeholder for an exchange that only a loaded state contains.
_UNKNOWN = ("", "", "")
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "calls")


class CommandSettings(Struct, frozen=True, kw_only=True):
    """The command that starts the process, and the capabilities that it declares."""

    command: str
    folder: str | None = None
    """Its working directory; None: that of pytest."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables added to ours; no secrets."""
    capabilities: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds for an answer; None: the run's reply timeout."""
    max_message_tokens: int | None = None


class CommandAgent:
    """The process of one conversation, started by the first message.

    Configured, plus the capabilities in its settings.

    Its stderr goes to the file `stderr`, if given.
    """

    def __init__(self, settings: CommandSettings, stderr: Path | None = None) -> None:
        self._settings = settings
        self._process: LineProcess | None = None
        self._stderr = stderr
        self._time = ""
        self._exchanges: list[tuple[str, str, str]] = []
        """Message, reply and user of each exchange."""
        self._state: tuple[int, Any] | None = None
        sources.grant_capabilities(
            self, settings.capabilities, settings.max_message_tokens
        )

    def reply(self, message: str) -> Reply:
        """Return the reply of the process; AgentFault if it ended, wrote invalid JSON or reported an error."""
        return self._reply(message)

    def configuration(self) -> Mapping[str, Any]:
        """Return all settings."""
        return {"cmd": to_record(self._settings)}

    def close(self) -> None:
        """End the process and what it has started."""
        process = self._process
        self._process = None
        if process is not None:
            process.close()

    # --- capabilities, if the settings name them

    def _reset(self) -> None:
        # A process that never started has nothing to forget.
        if self._is_running:
            self._ask({"reset": True}, "ok")
        self._exchanges = []
        self._state = None

    def _reply(self, message: str, user: str = "") -> Reply:
        fields = _message_fields(message=message, user=user, time=self._time)
        reply = self._ask_reply(fields)
        self._exchanges.append((message, reply.text, user))
        return reply

    def _reply_with_tools(
        self, message: str, user: str = "", tools: Tools | None = None
    ) -> Reply:
        fields = _message_fields(message=message, user=user, time=self._time)
        reply = self._ask_reply({**fields, **shown_tools(tools or Tools())})
        if not reply.calls:
            self._exchanges.append((message, reply.text, user))
        return reply

    def _compact(self) -> Reply:
        return self._ask_reply({"compact": True})

    def _answer_alone(self, message: str) -> Reply:
        fields = _message_fields(message=message, user="", time=self._time)
        return self._ask_reply({**fields, "alone": True})

    def _ask_reply(self, request: dict[str, Any]) -> Reply:
        answer = self._ask(request, "reply")
        calls: tuple[Call, ...] = ()
        if "tools" in request:
            calls = sources.parse_calls(answer.get("tool_calls"), self._called())
        if not isinstance(answer["reply"], str):
            value = sources.shorten_foreign_text(json.dumps(answer["reply"]))
            raise AgentError(f"{self._called()}: its 'reply' is {value}, not a text")
        usage, cost = self._usage_and_cost(answer)
        return Reply(
            answer["reply"],
            usage,
            cost,
            calls=calls,
            finish_reason=find_end(answer),
            thoughts=find_thoughts(answer),
        )

    def _accept(self, message: str, reply: str, user: str = "") -> Reply:
        fields = _message_fields(message=message, reply=reply, user=user)
        answer = self._ask({"accept": fields}, "ok")
        self._exchanges.append((message, reply, user))
        return Reply("", *self._usage_and_cost(answer))

    def _usage_and_cost(
        self, answer: Mapping[str, Any]
    ) -> tuple[Usage | None, float | None]:
        """Return the usage and the cost that an answer reports."""
        usage = None
        if "usage" in answer:
            counts = answer["usage"] if isinstance(answer["usage"], dict) else {}
            if not counts.keys() <= set(_COUNTS):
                raise AgentError(
                    f"{self._called()}: its 'usage' has other fields than {', '.join(_COUNTS)}"
                )
            usage = sources.parse_usage(counts)
        cost = answer.get("cost_usd")
        return usage, cost if is_amount(cost) else None

    def _save(self) -> bytes:
        state = self._ask({"save": True}, "state")["state"]
        self._state = (len(self._exchanges), state)
        return json.dumps([len(self._exchanges), state]).encode()

    def _load(self, state: bytes) -> None:
        count, value = json.loads(state)
        self._ask({"load": value}, "ok")
        # The state contains the earlier exchanges: they can be loaded, but not
        # replayed.
        self._exchanges = [_UNKNOWN] * count
        self._state = (count, value)

    def _tell_time(self, now: datetime) -> None:
        self._time = now.isoformat()

    def _written(self) -> Any:
        if not self._is_running:
            return []
        return operation_rows(self._ask({"written": True}, "written")["written"])

    def _settle(self) -> None:
        if self._is_running:
            self._ask({"settle": True}, "ok")

    def _delete(self, record: str) -> None:
        self._ask({"delete": record}, "ok")

    # --- the process

    def _ask(self, request: dict[str, Any], field_name: str) -> dict[str, Any]:
        """Return the answer to a request, with the field `field_name`; a process out of step is ended."""
        # Started lazily: a conversation that is never played needs no process.
        if not self._is_running:
            self._start()
        return self._exchange(request, field_name)

    @property
    def _is_running(self) -> bool:
        return self._process is not None and not self._process.killed

    def _exchange(self, request: dict[str, Any], field_name: str) -> dict[str, Any]:
        assert self._process is not None
        try:
            answer = self._process.ask(
                request, field_name=field_name, seconds=self._settings.timeout
            )
        except OutOfStep as error:
            raise AgentFault(
                f"{self._called()} {error}", fatal=not self._can_be_put_back()
            ) from None
        if "error" in answer or field_name == "reply":
            raise_told_error(self._called(), answer, field_name)
        return answer

    def _can_be_put_back(self) -> bool:
        if not self._exchanges or self._is_saved:
            return True
        accepts_history = "AcceptsHistory" in self._settings.capabilities
        return accepts_history and _UNKNOWN not in self._exchanges

    @property
    def _is_saved(self) -> bool:
        """Whether the saved state covers all exchanges."""
        return self._state is not None and self._state[0] == len(self._exchanges)

    def _start(self) -> None:
        """Start the process and restore the conversation; AgentFault if that is impossible."""
        settings = self._settings
        if not self._can_be_put_back():
            raise AgentFault(
                f"{self._called()} has ended, and its memory was lost", fatal=True
            )
        self._process = LineProcess(
            split_command(settings.command),
            folder=settings.folder,
            more=settings.variables,
            stderr=self._stderr,
        )
        if self._state is not None and self._is_saved:
            self._exchange({"load": self._state[1]}, "ok")
            return
        for message, reply, user in self._exchanges:
            fields = _message_fields(message=message, reply=reply, user=user)
            self._exchange({"accept": fields}, "ok")

    def _called(self) -> str:
        return f"the process {split_command(self._settings.command)[0]!r}"


def raise_told_error(
    sender: str, answer: Mapping[str, Any], field_name: str = ""
) -> None:
    """Raise the error that an answer reports; an empty error is ignored if `field_name` is present.

    The error may be transient.
    """
    refusal = read_refusal(HTTPStatus.OK, "", answer)
    if refusal is None and field_name in answer:
        return
    error_text = str(answer["error"]) if refusal is None else refusal.message
    words = f"{sender} reported an error: {sources.shorten_foreign_text(error_text)}"
    if refusal is not None:
        raise RequestRefused(words, refusal)
    raise AgentError(words)


def _message_fields(*, user: str, time: str = "", **texts: str) -> dict[str, str]:
    """Return the fields of a message, with its user and time if known."""
    fields = texts
    if user:
        fields["user"] = user
    if time:
        fields["now"] = time
    return fields


def make_command(command: str, parameters: Field) -> sources.AgentSource:
    """Return the source of the agents behind a command.

    Raises DefinitionError or AgentError for invalid settings.
    """
    settings = CommandSettings(command=command, **parameters.read_fields(_READERS))
    require_program(f"cmd:{command}", command, settings.folder or os.curdir)
    return sources.AgentSource(
        lambda: CommandAgent(settings),
        spec=f"cmd:{command}",
        owned=True,
        definition=Promised(
            frozenset({*settings.capabilities, "Configured"}),
            settings.max_message_tokens,
        ),
        produce_in=lambda folder: CommandAgent(settings, folder / STDERR),
    )


def _declared_capabilities(field: Field) -> tuple[str, ...]:
    return tuple(item.choice(CAPABILITIES) for item in field.items("capabilities"))


_READERS: Mapping[str, Callable[[Field], Any]] = {
    "folder": lambda field: field.text("a folder"),
    "variables": sources.parse_texts,
    "timeout": sources.parse_seconds,
    "capabilities": _declared_capabilities,
    "max_message_tokens": Field.tokens,
}


def require_program(spec: str, command: str, folder: str = os.curdir) -> None:
    """Raise AgentError, naming the spec, if a command has no program or the program is missing."""
    try:
        words = split_command(command)
    except ValueError as error:
        raise AgentError(f"agent {spec!r}: {error}") from None
    if not words:
        raise AgentError(
            "agent 'cmd:' names no command. Write it as in 'cmd:python bot.py'"
        )
    if shutil.which(words[0]) is None and not (Path(folder) / words[0]).exists():
        raise AgentError(f"agent {spec!r}: there is no program {words[0]!r}")


def split_command(command: str) -> list[str]:
    """Return the words of a command as a shell splits them; ValueError for an unclosed quote."""
    return shlex.split(command, posix=os.name == "posix")
