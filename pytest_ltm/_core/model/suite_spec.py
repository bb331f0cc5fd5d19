"""SuiteSpec: the value of `--ltm-suite`, a name with parameters: `locomo?data=FILE&tasks=events`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, structs

from pytest_ltm._core.storage.errors import ConfigurationError

# Parameters of every data set: its file or folder, and how its questions are asked.
DATA = "data"
QUESTIONS = "questions"


class SuiteSpec(Struct, frozen=True):
    """A suite or data set by name, with the texts of its parameters."""

    name: str
    parameters: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> SuiteSpec:
        """Parse a spec; ConfigurationError for a parameter without a value, or given twice."""
        name, _, query = text.partition("?")
        parameters: dict[str, str] = {}
        for part in filter(None, query.split("&")):
            key, equals, value = part.partition("=")
            if not equals:
                raise ConfigurationError(
                    f"{text!r}: {part!r} is not a parameter. Write NAME=VALUE, as in "
                    f"'{name}?{DATA}=FILE'"
                )
            if key in parameters:
                raise ConfigurationError(f"{text!r}: {key!r} is given twice")
            parameters[key] = unquote(value)
        return cls(name, parameters)

    def replace_parameters(self, **changes: str | None) -> SuiteSpec:
        """Return the spec with some parameters replaced; None removes one."""
        changed = {**self.parameters, **changes}
        kept_parameters = {
            name: value for name, value in changed.items() if value is not None
        }
        return structs.replace(self, parameters=kept_parameters)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        pairs = [
            f"{name}={value.replace('%', '%25').replace('&', '%26')}"
            for name, value in self.parameters.items()
        ]
        if pairs:
            return f"{self.name}?{'&'.join(pairs)}"
        return self.name


# --- Runs recorded when data sets had separate options: `ltm_data`, `ltm_questions`,
# `ltm_locomo_tasks`.

_FAMILIES = ("locomo", "longmemeval", "logs")


def fold_recorded_options(options: Mapping[str, Any], suite: object) -> dict[str, Any]:
    """Return recorded options with those of a data set folded into `ltm_suite`; `suite`: the suite of the run."""
    parameters: dict[str, str] = {}
    kept_options: dict[str, Any] = {}
    for option, value in options.items():
        name = _recorded_parameter(option)
        if name:
            parameters[name] = str(value)
        else:
            kept_options[option] = value
    if parameters:
        spec = SuiteSpec.parse(str(kept_options.get("ltm_suite") or suite))
        kept_options["ltm_suite"] = str(spec.replace_parameters(**parameters))
    return kept_options


def _recorded_parameter(option: str) -> str:
    """Return the parameter that replaced an option of a recorded run; "" for any other option."""
    if option in (f"ltm_{DATA}", f"ltm_{QUESTIONS}"):
        return option.removeprefix("ltm_")
    for family in _FAMILIES:
        if option.startswith(f"ltm_{family}_"):
            return option.removeprefix(f"ltm_{family}_")
    return ""
