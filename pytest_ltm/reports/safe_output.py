"""Sanitizes pytest's output of an LTM run: no secrets, no control sequences in reports or on screen."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryFile
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_ltm.api.internals import cut_file
from pytest_ltm.api.storage import (
    COLOR,
    LineSanitizer,
    Screen,
    fit_for,
    for_file,
    for_screen,
    is_plain,
    read_regular,
    redact_secrets,
    write_whole,
)

if TYPE_CHECKING:
    import warnings

    AnyReport = TypeVar("AnyReport", pytest.TestReport, pytest.CollectReport)


# Columns by which a shortened line is longer where `...` replaces one sign.
_LONGER = 2
# What pytest's own writer needs: colours, and returning to the beginning of its line.
_PYTESTS = re.compile(rf"(\A(?:{COLOR.pattern[1:-1]})*\r|{COLOR.pattern[1:-1]})")
# Kept in output of other code with -s: colours, and progress bars that rewrite their
# line.
_FOREIGN = re.compile(rf"(\r|{COLOR.pattern[1:-1]})")


def underlying_file(file: Any) -> Any:
    """Return the unwrapped file, for code that moves the cursor on purpose."""
    return file.beneath if isinstance(file, Screen) else file


# The options that name the files, or the folder, of pytest's JUnit report and of
# well-known plugins.
_WRITTEN_BY_OTHERS = (
    "xmlpath",
    "htmlpath",
    "json_report_file",
    "report_log",
    "allure_report_dir",
)
_DESCRIPTORS = {"stdout": 1, "stderr": 2}


@contextmanager
def keep_output_safe(config: pytest.Config) -> Iterator[None]:
    """Sanitize all output of an LTM run that is created within the block."""
    manager = config.pluginmanager
    manager.register(Boundary(config), "ltm-boundary")
    manager.register(EarlyBoundary(), "ltm-early-boundary")
    try:
        with _show_sanitized(config):
            yield
    except pytest.UsageError as error:
        raise pytest.UsageError(
            *(fit_for(sys.stderr, for_screen(str(word))) for word in error.args)
        ) from error


@contextmanager
def _show_sanitized(config: pytest.Config) -> Iterator[None]:
    """Before the session starts, delay the output of foreign code until after the block, and sanitize it."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    if manager is None or config.option.capture != "fd":
        boundary = Boundary(config)
        boundary.install()
        try:
            yield
        finally:
            boundary.uninstall()
        return
    manager.resume_global_capture()
    try:
        yield
    finally:
        manager.suspend_global_capture(in_=False)
        _show_captured(manager)


def _show_captured(manager: Any) -> None:
    """Show captured output that belongs to no report, sanitized."""
    for name, text in zip(_DESCRIPTORS, manager.read_global_capture(), strict=True):
        if text:
            Screen(getattr(sys, name)).write(text)
            getattr(sys, name).flush()


class _Descriptor:
    """Redirects descriptor 1 or 2 to a file while pytest does not capture; shows it line by line, sanitized.

    `captured`: pytest's capture of the stream, if any; `terminal`: the file that pytest itself writes to.
    """

    def __init__(self, name: str, captured: Any) -> None:
        self.number = _DESCRIPTORS[name]
        self._captured = captured
        self._old = getattr(sys, name)
        self.beneath, self._file = os.dup(self.number), TemporaryFile(buffering=0)  # noqa: SIM115
        self._lines = LineSanitizer()
        self._unfinished = b""
        self.terminal = self._old
        if self.is_behind(self._old):
            self.terminal = os.fdopen(
                os.dup(self.beneath),
                "w",
                buffering=1,
                encoding=self._old.encoding,
                errors=self._old.errors,
            )
        self.redirect()

    def is_behind(self, file: Any) -> bool:
        """Whether the file writes to this descriptor."""
        with suppress(OSError, ValueError, AttributeError):
            return bool(file.fileno() == self.number)
        return False

    def drain(self, *, whole: bool = False) -> None:
        """Show the lines written since the last call; with `whole` also an unfinished one."""
        if self.is_behind(self._old):
            with suppress(OSError, ValueError):
                self._old.flush()
        if os.fstat(self._file.fileno()).st_size:
            cut_file(self._file)
            self._file.seek(0)
            self._unfinished += self._file.read() or b""
            self._file.seek(0)
            self._file.truncate()
        if whole and self._unfinished:
            lines = self._unfinished
            mark = b"\n"
            self._unfinished = b""
        else:
            lines, mark, self._unfinished = self._unfinished.rpartition(b"\n")
        if mark:
            cleaned = map(
                self._lines.shown,
                lines.removesuffix(b"\n").decode("utf-8", "replace").split("\n"),
            )
            self.terminal.write(fit_for(self.terminal, "\n".join(cleaned) + "\n"))
            self.terminal.flush()

    def redirect(self) -> None:
        """Redirect the descriptor to the file, even after pytest stops capturing."""
        self._lead_to(self._file.fileno())

    def restore(self) -> None:
        """Point the descriptor at its original target, for a debugger."""
        self.drain(whole=True)
        self._lead_to(self.beneath)

    def _lead_to(self, descriptor: int) -> None:
        saved = getattr(self._captured, "targetfd_save", None)
        if saved is not None:
            os.dup2(descriptor, saved)
        if saved is None or self._captured._state != "started":
            os.dup2(descriptor, self.number)

    def close(self) -> None:
        """Restore the descriptor and release the file."""
        self.restore()
        os.close(self.beneath)
        self._file.close()
        if self.terminal is not self._old:
            self.terminal.close()


