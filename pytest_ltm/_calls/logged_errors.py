"""LoggedErrors: what an agent logs as an error instead of raising it, so that nobody scores a broken memory unaware."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from pytest_ltm._model.agent import Mishap
from pytest_ltm._storage.secrets import redact_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 200
"""Characters of an error that are kept."""


class LoggedErrors:
    """Counts the errors that the agent of one conversation logs, by the line of code that logs them."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], str] = {}
        self._counts = Counter[str]()

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Count what is logged meanwhile: in this context, or in any other if no other conversation collects."""
        outer = _COLLECTING.set(self)
        _HANDLER.open(self)
        try:
            yield
        finally:
            _HANDLER.close_one(self)
            _COLLECTING.reset(outer)

    def count(self, record: logging.LogRecord) -> None:
        """Count an error; its text is that of the first one from the same line, as details differ each time."""
        place = record.pathname, record.lineno
        if place not in self._texts:
            raised = record.exc_info[1] if record.exc_info else None
            text = " ".join(f"{record.getMessage()}{'' if raised is None else f': {raised}'}".split())
            self._texts[place] = redact_secrets(f"{record.name} logged an error: {text}"[:_LONGEST])
        self._counts[self._texts[place]] += 1

    def take(self) -> tuple[Mishap, ...]:
        """Return what was counted since this was last asked."""
        counts, self._counts = self._counts, Counter()
        return tuple(Mishap(what, times) for what, times in counts.items())


_COLLECTING: ContextVar[LoggedErrors | None] = ContextVar("_COLLECTING", default=None)


class _ErrorHandler(logging.Handler):
    """Stands at the root logger while anybody collects."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._open: list[LoggedErrors] = []
        self._changing = threading.Lock()

    def open(self, errors: LoggedErrors) -> None:
        with self._changing:
            if not self._open:
                logging.getLogger().addHandler(self)
            self._open.append(errors)

    def close_one(self, errors: LoggedErrors) -> None:
        with self._changing:
            self._open.remove(errors)
            if not self._open:
                logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        open_now = self._open[:]
        # Threads that a library starts for itself know no conversation; with several at once nobody knows whose it is.
        errors = _COLLECTING.get() or (open_now[0] if len(set(open_now)) == 1 else None)
        if errors is not None:
            try:
                errors.count(record)
            except Exception:  # noqa: BLE001 - as the logging module does: whoever logs must not fail by it
                self.handleError(record)


_HANDLER = _ErrorHandler()
