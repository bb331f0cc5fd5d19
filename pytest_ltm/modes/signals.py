"""SIGTERM and SIGHUP end a run like Ctrl-C: with results, report and the command to resume, and with exit status 75.

An agent that cannot be interrupted, or that ends the process, also ends the run, but
without a report. SIGCONT restarts time limits. Threads left by agents do not keep a
finished process alive.
"""

from __future__ import annotations

import atexit
import faulthandler
import math
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from types import FrameType
from typing import Any, cast

import pytest

from pytest_ltm.api.calls import when_hung
from pytest_ltm.api.journal import UNMEASURABLE
from pytest_ltm.api.session import LtmRun
from pytest_ltm.api.storage import DiskFault, for_screen, goes_on

# Seconds that this process has to end after a signal.
AFTER_SIGNAL = 5.0
_ALIVE = b"\xff"
# The seconds are counted, not measured: Ctrl-Z and a sleeping machine do not count.
_LOOK = """
import os, select, signal, sys
pid, limit, after, err, said = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
left = limit
while left > 0:
    if select.select([0], [], [], 1.0)[0]:
        for byte in os.read(0, 65536) or sys.exit():
            left = limit if byte == 255 else min(left, after) if byte in (1, 2, 15) else left
    else: left -= 1.0
os.write(err, said.encode())
os.kill(pid, signal.SIGABRT)
select.select([], [], [], 3.0)
try: os.kill(pid, signal.SIGKILL)
except ProcessLookupError: pass
"""


class FrozenGuard:
    """Watches this process, starting in its main thread; must be closed.

    `seconds`: the time without Python code after which the process is ended. Then
    `said` is written to the file `err`; faulthandler, if enabled, shows the threads.
    """

    def __init__(self, seconds: float, err: int, said: str) -> None:
        reads, self._feed = os.pipe()
        os.set_blocking(self._feed, False)
        arguments = [str(os.getpid()), str(seconds), str(AFTER_SIGNAL), str(err), said]
        command = [sys.executable, "-I", "-S", "-c", _LOOK, *arguments]
        self._process = subprocess.Popen(command, stdin=reads, pass_fds=[err])  # noqa: S603 - ours
        os.close(reads)
        self._before = signal.set_wakeup_fd(self._feed, warn_on_full_buffer=False)
        self._over = threading.Event()

        def feed() -> None:
            with suppress(OSError):  # it is closed
                while not self._over.wait(1.0):
                    os.write(self._feed, _ALIVE)

        try:
            threading.Thread(target=feed, name="ltm-alive", daemon=True).start()
        except RuntimeError:  # the system cannot create a thread
            self.close()

    def close(self) -> None:
        """Stop watching; a second call does nothing."""
        if self._over.is_set():
            return
        self._over.set()
        signal.set_wakeup_fd(self._before)
        os.close(self._feed)
        self._process.wait(AFTER_SIGNAL)


_NAMES = ("SIGTERM", "SIGHUP")
# Seconds beyond the reply timeout after which a process without Python code counts as
# frozen.
SLACK = 10.0
FROZEN = (
    "\nltm: no Python code has run for too long: code in C does not yield (an endless regular expression?). "
    "This process ends; faulthandler shows where it was. --ltm-agent-process gives each agent a process of its own, "
    "where only its own conversation is lost"
)
# Seconds that threads left by agents have to end after pytest.
LINGERS = 10.0
# The file in the run folder with all threads' stacks when an agent could not be
# interrupted.
STACKS = "hung.txt"


