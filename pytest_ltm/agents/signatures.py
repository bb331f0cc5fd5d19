"""What a callable takes: plain functions and methods are looked at once, for a run makes thousands of agents."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, cast
from weakref import WeakKeyDictionary

_SIGNATURES: WeakKeyDictionary[FunctionType, dict[bool, inspect.Signature]] = (
    WeakKeyDictionary()
)
"""By function, and by whether an object is bound to it."""


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature; raises what `inspect.signature` raises for what has none: TypeError or ValueError."""
    is_bound = type(function) is MethodType
    plain = cast("MethodType", function).__func__ if is_bound else function
    if type(plain) is not FunctionType:
        return inspect.signature(function)
    signatures = _SIGNATURES.setdefault(plain, {})
    if is_bound not in signatures:
        signatures[is_bound] = inspect.signature(function)
    return signatures[is_bound]
