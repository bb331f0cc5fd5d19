"""Warnings: filters and records of an item's own."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from _pytest.warnings import catch_warnings_for_item

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class Warnings:
    """The warning filters and records of one item, put in place for each stretch of it.

    pytest.warns, recwarn and filterwarnings marks then work in bodies that take turns.
    """

    def __init__(self, item: pytest.Item) -> None:
        config = item.config
        self._recording: AbstractContextManager[None] | None = None
        if config.pluginmanager.has_plugin("warnings"):
            outside = _warning_state()
            self._recording = catch_warnings_for_item(config=config, ihook=item.ihook, when="runtest", item=item)
            self._recording.__enter__()
            self._inside = _warning_state()
            _set_warning_state(outside)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Put this item's warning state in place meanwhile."""
        if self._recording is None:
            yield
            return
        outside = _warning_state()
        _set_warning_state(self._inside)
        try:
            yield
        finally:
            self._inside = _warning_state()
            _set_warning_state(outside)

    def close(self) -> None:
        """Hand the recorded warnings to pytest."""
        recording, self._recording = self._recording, None
        if recording is not None:
            outside = _warning_state()
            recording.__exit__(None, None, None)
            _set_warning_state(outside)


def _warning_state() -> tuple[Any, Any, Any]:
    return warnings.filters, warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)


def _set_warning_state(state: tuple[Any, Any, Any]) -> None:
    module: Any = warnings
    module.filters, module.showwarning, module._showwarnmsg_impl = state
    # Modules remember which warnings they have shown; they must look at the new filters.
    module._filters_mutated() if hasattr(module, "_filters_mutated") else module._filters_mutated_lock_held()
