"""One store for the conversations of all users of a run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pytest_ltm.api.storage import ConfigurationError

MOST_USERS = 1_000
_shared: list[bool] = []


def share_backends() -> Callable[[], None]:
    """Share each store among its conversations from now on; return a function that ends this."""
    _shared.append(True)
    return _shared.clear


def backends_are_shared() -> bool:
    """Return whether all conversations of a store share it."""
    return bool(_shared)


def parse_users(text: str) -> int:
    """Return a number of users; ConfigurationError for anything else."""
    word = text.strip()
    if not word.isdecimal() or not 1 <= int(word) <= MOST_USERS:
        raise ConfigurationError(
            f"expected a number of users from 1 to {MOST_USERS:,}, got {text!r}"
        )
    return int(word)


class Backend:
    """Creates a store for each conversation, or one for all of them if the store separates users."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._store: Any = None

    def store(self) -> tuple[Any, bool]:
        """Return the store of the next conversation, and whether it is shared."""
        from pytest_ltm.agents.memory.stores import separates_users

        if not backends_are_shared():
            return self._make(), False
        with self._lock:
            store = self._make() if self._store is None else self._store
            is_shared = separates_users(store)
            if is_shared:
                self._store = store
            return store, is_shared
