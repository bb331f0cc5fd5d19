"""Chance of libraries: some draw from the module-level `random`, where our own code never may."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def chance_put_back() -> Iterator[None]:
    """Let a library draw from the module-level `random`."""
    state = random.getstate()
    yield
    random.setstate(state)
