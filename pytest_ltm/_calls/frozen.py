"""FrozenGuard: ends this process when no Python code has run in it for too long, because code in C does not give way.

A regular expression that backtracks forever, in a thread, holds the interpreter's lock: no limit is kept any more, and
Ctrl-C and SIGTERM are only noted. A small process looks from outside. It gets a byte each second from a thread here,
and the number of each signal that arrives, which Python writes from C (`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

# Seconds that are left after a signal that should end this process.
AFTER_SIGNAL = 5.0
_ALIVE = b"\xff"
# The seconds are counted, not measured: nobody is blamed for Ctrl-Z, or for a machine that sleeps.
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
    """Watches this process from its main thread on; close it.

    `seconds`: without Python code, after which it is ended. `said` is written to the file `err` then; faulthandler, if
    it is enabled, shows the threads.
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
        try:
            threading.Thread(target=self._feed_it, name="ltm-alive", daemon=True).start()
        except RuntimeError:  # the system has no room for it
            self.close()

    def close(self) -> None:
        """Watch no more; nothing happens the second time."""
        if self._over.is_set():
            return
        self._over.set()
        signal.set_wakeup_fd(self._before)
        os.close(self._feed)
        self._process.wait(AFTER_SIGNAL)

    def _feed_it(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while not self._over.wait(1.0):
                os.write(self._feed, _ALIVE)
