"""The abilities of the embedded reader: one kind per file, behind one protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.abilities import ABILITIES
    from pytest_ltm.agents.reader.notes import (
        Ability,
        Appends,
        IncomingTurn,
        ReaderNote,
        ReaderNotebook,
    )

__all__ = (
    "ABILITIES",
    "Ability",
    "Appends",
    "IncomingTurn",
    "ReaderNote",
    "ReaderNotebook",
)

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "abilities": "ABILITIES",
        "notes": "Ability Appends ReaderNote ReaderNotebook IncomingTurn",
    },
)
