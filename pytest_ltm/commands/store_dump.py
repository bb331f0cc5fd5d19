"""Dumps the current contents of a memory store for `ltm audit`: by its export(), else by its list()."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import ConfigurationError, describe_error
from pytest_ltm.lifecycle.audit.memory_records import Dump, dump_of_value
from pytest_ltm.lifecycle.stores_of_spec import store_maker
from pytest_ltm.lifecycle.subject import Hit, Subject, hits_by_kind

STORE_KINDS = ("store:", "mcp:")


def names_store(text: str) -> bool:
    """Return whether a text is the spec of a store, not a path."""
    return text.startswith(STORE_KINDS)


def dump_store(spec: str, users: Sequence[str]) -> Dump:
    """Return the contents of a store, for these users if it separates them.

    ConfigurationError if it can neither export nor list, requires a user and none is given, or is empty.
    """
    subject = Subject(store_maker(find_agent(spec, base=Path.cwd())), Pace())
    try:
        power = next(
            (method for method in ("export", "list") if subject.can(method)), ""
        )
        if not power:
            raise ConfigurationError(
                f"{spec} has neither export() nor list(), so its memories cannot be read. Audit a dump instead"
            )
        if subject.takes(power, "user") and not users:
            raise ConfigurationError(
                f"{spec}: {power}() takes a user. Name whose memories are read: --user NAME (repeatable)"
            )
        rows: list[Any] = []
        places: list[str] = []
        for user in users or [""]:
            part = _part(subject, power, user)
            rows += part.rows
            places += part.places
    finally:
        subject.close()
    if not rows:
        raise ConfigurationError(f"{spec} holds no memories that {power}() shows")
    return Dump(spec, rows, places)


def _part(subject: Subject, power: str, user: str) -> Dump:
    """Return the contents of one user's memory, each record with its own fields if it has any."""
    scope = Scope(user=user)
    if power == "export":
        exported = subject.exported(scope)
        dump = dump_of_value(user, _json_value(exported))
        if dump.rows and isinstance(dump.rows[0], dict) and len(dump.rows[0]) > 1:
            return _of_user(dump, user)
        kinds = hits_by_kind(exported)
    else:
        kinds = subject.listed(power, scope)
    rows: list[Mapping[str, Any]] = []
    places = []
    for kind, hits in kinds.items():
        for hit in hits:
            places.append(f"{kind}[{len(rows)}]")
            rows.append(_row(hit))
    return _of_user(Dump(user, rows, places), user)


def _of_user(dump: Dump, user: str) -> Dump:
    """Return a dump in which each record names its user."""
    if not user:
        return dump
    rows = [{**row, "user": user} for row in dump.rows]
    return Dump(dump.name, rows, [f"{user}: {place}" for place in dump.places])


def _row(hit: Hit) -> Mapping[str, Any]:
    fields = {"text": hit.text, "id": hit.key, "at": hit.at and hit.at.isoformat()}
    return {name: value for name, value in fields.items() if value is not None}


def _json_value(exported: Any) -> Any:
    """Return an export as JSON values; ConfigurationError if it cannot be converted."""
    try:
        return json.loads(json.dumps(exported, default=_plain))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"export() did not return JSON values: {describe_error(error)}"
        ) from None


def _plain(value: Any) -> Any:
    """Convert an object for JSON to its attributes, or else to text."""
    fields = getattr(value, "__dict__", None)
    return dict(fields) if fields else str(value)
