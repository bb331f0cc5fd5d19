"""Data sets of the field, read from files of the user's own: one format a file, imported only when used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ltm.datasets._chapterbreak import Chapter as Chapter
    from pytest_ltm.datasets._chapterbreak import chapter_from_book as chapter_from_book
    from pytest_ltm.datasets._chapterbreak import chapter_from_dataset as chapter_from_dataset

_HOMES = {
    "Chapter": "_chapterbreak",
    "chapter_from_book": "_chapterbreak",
    "chapter_from_dataset": "_chapterbreak",
}

__all__ = ["Chapter", "chapter_from_book", "chapter_from_dataset"]


def __getattr__(name: str) -> Any:
    """Import a data set's module when its name is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
