"""An agent in a process of its own: JSON lines to its stdin, JSON lines from its stdout."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_ltm._engine.agent import Promised, Reply
from pytest_ltm._storage.errors import AgentError, AgentFault
from pytest_ltm._storage.schema import Field, to_record
from pytest_ltm._storage.secrets import redacted
from pytest_ltm.agents import _guard
from pytest_ltm.agents._adapt import AgentSource, cut, grant, is_amount, reported, seconds, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from typing_extensions import Self

    from pytest_ltm._engine.agent import Usage


LONGEST_LINE = 2**24
"""The bytes of the longest line that is read from a process; a longer one is taken for no line at all."""
LONGEST_STDERR = 2**24
"""The characters of stderr that are kept of a process, half of them from its beginning and half from its end."""
TAIL = 5
"""The lines of stderr that are kept for error messages."""
_LOOK = 0.1
"""Seconds between two looks at whether the process is still there."""
_GRACE = 1.0
"""Seconds that it has to end by itself, and again to end when told to, before it is killed."""


_HAS_GUARD = os.name == "posix"


class Gone(Exception):
    """The process has ended, or says no more."""


class LineProcess:
    """A process with a guard (`_guard.py`), its stdin and stdout as lines; close it.

    What it writes to stderr is kept, redacted: all of it at the end of `stderr` (if given), the last lines in
    `tail()`. All that it has started ends with it, and with us. Raises AgentError if the command cannot be started.
    """

    def __init__(
        self, command: Sequence[str], *, folder: str | None, more: Mapping[str, str], stderr: Path | None
    ) -> None:
        self._lifeline: int | None = None
        try:
            self._process = self._started([*command], folder, {**os.environ, **more})
        except OSError as error:
            raise AgentError(f"{command[0]!r} cannot be started: {error.strerror or error}") from error
        self._incoming: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._threads = [
            threading.Thread(target=work, args=arguments, daemon=True, name=f"ltm-{work.__name__.strip('_')}")
            for work, arguments in (
                (_write, (self._process.stdin, self._outgoing)),
                (_read, (self._process.stdout, self._incoming)),
                (_keep, (self._process.stderr, self._tail, stderr)),
            )
        ]
        for thread in self._threads:
            thread.start()

    def _started(self, command: list[str], folder: str | None, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        options |= {"cwd": folder, "env": environment, "start_new_session": True}
        if not _HAS_GUARD:
            return subprocess.Popen(command, **options)  # noqa: S603 - the command is the user's own
        (held, self._lifeline), (told, ready) = os.pipe(), os.pipe()
        try:
            guard = [sys.executable, "-I", "-S", _guard.__file__, str(os.getpid()), str(held), str(ready)]
            process = subprocess.Popen([*guard, *command], pass_fds=(held, ready), **options)  # noqa: S603 - as above
        except BaseException:
            os.close(told)
            self._let_go()
            raise
        finally:
            os.close(held)
            os.close(ready)
        with os.fdopen(told, "rb") as pipe:
            fault = pipe.read()
        if fault:
            self._let_go()
            process.communicate()
            raise OSError(int(fault), os.strerror(int(fault)))
        return process

    def write(self, line: bytes) -> None:
        """Send a line; returns before the process has read it."""
        self._outgoing.put(line + b"\n")

    def read(self, seconds: float | None) -> bytes:
        """Return its next line; Gone if there will be none, TimeoutError after so many seconds (None: no limit)."""
        waited = 0.0
        while True:
            ended = self._process.poll() is not None
            try:
                line = self._incoming.get(timeout=2 * _LOOK if ended else _LOOK)
            except queue.Empty:
                waited += _LOOK
                if ended:
                    raise Gone from None
                if seconds is not None and waited >= seconds:
                    raise TimeoutError from None
                continue
            if line is None:
                raise Gone
            return line

    def pending(self) -> bytes | None:
        """Return a line that nobody asked for, if there is one."""
        with contextlib.suppress(queue.Empty):
            return self._incoming.get_nowait()
        return None

    def ending(self) -> str:
        """Return how it ended, in words; waits a moment for a process that is about to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(_GRACE)
            self._threads[-1].join(_GRACE)  # what it said last is the most telling
            return f"ended with status {status}" if status >= 0 else f"was ended by {_signal(-status)}"
        return "closed its stdout"

    def tail(self) -> list[str]:
        """Return the last lines of its stderr."""
        return list(self._tail)

    def close(self) -> None:
        """End it and whatever it has started, gently if it goes; nothing happens the second time."""
        self._outgoing.put(None)  # closes its stdin, which tells it to go
        for told in (False, True):
            if told:
                self._process.terminate()  # the guard tells its whole group
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
                break
        self.kill()
        for thread in self._threads:
            thread.join(_GRACE)

    def kill(self) -> None:
        """End it and whatever it has started at once: also within a call that has run out of time."""
        self._let_go()
        if not _HAS_GUARD:
            self._process.kill()
        self._process.wait()
        self._outgoing.put(None)

    def _let_go(self) -> None:
        """Have the guard kill everybody."""
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            os.close(lifeline)


