"""Swaps: each thing that there is one of in the process, put in place for one item and taken out again.

With every message all of them are put in and taken out three times: so they are flat, and do no more than is needed.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any, Protocol

from _pytest.logging import LogCaptureHandler, caplog_handler_key, caplog_records_key

from pytest_ltm._clock import stopwatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from _pytest.capture import CaptureManager


class Swap(Protocol):
    """One thing that an item has for itself."""

    def put_in(self) -> Any:
        """Put the item's own in place; return what was there."""
        ...

    def take_out(self, outside: Any) -> None:
        """Keep the item's own for the next time, and put back what was there."""
        ...


class InPlace:
    """Several swaps as one context; the last in is the first out, and each is taken out whatever befell the others."""

    __slots__ = ("_inside", "_swaps")

    def __init__(self, swaps: Sequence[Swap]) -> None:
        self._swaps = swaps
        self._inside: list[tuple[Swap, Any]] = []

    def __enter__(self) -> None:
        try:
            for swap in self._swaps:
                self._inside.append((swap, swap.put_in()))
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._inside:
            swap, outside = self._inside.pop()
            try:
                swap.take_out(outside)
            finally:
                self.__exit__()


class Spent:
    """The seconds that went by inside, summed up."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def put_in(self) -> float:
        """Return the time on the stopwatch."""
        return stopwatch()

    def take_out(self, outside: float) -> None:
        """Add what went by."""
        self.seconds += stopwatch() - outside


class CurrentTest:
    """PYTEST_CURRENT_TEST, which tells other programs and hung sessions what is running."""

    NAME = "PYTEST_CURRENT_TEST"

    def __init__(self, item: pytest.Item) -> None:
        self._value = f"{item.nodeid} (call)".replace("\x00", "(null)")

    def put_in(self) -> str | None:
        """Name the item."""
        before = os.environ.get(self.NAME)
        os.environ[self.NAME] = self._value
        return before

    def take_out(self, outside: str | None) -> None:
        """Name what was named."""
        if outside is None:
            os.environ.pop(self.NAME, None)
        else:
            os.environ[self.NAME] = outside


class ReportedItem:
    """The item that xdist takes reports to be of, on a worker."""

    def __init__(self, item: pytest.Item, worker: Any) -> None:
        self._item, self._worker = item, worker
        self.index: int | None = None

    def put_in(self) -> int:
        """Report this item, whichever xdist asked for."""
        if self.index is None:
            self.index = self._item.session.items.index(self._item)
        asked: int = self._worker.item_index
        self._worker.item_index = self.index
        return asked

    def take_out(self, outside: int) -> None:
        """Report the one that xdist asked for."""
        self._worker.item_index = outside


class Logs:
    """Handlers and level of the root logger, with a handler for what caplog and the report show."""

    def __init__(self, item: pytest.Item, plugin: Any) -> None:
        self._item, self._plugin = item, plugin
        self._level: int | None = None
        self._added: list[logging.Handler] = []
        self._removed: list[logging.Handler] = []
        self.handler: LogCaptureHandler | None = None

    def begin_call(self) -> None:
        """Prepare what caplog shows of the call phase."""
        handler = self.handler = LogCaptureHandler()
        handler.setFormatter(self._plugin.formatter)
        self._added.append(handler)
        if self._plugin.log_level is not None:
            handler.setLevel(self._plugin.log_level)
        self._item.stash[caplog_handler_key] = handler
        self._item.stash[caplog_records_key]["call"] = handler.records

    def put_in(self) -> tuple[int, list[logging.Handler], list[logging.Handler]]:
        """Log for this item; return level and handlers as they were, and the handlers as they are."""
        root, others = logging.root, logging.root.handlers[:]
        outside = level = root.level
        if self._level is not None:
            level = self._level
        elif self.handler is not None and self.handler.level:
            level = min(level, self.handler.level)
        _set_level(root, level)
        mine = root.handlers[:] = [one for one in others if one not in self._removed] + self._added
        return outside, others, mine

    def take_out(self, outside: tuple[int, list[logging.Handler], list[logging.Handler]]) -> None:
        """Keep what the item has added, removed and set; log as before."""
        root, (level, others, mine) = logging.root, outside
        if root.handlers != mine:
            self._added = [one for one in root.handlers if one not in others]
            self._removed = [one for one in others if one not in root.handlers]
        root.handlers[:] = others
        self._level = root.level  # caplog.set_level moves it, for this item only
        _set_level(root, level)

    def restore_records(self) -> None:
        """Give caplog's users in teardown the records of the body: pytest cleared them for the replayed call."""
        if self.handler is not None:
            self._item.stash[caplog_records_key]["call"][:] = self.handler.records


def _set_level(root: logging.Logger, level: int) -> None:
    if root.level != level:  # whenever it is set, all loggers forget what they know of levels
        root.setLevel(level)


class CaptureFixture:
    """The item's capsys, capfd ..., of which pytest's manager knows one at a time."""

    def __init__(self, manager: CaptureManager) -> None:
        self._manager = manager
        self._mine: Any = None

    def put_in(self) -> Any:
        """Put this item's in place."""
        others, self._manager._capture_fixture = self._manager._capture_fixture, self._mine
        return others

    def take_out(self, outside: Any) -> None:
        """Keep it."""
        self._mine, self._manager._capture_fixture = self._manager._capture_fixture, outside


class Output:
    """What is captured of stdout and stderr for the item's report."""

    in_debugger = False
    """Whether pdb has the terminal: capturing then stays off. Set for the class."""

    def __init__(self, manager: CaptureManager, fixture: CaptureFixture) -> None:
        self._manager, self._fixture = manager, fixture
        self.texts: dict[str, list[str]] = {"stdout": [], "stderr": []}

    def put_in(self) -> tuple[Any] | None:
        """Capture; return the fixture that was there, None if nothing is captured."""
        if Output.in_debugger:
            self._manager.suspend(in_=True)  # a hook call of another item may have resumed it
            return None
        others = self._fixture.put_in()
        self._manager.resume_global_capture()
        self._manager.activate_fixture()
        return (others,)

    def take_out(self, outside: tuple[Any] | None) -> None:
        """Keep what was captured."""
        if outside is None:
            return
        try:
            self._manager.deactivate_fixture()
            self._manager.suspend_global_capture(in_=False)
            for parts, text in zip(self.texts.values(), self._manager.read_global_capture(), strict=True):
                if text:
                    parts.append(text)
        finally:
            self._fixture.take_out(outside[0])


class RunningLoop:
    """asyncio's one running loop of a thread: bodies that take turns must not see each other's."""

    def __init__(self) -> None:
        self._mine: asyncio.AbstractEventLoop | None = None

    def put_in(self) -> asyncio.AbstractEventLoop | None:
        """Run in this item's loop, if it is in any."""
        outside = asyncio._get_running_loop()
        asyncio._set_running_loop(self._mine)
        return outside

    def take_out(self, outside: asyncio.AbstractEventLoop | None) -> None:
        """Run in whichever loop was running."""
        self._mine = asyncio._get_running_loop()
        asyncio._set_running_loop(outside)