class _ForeignScreen(Screen):
    """sys.stdout or sys.stderr of foreign code; child processes that inherit it write to its descriptor."""

    descriptor: _Descriptor

    def fileno(self) -> int:
        """Return the descriptor that leads to the file."""
        return self.descriptor.number


class Boundary:
    """Sanitizes all output of pytest: terminal, live view, JUnit, pytest-html, data for other processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._swapped: list[tuple[Any, str, Screen, Any]] = []
        self._descriptors: dict[str, _Descriptor] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Sanitize the screen, --log-file, and further output of foreign code."""
        self.install()
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            writer: Any = self._config.get_terminal_writer()
            file = underlying_file(writer._file)
            descriptor = self._descriptor_of(file)
            terminal = file if descriptor is None else descriptor.terminal
            self._swap(writer, "_file", Screen(terminal, _PYTESTS, self.drain), file)
            if is_plain(writer._file):
                writer.fullwidth -= _LONGER
        handler: Any = getattr(
            self._config.pluginmanager.get_plugin("logging-plugin"),
            "log_file_handler",
            None,
        )
        if getattr(handler, "stream", None) is not None:
            self._swap(handler, "stream", Screen(handler.stream, _PYTESTS))

    def _descriptor_of(self, file: Any) -> _Descriptor | None:
        """Return the redirected descriptor that a file writes to, if any."""
        for descriptor in self._descriptors.values():
            if descriptor.is_behind(file):
                return descriptor
        return None

    def install(self) -> None:
        """Redirect stdout and stderr of foreign code through the sanitizer."""
        manager: Any = self._config.pluginmanager.get_plugin("capturemanager")
        for name in _DESCRIPTORS:
            captured = getattr(
                getattr(manager, "_global_capturing", None),
                name.removeprefix("std"),
                None,
            )
            old = getattr(sys, name)
            with suppress(OSError):  # closed, so nothing reads it
                self._descriptors[name] = _Descriptor(name, captured)
            descriptor = self._descriptors.get(name)
            is_apart = descriptor is not None and descriptor.terminal is not old
            if is_apart and hasattr(captured, "targetfd_save"):
                continue
            screen = Screen(old, _FOREIGN, self.drain)
            if descriptor is not None and is_apart:
                screen = _ForeignScreen(descriptor.terminal, _FOREIGN, self.drain)
                screen.descriptor = descriptor
            self._swap(sys, name, screen)
            syscapture = getattr(captured, "syscapture", captured)
            # --capture=tee-sys
            tee = getattr(captured, "tmpfile", None)
            for owner, attribute in ((syscapture, "_old"), (tee, "_other")):
                if hasattr(owner, attribute):
                    self._swap(owner, attribute, screen)

    def drain(self) -> None:
        """Show the output that foreign code wrote to descriptors."""
        for descriptor in self._descriptors.values():
            descriptor.drain()

    pytest_runtest_logreport = drain

    def terminal(self, name: str) -> int:
        """Return the terminal's descriptor behind sys.stdout or sys.stderr, even while output is captured."""
        descriptor = self._descriptors.get(name)
        return _DESCRIPTORS[name] if descriptor is None else descriptor.beneath

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Give a debugger the terminal."""
        for descriptor in self._descriptors.values():
            descriptor.restore()

    def pytest_leave_pdb(self) -> None:
        """Redirect the descriptors again."""
        for descriptor in self._descriptors.values():
            descriptor.redirect()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Sanitize the files written by other plugins: they contain raw ids and parameters."""
        yield
        for option in _WRITTEN_BY_OTHERS:
            path_text = getattr(self._config.option, option, None)
            if not path_text:
                continue
            path = Path(os.path.expandvars(path_text)).expanduser()
            for file in path.rglob("*") if path.is_dir() else [path]:
                with suppress(OSError, UnicodeDecodeError):
                    _clean_file(file)

    def pytest_unconfigure(self) -> None:
        """Restore the streams after unused agents are collected."""
        gc.collect()
        manager: Any = self._config.pluginmanager.get_plugin("capturemanager")
        # pytest writes remaining captured output to the terminal unsanitized, for
        # example if a logger kept the stream from its setup and an agent logged in
        # close(). After an interrupt, pytest has stopped capturing already.
        if getattr(manager, "_global_capturing", None) is not None:
            manager.suspend_global_capture(in_=False)
            # After an interrupt there is no capture, which pytest asserts.
            with suppress(AssertionError):
                _show_captured(manager)
        self.uninstall()
        atexit.unregister(_sanitize_at_exit)
        atexit.register(_sanitize_at_exit)

    def uninstall(self) -> None:
        """Restore the replaced streams, unless other code has replaced them since."""
        for owner, name, screen, old in self._swapped:
            if getattr(owner, name, None) is screen:
                setattr(owner, name, old)
            screen.beneath = old  # a logger may have kept it
        for descriptor in self._descriptors.values():
            descriptor.close()
        self._descriptors.clear()

    def _swap(self, owner: Any, name: str, screen: Screen, old: Any = None) -> None:
        self._swapped.append((owner, name, screen, old or getattr(owner, name)))
        setattr(owner, name, screen)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Sanitize captured output before other plugins read it, and the output that they add."""
        sections: list[tuple[str, str, str]] = []
        for when, name, text in item._report_sections:
            sections.append((when, _clean_text(name), _clean_text(text)))
        item._report_sections[:] = sections
        return _clean_report((yield))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Sanitize the error of a file that could not be collected."""
        return _clean_report((yield))

    def pytest_make_parametrize_id(self, val: object) -> str | None:
        """Name a secret parameter by its variable; pytest keeps ids unique."""
        text = val.decode("utf-8", "replace") if isinstance(val, bytes) else val
        if not isinstance(text, str) or redact_secrets(text) == text:
            return None
        return re.sub(r"\W+", "_", redact_secrets(text)).strip("_")

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Sanitize a warning but keep its category."""
        text = str(warning_message.message)
        if (cleaned := _clean_text(text)) != text:
            warning_message.message = cleaned
        if warning_message.line:
            warning_message.line = _clean_text(warning_message.line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any) -> None:
        """Sanitize the traceback of an error of pytest or a plugin."""
        _clean_deep(excrepr, _DEEPEST)


class EarlyBoundary:
    """Sanitizes item failures before other plugins read them."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Sanitize a report as soon as it is created."""
        return _clean_report((yield))


