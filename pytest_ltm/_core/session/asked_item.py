"""AskedItem: the item that pytest asks for, whose fixtures must stay up."""

from __future__ import annotations

from collections.abc import Callable
from itertools import filterfalse
from typing import Any, cast

import pytest

from pytest_ltm._core.internals import setup as _internals
from pytest_ltm._core.session.state import REPORTED


class AskedItem:
    """The item that pytest asks for and the next one, as pytest announces them; none once the session stops."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._items: tuple[pytest.Item, pytest.Item | None] | None = None

    def note(self, item: pytest.Item, following: pytest.Item | None) -> None:
        """Record the item that pytest asks for."""
        self._items = item, following

    def forget(self, session: pytest.Session | None) -> None:
        """Forget the items when the session stops; no item that was not reported may keep its fixtures."""
        self._items = None
        if session is not None:
            _internals.leave_none_behind(session, is_reported)

    def next_up(self, item: pytest.Item) -> pytest.Item | None:
        """Return the item whose fixtures must stay up although no item in progress needs them."""
        if self._items is None or self._is_stopping():
            return None
        asked_item, following = self._items
        if item is not asked_item:
            return asked_item
        if following is None or not is_reported(following):
            return following
        items = item.session.items
        if following is item:
            # xdist has not announced yet which item follows on this worker, if any
            unreported = filterfalse(is_reported, items)
            return next(unreported, cast("Any", item.session))
        later = items[items.index(item) + 1 :]
        return next(filterfalse(is_reported, later), None)


def is_reported(item: pytest.Item) -> bool:
    """Return whether an item has been reported."""
    return REPORTED in item.stash
