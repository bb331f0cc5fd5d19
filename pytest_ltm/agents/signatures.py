"""Signatures of callables, cached for functions and methods: a run creates thousands of agents."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, cast
from weakref import WeakKeyDictionary

_SIGNATURES: WeakKeyDictionary[FunctionType, dict[bool, inspect.Signature]] = (
    WeakKeyDictionary()
)
"""By function, and by whether it is a bound method."""


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature; raises TypeError or ValueError, as `inspect.signature` does, if there is none."""
    is_bound = type(function) is MethodType
    plain = cast("MethodType", function).__func__ if is_bound else function
    if type(plain) is not FunctionType:
        return inspect.signature(function)
    signatures = _SIGNATURES.setdefault(plain, {})
    if is_bound not in signatures:
        signatures[is_bound] = inspect.signature(function)
    return signatures[is_bound]
