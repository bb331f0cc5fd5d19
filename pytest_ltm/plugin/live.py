"""`--ltm-live`: the live view of this run, served by a process of its own that ends with this one."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_ltm.plugin.session import LtmRun


class LiveServer:
    """The process, and the line that tells its link. Nothing that happens to it concerns the run."""

    PATIENCE = 30.0
    """Seconds in which the server must say where it is."""
    GRACE = 10.0
    """Seconds in which it must end, once the run has."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._process: subprocess.Popen[bytes] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Start the server and print its link, or why there is none."""
        run = self._run
        words = ["serve", "--port=0", f"--live={run.folder.path.name}", f"--ltm-dir={run.settings.ltm_dir}"]
        command = [sys.executable, "-m", "pytest_ltm", *words]
        reply = b""
        with suppress(OSError):
            # its stderr would run into the dots; Ctrl-C is for the run, which ends it
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            self._process = subprocess.Popen(command, **pipes, start_new_session=True)  # noqa: S603 - our own command
            stdout, chunks = self._process.stdout, list[bytes]()
            reader = Thread(target=lambda: chunks.append(stdout.readline() if stdout else b""), daemon=True)
            reader.start()
            reader.join(self.PATIENCE)
            if not chunks:  # reading ends with the process
                self._process.kill()
                reader.join()
            reply = chunks[0]
        link = reply.decode("utf-8", "replace").strip()
        text = f"ltm: live at {link}" if link.startswith("http") else f"ltm: no live view: {link or 'it did not start'}"
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(text)

    def pytest_unconfigure(self) -> None:
        """Tell the server that the run is over, and wait until it has told its pages."""
        process = self._process
        if process is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            process.communicate(timeout=self.GRACE)  # closes its standard input
        if process.poll() is None:
            process.kill()
            process.communicate()
