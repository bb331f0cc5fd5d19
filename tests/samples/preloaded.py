"""Does once, at import, what each run inside this process would otherwise repeat.

pytester forgets the modules that a run imports, so modules imported here are imported
only once. Half of a small run is pytest's inspection of its plugins, and a quarter the
search for fixtures, so what is known of modules and classes of pytest and pytest-ltm is
not looked for again. A quarter of an interrupted run is the search for the statements
of its traceback, so each is found once.
"""

from __future__ import annotations

import ast
import importlib
import warnings
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest
from _pytest import fixtures
from _pytest._code import Source, code
from _pytest._code.source import getstatementrange_ast

PRELOADED = (
    "filelock",
    "greenlet",
    "numpy",  # cannot be imported twice
    "pytest_ltm.agents",
    "pytest_ltm.agents.reader.reader",
    "pytest_ltm.fillers._spec",
    "pytest_ltm.fillers._talk",
    "pytest_ltm._core.internals",
    "pytest_ltm._core.session.garbage",
    "pytest_ltm._core.session.startup",
    "pytest_ltm._core.session.collection",
    "pytest_ltm.testing",
    "tiktoken",
    "yaml",
)
for _name in PRELOADED:
    if find_spec(_name.partition(".")[0]):
        importlib.import_module(_name)


def passing_over(look: Callable[..., None]) -> Callable[..., None]:
    """Wrap pytest's search for a plugin's fixtures so that nothing known to be none is looked at."""

    @wraps(look)
    def look_or_pass(
        manager: fixtures.FixtureManager, plugin: object, *more: Any
    ) -> None:
        holder = plugin if isinstance(plugin, (ModuleType, type)) else type(plugin)
        if not may_have_fixtures(holder):
            return
        if isinstance(plugin, ModuleType) and is_permanent(plugin):
            plugin = fixtures_alone(plugin)
        look(manager, plugin, *more)

    return look_or_pass


@cache
def may_have_fixtures(holder: Any) -> bool:
    """Return whether a module or class has fixtures; True for code that is not pytest's or ours."""
    if not is_permanent(holder):
        return True
    scopes = [holder] if isinstance(holder, ModuleType) else holder.__mro__
    return any(
        isinstance(value, fixtures.FixtureFunctionDefinition)
        for scope in scopes
        for value in vars(scope).values()
    )


def is_permanent(holder: ModuleType | type) -> bool:
    """Return whether a module or class is pytest's or ours, so that it stays as it is."""
    name = holder.__name__ if isinstance(holder, ModuleType) else holder.__module__
    return name.partition(".")[0] in {"_pytest", "pytest_ltm"}


@cache
def fixtures_alone(module: ModuleType) -> ModuleType:
    """Return a module with nothing but a module's fixtures."""
    alone = ModuleType(module.__name__)
    for name, value in vars(module).items():
        if isinstance(value, fixtures.FixtureFunctionDefinition):
            setattr(alone, name, value)
    return alone


def parsing_once(
    parse: Callable[[Any, Any, str], Any],
) -> Callable[[Any, Any, str], Any]:
    """Wrap pytest's reading of a hook's options so that those of a permanent module are read once."""
    known: dict[tuple[str, str], Any] = {}

    @wraps(parse)
    def parse_or_know(manager: object, holder: Any, name: str) -> Any:
        if not isinstance(holder, ModuleType) or not is_permanent(holder):
            return parse(manager, holder, name)
        key = (holder.__name__, name)
        if key not in known:
            known[key] = parse(manager, holder, name)
        options = known[key]
        # pluggy adds to them
        return None if options is None else dict(options)

    return parse_or_know


def finding_statements_once(find: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap pytest's search for the statement at a line, which parses the whole file, so that each is found once."""

    @lru_cache(maxsize=8)  # the files of one traceback
    def parse(text: str) -> ast.AST:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)

    @cache
    def range_in(text: str, line: int) -> tuple[int, int]:
        _, start, end = find(line, Source(text), astnode=parse(text))
        return start, end

    def find_or_know(
        line: int, source: Source, astnode: object = None
    ) -> tuple[object, int, int]:
        return astnode, *range_in("\n".join(source.lines), line)

    return find_or_know


if hasattr(fixtures, "FixtureFunctionDefinition"):  # since pytest 8.4
    Manager: Any = fixtures.FixtureManager
    Manager.pytest_plugin_registered = passing_over(Manager.pytest_plugin_registered)
Plugins: Any = pytest.PytestPluginManager
Plugins.parse_hookimpl_opts = parsing_once(Plugins.parse_hookimpl_opts)
Plugins.parse_hookspec_opts = parsing_once(Plugins.parse_hookspec_opts)
Code: Any = code
Code.getstatementrange_ast = finding_statements_once(getstatementrange_ast)