def _write(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while (line := lines.get()) is not None:
            pipe.write(line)
            pipe.flush()
    with contextlib.suppress(OSError):
        pipe.close()


def _read(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while line := pipe.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(None)


def _keep(pipe: IO[bytes], tail: deque[str], path: Path | None) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(pipe)
        file = None if path is None else stack.enter_context(_HeadAndTail(path))
        while line := pipe.readline(LONGEST_LINE):
            text = redacted(line.decode("utf-8", "replace").rstrip())
            tail.append(text)
            if file is not None:
                file.write(f"{text}\n")


class _HeadAndTail:
    """A file that grows up to half of LONGEST_STDERR; of what comes then the last is kept, and added at the end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", newline="")
        self._room = LONGEST_STDERR // 2 - path.stat().st_size
        self._last: deque[str] = deque()
        self._held = self._lost = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            if self._lost:
                self._file.write(f"[{self._lost:,} characters are left out here]\n")
            self._file.writelines(self._last)

    def write(self, text: str) -> None:
        if self._room > 0:
            self._file.write(text[: self._room])
            self._file.flush()
            text, self._room = text[self._room :], self._room - len(text)
        end = text[-LONGEST_STDERR // 2 :]
        self._lost += len(text) - len(end)
        self._last.append(end)
        self._held += len(end)
        while self._held > LONGEST_STDERR // 2:
            gone = self._last.popleft()
            self._held -= len(gone)
            self._lost += len(gone)


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


STDERR = "agent-stderr.txt"
"""The file in a conversation's folder that keeps what the process writes to stderr."""
CAPABILITIES = ("Resettable", "AcceptsHistory", "Checkpointable", "TimeAware")
"""The capabilities that a process may have."""
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """How to start the process, and what it can do beyond replying."""

    command: str
    folder: str | None = None
    """Where it runs; None: where pytest does."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that it gets beside ours; no secrets."""
    capabilities: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds for an answer; None: the reply timeout of the run."""
    max_message_tokens: int | None = None


class CommandAgent:
    """The process of one conversation, started by the first message. Configured, and what its settings say.

    What it writes to stderr is kept in the file `stderr`, if any.
    """

    def __init__(self, settings: CommandSettings, stderr: Path | None = None) -> None:
        self._settings = settings
        self._process: LineProcess | None = None
        self._stderr = stderr
        self._now = ""
        self._told: list[tuple[str, str]] = []
        self._state: tuple[int, Any] | None = None
        grant(self, settings.capabilities, settings.max_message_tokens)

    def reply(self, message: str) -> Reply:
        """Return the reply of the process; AgentFault if it ended, wrote no JSON, or told an error."""
        request = {"message": message, "now": self._now} if self._now else {"message": message}
        answer = self._asked(request, "reply")
        if not isinstance(answer["reply"], str):
            raise AgentError(f"{self._called()}: its 'reply' is {cut(json.dumps(answer['reply']))}, not a text")
        self._told.append((message, answer["reply"]))
        return Reply(answer["reply"], *self._took(answer))

    def configuration(self) -> Mapping[str, Any]:
        """Return all settings."""
        return {"cmd": to_record(self._settings)}

    def close(self) -> None:
        """End the process and what it has started."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    # --- capabilities, if the settings name them

    def _reset(self) -> None:
        if self._process is not None:
            self._asked({"reset": True}, "ok")
        self._told, self._state = [], None

    def _accept(self, message: str, reply: str) -> Reply:
        answer = self._asked({"accept": {"message": message, "reply": reply}}, "ok")
        self._told.append((message, reply))
        return Reply("", *self._took(answer))

    def _took(self, answer: Mapping[str, Any]) -> tuple[Usage | None, float | None]:
        """Return what an answer says of usage and cost."""
        usage, cost = answer.get("usage"), answer.get("cost_usd")
        if isinstance(usage, dict) and not usage.keys() <= set(_COUNTS):
            raise AgentError(f"{self._called()}: its 'usage' has other fields than {', '.join(_COUNTS)}")
        counts = usage if isinstance(usage, dict) else {}
        return reported(counts) if "usage" in answer else None, cost if is_amount(cost) else None

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
            raise self._out_of_step(f"wrote a line before it was asked: {cut(early.decode('utf-8', 'replace'))}")
        process.write(json.dumps(request).encode())
        try:
            line = process.read(self._settings.timeout)
        except Gone:
            raise self._out_of_step(process.ending()) from None
        except TimeoutError:
            raise self._out_of_step(f"gave no answer within {self._settings.timeout:g} s") from None
        answer = self._parsed(line)
        if "error" in answer:
            raise AgentError(f"{self._called()} told an error: {cut(str(answer['error']))}")
        if wanted not in answer:
            raise self._out_of_step(f"answered without {wanted!r}: {cut(json.dumps(answer))}")
        return answer

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return answer
        shown = cut(line.decode("utf-8", "replace"))
        raise self._out_of_step(f"wrote something to stdout that is not a JSON object: {shown}. Let it print to stderr")

    def _out_of_step(self, what: str) -> AgentFault:
        """End the process, and return the fault: fatal if what it knew is lost with it."""
        process = self._process
        self._kill()
        tail = [] if process is None else process.tail()
        said = f". Its stderr ends with {cut(' / '.join(tail))}" if tail else ""
        # By name: the journals of equal runs are equal, wherever they are.
        kept = f" (all of it is in {STDERR})" if tail and self._stderr is not None else ""
        return AgentFault(f"{self._called()} {what}{said}{kept}", fatal=not self._can_be_put_back())

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _can_be_put_back(self) -> bool:
        current = self._state is not None and self._state[0] == len(self._told)
        return (
            current
            or not self._told
            or ("AcceptsHistory" in self._settings.capabilities and ("", "") not in self._told)
        )

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
    given = {name: _READERS[name](child) for name, child in parameters.mapping(known=_READERS).items()}
    settings = CommandSettings(command=command, **given)
    words = _words(command)
    if not words:
        raise AgentError("agent 'cmd:' names no command. Write it as in 'cmd:python bot.py'")
    if shutil.which(words[0]) is None and not (Path(settings.folder or os.curdir) / words[0]).exists():
        raise AgentError(f"agent 'cmd:{command}': there is no program {words[0]!r}")
    return AgentSource(
        lambda: CommandAgent(settings),
        spec=f"cmd:{command}",
        owned=True,
        given=Promised(frozenset({*settings.capabilities, "Configured"}), settings.max_message_tokens),
        at=lambda folder: CommandAgent(settings, folder / STDERR),
    )


def _capabilities(field: Field) -> tuple[str, ...]:
    wrong = next((item for item in field.items("capabilities") if item.value not in CAPABILITIES), None)
    if wrong is not None:
        raise wrong.error(f"one of {', '.join(CAPABILITIES)}")
    return tuple(field.value)


_READERS: Mapping[str, Callable[[Field], Any]] = {
    "folder": lambda field: field.text("a folder"), "variables": texts, "capabilities": _capabilities,
    "timeout": seconds, "max_message_tokens": Field.tokens,
}  # fmt: skip


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise AgentError(f"agent 'cmd:{command}': {error}") from None
