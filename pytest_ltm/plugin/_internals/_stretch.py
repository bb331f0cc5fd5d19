"""Stretch: what pytest keeps one of in the process, swapped in for each stretch of a body."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from _pytest.logging import LogCaptureHandler, caplog_handler_key, caplog_records_key

from pytest_ltm.plugin._internals._warnings import Warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from _pytest.capture import CaptureManager


class Stretch:
    """Everything that pytest keeps one of, swapped in for each stretch of one item's body."""

    in_debugger = False
    """Whether pdb has the terminal: capturing then stays off. Set for the class."""

    def __init__(self, item: pytest.Item) -> None:
        manager = item.config.pluginmanager
        self._item = item
        self._capture: CaptureManager | None = manager.get_plugin("capturemanager")
        self._logging: Any = manager.get_plugin("logging-plugin")
        self._worker: Any = worker_interactor(item.config)
        self._index: int | None = None
        self._captured: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._capture_fixture: Any = None
        self._log: LogCaptureHandler | None = None
        self._root_level: int | None = None
        self._added: list[logging.Handler] = []
        self._removed: list[logging.Handler] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self.warnings = Warnings(item.config, item)

    def begin_call(self) -> None:
        """Prepare what caplog shows of the call phase."""
        if self._logging is None:
            return
        self._log = LogCaptureHandler()
        self._log.setFormatter(self._logging.formatter)
        self._added.append(self._log)
        if self._logging.log_level is not None:
            self._log.setLevel(self._logging.log_level)
        self._item.stash[caplog_handler_key] = self._log
        self._item.stash[caplog_records_key]["call"] = self._log.records

    @contextmanager
    def active(self) -> Iterator[None]:
        """Put this item's state in place meanwhile."""
        with self.claims(), self._own_loop():
            yield

    @contextmanager
    def claims(self) -> Iterator[None]:
        """Make what is printed, logged and warned of meanwhile this item's, whoever does it."""
        with ExitStack() as stack:
            for swap in (self.warnings.active, self._current, self._logs, self.captures):
                stack.enter_context(swap())
            yield

    @contextmanager
    def fixtures(self) -> Iterator[None]:
        """Put this item's capsys, capfd ... in place while its fixtures are set up or torn down."""
        if self._capture is None:
            yield
            return
        others, self._capture._capture_fixture = self._capture._capture_fixture, self._capture_fixture
        try:
            yield
        finally:
            self._capture_fixture, self._capture._capture_fixture = self._capture._capture_fixture, others

    @contextmanager
    def captures(self) -> Iterator[None]:
        """Capture output for this item's report."""
        capture = self._capture
        if capture is None:
            yield
            return
        if Stretch.in_debugger:
            capture.suspend(in_=True)  # a hook call of another item may have resumed it
            yield
            return
        with self.fixtures():
            capture.resume_global_capture()
            capture.activate_fixture()
            try:
                yield
            finally:
                capture.deactivate_fixture()
                capture.suspend_global_capture(in_=False)
                for name, text in zip(("stdout", "stderr"), capture.read_global_capture(), strict=True):
                    if text:
                        self._captured[name].append(text)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Tell xdist that the reports are this item's, whichever item it asked for."""
        if self._worker is None:
            yield
            return
        if self._index is None:
            self._index = self._item.session.items.index(self._item)
        asked, self._worker.item_index = self._worker.item_index, self._index
        try:
            yield
        finally:
            self._worker.item_index = asked

    def announce_end(self, duration: float) -> None:
        """Tell xdist at once that the item is done, if it is not the one that xdist waits for."""
        if self._worker is not None and self._index != self._worker.item_index:
            self._worker.sendevent("runtest_protocol_complete", item_index=self._index, duration=duration)

    def add_sections(self) -> None:
        """Add what was captured to the item's report."""
        for name, parts in self._captured.items():
            if parts:
                self._item.add_report_section("call", name, "".join(parts))
        if self._log is not None:
            self._item.add_report_section("call", "log", self._log.stream.getvalue().strip())

    def restore_log_records(self) -> None:
        """Give caplog's users in teardown the records of the body: pytest cleared them for the replayed call."""
        if self._log is not None:
            self._item.stash[caplog_records_key]["call"][:] = self._log.records

    @contextmanager
    def _current(self) -> Iterator[None]:
        before = os.environ.get("PYTEST_CURRENT_TEST")
        os.environ["PYTEST_CURRENT_TEST"] = f"{self._item.nodeid} (call)".replace("\x00", "(null)")
        try:
            with self.reporting():
                yield
        finally:
            if before is None:
                os.environ.pop("PYTEST_CURRENT_TEST", None)
            else:
                os.environ["PYTEST_CURRENT_TEST"] = before

    @contextmanager
    def _logs(self) -> Iterator[None]:
        root, handler = logging.getLogger(), self._log
        if handler is None:
            yield
            return
        outside = root.level
        level = min(outside, handler.level) if handler.level else outside
        root.setLevel(level if self._root_level is None else self._root_level)
        others = list(root.handlers)
        root.handlers[:] = [one for one in others if one not in self._removed] + self._added
        try:
            yield
        finally:
            self._added = [one for one in root.handlers if one not in others]
            self._removed = [one for one in others if one not in root.handlers]
            root.handlers[:] = others
            self._root_level = root.level  # caplog.set_level moves it, for this item only
            root.setLevel(outside)

    @contextmanager
    def _own_loop(self) -> Iterator[None]:
        # asyncio has one "running loop" a thread; bodies that take turns must not see each other's.
        outside = asyncio._get_running_loop()
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            self._loop = asyncio._get_running_loop()
            asyncio._set_running_loop(outside)


@contextmanager
def unclaimed(config: pytest.Config) -> Iterator[None]:
    """Keep what is said for no example's sake (filler, opening) to itself.

    What is printed stays off the screen, unless -s shows everything; warnings follow the filters of the
    configuration, not those of whichever item pytest asks for, and are told as nobody's.
    """
    capture: CaptureManager | None = config.pluginmanager.get_plugin("capturemanager")
    nobodys = Warnings(config, None)
    with ExitStack() as stack:
        stack.callback(nobodys.close)
        stack.enter_context(nobodys.active())
        if capture is not None and not Stretch.in_debugger:
            capture.resume_global_capture()
            stack.callback(capture.read_global_capture)
            stack.callback(capture.suspend_global_capture, in_=False)
        yield


def worker_interactor(config: pytest.Config) -> Any:
    """Return xdist's side of this worker, or None where there is none."""
    if not hasattr(config, "workerinput"):
        return None
    return next((p for p in config.pluginmanager.get_plugins() if type(p).__name__ == "WorkerInteractor"), None)
