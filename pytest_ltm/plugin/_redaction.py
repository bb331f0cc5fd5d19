"""Redaction: what pytest itself shows of an LTM run (tracebacks, locals, captured output, warnings) has no secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._secrets import redacted

if TYPE_CHECKING:
    import warnings
    from collections.abc import Generator

_DEEPEST = 12
"""Levels of a representation: a report holds a chain of tracebacks, these entries, these lines."""


class Redaction:
    """Takes secrets out of every report before anybody shows it: terminal, JUnit, pytest-html, other processes."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Redact how an item failed, and what was captured on the way."""
        report = yield
        _redact(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Redact why a file could not be collected."""
        report = yield
        _redact(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Redact a warning; its category stays."""
        text = str(warning_message.message)
        shown = redacted(text)
        if shown != text:
            warning_message.message = shown
        if warning_message.line:
            warning_message.line = redacted(warning_message.line)


def _redact(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.sections[:] = [(redacted(name), redacted(text)) for name, text in report.sections]
    if report.longrepr is None or report.passed:
        return
    text = str(report.longrepr)
    if redacted(text) != text:
        report.longrepr = _without(report.longrepr, _DEEPEST)


def _without(value: Any, levels: int) -> Any:
    """Return a text redacted, and a list or an object with its parts redacted in place."""
    if isinstance(value, str):
        return redacted(value)
    if not levels or value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        parts = [_without(part, levels - 1) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    for name, part in list(getattr(value, "__dict__", {}).items()):
        object.__setattr__(value, name, _without(part, levels - 1))  # some are frozen
    return value
