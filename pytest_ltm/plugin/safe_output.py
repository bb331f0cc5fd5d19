"""What pytest shows of an LTM run has no secrets and drives no terminal: every report, and every line on the screen."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_ltm._storage.disk import write_whole
from pytest_ltm._storage.sanitize import COLOR, Screen, for_file, for_screen, is_plain
from pytest_ltm._storage.secrets import redact_secrets

if TYPE_CHECKING:
    import warnings
    from collections.abc import Generator

    AnyReport = TypeVar("AnyReport", pytest.TestReport, pytest.CollectReport)


_LONGER = 2
"""Columns that a shortened line is longer by where `...` stands for one sign."""
_PYTESTS = re.compile(rf"(\A(?:{COLOR.pattern[1:-1]})*\r|{COLOR.pattern[1:-1]})")
"""What pytest's own writer needs: colours, and to go back to the beginning of its line."""
_FOREIGN = re.compile(rf"(\r|{COLOR.pattern[1:-1]})")
"""What stays of what others write with -s: colours, and bars that rewrite their line."""


def underlying_file(file: Any) -> Any:
    """Return the file itself, for what moves the cursor on purpose."""
    return file.beneath if isinstance(file, Screen) else file


class Boundary:
    """Sees to all that pytest shows: terminal, live view, JUnit, pytest-html, what is sent to other processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._swapped: list[tuple[Any, str, Screen]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Stand before the screen, and before --log-file."""
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            writer: Any = self._config.get_terminal_writer()
            self._swap(writer, "_file", _PYTESTS)
            if is_plain(writer._file):
                writer.fullwidth -= _LONGER
        handler: Any = getattr(self._config.pluginmanager.get_plugin("logging-plugin"), "log_file_handler", None)
        if getattr(handler, "stream", None) is not None:
            self._swap(handler, "stream", _PYTESTS)
        if getattr(self._config.option, "capture", "no") == "no":
            for name in ("stdout", "stderr"):
                self._swap(sys, name, _FOREIGN)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Clean what others wrote of node ids, which may show a secret parameter, and must not change during a run."""
        yield
        for name in ("xmlpath", "htmlpath"):
            given = getattr(self._config.option, name, None)
            path = Path(os.path.expandvars(given)).expanduser() if given else None
            if path is None or not path.is_file():
                continue
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                if redact_secrets(text) != text:
                    write_whole(path, for_file(text))

    def pytest_unconfigure(self) -> None:
        """Go away, unless somebody else stands before us by now."""
        for owner, name, screen in self._swapped:
            if getattr(owner, name) is screen:
                setattr(owner, name, screen.beneath)

    def _swap(self, owner: Any, name: str, kept: re.Pattern[str]) -> None:
        screen = Screen(getattr(owner, name), kept)
        setattr(owner, name, screen)
        self._swapped.append((owner, name, screen))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, AnyReport, AnyReport]:
        """Clean how an item failed, or why a file could not be collected, and what was captured on the way."""
        report = yield
        _clean_report(report)
        return report

    pytest_make_collect_report = pytest_runtest_makereport

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Clean a warning; its category stays."""
        text = str(warning_message.message)
        cleaned = _clean_text(text)
        if cleaned != text:
            warning_message.message = cleaned
        if warning_message.line:
            warning_message.line = _clean_text(warning_message.line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any) -> None:
        """Clean the traceback of an error of pytest or a plugin."""
        _clean_deep(excrepr, _DEEPEST)


_DEEPEST = 12
"""Levels of a representation: a report holds a chain of tracebacks, these entries, these lines."""


def _clean_report(report: AnyReport) -> None:
    report.sections[:] = [(_clean_text(name), _clean_text(text)) for name, text in report.sections]
    for name in ("user_properties", "wasxfail"):
        if getattr(report, name, None):
            setattr(report, name, _clean_deep(getattr(report, name), _DEEPEST))
    if report.longrepr is None or report.passed:
        return
    text = str(report.longrepr)
    if _clean_text(text) != text:
        report.longrepr = _clean_deep(report.longrepr, _DEEPEST)


def _clean_text(text: str) -> str:
    """Return a text that everybody may show; colours would be an escape sequence in JUnit."""
    return for_screen(COLOR.sub("", text))


def _clean_deep(value: Any, levels: int) -> Any:
    """Return a text cleaned, and a list or an object with its parts cleaned in place."""
    if isinstance(value, str):
        return _clean_text(value)
    if not levels or value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return _clean_lines(value)
    if isinstance(value, (list, tuple)):
        parts = [_clean_deep(part, levels - 1) for part in value]
        if all(part is before for part, before in zip(parts, value, strict=True)):
            return value  # the properties of an item stand in each of its reports
        return parts if isinstance(value, list) else tuple(parts)
    for name, part in list(getattr(value, "__dict__", {}).items()):
        object.__setattr__(value, name, _clean_deep(part, levels - 1))  # some are frozen
    return value


def _clean_lines(lines: list[str]) -> list[str]:
    """Return lines cleaned together: a private key has many."""
    cleaned = _clean_text("\n".join(lines)).split("\n")
    if len(cleaned) != sum(line.count("\n") + 1 for line in lines):
        return [_clean_text(line) for line in lines]
    left = iter(cleaned)
    return ["\n".join(next(left) for _ in range(line.count("\n") + 1)) for line in lines]
