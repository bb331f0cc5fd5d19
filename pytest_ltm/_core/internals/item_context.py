"""ItemContext: swaps in an item's own copy of pytest's process-wide state for each stretch of its body."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pytest
from _pytest.logging import LogCaptureHandler, caplog_handler_key, caplog_records_key
from _pytest.warnings import catch_warnings_for_item

from pytest_ltm._core.calls.conversation_thread import ConversationThread, own_thread
from pytest_ltm._core.storage.clock import stopwatch_seconds

if TYPE_CHECKING:
    import asyncio

    from _pytest.capture import CaptureManager


class Swap(Protocol):
    """A piece of state that each item has for itself."""

    def put_in(self) -> Any:
        """Install the item's own state; return the previous one."""
        ...

    def take_out(self, outside: Any) -> None:
        """Keep the item's own state for the next time, and restore the previous one."""
        ...


class InPlace:
    """Several swaps as one context, undone in reverse order, each even if others fail."""

    __slots__ = ("_inside", "_swaps")

    def __init__(self, swaps: Sequence[Swap]) -> None:
        self._swaps = swaps
        self._inside: list[tuple[Swap, Any]] = []

    def __enter__(self) -> None:
        try:
            self.put_in()
        except BaseException:
            self.take_out()
            raise
        _IN_PLACE.append(self)

    def __exit__(self, *_: object) -> None:
        _IN_PLACE.remove(self)
        self.take_out()

    def put_in(self) -> None:
        """Install everything."""
        for swap in self._swaps:
            self._inside.append((swap, swap.put_in()))

    def take_out(self) -> None:
        """Restore everything that was replaced."""
        if self._inside:
            swap, outside = self._inside.pop()
            try:
                swap.take_out(outside)
            finally:
                self.take_out()


# The contexts in place, the innermost last.
_IN_PLACE: list[InPlace] = []


@contextmanager
def suspend_item_context() -> Iterator[None]:
    """Restore the outside state in the block, while another conversation runs, and reinstall the item's afterwards."""
    inside = _IN_PLACE[:]
    _IN_PLACE.clear()
    for part in reversed(inside):
        part.take_out()
    try:
        yield
    finally:
        for part in inside:
            part.put_in()
        _IN_PLACE.extend(inside)


class Pinned:
    """Blocks the whole process during a request while pytest is in the middle of a fixture or a report."""

    def __init__(self, thread: ConversationThread) -> None:
        self._own = thread

    def put_in(self) -> None:
        """Make other conversations wait."""
        self._own.pinned += 1

    def take_out(self, outside: None) -> None:
        """Let other conversations continue."""
        self._own.pinned -= 1


class ElapsedSeconds:
    """The sum of the seconds spent inside."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def put_in(self) -> float:
        """Return the stopwatch's time."""
        return stopwatch_seconds()

    def take_out(self, outside: float) -> None:
        """Add the elapsed time."""
        self.seconds += stopwatch_seconds() - outside


class CurrentTest:
    """PYTEST_CURRENT_TEST, which shows the running test to other programs, and to people debugging a hung session."""

    NAME = "PYTEST_CURRENT_TEST"

    def __init__(self, item: pytest.Item) -> None:
        self._value = f"{item.nodeid} (call)".replace("\x00", "(null)")

    def put_in(self) -> str | None:
        """Set it to this item."""
        previous = os.environ.get(self.NAME)
        os.environ[self.NAME] = self._value
        return previous

    def take_out(self, outside: str | None) -> None:
        """Restore it."""
        if outside is None:
            os.environ.pop(self.NAME, None)
        else:
            os.environ[self.NAME] = outside


class ReportedItem:
    """The item to which xdist assigns reports, on a worker."""

    def __init__(self, item: pytest.Item, worker: Any) -> None:
        self._item = item
        self._worker = worker
        self.index: int | None = None

    def put_in(self) -> int:
        """Assign reports to this item, whichever xdist asked for."""
        if self.index is None:
            # Looked up once: with thousands of items, each search would take as long as
            # a report.
            self.index = self._item.session.items.index(self._item)
        index: int = self._worker.item_index
        self._worker.item_index = self.index
        return index

    def take_out(self, outside: int) -> None:
        """Assign reports to the item that xdist asked for."""
        self._worker.item_index = outside


