"""ReplacedParts: names the code that replaced a part of Python's library, if that ended the session."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from types import CodeType, ModuleType, TracebackType
from typing import Any

import pytest

from pytest_ltm.api.storage import for_screen, join_some

_MOST_NAMED = 3
_CURE = (
    "all share this process. --ltm-agent-process gives each agent a process of its own, "
    "where it ends that agent's conversations only"
)


class ReplacedParts:
    """Lists, below an internal error, replaced parts of Python's library found in the traceback."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_internalerror(
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> Generator[None, object, object]:
        """Print the replaced parts next to the error; this never raises, whatever was replaced."""
        shown = yield
        with suppress(Exception):
            terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
            for sentence in map(for_screen, _sentences(excinfo.tb)):
                if terminal is None:  # plugins are still being configured
                    sys.stderr.write(f"{sentence}\n")
                else:
                    terminal.write_line(sentence)
        return shown


def _sentences(traceback: TracebackType | None) -> Iterator[str]:
    codes = list[CodeType]()
    while traceback is not None:
        codes.append(traceback.tb_frame.f_code)
        traceback = traceback.tb_next
    names: dict[CodeType, list[str]] = {}
    for name, code in replaced_parts(codes):
        names.setdefault(code, []).append(name)
    for code, replaced in names.items():
        place = f"{code.co_filename}:{code.co_firstlineno}"
        parts = join_some(replaced, _MOST_NAMED)
        yield f"ltm: {place} replaces Python's own {parts}, and {_CURE}"


def replaced_parts(codes: list[CodeType]) -> Iterator[tuple[str, CodeType]]:
    """Yield the names in the standard library that refer to foreign code."""
    package_names = sys.stdlib_module_names - {"__main__"}
    library: list[tuple[str, ModuleType]] = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in package_names:
            library.append((name, module))
    own_files = {getattr(module, "__file__", None) for _, module in library}
    foreign = {code for code in codes if code.co_filename not in own_files}
    for name, module in library:
        for owner, members in _owners(name, module):
            for member, value in members.items():
                code = getattr(value, "__code__", None)
                if isinstance(code, CodeType) and code in foreign:
                    yield f"{owner}.{member}", code


def _owners(name: str, module: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield a module and its own classes, each with its members."""
    members = dict(vars(module))
    yield name, members
    for value in members.values():
        if isinstance(value, type) and value.__module__ == name:
            yield f"{name}.{value.__name__}", dict(vars(value))
