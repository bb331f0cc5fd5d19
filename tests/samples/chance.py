"""Randomness of libraries: some draw from the module-level `random`, which our own code must never do."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def chance_put_back() -> Iterator[None]:
    """Restore the module-level `random` after a library has drawn from it."""
    state = random.getstate()
    yield
    random.setstate(state)
