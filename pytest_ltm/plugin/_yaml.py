"""`*.ltm.yml` as pytest modules with one function: ids, marks, `--lf` and xdist treat them like any test file."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm import _yaml_scenario
from pytest_ltm._errors import DefinitionError
from pytest_ltm._handle import Ltm  # noqa: TC001 - pytest looks at the function's signature

if TYPE_CHECKING:
    from collections.abc import Iterable

LINE = "_ltm_line"
"""Where a function keeps the line of its scenario, from 0."""


class YamlModule(pytest.Module):
    """A scenario file."""

    def _getobj(self) -> types.ModuleType:
        try:
            scenario = _yaml_scenario.load(self.path)
        except DefinitionError as error:
            raise self.CollectError(str(error)) from None
        module = types.ModuleType(scenario.name, scenario.description)
        name = f"test_{scenario.name}"
        vars(module)[name] = _function(scenario, name)
        module.__file__ = str(self.path)
        return module

    def _importtestmodule(self) -> types.ModuleType:
        return self._getobj()

    def funcnamefilter(self, name: str) -> bool:
        """Ignore the project's python_functions."""
        return name.startswith("test_")

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect the scenario, which is reported at its first step's line."""
        for node in super().collect():
            if isinstance(node, pytest.Function):
                line = vars(node.function)[LINE]
                node.reportinfo = lambda node=node, line=line: (self.path, line, node.name)  # type: ignore[method-assign,misc]
            yield node


def _function(scenario: _yaml_scenario.YamlScenario, name: str) -> Any:
    definition = scenario.definition

    def test(ltm: Ltm) -> None:
        _yaml_scenario.play(scenario, ltm)

    made: Any = pytest.mark.ltm(generate=lambda *_: definition, **scenario.marker)(test)
    made.__name__ = made.__qualname__ = name
    made.__doc__ = scenario.description
    vars(made)[LINE] = scenario.steps[0].line - 1
    return made
