"""What each run inside this process would do for itself is done once, when this module is imported.

pytester forgets the modules that a run imports: what is here already is imported once
only. Half of a small run is pytest looking through its plugins, a fourth for fixtures:
those of pytest's and our own modules and classes without any are passed over.
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
    """Return a way to look for a plugin's fixtures that passes over plugins known to have none."""

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
    """Return whether a module or class has a fixture, or is one of which that is not known."""
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
