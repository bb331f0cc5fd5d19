"""Warnings: filters and records of an item's own."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.warnings import catch_warnings_for_item

from pytest_ltm.plugin._internals._swaps import InPlace

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

WarningState = tuple[Any, Any, Any]

OUTSIDE: pytest.StashKey[WarningState] = pytest.StashKey()
"""The state outside of all items: inside, the marks of whichever item pytest asks for hold."""


class Warnings:
    """The warning filters and records of one item (None: of nobody), put in place for each stretch of it.

    pytest.warns, recwarn and filterwarnings marks then work in bodies that take turns.
    """

    def __init__(self, config: pytest.Config, item: pytest.Item | None) -> None:
        self._recording: AbstractContextManager[None] | None = None
        filters, *rest = config.stash[OUTSIDE]
        self._inside: WarningState = (list(filters), *rest)
        if config.pluginmanager.has_plugin("warnings"):
            ihook = config.hook if item is None else item.ihook
            recording = catch_warnings_for_item(config=config, ihook=ihook, when="runtest", item=item)
            with self.active():
                recording.__enter__()
            self._recording = recording

    def active(self) -> InPlace:
        """Put this warning state in place meanwhile."""
        return InPlace((self,))

    def put_in(self) -> WarningState:
        """Warn as this item does; return the state that was there."""
        outside = _warning_state()
        _set_warning_state(self._inside)
        return outside

    def take_out(self, outside: WarningState) -> None:
        """Keep this item's state, and warn as before."""
        self._inside = _warning_state()
        _set_warning_state(outside)

    def close(self) -> None:
        """Hand the recorded warnings to pytest."""
        recording, self._recording = self._recording, None
        if recording is not None:
            with self.active():
                recording.__exit__(None, None, None)


def remember_warnings(config: pytest.Config) -> None:
    """Take the present state as that outside of all items."""
    config.stash[OUTSIDE] = _warning_state()


def _warning_state() -> WarningState:
    return warnings.filters, warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)


def _set_warning_state(state: WarningState) -> None:
    module: Any = warnings
    module.filters, module.showwarning, module._showwarnmsg_impl = state
    # Modules remember which warnings they have shown; they must look at the new filters.
    module._filters_mutated() if hasattr(module, "_filters_mutated") else module._filters_mutated_lock_held()
