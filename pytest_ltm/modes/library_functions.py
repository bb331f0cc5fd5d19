"""What foreign code puts in the place of Python's own functions is called by foreign code only.

An agent that replaces `json.dumps`, or has a library do so, would else break whatever
calls it in the same process: our journal, pytest, the standard library on their behalf.
Such a function becomes a fork: who calls it decides which of the two runs.
"""

from __future__ import annotations

import sys

# Kept, as what follows puts them back.
from builtins import (  # noqa: UP029
    all,  # noqa: A004
    callable,  # noqa: A004
    isinstance,  # noqa: A004
    len,  # noqa: A004
    list,  # noqa: A004
    map,  # noqa: A004
    set,  # noqa: A004
    setattr,  # noqa: A004
    vars,  # noqa: A004
    zip,  # noqa: A004
)
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache, wraps
from itertools import chain
from operator import is_, itemgetter
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import pytest

from pytest_ltm.api.storage import after_foreign_code, stopwatch_seconds

Owner: TypeAlias = "ModuleType | type"

_PACKAGE = __name__.partition(".")[0]
_OURS = frozenset({_PACKAGE, "_pytest"})
# Modules that call code of others, by how their names begin.
_DOORS = (f"{_PACKAGE}._core.calls.", "_pytest.python", "_pytest.fixtures")
_LIBRARY = frozenset(sys.stdlib_module_names - {"__main__"})
# Installed packages that were imported before any code of agents: pytest's other plugins, and what they use.
_INSTALLED = set[str]()
_FIRST_CALLS = 20
# Of the time of a conversation, for looking at all.
_SHARE = 0.025
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8
_MISSING = object()


class LibraryFunctions:
    """Keeps Python's own functions for the session, from the beginning to the end.

    Those that the core names are compared each time code of others has run; all of the
    modules that are imported, and the methods of their classes, after the first calls,
    where something was imported, as often as that takes little of the time, before an
    error is shown, and after each item.
    """

    def __init__(self) -> None:
        _INSTALLED.update(_installed_packages())
        names = set[str]().union(*map(_looked_up_names, _core_modules()))
        self._core = _Functions(_modules_of_core(), names)
        self._all = _Functions()
        self._modules = set[str]()
        self._calls = 0
        self._look_at_all()
        after_foreign_code.append(self._look)

    def _look(self) -> None:
        self._core.restore()
        self._calls += 1
        if (
            self._calls <= _FIRST_CALLS
            or len(sys.modules) > len(self._modules)
            or stopwatch_seconds() > self._due
        ):
            self._look_at_all()

    def _look_at_all(self) -> None:
        began = stopwatch_seconds()
        self._all.restore()
        new = set(sys.modules) - self._modules
        self._modules |= new
        self._all.add(_library(new))
        now = stopwatch_seconds()
        self._due = now + (now - began) / _SHARE

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Look at all before an error is shown."""
        if call.excinfo is not None:
            self._look_at_all()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self) -> None:
        """Look at all once an item has run."""
        self._look_at_all()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Look once more before the reports are written."""
        self._look_at_all()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Look no more."""
        after_foreign_code.remove(self._look)


class _Kept(NamedTuple):
    """The functions of one module or class, as they were."""

    owner: Owner
    names: list[str]
    read: Callable[[Any], tuple[Any, ...]]
    """Returns what a namespace has under the first of the names, then under all of them."""
    originals: tuple[Any, ...]
    """What it returned."""


class _Functions:
    """Functions of modules and classes, as they were when these were added."""

    def __init__(
        self, owners: Iterable[Owner] = (), wanted: set[str] | None = None
    ) -> None:
        self._wanted = wanted
        self._owners: set[int] = set()
        self._kept: list[_Kept] = []
        self._expected: list[Any] = []
        self.add(owners)

    def add(self, owners: Iterable[Owner]) -> None:
        """Keep the functions of those that are new."""
        for owner in owners:
            if id(owner) in self._owners:
                continue
            self._owners.add(id(owner))
            members = vars(owner)
            names = [
                name
                for name in _function_names(owner)
                if name in members and (self._wanted is None or name in self._wanted)
            ]
            if names:
                # a second name, so that one alone makes a tuple, too
                read = itemgetter(names[0], *names)
                self._kept.append(_Kept(owner, names, read, read(members)))
        self._expected = list(self._read())

    def _read(self) -> Iterator[Any]:
        return chain.from_iterable([kept.read(vars(kept.owner)) for kept in self._kept])

    def restore(self) -> None:
        """Put forks in the place of what has replaced functions."""
        try:
            if all(map(is_, self._read(), self._expected)):
                return
        except KeyError:  # one was deleted
            pass
        for owner, names, _, originals in self._kept:
            for name, original in zip(names, originals[1:], strict=True):
                value = vars(owner).get(name, _MISSING)
                if value is not original and not _stays(original, value):
                    setattr(owner, name, _fork(original, value))
        self._expected = list(self._read())


_FORKS = set[object]()


def _stays(original: object, value: object) -> bool:
    if isinstance(original, type):
        # Such as gevent's sockets: who asks for their class must get it.
        return isinstance(value, type)
    # What we have put there, such as the `os._exit` that says who called it, we take away.
    function = value.__func__ if type(value) is MethodType else value
    return type(function) is FunctionType and (function in _FORKS or _is_ours(function))


def _is_ours(function: FunctionType) -> bool:
    module = str(function.__globals__.get("__name__"))
    return module.partition(".")[0] in _OURS


def _fork(original: Callable[..., Any], replacement: Any) -> Any:
    """Return a function that calls the original for us and for pytest, and for foreign code what replaced it."""
    if isinstance(original, type) or not callable(replacement):
        return original

    @wraps(original)
    def fork(*arguments: Any, **keywords: Any) -> Any:
        if _is_foreign(_frame().f_back):
            return replacement(*arguments, **keywords)
        return original(*arguments, **keywords)

    _FORKS.add(fork)
    return fork


_frame = sys._getframe  # kept: whatever is looked up in a module may be a fork


def _is_foreign(frame: FrameType | None) -> bool:
    """Return whether foreign code called, or had the library call.

    What the nearest frame of us or of pytest belongs to decides: our doors call foreign
    code, but also functions of the library on their own behalf.
    """
    is_direct = True
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        package = module.partition(".")[0]
        if module == __name__ or package in _LIBRARY:
            pass
        elif package in _OURS:
            return not is_direct and module.startswith(_DOORS)
        elif package not in _INSTALLED:
            is_direct = False
        frame = frame.f_back
    return not is_direct


def _installed_packages() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (
            "site-packages" in file or "dist-packages" in file
        ):
            yield name.partition(".")[0]


def _core_modules() -> Iterator[ModuleType]:
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{_PACKAGE}._core"):
            yield module


def _modules_of_core() -> list[Owner]:
    """Return the modules of Python's library that modules of the core have imported."""
    modules = dict[int, Owner]()
    for module in _core_modules():
        for value in list(vars(module).values()):
            if isinstance(value, ModuleType) and _is_of_library(value.__name__):
                modules[id(value)] = value
    return list(modules.values())