class Logs:
    """Handlers and level of the root logger, with a handler for caplog and the report."""

    def __init__(self, item: pytest.Item, plugin: Any) -> None:
        self._item = item
        self._plugin = plugin
        self._level: int | None = None
        self._added: list[logging.Handler] = []
        self._removed: list[logging.Handler] = []
        self.handler: LogCaptureHandler | None = None

    def begin_call(self) -> None:
        """Prepare caplog's records of the call phase."""
        handler = self.handler = LogCaptureHandler()
        handler.setFormatter(self._plugin.formatter)
        self._added.append(handler)
        if self._plugin.log_level is not None:
            handler.setLevel(self._plugin.log_level)
        self._item.stash[caplog_handler_key] = handler
        self._item.stash[caplog_records_key]["call"] = handler.records

    def put_in(self) -> tuple[int, list[logging.Handler], list[logging.Handler]]:
        """Log for this item; return the previous level and handlers, and the installed handlers."""
        root = logging.root
        handlers = logging.root.handlers[:]
        outside = root.level
        _set_level(root, self.wanted_level(outside))
        mine = root.handlers[:] = [
            handler for handler in handlers if handler not in self._removed
        ] + self._added
        return outside, handlers, mine

    def take_out(
        self, outside: tuple[int, list[logging.Handler], list[logging.Handler]]
    ) -> None:
        """Keep the item's changes of level and handlers; restore the previous ones."""
        root = logging.root
        (level, handlers, mine) = outside
        if root.handlers != mine:
            # A test may add or remove handlers of its own, which must be restored when
            # it continues.
            self._added = [
                handler for handler in root.handlers if handler not in handlers
            ]
            self._removed = [
                handler for handler in handlers if handler not in root.handlers
            ]
        root.handlers[:] = handlers
        self._level = root.level  # caplog.set_level changes it, for this item only.
        _set_level(root, level)

    def wanted_level(self, outside: int) -> int:
        """Return the root logger's level for this item."""
        if self._level is not None:
            return self._level
        if self.handler is not None and self.handler.level:
            return min(outside, self.handler.level)
        return outside


def _set_level(root: logging.Logger, level: int) -> None:
    if root.level != level:
        # Each time it is set, all loggers drop their cached levels.
        root.setLevel(level)


class CaptureFixture:
    """The item's capsys, capfd ..., of which pytest's manager holds only one at a time."""

    def __init__(self, manager: CaptureManager) -> None:
        self._manager = manager
        self._mine: Any = None

    def put_in(self) -> Any:
        """Install this item's fixture."""
        fixture = self._manager._capture_fixture
        self._manager._capture_fixture = self._mine
        return fixture

    def take_out(self, outside: Any) -> None:
        """Keep this item's fixture, and restore the previous one."""
        self._mine = self._manager._capture_fixture
        self._manager._capture_fixture = outside


# The number of characters kept of one item's output to stdout, or to stderr: first and
# last half.
LONGEST = 2**24


def shorten_middle(text: str) -> str:
    """Return a text, or its beginning and its end if it is too long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}{_left_out(len(text) - 2 * half, 'characters')}{text[-half:]}"


def cut_captured(manager: CaptureManager) -> None:
    """Shorten captured files to beginning and end, before their content is read into memory."""
    for capture in (
        getattr(manager._global_capturing, name, None) for name in ("out", "err")
    ):
        file: Any = getattr(getattr(capture, "tmpfile", None), "buffer", None)
        if isinstance(file, io.FileIO):
            cut_file(file)


def cut_file(file: io.FileIO) -> None:
    """Shorten a file to its beginning and end."""
    if (size := file.seek(0, os.SEEK_END)) <= LONGEST:
        return
    half = LONGEST // 2
    file.seek(0)
    head = file.read(half)
    file.seek(size - half)
    tail = file.read(half)
    file.seek(0)
    file.truncate()
    file.write(head + _left_out(size - 2 * half, "bytes").encode() + tail)


def _left_out(count: int, what: str) -> str:
    return f"\n[{count:,} {what} are left out here]\n"


class DiscardOutput:
    """Output without an owner: it is not shown, unless -s shows everything."""

    def __init__(self, manager: CaptureManager) -> None:
        self._manager = manager

    def put_in(self) -> bool:
        """Start capturing; return whether capturing is active."""
        if CapturedStreams.in_debugger:
            return False
        self._manager.resume_global_capture()
        return True

    def take_out(self, outside: bool) -> None:
        """Discard the captured output."""
        if outside:
            self._manager.suspend_global_capture(in_=False)
            cut_captured(self._manager)
            self._manager.read_global_capture()


class CapturedStreams:
    """The captured stdout and stderr for the item's report."""

    in_debugger = False
    """Whether pdb has the terminal, so that capturing stays off; set on the class."""

    def __init__(self, manager: CaptureManager, fixture: CaptureFixture) -> None:
        self._manager = manager
        self._fixture = fixture
        self.texts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._sizes = dict.fromkeys(self.texts, 0)

    def put_in(self) -> tuple[Any] | None:
        """Start capturing; return the previous fixture, None if nothing is captured."""
        if CapturedStreams.in_debugger:
            # A hook call of another item may have resumed it.
            self._manager.suspend(in_=True)
            return None
        fixtures = self._fixture.put_in()
        self._manager.resume_global_capture()
        self._manager.activate_fixture()
        return (fixtures,)

    def take_out(self, outside: tuple[Any] | None) -> None:
        """Keep the captured output."""
        if outside is None:
            return
        try:
            self._manager.deactivate_fixture()
            self._manager.suspend_global_capture(in_=False)
            cut_captured(self._manager)
            for (name, parts), text in zip(
                self.texts.items(), self._manager.read_global_capture(), strict=True
            ):
                if text:
                    parts.append(text)
                    self._sizes[name] += len(text)
                if self._sizes[name] > 2 * LONGEST:
                    parts[:] = [shorten_middle("".join(parts))]
                    self._sizes[name] = LONGEST
        finally:
            self._fixture.take_out(outside[0])


