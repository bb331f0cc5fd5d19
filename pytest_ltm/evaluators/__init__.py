"""Evaluators: one family of rules a file, imported only when used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ltm.evaluators._colours import NamesColour as NamesColour
    from pytest_ltm.evaluators._jokes import RecallsJoke as RecallsJoke
    from pytest_ltm.evaluators._prospective import QuoteAtReply as QuoteAtReply

_HOMES = {
    "NamesColour": "_colours",
    "QuoteAtReply": "_prospective",
    "RecallsJoke": "_jokes",
}

__all__ = ["NamesColour", "QuoteAtReply", "RecallsJoke"]


def __getattr__(name: str) -> Any:
    """Import an evaluator's module when its name is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
