"""Does once, at import, what each run inside this process would otherwise repeat.

pytester forgets the modules that a run imports, so modules imported here are imported
only once. Half of a small run is pytest's inspection of its plugins, and a quarter the
search for fixtures, so modules and classes of pytest and pytest-ltm without any are
skipped.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from _pytest import fixtures

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
    "rouge_score.rouge_scorer",
    "tiktoken",
    "yaml",
)
for _name in PRELOADED:
    if find_spec(_name.partition(".")[0]) and (
        _name != "rouge_score.rouge_scorer" or find_spec("numpy")
    ):
        importlib.import_module(_name)


def passing_over(look: Callable[..., None]) -> Callable[..., None]:
    """Wrap pytest's search for a plugin's fixtures so that plugins known to have none are skipped."""

    @wraps(look)
    def look_or_pass(
        manager: fixtures.FixtureManager, plugin: object, *more: Any
    ) -> None:
        holder = plugin if isinstance(plugin, (ModuleType, type)) else type(plugin)
        if may_have_fixtures(holder):
            look(manager, plugin, *more)

    return look_or_pass


@cache
def may_have_fixtures(holder: Any) -> bool:
    """Return whether a module or class has fixtures; True for code that is not pytest's or ours."""
    is_module = isinstance(holder, ModuleType)
    name = holder.__name__ if is_module else holder.__module__
    if name.partition(".")[0] not in {"_pytest", "pytest_ltm"}:
        return True
    scopes = [holder] if is_module else holder.__mro__
    return any(
        isinstance(value, fixtures.FixtureFunctionDefinition)
        for scope in scopes
        for value in vars(scope).values()
    )


if hasattr(fixtures, "FixtureFunctionDefinition"):  # since pytest 8.4
    Manager: Any = fixtures.FixtureManager
    Manager.pytest_plugin_registered = passing_over(Manager.pytest_plugin_registered)
