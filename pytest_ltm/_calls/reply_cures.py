"""Cures for replies of a wrong type: where the text is that an agent should have returned."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

# Keys and attributes under which libraries return what a model said, the surest first.
NAMES = (
    "output_text", "final_output", "output", "choices", "messages", "message", "content", "text", "response", "reply",
    "answer", "result",
)  # fmt: skip
DEPTH = 4


def cure_reply(given: object) -> str:
    """Return what to return instead, as a sentence that follows another; "" if the text is nowhere to be seen."""
    if inspect.isasyncgen(given):
        return ". Return ''.join([part async for part in it])"
    if isinstance(given, Iterator):
        return ". Return ''.join(it)"
    if isinstance(given, bytes):
        return ". Return it.decode()"
    path = path_to_text(given)
    return f". Return its {path.removeprefix('.')}" if path else ""


def path_to_text(given: object, depth: int = DEPTH) -> str:
    """Return where in a value a text is, such as `['messages'][-1].content`; "" if no known name leads to it."""
    if isinstance(given, (list, tuple)) and given and depth:
        inner = path_to_text(given[-1], depth - 1)
        return "[-1]" * (isinstance(given[-1], str) or bool(inner)) + inner
    names = [name for name in NAMES if _holds(given, name)]
    if isinstance(given, Mapping) and not names and len(given) == 1:
        names = [name for name in given if isinstance(name, str)]
    for name in names:
        value = _item(given, name)
        inner = path_to_text(value, depth - 1) if depth and not isinstance(value, str) else ""
        if inner or isinstance(value, str):
            return (f"[{name!r}]" if isinstance(given, Mapping) else f".{name}") + inner
    return ""


def _holds(given: object, name: str) -> bool:
    return name in given if isinstance(given, Mapping) else name in getattr(given, "__dict__", ())


def _item(given: Any, name: str) -> object:
    """Return a key's value or an attribute; of an attribute that raises, nothing."""
    try:
        return given[name] if isinstance(given, Mapping) else getattr(given, name)
    except Exception:  # noqa: BLE001 - an error message must not fail on what it reports
        return None
