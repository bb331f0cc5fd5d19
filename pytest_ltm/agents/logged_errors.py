"""LoggedErrors: errors that an agent logs instead of raising.

They are counted, so that a broken memory does not go unnoticed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pytest_ltm.api.model import Mishap
from pytest_ltm.api.storage import redact_secrets

# Characters of an error that are kept.
_LONGEST = 200


class LoggedErrors(logging.Handler):
    """Counts the errors that the agent of one conversation logs, by the line of code that logs them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._texts: dict[tuple[str, int], str] = {}
        self._counts = Counter[str]()

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Count errors logged in this context, or in any context if no other conversation collects."""
        outer = _COLLECTING.set(self)
        _OPEN.append(self)
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(self)
            _OPEN.remove(self)
            _COLLECTING.reset(outer)

    def emit(self, record: logging.LogRecord) -> None:
        """Count an error; later errors from the same line share the text of the first, as details vary."""
        # Threads that a library starts have no conversation; with several collecting at
        # once the owner is unknown.
        if (_COLLECTING.get() or (self if len(_OPEN) == 1 else None)) is not self:
            return
        place = record.pathname, record.lineno
        if place not in self._texts:
            raised = record.exc_info[1] if record.exc_info else None
            try:
                text = f"{record.getMessage()}{'' if raised is None else f': {raised}'}"
            except Exception:  # noqa: BLE001 - whoever logs must not fail by it
                text = str(record.msg)
            self._texts[place] = redact_secrets(
                f"{record.name} logged an error: {' '.join(text.split())}"[:_LONGEST]
            )
        self._counts[self._texts[place]] += 1

    def take(self) -> tuple[Mishap, ...]:
        """Return the errors counted since the last call."""
        if not self._counts:
            return ()
        counts = self._counts
        self._counts = Counter()
        return tuple(Mishap(kind, times) for kind, times in counts.items())


_COLLECTING: ContextVar[LoggedErrors | None] = ContextVar("_COLLECTING", default=None)
_OPEN: list[LoggedErrors] = []