@cache
def _looked_up_names(module: ModuleType) -> frozenset[str]:
    """Return all names that the functions of a module look up."""
    members = list(vars(module).values())
    for member in tuple(members):
        if isinstance(member, type) and member.__module__ == module.__name__:
            members += vars(member).values()
    codes = list(filter(None, map(_code_of, members)))
    names = set[str]()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [part for part in code.co_consts if type(part) is CodeType]
    return frozenset(names)


def _code_of(member: object) -> CodeType | None:
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    return member.__code__ if isinstance(member, FunctionType) else None


def _library(names: set[str]) -> Iterator[Owner]:
    """Yield those modules that are of Python's library, with their own classes."""
    for name in filter(_is_of_library, names):
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            yield module
            yield from _mutable_classes(module, name)


@cache
def _mutable_classes(module: ModuleType, name: str) -> tuple[type, ...]:
    # Copies here and above: other threads may import something meanwhile.
    members = list(vars(module).values())
    return tuple(
        member
        for member in members
        if isinstance(member, type) and _is_mutable(member, name)
    )


def _is_mutable(kind: type, module: str) -> bool:
    flags = kind.__flags__ & (_HEAP_TYPE | _IMMUTABLE_TYPE)
    return kind.__module__ == module and flags == _HEAP_TYPE


def _is_of_library(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARY


@cache
def _function_names(owner: Owner) -> tuple[str, ...]:
    """Return the names of a module's functions and classes, or of a class's plain methods."""
    members = list(vars(owner).items())
    if isinstance(owner, type):
        return tuple(name for name, value in members if type(value) is FunctionType)
    return tuple(name for name, value in members if callable(value))
