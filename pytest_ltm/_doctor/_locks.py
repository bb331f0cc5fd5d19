"""Whether a folder is being written, and by whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_ltm._locks import NAME, OWNER

if TYPE_CHECKING:
    from pathlib import Path


def lock_state(folder: Path) -> str:
    """Return "" if nobody holds it, `held by ...`, or that what is left of a dead owner means nothing."""
    if not (folder / NAME).is_file():
        return ""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - nothing is imported before it is used

    lock = FileLock(str(folder / NAME), is_singleton=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return f"held by {_owner(folder)}"
    except OSError as error:
        return f"unknown: {error.strerror or error}"
    lock.release()
    return f"free (its last owner, {_owner(folder)}, has died)" if (folder / OWNER).exists() else ""


def _owner(folder: Path) -> str:
    try:
        known = json.loads((folder / OWNER).read_bytes())
        return f"process {int(known['pid'])} on {str(known['host'])[:80]!r}, since {str(known['since'])[:40]}"
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return "another process"