class RunningLoop:
    """asyncio's running loop of a thread: bodies that take turns must not see each other's."""

    def __init__(self) -> None:
        self._mine: asyncio.AbstractEventLoop | None = None

    def put_in(self) -> asyncio.AbstractEventLoop | None:
        """Install this item's loop, if it has one."""
        return _swap_running_loop(self._mine)

    def take_out(self, outside: asyncio.AbstractEventLoop | None) -> None:
        """Restore the previous loop."""
        self._mine = _swap_running_loop(outside)


def _swap_running_loop(
    loop: asyncio.AbstractEventLoop | None,
) -> asyncio.AbstractEventLoop | None:
    # Until asyncio is imported, no loop runs.
    module: Any = sys.modules.get("asyncio")
    if module is None:
        return None
    running: asyncio.AbstractEventLoop | None = module._get_running_loop()
    module._set_running_loop(loop)
    return running


# --- Warnings: an item's own filters and records.

WarningState = tuple[Any, Any, Any]

# The state outside of all items: inside, the marks of the item that pytest asks for
# apply.
OUTSIDE: pytest.StashKey[WarningState] = pytest.StashKey()


class Warnings:
    """The warning filters and records of one item (None: of no item), installed for each of its stretches.

    This makes pytest.warns, recwarn and filterwarnings marks work in bodies that take
    turns.
    """

    def __init__(self, config: pytest.Config, item: pytest.Item | None) -> None:
        self._recording: AbstractContextManager[None] | None = None
        filters, *state = config.stash[OUTSIDE]
        self._inside: WarningState = (list(filters), *state)
        if config.pluginmanager.has_plugin("warnings"):
            ihook = config.hook if item is None else item.ihook
            # pytest's own function, so that marks, options and -W have their usual
            # meaning.
            recording = catch_warnings_for_item(
                config=config, ihook=ihook, when="runtest", item=item
            )
            with self.active():
                recording.__enter__()
            self._recording = recording

    def active(self) -> InPlace:
        """Return a context with this warning state."""
        return InPlace((self,))

    def put_in(self) -> WarningState:
        """Install this item's warning state; return the previous one."""
        outside = _warning_state()
        _set_warning_state(self._inside)
        return outside

    def take_out(self, outside: WarningState) -> None:
        """Keep this item's state, and restore the previous one."""
        self._inside = _warning_state()
        _set_warning_state(outside)

    def close(self) -> None:
        """Pass the recorded warnings to pytest."""
        recording = self._recording
        self._recording = None
        if recording is not None:
            with self.active():
                recording.__exit__(None, None, None)


def remember_warnings(config: pytest.Config) -> None:
    """Save the current state as the one outside of all items."""
    config.stash[OUTSIDE] = _warning_state()


def _warning_state() -> WarningState:
    return (
        warnings.filters,
        warnings.showwarning,
        getattr(warnings, "_showwarnmsg_impl", None),
    )


def _set_warning_state(state: WarningState) -> None:
    module: Any = warnings
    module.filters, module.showwarning, module._showwarnmsg_impl = state
    # Modules cache which warnings they have shown, and must read the new filters.
    module._filters_mutated() if hasattr(
        module, "_filters_mutated"
    ) else module._filters_mutated_lock_held()


