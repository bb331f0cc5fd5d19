"""An agent in a process of its own: JSON lines to its stdin, JSON lines from its stdout."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import AgentError, AgentFault
from pytest_ltm.agents._adapt import source
from pytest_ltm.agents._process import Gone, LineProcess
from pytest_ltm.agents._promised import Promised
from pytest_ltm.agents._protocols import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pytest_ltm._fields import Field
    from pytest_ltm.agents._adapt import AgentSource

STDERR = "agent-stderr.txt"
"""The file in a conversation's folder that keeps what the process writes to stderr."""
POWERS = ("Resettable", "AcceptsHistory", "Checkpointable", "TimeAware")
"""The powers that a process may have."""
_SHOWN = 120
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """How to start the process, and what it can do beyond replying."""

    command: str
    folder: str | None = None
    """Where it runs; None: where pytest does."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that it gets beside ours; no secrets."""
    powers: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds for an answer; None: the reply timeout of the run."""
    max_message_tokens: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return all of it."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "powers": list(self.powers), "variables": dict(self.variables)}


class CommandAgent:
    """The process of one conversation, started by the first message. Configured, and what its settings say."""

    def __init__(self, settings: CommandSettings) -> None:
        self._settings = settings
        self._process: LineProcess | None = None
        self._stderr: Path | None = None
        self._now = ""
        self._told: list[tuple[str, str]] = []
        self._state: tuple[int, Any] | None = None
        # On the instance, because what is there only counts as a power (isinstance looks for members).
        if "Resettable" in settings.powers:
            self.reset = self._reset
        if "AcceptsHistory" in settings.powers:
            self.accept = self._accept
        if "Checkpointable" in settings.powers:
            self.save, self.load = self._save, self._load
        if "TimeAware" in settings.powers:
            self.tell_time = self._tell_time
        if settings.max_message_tokens is not None:
            self.max_message_tokens = settings.max_message_tokens

    def reply(self, message: str) -> Reply:
        """Return the reply of the process; AgentFault if it ended, wrote no JSON, or told an error."""
        request = {"message": message, "now": self._now} if self._now else {"message": message}
        answer = self._asked(request, "reply")
        if not isinstance(answer["reply"], str):
            raise AgentError(f"{self._called()}: its 'reply' is {_cut(json.dumps(answer['reply']))}, not a text")
        self._told.append((message, answer["reply"]))
        usage = answer.get("usage") or {}
        if not isinstance(usage, dict) or not usage.keys() <= set(_COUNTS):
            raise AgentError(f"{self._called()}: its 'usage' has other fields than {', '.join(_COUNTS)}")
        return Reply(answer["reply"], Usage(**usage) if usage else None, answer.get("cost_usd"))

    def configuration(self) -> Mapping[str, Any]:
        """Return all settings."""
        return {"cmd": self._settings.to_json()}

    def close(self) -> None:
        """End the process and what it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def ltm_folder(self, folder: Path) -> None:
        """Keep the process's stderr in this folder (private to the engine)."""
        self._stderr = folder / STDERR

    # --- powers, if the settings name them

    def _reset(self) -> None:
        if self._process is not None:
            self._asked({"reset": True}, "ok")
        self._told, self._state = [], None

    def _accept(self, message: str, reply: str) -> None:
        self._asked({"accept": {"message": message, "reply": reply}}, "ok")
        self._told.append((message, reply))

    def _save(self) -> bytes:
        state = self._asked({"save": True}, "state")["state"]
        self._state = (len(self._told), state)
        return json.dumps([len(self._told), state]).encode()

    def _load(self, state: bytes) -> None:
        count, value = json.loads(state)
        self._asked({"load": value}, "ok")
        # What was said before is in the state; it cannot be told again, only loaded.
        self._told = [("", "")] * count
        self._state = (count, value)

    def _tell_time(self, now: datetime) -> None:
        self._now = now.isoformat()

    # --- the process

    def _asked(self, request: dict[str, Any], wanted: str) -> dict[str, Any]:
        """Return the answer to a request, which holds the field `wanted`; a process out of step is ended."""
        try:
            if self._process is None:
                self._start()
            return self._exchange(request, wanted)
        except AgentError:
            raise
        except BaseException:  # a time limit from outside: the answer would come when nobody waits for it
            self._kill()
            raise

    def _exchange(self, request: dict[str, Any], wanted: str) -> dict[str, Any]:
        process = self._process
        assert process is not None
        early = process.pending()
        if early is not None:
            raise self._out_of_step(f"wrote a line before it was asked: {_cut(early.decode('utf-8', 'replace'))}")
        process.write(json.dumps(request).encode())
        try:
            line = process.read(self._settings.timeout)
        except Gone:
            raise self._out_of_step(process.ending()) from None
        except TimeoutError:
            raise self._out_of_step(f"gave no answer within {self._settings.timeout:g} s") from None
        answer = self._parsed(line)
        if "error" in answer:
            raise AgentError(f"{self._called()} told an error: {_cut(str(answer['error']))}")
        if wanted not in answer:
            raise self._out_of_step(f"answered without {wanted!r}: {_cut(json.dumps(answer))}")
        return answer

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return answer
        shown = _cut(line.decode("utf-8", "replace"))
        raise self._out_of_step(f"wrote to stdout what is no JSON object: {shown}. Let it print to stderr")

    def _out_of_step(self, what: str) -> AgentFault:
        """End the process, and return the fault: fatal if what it knew is lost with it."""
        process = self._process
        self._kill()
        tail = [] if process is None else process.tail()
        said = f". Its stderr ends with {_cut(' / '.join(tail))}" if tail else ""
        # By name: the journals of equal runs are equal, wherever they are.
        kept = f" (all of it is in {STDERR})" if tail and self._stderr is not None else ""
        return AgentFault(f"{self._called()} {what}{said}{kept}", fatal=not self._can_be_put_back())

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _can_be_put_back(self) -> bool:
        current = self._state is not None and self._state[0] == len(self._told)
        return current or not self._told or ("AcceptsHistory" in self._settings.powers and ("", "") not in self._told)

    def _start(self) -> None:
        """Start the process and bring it to where the conversation is; AgentFault if nobody can."""
        settings = self._settings
        if not self._can_be_put_back():
            raise AgentFault(f"{self._called()} has ended, and what it knew with it", fatal=True)
        self._process = LineProcess(
            _words(settings.command), folder=settings.folder, more=settings.variables, stderr=self._stderr
        )
        if self._state is not None and self._state[0] == len(self._told):
            self._exchange({"load": self._state[1]}, "ok")
            return
        for message, reply in self._told:
            self._exchange({"accept": {"message": message, "reply": reply}}, "ok")

    def _called(self) -> str:
        return f"the process {_words(self._settings.command)[0]!r}"


