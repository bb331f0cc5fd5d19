"""Looking agents up without their keys: in a dry run none is made, so none needs one."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYLESS = ContextVar("_KEYLESS", default=False)


@contextmanager
def keyless() -> Iterator[None]:
    """Let agents be looked up that lack their keys or clients, within the block."""
    token = _KEYLESS.set(True)
    try:
        yield
    finally:
        _KEYLESS.reset(token)


def is_keyless() -> bool:
    """Return whether the agents that are looked up now will never be made."""
    return _KEYLESS.get()
