"""Stretch: what pytest keeps one of in the process, swapped in for each stretch of a body."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from pytest_ltm.plugin._internals._swaps import (
    CaptureFixture,
    CurrentTest,
    InPlace,
    Logs,
    Output,
    ReportedItem,
    RunningLoop,
    Spent,
    Swap,
)
from pytest_ltm.plugin._internals._warnings import Warnings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from _pytest.capture import CaptureManager


class Stretch:
    """Everything that pytest keeps one of, swapped in for each stretch of one item's body."""

    def __init__(self, item: pytest.Item) -> None:
        manager = item.config.pluginmanager
        capture: CaptureManager | None = manager.get_plugin("capturemanager")
        plugin: Any = manager.get_plugin("logging-plugin")
        worker = worker_interactor(item.config)
        self._item, self._worker = item, worker
        self.spent = Spent()
        self.warnings = Warnings(item.config, item)
        self._reported = None if worker is None else ReportedItem(item, worker)
        self._logs = None if plugin is None else Logs(item, plugin)
        self._fixture = None if capture is None else CaptureFixture(capture)
        self._output = None if capture is None or self._fixture is None else Output(capture, self._fixture)
        self._claimed = _those_of(self.warnings, CurrentTest(item), self._reported, self._logs, self._output)
        self._active = (self.spent, *self._claimed, RunningLoop())

    def begin_call(self) -> None:
        """Prepare what caplog shows of the call phase."""
        if self._logs is not None:
            self._logs.begin_call()

    def active(self) -> InPlace:
        """Put this item's state in place meanwhile."""
        return InPlace(self._active)

    def claims(self) -> InPlace:
        """Make what is printed, logged and warned of meanwhile this item's, whoever does it."""
        return InPlace(self._claimed)

    def fixtures(self) -> InPlace:
        """Put this item's warning filters and capsys ... in place while its fixtures are set up or torn down."""
        return InPlace(_those_of(self.warnings, self._fixture))

    def reporting(self) -> InPlace:
        """Tell xdist that the reports are this item's, whichever item it asked for."""
        return InPlace(_those_of(self._reported))

    def announce_end(self, duration: float) -> None:
        """Tell xdist at once that the item is done, if it is not the one that xdist waits for."""
        if self._reported is not None and self._reported.index != self._worker.item_index:
            self._worker.sendevent("runtest_protocol_complete", item_index=self._reported.index, duration=duration)

    def add_sections(self) -> None:
        """Add what was captured to the item's report."""
        for name, parts in self._output.texts.items() if self._output is not None else ():
            if parts:
                self._item.add_report_section("call", name, "".join(parts))
        if self._logs is not None and self._logs.handler is not None:
            self._item.add_report_section("call", "log", self._logs.handler.stream.getvalue().strip())

    def restore_log_records(self) -> None:
        """Give caplog's users in teardown the records of the body: pytest cleared them for the replayed call."""
        if self._logs is not None:
            self._logs.restore_records()


def _those_of(*swaps: Swap | None) -> tuple[Swap, ...]:
    return tuple(swap for swap in swaps if swap is not None)


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
        if capture is not None and not Output.in_debugger:
            capture.resume_global_capture()
            stack.callback(capture.read_global_capture)
            stack.callback(capture.suspend_global_capture, in_=False)
        yield


def worker_interactor(config: pytest.Config) -> Any:
    """Return xdist's side of this worker, or None where there is none."""
    if not hasattr(config, "workerinput"):
        return None
    return next((p for p in config.pluginmanager.get_plugins() if type(p).__name__ == "WorkerInteractor"), None)
