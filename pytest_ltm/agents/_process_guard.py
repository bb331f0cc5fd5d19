"""Guard: a process that kills an agent's process and all its descendants when we end, or it ends.

Run as a script, isolated and without site, `PARENT LIFELINE READY COMMAND...`: it
starts the command, which inherits our pipes, and sleeps. When the command ends, the
other end of the pipe LIFELINE is closed, or the parent dies, the guard kills all
descendants and exits with the command's status. If the command cannot be started, the
errno is written to the pipe READY, which is closed otherwise. -1: there is no such
pipe.

On Linux, orphans become children of the guard, in whatever session they are; elsewhere
only the command's process group can be found.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys

# Windows has job objects and other process groups; the guard never starts there.
assert sys.platform != "win32"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_IS_LINUX = sys.platform == "linux"


def _call_prctl(option: int, value: int) -> None:
    if _IS_LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start_command(command: list[str], ready: int) -> int:
    """Return the pid of a new process, the leader of its own process group."""
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        for number in (
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGINT,
            signal.SIGCHLD,
            signal.SIGPIPE,
            signal.SIGXFSZ,
        ):
            # the child would inherit ignored signals
            signal.signal(number, signal.SIG_DFL)
        _call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == guard:
            os.execvp(command[0], command)  # noqa: S606 - as the user says it
    except OSError as error:
        if ready >= 0:
            os.write(ready, str(error.errno).encode())
    finally:
        os._exit(127)


def _reap_children(child: int) -> int | None:
    """Reap the processes that have ended; return the child's status, or None if it is still running."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return status
            if not pid:
                break
    return None


def _watch_child(child: int, parent: int, lifeline: int, woken: int) -> int:
    """Return the status of the child, or SIGKILL once the lifeline is closed or the parent is gone."""
    while True:
        readable, _, _ = select.select(
            [woken] if lifeline < 0 else [lifeline, woken], [], []
        )
        if woken in readable and signal.SIGTERM in os.read(woken, 512):
            with contextlib.suppress(OSError):
                os.killpg(child, signal.SIGTERM)
        status = _reap_children(child)
        if status is not None:
            return status
        if lifeline in readable or os.getppid() != parent:
            return signal.SIGKILL


def _child_pids() -> list[int]:
    """Return the pids of this process's children; empty without /proc."""
    me = os.getpid()
    numbers = []
    with contextlib.suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):  # noqa: PTH208 - pathlib would take half of the time to start
            with (
                contextlib.suppress(OSError, IndexError),
                open(f"/proc/{name}/stat", "rb") as file,  # noqa: PTH123
            ):
                if int(file.read().rpartition(b")")[2].split()[1]) == me:
                    numbers.append(int(name))
    return numbers


def main() -> None:
    """Start the command given on the command line, and guard it."""
    parent, lifeline, ready = map(int, sys.argv[1:4])
    for pipe in (lifeline, ready):
        if pipe >= 0:
            os.set_inheritable(pipe, False)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGINT):
        # a handler, because an ignored signal would not wake us
        signal.signal(number, lambda *_: None)
    _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _call_prctl(_PR_SET_PDEATHSIG, signal.SIGHUP)
    child = _start_command(sys.argv[4:], ready)
    if ready >= 0:
        os.close(ready)
    os.write(wakes, b"\0")  # the parent may have died before PDEATHSIG was set
    nowhere = os.open(os.devnull, os.O_RDWR)
    # only the child may hold these pipes, so that a reader sees when it closes them
    for pipe in range(3):
        os.dup2(nowhere, pipe)
    status = _watch_child(child, parent, lifeline, woken)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in _child_pids() if _IS_LINUX else [child]:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
    if os.WIFSIGNALED(status):
        import resource

        ended_by = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core file is enough
        if ended_by != signal.SIGKILL:
            signal.signal(ended_by, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.kill(os.getpid(), ended_by)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
