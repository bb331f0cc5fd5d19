"""Suite files (`*.ltm-suite.yml`): their fields, and the suite that they define."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from pytest_ltm.api.scenarios import NONE, SETTINGS, SUFFIX, Suite, SuiteEntry
from pytest_ltm.api.storage import Field, did_you_mean, load_packaged_yaml, load_yaml


def load_suite(path: str | Path, known: Collection[str] | None = None) -> Suite:
    """Load the suite in a file; DefinitionError names file, line, field and what was expected.

    `known`: the names of existing scenarios, or None to accept any.
    """
    return _make_suite(load_yaml(path), known)


def load_built_in(path: Path, known: Collection[str] | None) -> Suite:
    """Load a suite of the package like `load_suite`, but fast: each run reads all of them."""
    values = load_packaged_yaml(str(path), path.name)
    lines = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        name = line.partition(":")[0]
        if name in values:
            lines[name] = number
    return _make_suite(Field(values, str(path), lines=lines), known)


def _make_suite(top: Field, known: Collection[str] | None) -> Suite:
    fields = top.mapping(_SUITE, required=("scenarios",))
    values = top.read_fields(_SUITE)
    name = values.pop("name", Path(top.where).name.removesuffix(SUFFIX))
    if name == NONE:
        raise fields.get("name", top).fault(
            f"no suite can be called {NONE!r}: that word means no suite."
        )
    items = values.pop("scenarios")
    apart = values.pop("incompatible", [])
    common = {part: values.pop(part) for part in _COMMON if part in values}
    if not items:
        raise fields["scenarios"].error("at least one scenario")
    entries = tuple(_parse_entry(item, common, known) for item in items)
    groups = _parse_incompatible_groups(
        apart, items, [entry.name for entry in entries], known
    )
    lines = {}
    for setting in SETTINGS:
        if setting in fields and (line := fields[setting].line):
            lines[setting] = line
    if "span" in values:
        values["spans"] = values.pop("span")
    return Suite(
        name=name,
        path=top.where,
        entries=separate_entries(items, entries, groups),
        lines=lines,
        **values,
    )


def _parse_spans(field: Field) -> tuple[int | None, ...]:
    """Return the memory spans in a field: one, or a list of distinct ones."""
    fields = field.items("memory spans") if isinstance(field.value, list) else [field]
    if not fields:
        raise field.error("at least one memory span")
    numbers: list[int | None] = []
    for span_field in fields:
        span = None
        if span_field.value != "isolated":
            span = span_field.tokens("a memory span such as 32k or isolated, or a list")
        if span in numbers:
            raise span_field.fault(f"the span {span_field.value} is given twice.")
        numbers.append(span)
    return tuple(numbers)


def _read_count(field: Field) -> int:
    return field.whole(least=1)


def _read_share(field: Field) -> float:
    return field.number(0, 1)


def _read_message(field: Field) -> str:
    return field.text_or_empty('a message, or "" for none')


# Fields allowed for all entries and for a single entry; then all fields of an entry,
# and of a file.
_COMMON: dict[str, Callable[[Field], Any]] = {
    "examples": _read_count,
    "reset": _read_message,
}
_ENTRY: dict[str, Callable[[Field], Any]] = {
    "scenario": Field.text,
    "name": Field.name,
    "parameters": Field.json_mapping,
    "examples": _read_count,
    "span": Field.tokens,
    "least_span": Field.tokens,
    "threshold": _read_share,
    "floor": _read_share,
    "pass_k": _read_count,
    "reset": _read_message,
    # Parsed again once all entries are known, as it may only name those.
    "incompatible": Field.texts,
}
_SUITE: dict[str, Callable[[Field], Any]] = {
    "name": Field.text,
    "version": _read_count,
    **_COMMON,
    "span": _parse_spans,
    "seed": lambda field: field.whole(least=None),
    "filler": lambda field: field.text("a filler, such as varied or trivia:FILE"),
    "opening": _read_message,
    "scenarios": lambda field: field.items("scenarios"),
    "incompatible": lambda field: field.items("lists"),
}


def _parse_entry(
    item: Field, common: Mapping[str, Any], known: Collection[str] | None
) -> SuiteEntry:
    if isinstance(item.value, str):
        return SuiteEntry(
            scenario=_parse_scenario_name(item, known), name=item.value, **common
        )
    scenario = _parse_scenario_name(
        item.mapping(_ENTRY, required=("scenario",))["scenario"], known
    )
    return SuiteEntry(**{"name": scenario, **common, **item.read_fields(_ENTRY)})


def _parse_scenario_name(item: Field, known: Collection[str] | None) -> str:
    name = item.text("the name of a scenario")
    if known is not None and name not in known:
        raise item.fault(
            f"no scenario is called {name!r}; there are {', '.join(sorted(known))}.{did_you_mean(name, known)}"
        )
    return name


def separate_entries(
    items: list[Field], entries: Sequence[SuiteEntry], groups: Sequence[set[str]]
) -> tuple[SuiteEntry, ...]:
    """Return the entries kept apart as the groups say; DefinitionError for a duplicate name."""
    lines: dict[str, int | None] = {}
    for item, entry in zip(items, entries, strict=True):
        if entry.name in lines:
            if lines[entry.name]:
                first = f" (the first in line {lines[entry.name]})"
            else:
                first = ""
            raise item.fault(
                f"two entries are called {entry.name!r}{first}. Give one another name with `name:`."
            )
        lines[entry.name] = item.line
    separated = []
    for entry in entries:
        rivals: set[str] = set()
        for group in groups:
            if entry.name in group:
                rivals |= group - {entry.name}
        separated.append(structs.replace(entry, incompatible=tuple(sorted(rivals))))
    return tuple(separated)


def _parse_incompatible_groups(
    lists: list[Field],
    items: list[Field],
    names: list[str],
    known: Collection[str] | None,
) -> list[set[str]]:
    """Return the sets of names that must not overlap with each other."""
    valid = None if known is None else {*known, *names}
    groups = []
    for place in lists:
        groups.append(_parse_group(place, valid))
        if len(groups[-1]) < 2:
            raise place.error("a list of at least two names")
    for item, name in zip(items, names, strict=True):
        if isinstance(item.value, Mapping) and "incompatible" in item.value:
            for rival in _parse_group(item.child("incompatible"), valid):
                groups.append({name, rival})
    return groups


def _parse_group(field: Field, names: set[str] | None) -> set[str]:
    scenarios = field.texts()
    for name in scenarios:
        if names is not None and name not in names:
            raise field.fault(
                f"no scenario is called {name!r}.{did_you_mean(name, names)}"
            )
    return set(scenarios)
