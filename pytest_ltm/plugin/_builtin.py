"""The built-in suite, collected in any project alike, whatever its configuration."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.plugin._items import PARAMETERS, SCENARIO_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ltm._suite import Suite, SuiteEntry

BUILT_IN = "pytest_ltm.scenarios"
ROOT = "ltm"
"""What built-in node ids begin with."""


class BuiltInModule(pytest.Module):
    """A module of the built-in suite: collected alike in any project, whatever its configuration."""

    def __init__(self, *, entry: SuiteEntry, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._entry = entry
        self.stash[SCENARIO_NAME] = entry.name
        self.stash[PARAMETERS] = dict(entry.parameters)

    def _getobj(self) -> Any:
        return importlib.import_module(f"{BUILT_IN}.{self._entry.scenario}")

    def funcnamefilter(self, name: str) -> bool:
        """Ignore the project's python_functions."""
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        """Ignore the project's python_classes: built-in scenarios are functions."""
        return False


class BuiltInSuite(pytest.Collector):
    """The built-in scenarios of a suite; yields items, so that `--lf` keeps failed ones."""

    def __init__(self, *, suite: Suite, **keywords: Any) -> None:
        super().__init__(**keywords)
        self._suite = suite

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect every entry's scenario."""
        for entry in self._suite.entries:
            spec = importlib.util.find_spec(f"{BUILT_IN}.{entry.scenario}")
            path = Path(spec.origin if spec and spec.origin else entry.scenario)
            module = BuiltInModule.from_parent(
                self, path=path, name=entry.name, nodeid=f"{ROOT}/{entry.name}", entry=entry
            )
            module.add_marker(_marker_of(entry))
            yield from module.collect()


def _marker_of(entry: SuiteEntry) -> pytest.MarkDecorator:
    said = {
        "examples": entry.examples,
        "span": entry.span,
        "pass_mark": entry.pass_mark,
        "pass_k": entry.pass_k,
    }
    if entry.incompatible:
        said["incompatible"] = entry.incompatible  # type: ignore[assignment]
    return pytest.mark.ltm(**{name: value for name, value in said.items() if value is not None})
