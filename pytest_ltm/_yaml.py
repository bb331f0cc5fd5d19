"""YAML files as fields with line numbers: plain data only, no anchors, no name twice, of limited size."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_ltm._errors import DefinitionError
from pytest_ltm._fields import DEPTH, Field, shown

MAX_BYTES = 1_000_000
"""The largest YAML file that is read."""


def load(path: str | Path) -> Field:
    """Return the content of a YAML file; DefinitionError names the line of what is wrong with it."""
    where = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DefinitionError(f"{where}: cannot be read: {error.strerror or error}.") from None
    if len(content) > MAX_BYTES:
        raise DefinitionError(f"{where}: larger than {MAX_BYTES:,} bytes, which is no file for people to edit.")
    try:
        return parse(content.decode("utf-8-sig"), where)
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{where}: not UTF-8 (at byte {error.start}).") from None


def parse(text: str, where: str) -> Field:
    """Return the content of a YAML text; `where` names its file in errors."""
    import yaml  # noqa: PLC0415 - only a run that reads YAML pays for it

    reader = _Reader(where)
    try:
        loader = _loader_class()(text)
        node = loader.get_single_node()
        value = None if node is None else reader.value(loader, node, "")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        broken = isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError)
        cure = " A text with special characters needs quotes." if broken else ""
        problem = error.problem or error.context
        raise DefinitionError(f"{where}{line}: not YAML that can be used: {problem}.{cure}") from None
    except yaml.YAMLError as error:
        raise DefinitionError(f"{where}: not YAML that can be used: {str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise DefinitionError(f"{where}: nested too deeply.") from None
    return Field(value, where, "", reader.lines)


@lru_cache(maxsize=1)
def _loader_class() -> type[Any]:
    import yaml  # noqa: PLC0415 - see parse

    class Loader(yaml.SafeLoader):
        """A safe loader that refuses anchors and aliases, which can make a small file huge."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            if getattr(event, "anchor", None) is not None:
                problem = "anchors (&name) and aliases (*name) are not supported here; write the value out"
                raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
            return super().compose_node(parent, index)

    return Loader


class _Reader:
    """Turns nodes into plain values and notes the line of each."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.lines: dict[str, int] = {}

    def value(self, loader: Any, node: Any, path: str, depth: int = DEPTH) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if depth <= 0:
            raise self._error(node, f"nested more than {DEPTH} levels deep")
        if node.id == "mapping":
            return self._mapping(loader, node, path, depth)
        if node.id == "sequence":
            items = enumerate(node.value)
            return [self.value(loader, item, f"{path}[{i}]", depth - 1) for i, item in items]
        return self._scalar(loader, node)

    def _mapping(self, loader: Any, node: Any, path: str, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._scalar(loader, key_node) if key_node.id == "scalar" else None
            if not isinstance(key, str):
                raise self._error(key_node, "a name in a mapping is a text; write it in quotes")
            if key in data:
                raise self._error(key_node, f"the name {shown(key)} stands twice in one mapping")
            below = f"{path}.{key}" if path else key
            self.lines[below] = key_node.start_mark.line + 1
            data[key] = self.value(loader, value_node, below, depth - 1)
        return data

    def _scalar(self, loader: Any, node: Any) -> Any:
        try:
            return loader.construct_object(node)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise self._error(node, f"{shown(node.value)} cannot be read; write it in quotes") from None

    def _error(self, node: Any, message: str) -> DefinitionError:
        return DefinitionError(f"{self.where}:{node.start_mark.line + 1}: {message}.")