class Signals:
    """Handles signals without other handlers, from the start of the session until everything is written.

    The first one counts, because jobs are often ended by several. In a worker it ends
    the session once the message in flight has its reply: the controller, which gets the
    signal as well or is notified of it, waits for that.
    """

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._session: pytest.Session | None = None
        self._handled: list[int] = []
        self._is_finishing = False
        self._guards = ExitStack()
        self._exit = os._exit
        self._process = os.getpid()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(
        self, session: pytest.Session
    ) -> Generator[None, None, None]:
        """Install the handlers; a session that had not started has no end in which the status could be set."""
        self._session = session
        run = self._run
        if run.plays and threading.current_thread() is threading.main_thread():
            for name in _NAMES:
                if hasattr(signal, name):
                    # under nohup, SIGHUP is ignored
                    self._handle(getattr(signal, name), self._end)
            if hasattr(signal, "SIGCONT"):
                self._handle(signal.SIGCONT, goes_on)
            when_hung.append(self._hung)
            has_agents_here = any(not source.apart for source in run.sources.values())
            if sys.platform != "win32" and run.of_agent and has_agents_here:
                err = os.dup(self._terminal())
                if run.is_worker:
                    way_to_resume = ""
                else:
                    way_to_resume = f"\nresume with: {resume_command(run)}"
                limit = run.settings.reply_timeout
                guard = FrozenGuard(
                    math.inf if limit is None else limit + SLACK,
                    err,
                    f"{FROZEN}{way_to_resume}\n",
                )
                self._guards.callback(os.close, err)
                self._guards.callback(guard.close)
            if not run.is_worker:  # the controller notices that a worker is gone
                os._exit = self._exited  # type: ignore[assignment]
        try:
            yield
        except KeyboardInterrupt:
            if run.ended_by:
                pytest.exit(f"ended by {run.ended_by}", UNMEASURABLE)
            raise

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Protect the writing of results and report; only a second Ctrl-C stops it."""
        self._is_finishing = True
        mine = self._run.plays and threading.current_thread() is threading.main_thread()
        if (
            not mine
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            return (yield)
        # Ignore one Ctrl-C: the session is about to end.
        signal.signal(
            signal.SIGINT,
            lambda *_: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def pytest_unconfigure(self) -> None:
        """Restore the handlers."""
        if os._exit == self._exited:
            os._exit = self._exit
        frame: FrameType | None = sys._getframe()
        while frame is not None and not frame.f_code.co_name.endswith("console_main"):
            frame = frame.f_back
        if self._run.plays and frame is not None:
            # This process exists only for pytest, not for a program that calls it.
            _leave_threads_behind(int(getattr(self._session, "exitstatus", 0)))
        self._guards.close()
        if self._hung in when_hung:
            when_hung.remove(self._hung)
        for number in self._handled:
            signal.signal(number, signal.SIG_DFL)

    def _handle(
        self, number: int, handler: Callable[[int, FrameType | None], object]
    ) -> None:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, handler)
            self._handled.append(number)

    def _terminal(self) -> int:
        """Return the descriptor of the terminal for errors, even while output is captured."""
        boundary: Any = self._run.config.pluginmanager.get_plugin("ltm-boundary")
        return int(boundary.terminal("stderr"))

    def _end(self, number: int, _: FrameType | None) -> None:
        run = self._run
        session = self._session
        if run.ended_by or self._is_finishing or session is None:
            return
        run.ended_by = signal.Signals(number).name
        # Set even if foreign code swallows the exception.
        session.shouldstop = f"ended by {run.ended_by}"
        if run.is_worker:
            output: dict[str, Any] = cast("Any", run.config).workeroutput
            output["ltm_ended_by"] = run.ended_by
            return
        writer: Any = run.config.get_terminal_writer()
        writer._file = _Forgiving(writer._file)
        raise KeyboardInterrupt(run.ended_by)

    def _hung(self) -> None:
        """End this process: write all threads' stacks, and flush the journals."""
        self._end_process(
            "the running code ignores all interruptions, so this process ends"
        )

    def _exited(self, status: int) -> None:
        """End this process if foreign code exits it; a forked copy may exit freely."""
        if os.getpid() != self._process:
            self._exit(status)
        cure = "--ltm-agent-process gives each agent a process of its own, where only its own conversation is lost"
        self._end_process(
            f"os._exit({status}) was called, so this process ends in the middle of the run. {cure}"
        )

    def _end_process(self, reason: str) -> None:
        run = self._run
        with suppress(DiskFault):
            for played in run.all_playing:
                played.flush_journal()
        if run.is_worker:
            way_to_resume = ""
        else:
            way_to_resume = (
                f" (exit status {UNMEASURABLE})\nresume with: {resume_command(run)}"
            )
        screen = self._terminal()
        with suppress(OSError):
            os.write(screen, f"\nltm: {reason}{way_to_resume}\n".encode())
            faulthandler.dump_traceback(screen)
        with (
            suppress(OSError),
            (run.folder.path / STACKS).open("a", encoding="utf-8") as file,
        ):
            faulthandler.dump_traceback(file)
        self._exit(UNMEASURABLE)


def _leave_threads_behind(status: int) -> None:
    """End this process some time after pytest, even if threads are left that Python would wait for."""

    def remaining() -> list[threading.Thread]:
        main_thread = threading.main_thread()
        threads: list[threading.Thread] = []
        for thread in threading.enumerate():
            if not thread.daemon and thread is not main_thread:
                threads.append(thread)
        return threads

    def end() -> None:
        threading.Event().wait(LINGERS)
        if threads := remaining():
            names = ", ".join(thread.name for thread in threads)
            sentence = (
                f"ltm: threads of agents have not ended {LINGERS:g} s after pytest: {names}. "
                "This process ends now"
            )
            with suppress(OSError, ValueError):
                sys.stderr.write(for_screen(sentence) + "\n")
                sys.stderr.flush()
            with suppress(BaseException):
                atexit._run_exitfuncs()
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            os._exit(status)

    def begin() -> None:
        try:
            threading.Thread(target=end, name="ltm-lingers", daemon=True).start()
        except RuntimeError:  # Python 3.12.1 starts no more threads here.
            if remaining():
                end()

    with suppress(AttributeError, RuntimeError):
        # Without this hook, Python waits.
        threading._register_atexit(begin)  # type: ignore[attr-defined]


class _Forgiving:
    """The terminal, which may be closed: output to it is then lost, but the run folder is not."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        try:
            self._file.write(text)
            self._file.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._file.fileno())
            os.close(nowhere)
        return len(text)


def resume_command(run: LtmRun) -> str:
    """Return the command that resumes a run."""
    by_path = run.folder.moved or run.config.getoption("ltm_dir") is not None
    # A person needs the terminal again.
    if run.config.getoption("capture") == "no":
        terminal = ["-s"]
    else:
        terminal = []
    return shlex.join(
        [
            "pytest",
            *terminal,
            f"--ltm-resume={run.folder.shown() if by_path else run.folder.name}",
        ]
    )
