"""The prompts of each role: ours, or those in a user's file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from msgspec import Struct

from pytest_ltm.api.storage import Field, load_packaged_yaml, load_yaml, read_regular

_VERSION = "version"


class Prompts(Struct, frozen=True):
    """The prompts of every role."""

    words: Mapping[str, Any]
    """Texts by role and name, some of them nested one level deeper."""
    record: object
    """The fingerprint's entry: our version, or a file's name and hash."""

    def __getitem__(self, role: str) -> Mapping[str, Any]:
        """Return the texts of a role."""
        texts: Mapping[str, Any] = self.words[role]
        return texts


def _load_own() -> Prompts:
    words = load_packaged_yaml(__file__, "prompts.yml")
    return Prompts(words, words[_VERSION])


PROMPTS = _load_own()
"""Our own prompts."""


def load_role_prompts(path: Path) -> Prompts:
    """Return the prompts in a file, with ours for missing roles and texts.

    Raises DefinitionError, with the place, for an unknown role or text, an unknown
    placeholder, or a text without any of the placeholders of ours.
    """
    words = _merge_texts(load_yaml(path), PROMPTS.words)
    digest = hashlib.sha256(read_regular(path)).hexdigest()
    return Prompts(words, {"file": path.name, "sha256": digest})


def _merge_texts(texts: Field, ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return our texts, replaced by the given ones."""
    merged = dict(ours)
    for name, field in texts.mapping([*ours]).items():
        if isinstance(ours[name], Mapping):
            merged[name] = _merge_texts(field, ours[name])
        elif name != _VERSION:
            _check_parts(field, _list_parts(ours[name]))
            merged[name] = field.text()
    return merged


def _list_parts(text: str) -> set[str]:
    """Return the names in braces; ValueError for an unmatched brace."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _check_parts(field: Field, parts: set[str]) -> None:
    """Raise DefinitionError for unknown placeholders, or for none.

    Texts of ours without any are not checked.
    """
    if not parts:
        return
    try:
        names = _list_parts(field.text())
    except ValueError as error:
        raise field.fault(f"{error}. Write {{{{ and }}}} for braces.") from None
    listed = ", ".join(f"{{{part}}}" for part in sorted(parts))
    for name in sorted(names - parts):
        raise field.fault(
            f"unknown placeholder {{{name}}}. Choose from {listed}. Write {{{{ and }}}} for braces."
        )
    if not names:
        raise field.fault(f"names none of {listed}.")
