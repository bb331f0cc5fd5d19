"""Spec: `KIND:ARGUMENT[?name=value&...]`, the name of an agent, judge, user, reader, index or model."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import parse_qsl

from msgspec import Struct

from pytest_ltm.api.storage import AgentError, Field, did_you_mean, number_or_text


class Spec(Struct, frozen=True):
    """A parsed spec. Values of its query are never shown: one might be a key, by mistake."""

    kind: str
    argument: str
    query: str
    role: str
    """Its role in errors: `agent`, `judge`, `user`, `reader`, `index`, `--model`."""

    @classmethod
    def parse(cls, text: str, *, role: str) -> Spec:
        """Parse a spec; every text has these parts."""
        head, _, query = text.partition("?")
        kind, _, argument = head.partition(":")
        return cls(kind.strip(), argument.strip(), query, role)

    @property
    def head(self) -> str:
        """The spec without query and address, either of which may contain a secret by mistake."""
        return f"{self.kind}:{self.argument}".partition("@http")[0]

    def fields(
        self,
        known: Collection[str],
        *,
        groups: Collection[str] = (),
        texts: Iterable[str] = (),
    ) -> dict[str, Field]:
        """Return the fields of the query by name; AgentError for an unknown name, or one given twice.

        `groups`: names whose members follow a dot, as in `reading.k=5`. `texts`: names
        whose values are always texts, even if they look like numbers.
        """
        where = f"{self.role} {self.head!r}"
        values: dict[str, Any] = {}
        for name, text in parse_qsl(self.query, keep_blank_values=True):
            group, dot, member = name.partition(".")
            if name in groups:
                raise AgentError(
                    f"{where}: {name!r} is a group of parameters. Write one of them, as in '{name}.NAME=VALUE'"
                )
            if group not in known or bool(dot) != (group in groups):
                if "key" in name:
                    keys = " A key never stands in a spec: key_env=NAME names the environment variable."
                else:
                    keys = ""
                hint = did_you_mean(name, known)
                raise AgentError(
                    f"{where}: unknown parameter {name!r}.{hint}{keys} Choose from {', '.join(known)}."
                )
            if dot:
                target = values.setdefault(group, {})
                key = member
            else:
                target = values
                key = name
            if key in target:
                raise AgentError(f"{where}: {name!r} is given twice.")
            if name in texts:
                target[key] = text
            else:
                target[key] = {"true": True, "false": False}.get(
                    text, number_or_text(text)
                )
        return {name: Field(value, where, name) for name, value in values.items()}

    def merged(
        self,
        parameters: Field,
        known: Collection[str],
        *,
        only_in_files: Collection[str] = (),
        groups: Collection[str] = (),
        texts: Iterable[str] = (),
    ) -> dict[str, Field]:
        """Return the fields of a file's `parameters` and of the query; DefinitionError for one in both."""
        fields = parameters.mapping(known=[*known, *only_in_files])
        for name, value in self.fields(known, groups=groups, texts=texts).items():
            if name in fields:
                raise fields[name].fault(
                    f"is also in the spec {self.head!r}. Write it once."
                )
            fields[name] = value
        return fields
