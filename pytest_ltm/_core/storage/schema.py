"""Field: a cursor over a file's data, whose errors name file, line, field, and expected and actual value."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Struct, field

from pytest_ltm._core.storage.clock import duration
from pytest_ltm._core.storage.disk import open_regular
from pytest_ltm._core.storage.errors import (
    DefinitionError,
    LtmError,
    ScenarioError,
    did_you_mean,
)
from pytest_ltm._core.storage.secrets import dump_json_redacted

# The maximum nesting of a file's values.
DEPTH = 100
_SHOWN = 60
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_THOUSANDS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)k")


class Field(Struct, frozen=True):
    """One value of a file, with its path. Every method raises DefinitionError for a wrong value."""

    value: Any
    where: str
    """The file, as errors name it."""
    path: str = ""
    """The path to the value, such as `steps[3].wait.span`; "" for the file's whole content."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line numbers by path, from 1, if the format has them."""

    @property
    def line(self) -> int | None:
        """The value's line in its file, if known."""
        return self.lines.get(self.path)

    def error(self, expected: str, cure: str = "") -> DefinitionError:
        """Return an error that states the expected and the actual value."""
        return self.fault(f"expected {expected}, got {show_value(self.value)}.{cure}")

    def fault(self, message: str) -> DefinitionError:
        """Return an error with a custom message, at this place."""
        where = self.where if self.line is None else f"{self.where}:{self.line}"
        return DefinitionError(
            ": ".join(part for part in (where, self.path, message) if part)
        )

    def child(self, key: str | int) -> Field:
        """Return the field below this one; the key must exist."""
        if isinstance(key, int):
            step = f"[{key}]"
        elif self.path:
            step = f".{key}"
        else:
            step = key
        return Field(self.value[key], self.where, self.path + step, self.lines)

    def mapping(
        self, known: Collection[str] | None = None, required: Iterable[str] = ()
    ) -> dict[str, Field]:
        """Return the fields of a mapping; `known` None accepts any names."""
        if not isinstance(self.value, Mapping):
            raise self.error(
                "a mapping"
                if known is None
                else f"a mapping with the fields {', '.join(known)}"
            )
        for key in self.value:
            if not isinstance(key, str):
                raise self.fault(
                    f"expected names that are texts, got {show_value(key)}.{_quoting_hint(key)}"
                )
        children = {key: self.child(key) for key in self.value}
        for key, child in children.items():
            if known is not None and key not in known:
                raise child.fault(
                    f"unknown field; known fields: {', '.join(known)}.{did_you_mean(key, known)}"
                )
        for key in required:
            if key not in children:
                raise self.fault(f"the field {key!r} is missing.")
        return children

    def read_fields(
        self,
        readers: Mapping[str, Callable[[Field], Any]],
        required: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Return the values of the fields present in a mapping, by name, each parsed by its reader."""
        fields = self.mapping(readers, required)
        return {
            name: read(fields[name]) for name, read in readers.items() if name in fields
        }

    def items(self, of: str = "values") -> list[Field]:
        """Return the fields of a list; `of`: the noun for its items in errors."""
        if not isinstance(self.value, list | tuple):
            raise self.error(f"a list of {of}")
        return [self.child(i) for i in range(len(self.value))]

    def text(self, expected: str = "a non-empty text") -> str:
        """Return a text with at least one character that is not white space."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(expected, _quoting_hint(self.value) if self.lines else "")
        self._check_encodable(self.value)
        return self.value

    def text_or_empty(self, expected: str = "a text") -> str:
        """Return a text, which may be "" but not otherwise blank."""
        return "" if self.value == "" else self.text(expected)

    def name(self) -> str:
        """Return a name that is valid in test ids and file names."""
        if not isinstance(self.value, str) or not _NAME.fullmatch(self.value):
            raise self.error(
                "a name of letters, digits and _ that does not begin with a digit"
            )
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        if isinstance(self.value, str):
            return (self.text(),)
        return tuple(x.text() for x in self.items("texts"))

    def choice(self, options: Sequence[str]) -> Any:
        """Return one of the given texts."""
        if self.value not in options:
            raise self.error(f"one of {', '.join(options)}")
        return self.value

    def whole(self, least: int | None = 0) -> int:
        """Return a whole number of at least `least`; None: any."""
        is_whole = isinstance(self.value, int) and not isinstance(self.value, bool)
        if not is_whole or (least is not None and self.value < least):
            raise self.error(
                "a whole number"
                if least is None
                else f"a whole number of at least {least}"
            )
        return int(self.value)

    def tokens(self, expected: str = "a number of tokens, such as 2000 or 2k") -> int:
        """Return a number of tokens of at least 1, from `120000` or `"120k"` (k = 1,000)."""
        if isinstance(self.value, str) and (
            match := _THOUSANDS.fullmatch(self.value.strip())
        ):
            tokens = round(float(match[1]) * 1000)
            if tokens >= 1:
                return tokens
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return self.whole(least=1)
        raise self.error(expected)

    def number(self, least: float, largest: float, expected: str = "a number") -> float:
        """Return a number between `least` and `largest`."""
        value = self.value
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= largest
        ):
            raise self.error(f"{expected} from {least:g} to {largest:g}")
        return float(value)

    def boolean(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.error("true or false")
        return self.value

    def duration(self) -> timedelta:
        """Return a duration, from seconds or a text such as `"3h 5m"`."""
        expected = "a duration of at least 0: seconds, or a text such as '45m', '3h 5m' or '2d'"
        if isinstance(self.value, bool) or not isinstance(
            self.value, int | float | str
        ):
            raise self.error(expected)
        try:
            return duration(self.value)
        except (ScenarioError, OverflowError, ValueError):
            raise self.error(expected) from None

    def json(self, depth: int = DEPTH) -> Any:
        """Return a JSON value made of dict, list, str, int, finite float, bool and None only."""
        value = self.value
        if depth <= 0:
            raise self.fault(f"nested more than {DEPTH} levels deep.")
        if isinstance(value, str):
            self._check_encodable(value)
        if (
            value is None
            or isinstance(value, str | int)
            or (isinstance(value, float) and math.isfinite(value))
        ):
            return value
        if isinstance(value, Mapping):
            return self.json_mapping(depth)
        if isinstance(value, list | tuple):
            return [child.json(depth - 1) for child in self.items()]
        raise self.error(
            "a JSON value (text, finite number, true, false, null, list or mapping)"
        )

    def json_mapping(self, depth: int = DEPTH) -> dict[str, Any]:
        """Return a mapping of JSON values."""
        children = self.mapping()
        for key in children:
            self._check_encodable(key)
        return {key: child.json(depth - 1) for key, child in children.items()}

    def _check_encodable(self, text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self.fault(
                f"half of a surrogate pair is not a character: {show_value(text)}."
            ) from None


def show_value(value: object) -> str:
    """Return a value as errors show it: its repr, cut if long; never raises."""
    try:
        if isinstance(value, str) and not value.isprintable():
            text = ascii(value)
        else:
            text = repr(value)
    except Exception:  # noqa: BLE001 - an error message must not fail on what it reports
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _quoting_hint(value: object) -> str:
    if value is None or isinstance(value, str | list | dict):
        return ""
    return " In YAML, write it in quotes."


# --- YAML files as fields with line numbers: plain data only, without anchors or
# duplicate names, of limited size.

# The largest YAML file that is read, in bytes.
MAX_BYTES = 1_000_000


def load_yaml(path: str | Path) -> Field:
    """Read a YAML file; DefinitionError names the line of a problem."""
    where = str(path)
    try:
        with open_regular(Path(path)) as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DefinitionError(
            f"{where}: cannot be read: {error.strerror or error}."
        ) from None
    if len(content) > MAX_BYTES:
        raise DefinitionError(
            f"{where}: larger than {MAX_BYTES:,} bytes, too large for a hand-written file."
        )
    try:
        return parse_yaml(content.decode("utf-8-sig"), where)
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{where}: not UTF-8 (at byte {error.start}).") from None


def load_packaged_yaml(module: str, name: str) -> Any:
    """Read a YAML file of the package beside or below a module (`__file__`), without checks."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((Path(module).parent / name).read_bytes(), Loader=loader)  # noqa: S506 - it is a safe one


def parse_yaml(text: str, where: str) -> Field:
    """Parse a YAML text; `where` names its file in errors."""
    import yaml

    reader = _YamlReader(where)
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
        raise DefinitionError(
            f"{where}{line}: not usable YAML: {problem}.{cure}"
        ) from None
    except yaml.YAMLError as error:
        raise DefinitionError(
            f"{where}: not usable YAML: {str(error).splitlines()[0]}."
        ) from None
    except RecursionError:
        raise DefinitionError(f"{where}: nested too deeply.") from None
    return Field(value, where, "", reader.lines)


@lru_cache(maxsize=1)
def _loader_class() -> type[Any]:
    import yaml

    class Loader(yaml.SafeLoader):
        """A safe loader that refuses anchors and aliases, which can make a small file huge, and unlimited depth."""

        _depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            if getattr(event, "anchor", None) is not None:
                problem = "anchors (&name) and aliases (*name) are not supported here; write the value out"
                raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
            self._depth += 1
            if self._depth > 2 * DEPTH:
                # Well below that, the reader names the line; Python's own limit may
                # have been raised.
                raise RecursionError
            node = super().compose_node(parent, index)
            self._depth -= 1
            return node

    return Loader


class _YamlReader:
    """Converts nodes to plain values and records the line of each."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.lines: dict[str, int] = {}

    def value(self, loader: Any, node: Any, path: str, depth: int = DEPTH) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if depth <= 0:
            raise self._error(node, f"nested more than {DEPTH} levels deep")
        if node.id == "mapping":
            data: dict[str, Any] = {}
            for key_node, value_node in node.value:
                if key_node.id == "scalar":
                    key = self._scalar(loader, key_node)
                else:
                    key = None
                if not isinstance(key, str):
                    raise self._error(
                        key_node, "a name in a mapping is a text; write it in quotes"
                    )
                if key in data:
                    raise self._error(
                        key_node,
                        f"the name {show_value(key)} appears twice in one mapping",
                    )
                below = f"{path}.{key}" if path else key
                self.lines[below] = key_node.start_mark.line + 1
                data[key] = self.value(loader, value_node, below, depth - 1)
            return data
        if node.id == "sequence":
            items = enumerate(node.value)
            return [
                self.value(loader, item, f"{path}[{i}]", depth - 1) for i, item in items
            ]
        return self._scalar(loader, node)

    def _scalar(self, loader: Any, node: Any) -> Any:
        try:
            return loader.construct_object(node)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise self._error(
                node, f"{show_value(node.value)} cannot be read; write it in quotes"
            ) from None

    def _error(self, node: Any, message: str) -> DefinitionError:
        return DefinitionError(f"{self.where}:{node.start_mark.line + 1}: {message}.")


# --- Records: frozen dataclasses to JSON and back, with errors that name the place in a
# file.

T = TypeVar("T")
_HALVES = re.compile("[\ud800-\udfff]")
# Characters that JSON allows unescaped, but that a terminal or editor showing the file
# would obey; lone surrogates.
_RAW = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def number_or_text(text: str) -> int | float | str:
    """Convert a value in a spec to a number, or return it as text."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def escape_json_text(text: str) -> str:
    """Escape such characters in a JSON text; its meaning stays the same."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _RAW.sub(lambda result: f"\\u{ord(result.group()):04x}", text)


def json_text(value: object) -> str:
    """Return readable, indented JSON without secrets, which can always be encoded in UTF-8.

    Equal values give equal text. Raises ValueError for numbers that JSON does not
    support.
    """
    return escape_json_text(dump_json_redacted(value, indented_json)) + "\n"


def indented_json(value: object, indent: int = 1) -> str:
    """Return the same as `json.dumps` with this indent, faster; ValueError for numbers that JSON does not support."""
    compact = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # `json.dumps` with `indent` uses a slow encoder in Python; msgspec requires UTF-8,
    # without lone surrogates.
    if compact.isascii() or not _HALVES.search(compact):
        return msgspec.json.format(compact, indent=indent)
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


# The limit for all figures of a run: a larger one is an error in a report, and would
# spoil every sum and mean.
LARGEST = 10**18
ReportedCount = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
ReportedDollars = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


def parse_record(raw: bytes | str) -> Any:
    """Parse a JSON text, in which a number may have any length."""
    return json.loads(raw, parse_int=lambda digits: int(digits[:_DIGITS]))


# The leading digits that are read of a longer number: Python refuses to read all.
_DIGITS = 1_000


def bounded(value: Any) -> Any:
    """Return a JSON value with every number limited to `LARGEST`."""
    if isinstance(value, dict):
        return {name: bounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [bounded(part) for part in value]
    if isinstance(value, int | float) and abs(value) > LARGEST:
        if isinstance(value, float):
            return math.copysign(LARGEST, value)
        if value > 0:
            return LARGEST
        return -LARGEST
    return value


SPARSE = "sparse"


def to_record(value: Any) -> Any:
    """Return the JSON value of a dataclass or struct of texts, numbers, tuples and nested ones.

    A field with `SPARSE` in its metadata is left out if it has its default.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (
            (field, getattr(value, field.name)) for field in dataclasses.fields(value)
        )
        return {
            field.name: to_record(part)
            for field, part in fields
            if not (SPARSE in field.metadata and part == field.default)
        }
    if isinstance(value, msgspec.Struct):
        return {
            name: to_record(getattr(value, name)) for name in value.__struct_fields__
        }
    if isinstance(value, tuple | list):
        return [to_record(part) for part in value]
    return value


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Return the JSON values of some of the value's attributes, by name."""
    return {name: to_record(getattr(value, name)) for name in names}


def from_record(kind: type[T], record: object, where: str) -> T:
    """Return the value of type `kind` in a JSON `record`; unknown fields are ignored.

    Raises LtmError with `where`, the field and the expected type.
    """
    try:
        return msgspec.convert(record, kind)
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        raise LtmError(f"{where}: {error}") from error
