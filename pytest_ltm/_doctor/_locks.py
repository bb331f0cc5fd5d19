"""Whether a folder is being written, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._locks import OWNER, holder, owner

if TYPE_CHECKING:
    from pathlib import Path


def lock_state(folder: Path) -> str:
    """Return "" if nobody holds it, `held by ...`, or that what is left of a dead owner means nothing."""
    try:
        held = holder(folder)
    except OSError as error:
        return f"unknown: {error.strerror or error}"
    if held:
        return f"held by {held}"
    return f"free (its last owner, {owner(folder)}, has died)" if (folder / OWNER).exists() else ""
