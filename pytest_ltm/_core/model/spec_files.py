"""Specs as YAML files: a name with its parameters, for specs too long for a command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from pytest_ltm._core.storage.schema import Field, load_yaml

_FILE = re.compile(r"[^?]*\.ya?ml", re.DOTALL | re.IGNORECASE)
# YAML parses `on` and `off` as booleans, while a spec writes them as words.
_WORDS = {True: "on", False: "off"}


class SpecFile(Struct, frozen=True):
    """The contents of a spec file."""

    name: str
    """The name of a judge or data set."""
    parameters: dict[str, str]
    """The parameters by name, as in a query."""

    def query_text(self) -> str:
        """Return the spec on one line: `NAME?key=value&...`."""
        pairs = [
            f"{name}={quote(value, safe=' /:,')}"
            for name, value in self.parameters.items()
        ]
        mark = "&" if "?" in self.name else "?"
        if pairs:
            return f"{self.name}{mark}{'&'.join(pairs)}"
        return self.name


def spec_text(text: str, key: str, base: Path) -> str:
    """Return a spec, or the content of the file that it names; `base`: the folder that it is relative to."""
    if not is_yaml_path(text):
        return text
    return read_spec_file(base / text, key).query_text()


def is_yaml_path(text: str) -> bool:
    """Return whether a spec is the path of a YAML file."""
    return _FILE.fullmatch(text) is not None


def read_spec_file(path: Path, key: str) -> SpecFile:
    """Read a spec file; DefinitionError, with its line, if it is invalid.

    It has two keys: `key` with the name, and `parameters` with values by name.
    """
    fields = load_yaml(path).mapping(known=(key, "parameters"), required=(key,))
    parameters = fields["parameters"].mapping() if "parameters" in fields else {}
    return SpecFile(
        name=fields[key].text(f"the name of a {key}"),
        parameters={name: _read_value(field) for name, field in parameters.items()},
    )


def _read_value(field: Field) -> str:
    value: Any = field.value
    if isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, (str, int, float)):
        return str(value)
    raise field.fault("a parameter is a text, a number, true or false.")
