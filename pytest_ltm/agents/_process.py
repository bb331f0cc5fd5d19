"""A process that talks in lines: fed and read by threads, so that nobody waits for a full pipe."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from typing import IO, TYPE_CHECKING

from pytest_ltm._errors import AgentError
from pytest_ltm._secrets import redacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LONGEST_LINE = 2**24
"""The bytes of the longest line that is read from a process; a longer one is taken for no line at all."""
TAIL = 5
"""The lines of stderr that are kept for error messages."""
_LOOK = 0.1
"""Seconds between two looks at whether the process is still there."""
_GRACE = 1.0
"""Seconds that it has to end by itself, and again to end when told to, before it is killed."""


class Gone(Exception):
    """The process has ended, or says no more."""


class LineProcess:
    """A process with a group of its own, its stdin and stdout as lines; close it.

    What it writes to stderr is kept, redacted: all of it at the end of `stderr` (if given), the last lines in
    `tail()`. Raises AgentError if the command cannot be started.
    """

    def __init__(
        self, command: Sequence[str], *, folder: str | None, more: Mapping[str, str], stderr: Path | None
    ) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is the user's own
                [*command],
                cwd=folder,
                env={**os.environ, **more},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name == "posix",
            )
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
        for last_word in (None, signal.SIGTERM):
            if last_word is not None:
                self._signal(last_word)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
                break
        self.kill()
        for thread in self._threads:
            thread.join(_GRACE)

    def kill(self) -> None:
        """End it and whatever it has started at once: also within a call that has run out of time."""
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait()
        self._outgoing.put(None)

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the process's group, which is ours alone; where there are no groups, to the process."""
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)


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
        file = None if path is None else stack.enter_context(path.open("a", encoding="utf-8"))
        while line := pipe.readline(LONGEST_LINE):
            text = redacted(line.decode("utf-8", "replace").rstrip())
            tail.append(text)
            if file is not None:
                file.write(f"{text}\n")
                file.flush()


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