def make_command(command: str, parameters: Field) -> AgentSource:
    """Return the source of the agents behind a command; DefinitionError or AgentError for what cannot work."""
    known = ("folder", "variables", "powers", "timeout", "max_message_tokens")
    given = {name: _setting(name, child) for name, child in parameters.mapping(known=known).items()}
    settings = CommandSettings(command=command, **given)
    words = _words(command)
    if not words:
        raise AgentError("agent 'cmd:' names no command. Write it as in 'cmd:python bot.py'")
    if shutil.which(words[0]) is None and not (Path(settings.folder or os.curdir) / words[0]).exists():
        raise AgentError(f"agent 'cmd:{command}': there is no program {words[0]!r}")
    made = source(lambda: CommandAgent(settings), spec=f"cmd:{command}")
    made.given = Promised(frozenset({*settings.powers, "Configured"}), settings.max_message_tokens)
    return made


def _setting(name: str, field: Field) -> Any:
    if name == "powers":
        wrong = next((item for item in field.items("powers") if item.value not in POWERS), None)
        if wrong is not None:
            raise wrong.error(f"one of {', '.join(POWERS)}")
        return tuple(field.value)
    if name == "variables":
        return {key: child.text() for key, child in field.mapping().items()}
    if name == "timeout":
        return field.number(0.001, 86_400, "seconds")
    return field.tokens() if name == "max_message_tokens" else field.text("a folder")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise AgentError(f"agent 'cmd:{command}': {error}") from None


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN else line[:_SHOWN] + "…")
