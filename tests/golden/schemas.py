"""The schemas of files as the code has them now: what `refresh.py schema` writes, and tests compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pytest_ltm.datasets.interchange import Header, Question, Session
from pytest_ltm.figures.figure import Missing
from pytest_ltm.figures.figures import all_figures, figure_meaning
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.reports import summary

# What `summary.json` may hold: `python tests/golden/refresh.py schema` writes the part
# on columns.
SCHEMA = Path(summary.__file__).with_name("summary.schema.json")
NUMBER: dict[str, Any] = {"type": "number"}
UNITS: Mapping[str, Mapping[str, Any]] = {
    "count": {"type": "integer"},
    "points": NUMBER,
    "share": NUMBER | {"minimum": 0, "maximum": 1},
    "tokens": NUMBER,
    "usd": NUMBER,
    "simulated": NUMBER,
    "seconds": NUMBER,
    "ratio": NUMBER | {"minimum": 0},
    "boolean": {"type": "boolean"},
    "flag": {"const": True},
    "interval": {"$ref": "#/$defs/interval"},
}
"""The JSON Schema of a value of each unit."""


def summary_schema() -> dict[str, Any]:
    """Return the JSON Schema of `summary.json`, with the current figures of columns."""
    schema: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))
    result = schema["$defs"]["result"]
    # Figures are declared once, in code: a handwritten schema would soon lack some.
    own_properties = {
        name: result["properties"][name]
        for name in ("agent", "span_label", "span", "scenarios", "metrics")
    }
    figures, required = figures_schema()
    result["properties"] = {**own_properties, **figures}
    result["required"] = [*own_properties, *required]
    return schema


def figures_schema() -> tuple[dict[str, Any], list[str]]:
    """Return the JSON Schema of the result of `figures_json`: its properties, and the required ones."""
    properties = {}
    required = []
    for group, figures in group_by(all_figures(), lambda figure: figure.group).items():
        first = figures[0]
        schema = UNITS[first.unit]
        names = {figure.name.partition(".")[2]: figure for figure in figures}
        if group != first.name:
            members = {}
            required_members = []
            for name, figure in names.items():
                # The first member decides whether the group exists: inside a group it
                # is never missing.
                missing = "never" if figure is first else figure.missing
                members[name] = _nullable(UNITS[figure.unit], missing)
                if missing != "absent":
                    required_members.append(name)
            schema = {
                "type": "object",
                "required": required_members,
                "properties": members,
                "additionalProperties": False,
            }
        meaning = figure_meaning(first)
        described = {"description": meaning} if meaning or group != first.name else {}
        properties[group] = {**described, **_nullable(schema, first.missing)}
        if first.missing != "absent":
            required.append(group)
    return properties, required


def _nullable(schema: Mapping[str, Any], missing: Missing) -> dict[str, Any]:
    if missing != "null":
        return dict(schema)
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"oneOf": [{"type": "null"}, schema]}


def interchange_schema() -> dict[str, Any]:
    """Return the JSON schema of a line."""
    rows, parts = msgspec.json.schema_components([Header, Session, Question])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": list(rows),
        "$defs": parts,
    }