def _sanitize_at_exit() -> None:
    """Sanitize the output of objects that live as long as the process."""
    for name in (*_DESCRIPTORS, *(f"__{name}__" for name in _DESCRIPTORS)):
        if (file := getattr(sys, name, None)) is not None and not isinstance(
            file, Screen
        ):
            setattr(sys, name, Screen(file))


def _clean_file(path: Path) -> None:
    text = read_regular(path).decode("utf-8")
    if redact_secrets(text) != text:
        write_whole(path, for_file(text))


# Levels of a representation: a report holds a chain of tracebacks, these hold entries,
# and these lines.
_DEEPEST = 12


def _clean_report(report: AnyReport) -> AnyReport:
    sections: list[tuple[str, str]] = []
    for name, text in report.sections:
        sections.append((_clean_text(name), _clean_text(text)))
    report.sections[:] = sections
    for name in ("user_properties", "wasxfail"):
        content = getattr(report, name, None)
        if content and not _are_clean(content):
            setattr(report, name, _clean_deep(content, _DEEPEST))
    if report.longrepr is not None and not report.passed:
        text = str(report.longrepr)
        if _clean_text(text) != text:
            report.longrepr = _clean_deep(report.longrepr, _DEEPEST)
    return report


def _are_clean(content: str | list[tuple[str, object]]) -> bool:
    """Return whether texts and numbers, checked all at once, are clean; False for any other values."""
    pairs = [(content, "")] if isinstance(content, str) else content
    texts: list[str] = []
    for part in chain.from_iterable(pairs):
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, (int, float, NoneType)):
            return False
    text = "\n".join(texts)
    return _clean_text(text) == text


def _clean_text(text: str) -> str:
    """Return the text sanitized; colours are removed because JUnit would show escape sequences."""
    return for_screen(COLOR.sub("", text))


def _clean_deep(value: Any, levels: int) -> Any:
    """Return a text sanitized, or a list or object whose parts are sanitized in place."""
    if isinstance(value, str):
        return _clean_text(value)
    if not levels or value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return _clean_lines(value)
    if isinstance(value, (list, tuple)):
        parts = [_clean_deep(part, levels - 1) for part in value]
        if all(part is original for part, original in zip(parts, value, strict=True)):
            return value  # the properties of an item are shared by its reports
        return parts if isinstance(value, list) else tuple(parts)
    for name, part in list(getattr(value, "__dict__", {}).items()):
        # some objects are frozen
        object.__setattr__(value, name, _clean_deep(part, levels - 1))
    return value


def _clean_lines(lines: list[str]) -> list[str]:
    """Return lines sanitized together: a private key spans many."""
    cleaned = _clean_text("\n".join(lines)).split("\n")
    if len(cleaned) != sum(line.count("\n") + 1 for line in lines):
        return [_clean_text(line) for line in lines]
    cleaned_lines = iter(cleaned)
    return ["\n".join(islice(cleaned_lines, line.count("\n") + 1)) for line in lines]
