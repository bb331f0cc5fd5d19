"""Parameters of a suite file are tried before the run: a name that nothing reads, a value that cannot be used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ConfigurationError, LtmError, did_you_mean
from pytest_ltm._plan import definition_rng
from pytest_ltm.plugin._builtin import BUILT_IN
from pytest_ltm.plugin._items import HANDLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm._suite import Suite, SuiteEntry

EXAMPLE = "0"


class Noticing(dict[str, Any]):
    """Parameters that remember which of them were asked for; a copy of all asks for none."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self.asked: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.asked[name] = None
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked[str(name)] = None
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value or the default."""
        self.asked[name] = None
        return super().get(name, default)


def check_parameters(suite: Suite, seed: int) -> Suite:
    """Return the suite; ConfigurationError for parameters that its scenarios do not use or cannot use."""
    for entry in suite.entries:
        if entry.parameters:
            _check(entry, suite.path, seed)
    return suite


def _check(entry: SuiteEntry, path: str, seed: int) -> None:
    given = Noticing(dict(entry.parameters))
    generate = _generator(entry.scenario)
    if generate is not None:
        try:
            generate(definition_rng(seed, 0, entry.name, EXAMPLE), given)
        except (LtmError, ValueError) as error:
            raise ConfigurationError(f"{path}: parameters of {entry.name!r}: {error}") from error
    for name in given:
        if name not in given.asked:
            known = f"here it reads {', '.join(given.asked)}" if given.asked else "it has none"
            raise ConfigurationError(
                f"{path}: parameters of {entry.name!r}: the scenario {entry.scenario!r} does not use {name!r}; "
                f"{known}.{did_you_mean(name, given.asked)}"
            )


def _generator(scenario: str) -> Callable[..., Any] | None:
    module = importlib.import_module(f"{BUILT_IN}.{scenario}")
    marks = [mark for test in vars(module).values() for mark in getattr(test, "pytestmark", ())]
    return next((mark.kwargs["generate"] for mark in marks if mark.name == HANDLE and "generate" in mark.kwargs), None)
