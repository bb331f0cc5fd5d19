"""Tools of an MCP memory server: their arguments, their results, and presets of known servers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct, field, structs

from pytest_ltm.api.storage import Field, load_packaged_yaml

PRESETS: Mapping[str, Any] = load_packaged_yaml(__file__, "mcp_servers.yml")
"""Parameters of known servers, by a word of their command."""
NEW_ID = "new_id"
"""In a template of `add`: an id generated for the text, for tools that need one."""
FOLDER = "folder"
"""In the environment and in the command: an empty folder for each server."""
_PLACE = re.compile(r"\{(\w+)\}")
_STEP = re.compile(r"([^.\[\]]+)|(\[\])")
_PATH = re.compile(
    r"[^.\[\]]+(?:\[\])?(?:\.[^.\[\]]+(?:\[\])?)*|\[\](?:\.[^.\[\]]+(?:\[\])?)*"
)
_VERSION = re.compile(r"(?<=.)@[\w.^~-]*$")


class Tool(Struct, frozen=True, omit_defaults=True):
    """A tool of the server and how to call it."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Argument names, each with one of our names or a template. Empty: the tool takes our
    arguments that its schema names.
    """
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Arguments with a constant value."""
    results: str = ""
    """The path to its records: `entities[]`. "": it returns a list, or an object with one."""
    text: str = ""
    """The path to a record's text: `observations[]`. "": a field with a usual name."""
    id: str = ""
    """The path to a record's id."""
    pattern: str = ""
    """A regular expression with a group `text`, and optionally `id`, for a tool that returns prose."""

    def call_arguments(
        self, values: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the tool's arguments, built from our values."""
        if not (self.arguments or self.constants):
            properties = schema.get("properties", ())
            return {name: value for name, value in values.items() if name in properties}
        arguments = dict(self.constants)
        for name, template in self.arguments.items():
            if isinstance(template, str) and template in values:
                arguments[name] = values[template]
            else:
                arguments[name] = fill_template(template, values)
        return arguments

    def takes(self, argument: str, schema: Mapping[str, Any]) -> bool:
        """Return whether the tool receives one of our arguments."""
        if self.arguments or self.constants:
            return argument in set(self.places())
        return argument in schema.get("properties", ())

    def places(self) -> Iterator[str]:
        """Yield those of our names that its arguments use."""
        for template in self.arguments.values():
            is_name = isinstance(template, str) and not _PLACE.search(template)
            yield from [template] if is_name else places_in(template)

    @property
    def has_paths(self) -> bool:
        """Whether the tool says where its results are."""
        return bool(self.results or self.text or self.id or self.pattern)

    def records(self, answer: Any) -> list[dict[str, Any]]:
        """Return the records in an answer, each with `text` and `id`; records without a text are skipped."""
        if self.pattern:
            text_of_answer = answer if isinstance(answer, str) else json.dumps(answer)
            found = re.finditer(self.pattern, text_of_answer)
            return [match.groupdict() for match in found]
        records = []
        for leaf in walk(answer, self.results):
            more = dict(leaf) if isinstance(leaf, dict) else {}
            text = "\n".join(map(str, walk(leaf, self.text)))
            key = next(walk(leaf, self.id), None) if self.id else more.get("id")
            if isinstance(leaf, str) or self.text:
                more["text"] = text
            records.append(more | {"id": key})
        return records

    def record(self) -> dict[str, Any]:
        """Return the tool's part of a fingerprint: its arguments, and any other settings."""
        fields = {name: value for name, value in structs.asdict(self).items() if value}
        del fields["name"]
        is_plain = set(fields) <= {"arguments"}
        return dict(self.arguments) if is_plain else fields


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with each `{name}` replaced.

    A text that is only `{name}` becomes the value itself.
    """
    if isinstance(template, dict):
        return {name: fill_template(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [fill_template(part, values) for part in template]
    if not isinstance(template, str):
        return template
    if match := _PLACE.fullmatch(template):
        return values[match[1]]
    return _PLACE.sub(lambda place: str(values[place[1]]), template)


def places_in(template: Any) -> Iterator[str]:
    """Yield the names in braces within a template."""
    if isinstance(template, dict):
        template = list(template.values())
    if isinstance(template, list):
        for part in template:
            yield from places_in(part)
    elif isinstance(template, str):
        yield from _PLACE.findall(template)


def walk(value: Any, path: str) -> Iterator[Any]:
    """Yield the values at a path such as `entities[].observations[]`; nothing if the path does not exist."""
    if not path:
        yield value
        return
    step = _STEP.match(path)
    assert step is not None  # paths are validated when they are parsed
    inner_path = path[step.end() :].removeprefix(".")
    if step[2]:
        for member in value if isinstance(value, list) else ():
            yield from walk(member, inner_path)
    elif isinstance(value, dict) and step[1] in value:
        yield from walk(value[step[1]], inner_path)


def parse_tool(described: Field | None, name: str, ours: tuple[str, ...]) -> Tool:
    """Return the tool that a field describes, by name or with arguments and results.

    Raises DefinitionError for an invalid field.
    """
    if described is None:
        return Tool(name)
    if isinstance(described.value, str):
        return Tool(described.value)
    names = list(Tool.__struct_fields__)
    names[0] = "tool"
    fields = described.mapping(known=names, required=["tool"])
    arguments = fields["arguments"].mapping() if "arguments" in fields else {}
    for template in arguments.values():
        _check_template(template, ours)
    constants = fields["constants"].mapping() if "constants" in fields else {}
    paths: dict[str, str] = {}
    for part in ("results", "text", "id"):
        if part in fields:
            paths[part] = _read_path(fields[part])
    if "pattern" in fields:
        paths["pattern"] = _read_pattern(fields["pattern"])
    return Tool(
        fields["tool"].text("the name of a tool"),
        {key: template.value for key, template in arguments.items()},
        {key: constant.value for key, constant in constants.items()},
        **paths,
    )


def _check_template(template: Field, ours: tuple[str, ...]) -> None:
    """Raise DefinitionError for an unknown name, alone or in braces."""
    value = template.value
    is_name = isinstance(value, str) and not _PLACE.search(value)
    for name in [value] if is_name else places_in(value):
        if name not in ours:
            raise template.error(
                " or ".join(map(repr, ours)),
                " A template has them in braces: ['{text}']; what never changes stands in `constants`",
            )


def _read_path(path: Field) -> str:
    text = path.text("a path such as entities[].observations[]")
    if not _PATH.fullmatch(text):
        raise path.error("a path such as entities[].observations[]")
    return text


def _read_pattern(pattern: Field) -> str:
    text = pattern.text("a regular expression")
    try:
        groups = re.compile(text).groupindex
    except re.error as error:
        raise pattern.error(f"a regular expression ({error})") from None
    if "text" not in groups:
        raise pattern.error("a regular expression with a group (?P<text>...)")
    return text


def preset_of(command: list[str]) -> Mapping[str, Any]:
    """Return the preset of the server that a command starts, found by package or program; {} if unknown."""
    for word in command:
        package = _VERSION.sub("", word)
        for names, preset in PRESETS.items():
            if package in names.split() or PurePosixPath(word).name in names.split():
                return dict(preset)
    return {}
