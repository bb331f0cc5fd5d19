"""Checks a suite file's parameters before the run: unread names, and unusable values."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from pytest_ltm.api.scenarios import Suite, definition_rng, import_scenario
from pytest_ltm.api.storage import ConfigurationError, LtmError, did_you_mean


class Noticing(dict[str, Any]):
    """Parameters that record which of them were read; copying all reads none."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(parameters)
        self.asked: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.asked[name] = None
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked[str(name)] = None
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value or the default, and record the access."""
        self.asked[name] = None
        return super().get(name, default)


def check_parameters(suite: Suite) -> Suite:
    """Return the suite; ConfigurationError for parameters that its scenarios do not use or cannot use."""
    for entry in suite.entries:
        if not entry.parameters:
            continue
        parameters = Noticing(dict(entry.parameters))
        where = f"{suite.path}: parameters of {entry.name!r}"
        module = import_scenario(entry.scenario)
        generate = _generator_of(module)
        if generate is not None:
            try:
                generate(definition_rng(0, 0, entry.name, "0"), parameters)
            except (LtmError, ValueError) as error:
                raise ConfigurationError(f"{where}: {error}") from error
        for name in parameters:
            if name in parameters.asked:
                continue
            if parameters.asked:
                hint = f"here it reads {', '.join(parameters.asked)}"
            else:
                hint = "it has none"
            meant = did_you_mean(name, parameters.asked)
            raise ConfigurationError(
                f"{where}: the scenario {entry.scenario!r} does not use {name!r}; {hint}.{meant}"
            )
    return suite


def _generator_of(module: ModuleType) -> Any:
    """Return the function that generates a scenario's definitions, if it has one."""
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == "ltm" and mark.kwargs.get("generate"):
                return mark.kwargs["generate"]
    return None