class ItemContext:
    """All of pytest's process-wide state, swapped in for each stretch of one item's body."""

    def __init__(self, item: pytest.Item) -> None:
        manager = item.config.pluginmanager
        capture: CaptureManager | None = manager.get_plugin("capturemanager")
        plugin: Any = manager.get_plugin("logging-plugin")
        worker = worker_interactor(item.config)
        self._item = item
        self._worker = worker
        self.spent = ElapsedSeconds()
        self.warnings = Warnings(item.config, item)
        self._reported = None if worker is None else ReportedItem(item, worker)
        self._logs = None if plugin is None else Logs(item, plugin)
        self._fixture = None if capture is None else CaptureFixture(capture)
        thread = own_thread()
        self._pinned = None if thread is None else Pinned(thread)
        if capture is None or self._fixture is None:
            self._output = None
        else:
            self._output = CapturedStreams(capture, self._fixture)
        # Warnings are first in and last out: warnings caused by the other swaps belong
        # to this item, too.
        self._claimed = _those_of(
            self.warnings, CurrentTest(item), self._reported, self._logs, self._output
        )
        # The loop is not among the claims: an agent's reply is awaited in a loop of its
        # own.
        self._active = (self.spent, *self._claimed, RunningLoop())

    def begin_call(self) -> None:
        """Prepare caplog's records of the call phase."""
        if self._logs is not None:
            self._logs.begin_call()

    def active(self) -> InPlace:
        """Return a context with this item's state."""
        return InPlace(self._active)

    def claims(self) -> InPlace:
        """Return a context that attributes all output, logs and warnings to this item, whatever their source."""
        return InPlace(self._claimed)

    @property
    def log_level(self) -> int:
        """The lowest level of logs that the item wants."""
        if self._logs is None:
            return logging.root.level
        return self._logs.wanted_level(logging.root.level)

    def fixtures(self) -> InPlace:
        """Return a context with this item's warning filters, capsys ..., for setup or teardown of its fixtures."""
        return InPlace(_those_of(self._pinned, self.warnings, self._fixture))

    def reporting(self) -> InPlace:
        """Return a context in which xdist assigns reports to this item, whichever it asked for."""
        return InPlace(_those_of(self._pinned, self._reported))

    def announce_end(self, duration: float) -> None:
        """Notify xdist at once that the item is done, if it is not the one that xdist waits for."""
        if (
            self._reported is not None
            and self._reported.index != self._worker.item_index
        ):
            self._worker.sendevent(
                "runtest_protocol_complete",
                item_index=self._reported.index,
                duration=duration,
            )

    def add_sections(self) -> None:
        """Add the captured output to the item's report."""
        for name, parts in (
            self._output.texts.items() if self._output is not None else ()
        ):
            if parts:
                self._item.add_report_section(
                    "call", name, shorten_middle("".join(parts))
                )
        if self._logs is not None and self._logs.handler is not None:
            self._item.add_report_section(
                "call", "log", self._logs.handler.stream.getvalue().strip()
            )

    def restore_log_records(self) -> None:
        """Restore caplog's records of the body for teardown: pytest cleared them for the replayed call."""
        if self._logs is not None and self._logs.handler is not None:
            self._item.stash[caplog_records_key]["call"][:] = self._logs.handler.records


def _those_of(*swaps: Swap | None) -> tuple[Swap, ...]:
    return tuple(swap for swap in swaps if swap is not None)


class UnattributedOutput:
    """Output without an example (filler, opening), kept separate; must be closed at the end.

    Printed text is not shown, unless -s shows everything; warnings follow the
    configuration's filters, not those of the item that pytest asks for, and are
    reported without an owner.
    """

    def __init__(self, config: pytest.Config) -> None:
        capture: CaptureManager | None = config.pluginmanager.get_plugin(
            "capturemanager"
        )
        self._warnings = Warnings(config, None)
        self._swaps = _those_of(
            self._warnings, None if capture is None else DiscardOutput(capture)
        )

    def active(self) -> InPlace:
        """Return a context that keeps output separate."""
        return InPlace(self._swaps)

    def close(self) -> None:
        """Pass the recorded warnings to pytest."""
        self._warnings.close()


@runtime_checkable
class WorkerInteractor(Protocol):
    """xdist's worker object, whose class cannot be imported: xdist sends its source to the worker."""

    def sendevent(self, name: str, **values: Any) -> None:
        """Send the controller an event."""

    def handle_command(self, command: Any) -> None:
        """Execute a command of the controller."""


def worker_interactor(config: pytest.Config) -> Any:
    """Return xdist's worker object; None if this is not a worker."""
    if not hasattr(config, "workerinput"):
        return None
    return next(
        (
            p
            for p in config.pluginmanager.get_plugins()
            if isinstance(p, WorkerInteractor)
        ),
        None,
    )
