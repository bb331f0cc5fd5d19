"""Output of agents in their own threads: prints, logs and warnings are captured, and replayed for their item.

`_pytest.capture` sets sys.stdout and sys.stderr by calling `setattr`, which is looked
up in the module first.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from _pytest import capture

from pytest_ltm._core.calls.conversation_thread import SAYING

_STREAMS = ("stdout", "stderr")


class _Routed:
    """sys.stdout or sys.stderr: captures the output of agents' threads, and passes on everything else."""

    def __init__(self, name: str, file: Any) -> None:
        self._name = name
        self._file = file

    def write(self, text: str) -> Any:
        speaking = SAYING.get()
        if speaking is None:
            return self._file.write(text)
        speaking.add(lambda: getattr(sys, self._name).write(text), len(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if SAYING.get() is None:
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _set_routed(where: Any, name: str, value: Any) -> None:
    routed = where is sys and name in _STREAMS and not isinstance(value, _Routed)
    setattr(where, name, _Routed(name, value) if routed else value)


@contextmanager
def route_agent_output() -> Iterator[None]:
    """Capture the output of agents' threads in the block until their conversations continue."""
    with _route_streams(), _route_logging(), _route_warnings():
        yield


@contextmanager
def _route_streams() -> Iterator[None]:
    module: Any = capture
    module.setattr = _set_routed
    for name in _STREAMS:
        _set_routed(sys, name, getattr(sys, name))
    try:
        yield
    finally:
        del module.setattr
        for name in _STREAMS:
            stream = getattr(sys, name)
            if isinstance(stream, _Routed):
                setattr(sys, name, stream._file)


@contextmanager
def _route_logging() -> Iterator[None]:
    handle = logging.Logger.handle
    is_enabled = logging.Logger.isEnabledFor

    def handle_record(logger: logging.Logger, record: logging.LogRecord) -> None:
        speaking = SAYING.get()
        if speaking is None:
            handle(logger, record)
        else:
            speaking.add(partial(handle, logger, record))

    def is_enabled_for(logger: logging.Logger, level: int) -> bool:
        speaking = SAYING.get()
        if speaking is None:
            return is_enabled(logger, level)
        return _is_wanted(logger, level, speaking.level)

    logging.Logger.handle = handle_record  # type: ignore[method-assign,assignment]
    logging.Logger.isEnabledFor = is_enabled_for  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        logging.Logger.handle = handle  # type: ignore[method-assign]
        logging.Logger.isEnabledFor = is_enabled  # type: ignore[method-assign]


@contextmanager
def _route_warnings() -> Iterator[None]:
    warn = warnings.warn

    def show_warning(
        message: Any,
        category: Any = None,
        stacklevel: int = 1,
        source: Any = None,
        **more: Any,
    ) -> None:
        speaking = SAYING.get()
        if speaking is None:
            warn(message, category, stacklevel + 1, source, **more)
            return
        frame: Any = sys._getframe(1)
        for _ in range(stacklevel - 1):
            frame = frame.f_back or frame
        speaking.add(
            partial(
                warnings.warn_explicit,
                message,
                _warning_category(message, category),
                frame.f_code.co_filename,
                frame.f_lineno,
                frame.f_globals.get("__name__", "<unknown>"),
                source=source,
            )
        )

    warnings.warn = show_warning
    try:
        yield
    finally:
        warnings.warn = warn


def _warning_category(message: Any, category: Any) -> Any:
    """Return the category as `warnings.warn` determines it."""
    if isinstance(message, Warning):
        return type(message)
    return category or UserWarning


def _is_wanted(logger: logging.Logger, level: int, root_level: int) -> bool:
    """Return the result of `Logger.isEnabledFor` if the root logger had this level."""
    if logger.disabled or logger.manager.disable >= level:
        return False
    ancestor: logging.Logger | None = logger
    while ancestor is not None and ancestor is not logging.root:
        if ancestor.level:
            return level >= ancestor.level
        ancestor = ancestor.parent
    return level >= root_level
