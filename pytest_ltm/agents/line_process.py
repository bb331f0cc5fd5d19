"""LineProcess: a process that ends with ours and speaks JSON lines on stdin and stdout.

The processes of agents behind a command, coding agents, agents with their own process,
and MCP servers.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_ltm.agents.sources import shorten_foreign_text
from pytest_ltm.api.storage import (
    AgentError,
    LineSanitizer,
    paused_since,
    process_pauses,
)

if TYPE_CHECKING:
    from typing_extensions import Self


# The file in a conversation's folder that stores the stderr of the process.
STDERR = "agent-stderr.txt"
# Bytes of the longest line that is read; a longer one is cut, and so not valid JSON.
LONGEST_LINE = 2**24
# Characters of stderr to keep, half of them from its beginning and half from its end.
LONGEST_STDERR = 2**24
# The last lines of stderr that error messages show.
TAIL = 5
# The lines that are searched for a more telling part.
_SEARCHED = 200
_CRASH_HEAD = "most recent call first"
# Seconds between two checks that the process is still alive.
_LOOK = 0.1
# Seconds to exit after stdin is closed, and again after SIGTERM, before the kill.
GRACE_SECONDS = 1.0

# Whether a guard process can end a process together with ours.
HAS_GUARD = os.name == "posix"
_GUARD = str(Path(__file__).with_name("_process_guard.py"))


class Gone(Exception):
    """The process has ended or closed its stdout."""


class OutOfStep(Exception):
    """The process did not answer a request and must be ended; the text says why."""


def guarded_command(
    command: Sequence[str], lifeline: int = -1, ready: int = -1
) -> list[str]:
    """Return the command that starts another under a guard, so that all its descendants end with it.

    `lifeline`, `ready`: descriptors for the guard; without them it ends with its
    command or with us.
    """
    guard = [
        sys.executable,
        "-I",
        "-S",
        _GUARD,
        str(os.getpid()),
        str(lifeline),
        str(ready),
    ]
    return [*guard, *command] if HAS_GUARD else list(command)


class LineProcess:
    """A process under a guard (`_process_guard.py`), with stdin and stdout as lines; close it.

    Its stderr is stored, redacted: all of it at the end of `stderr` (if given), the
    last lines in `last_words()`. All its descendants end with it, and with us. Raises
    AgentError if the command cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: str | None,
        more: Mapping[str, str],
        stderr: Path | None,
    ) -> None:
        self.killed = False
        """Whether the process has been killed, so that it cannot be asked again."""
        self._lifeline: int | None = None
        self._keeps = stderr is not None
        try:
            self._process = self._start([*command], folder, {**os.environ, **more})
        except OSError as error:
            raise AgentError(
                f"{command[0]!r} cannot be started: {error.strerror or error}"
            ) from error
        self._incoming: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._tail: deque[str] = deque(maxlen=_SEARCHED)
        self._threads = []
        for work, arguments in (
            (_write_lines, (self._process.stdin, self._outgoing)),
            (_read_lines, (self._process.stdout, self._incoming)),
            (_keep_stderr, (self._process.stderr, self._tail, stderr)),
        ):
            name = f"ltm-{work.__name__.strip('_')}"
            self._threads.append(
                threading.Thread(target=work, args=arguments, daemon=True, name=name)
            )
        for thread in self._threads:
            thread.start()

    def _start(
        self, command: list[str], folder: str | None, environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        options: dict[str, Any] = dict.fromkeys(
            ("stdin", "stdout", "stderr"), subprocess.PIPE
        )
        options |= {"cwd": folder, "env": environment, "start_new_session": True}
        if not HAS_GUARD:
            return subprocess.Popen(command, **options)  # noqa: S603 - the command is the user's own
        (lifeline, self._lifeline) = os.pipe()
        (status, ready) = os.pipe()
        try:
            process = subprocess.Popen(  # noqa: S603 - as above
                guarded_command(command, lifeline, ready),
                pass_fds=(lifeline, ready),
                **options,
            )
        except BaseException:
            os.close(status)
            self._let_go()
            raise
        finally:
            os.close(lifeline)
            os.close(ready)
        with os.fdopen(status, "rb") as pipe:
            fault = pipe.read()
        if fault:
            self._let_go()
            process.communicate()
            raise OSError(int(fault), os.strerror(int(fault)))
        return process

    def write(self, line: bytes) -> None:
        """Send a line; returns before the process has read it."""
        self._outgoing.put(line + b"\n")

    def end_input(self) -> None:
        """Close its stdin once all lines are sent."""
        self._outgoing.put(None)

    def read(self, seconds: float | None) -> bytes:
        """Return its next line; Gone if there is none left, TimeoutError after `seconds` (None: no limit)."""
        waited = 0.0
        pauses = process_pauses()
        while True:
            ended = self._process.poll() is not None
            try:
                line = self._incoming.get(timeout=2 * _LOOK if ended else _LOOK)
            except queue.Empty:
                waited += _LOOK
                if paused_since(pauses):
                    # the machine slept: that time does not count
                    waited = 0.0
                    pauses = process_pauses()
                if ended:
                    raise Gone from None
                if seconds is not None and waited >= seconds:
                    raise TimeoutError from None
                continue
            if line is None:
                raise Gone
            return line

    def ask(
        self,
        request: Mapping[str, Any],
        *,
        field_name: str,
        instead: str = "error",
        seconds: float | None,
    ) -> dict[str, Any]:
        """Return the answer to a request: an object with the field `field_name`, `instead` or `error`.

        Raises OutOfStep, with its last words, for any other answer, and if none arrives
        within `seconds` (None: no limit). The process is killed then, and by any other
        interruption: a late answer would be taken for that of the next request.
        """
        try:
            return self._answer_of(request, field_name, instead, seconds)
        except OutOfStep as error:
            self.kill()
            raise OutOfStep(f"{error}{self.last_words()}") from None
        except BaseException:
            self.kill()
            raise

    def _answer_of(
        self,
        request: Mapping[str, Any],
        field_name: str,
        instead: str,
        seconds: float | None,
    ) -> dict[str, Any]:
        if (early := self.pending_line()) is not None:
            line_text = shorten_foreign_text(early.decode("utf-8", "replace"))
            raise OutOfStep(f"wrote a line before it was asked: {line_text}")
        self.write(json.dumps(request).encode())
        try:
            line = self.read(seconds)
        except Gone:
            raise OutOfStep(self.ending()) from None
        except TimeoutError:
            raise OutOfStep(f"gave no answer within {seconds:g} s") from None
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            line_text = shorten_foreign_text(line.decode("utf-8", "replace"))
            raise OutOfStep(
                f"wrote something to stdout that is not a JSON object: {line_text}. A reply is a line such as "
                '{"reply": "Hi."}. Let it print to stderr'
            )
        if not answer.keys() & {field_name, instead, "error"}:
            answer_text = shorten_foreign_text(json.dumps(answer))
            raise OutOfStep(f"answered without {field_name!r}: {answer_text}")
        return answer

    def pending_line(self) -> bytes | None:
        """Return an unexpected line, if one is waiting."""
        with contextlib.suppress(queue.Empty):
            return self._incoming.get_nowait()
        return None

    def ending(self) -> str:
        """Return a phrase that says how it ended; waits a moment for a process about to end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(GRACE_SECONDS)
            self._threads[-1].join(GRACE_SECONDS)  # its last output is the most telling
            # Real-time signals have no name in `signal`.
            names = {member.value: member.name for member in signal.Signals}
            signal_name = names.get(-status, f"signal {-status}")
            if status >= 0:
                return f"ended with status {status}"
            return f"was ended by {signal_name}"
        return "closed its stdout"

    def last_words(self) -> str:
        """Return a sentence with the end of its stderr, to follow another sentence; "" if there is none."""
        # The last lines; of a crashed Python the first lines of its crash report.
        lines = list(self._tail)
        texts = lines[-TAIL:]
        for number, line in enumerate(lines):
            if line.startswith("Fatal Python error"):
                telling = filter(None, lines[number:])
                texts = [text for text in telling if _CRASH_HEAD not in text][:TAIL]
                break
        if not texts:
            return ""
        # The file's name only: journals of equal runs are equal, whatever their
        # folders.
        whereabouts = f" (all of it is in {STDERR})" if self._keeps else ""
        return f". Its stderr ends with {shorten_foreign_text(' / '.join(texts))}{whereabouts}"

    def close(self) -> None:
        """End it and its descendants, gently if possible; a second call does nothing."""
        self.end_input()  # asks it to exit
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.terminate()  # the guard forwards SIGTERM to its process group
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_SECONDS)
        self.kill()
        for thread in self._threads:
            thread.join(GRACE_SECONDS)

    def kill(self) -> None:
        """Kill it and its descendants at once; also used within a call that has timed out."""
        self.killed = True
        self._let_go()
        if not HAS_GUARD:
            self._process.kill()
        self._process.wait()
        self._outgoing.put(None)

    def _let_go(self) -> None:
        """Close the lifeline, so that the guard kills all descendants."""
        lifeline = self._lifeline
        self._lifeline = None
        if lifeline is not None:
            os.close(lifeline)


def _write_lines(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while (line := lines.get()) is not None:
            pipe.write(line)
            pipe.flush()
    with contextlib.suppress(OSError):
        pipe.close()


def _read_lines(pipe: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while line := pipe.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(None)


def _keep_stderr(pipe: IO[bytes], tail: deque[str], path: Path | None) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(pipe)
        file = None if path is None else stack.enter_context(_HeadAndTail(path))
        lines = LineSanitizer()
        while line := pipe.readline(LONGEST_LINE):
            text = lines.shown(line.decode("utf-8", "replace").rstrip())
            tail.append(text)
            if file is not None:
                file.write(f"{text}\n")


class _HeadAndTail:
    """A file that keeps half of LONGEST_STDERR from the beginning, and at most as much from the end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", newline="")
        self._room = LONGEST_STDERR // 2 - path.stat().st_size
        self._last: deque[str] = deque()
        self._size = 0
        self._dropped_size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            if self._dropped_size:
                self._file.write(
                    f"[{self._dropped_size:,} characters are left out here]\n"
                )
            self._file.writelines(self._last)

    def write(self, text: str) -> None:
        if self._room > 0:
            self._file.write(text[: self._room])
            self._file.flush()
            size = len(text)
            text = text[self._room :]
            self._room -= size
        end = text[-LONGEST_STDERR // 2 :]
        self._dropped_size += len(text) - len(end)
        self._last.append(end)
        self._size += len(end)
        while self._size > LONGEST_STDERR // 2:
            oldest = self._last.popleft()
            self._size -= len(oldest)
            self._dropped_size += len(oldest)
