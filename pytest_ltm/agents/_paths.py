"""Places in JSON, written as `choices.0.text`: what stands there, and how to put something there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pytest_ltm._errors import AgentError

_PATH = re.compile(r"[^.\s]+(?:\.[^.\s]+)*")


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A way into JSON: names of fields and numbers of list items, between dots."""

    text: str

    def __post_init__(self) -> None:
        if not _PATH.fullmatch(self.text):
            raise AgentError(f"{self.text!r} is no path to a JSON field. Write it as in 'reply' or 'choices.0.text'")

    def read(self, data: Any) -> Any:
        """Return the value at this place; LookupError, saying where the way ends, if there is none."""
        at = data
        gone: list[str] = []
        for step in self.text.split("."):
            if isinstance(at, dict) and step in at:
                at = at[step]
            elif isinstance(at, list) and step.isdecimal() and int(step) < len(at):
                at = at[int(step)]
            else:
                raise LookupError(f"no field {self.text!r}: {_there(at, '.'.join(gone))}")
            gone.append(step)
        return at

    def written(self, data: dict[str, Any], value: Any) -> dict[str, Any]:
        """Return a copy of the data with the value at this place; mappings are made on the way."""
        step, _, rest = self.text.partition(".")
        if not rest:
            return {**data, step: value}
        below = data.get(step)
        return {**data, step: JsonPath(rest).written(below if isinstance(below, dict) else {}, value)}


def _there(value: Any, way: str) -> str:
    where = f"at {way!r} there is" if way else "there is"
    if isinstance(value, dict):
        names = ", ".join(sorted(repr(name) for name in value)[:_NAMES])
        return f"{where} {{{names}}}"
    return f"{where} a {_KINDS.get(type(value), 'number')}" + (f" of {len(value)}" if isinstance(value, list) else "")


_NAMES = 8
_KINDS: dict[type, str] = {list: "list", str: "text", bool: "true or false", type(None): "null"}
