"""What a dotted path `package.module:name` names."""

from __future__ import annotations

import importlib
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm._errors import LtmError


def dotted(spec: str, error: type[LtmError], what: str) -> object:
    """Return the object that `package.module:name` (also `module:Class.method`) names.

    Raises `error`, whose message starts with `what` (such as "tokenizer"), if it cannot be had; an exception
    of the module's own code is its cause.
    """
    module, _, path = spec.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise error(f"{what} {spec!r} is no dotted path; write it as 'package.module:name'")
    try:
        found: object = importlib.import_module(module)
    except Exception as exc:
        raise error(
            f"{what} {spec!r}: cannot import {module!r} ({type(exc).__name__}: {exc}). "
            "Is its folder on sys.path (for pytest: the ini value `pythonpath`)?"
        ) from exc
    try:
        return reduce(getattr, path.split("."), found)
    except AttributeError as exc:
        raise error(f"{what} {spec!r}: module {module!r} has no {path!r}") from exc
