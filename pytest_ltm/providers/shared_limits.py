"""The folder that shares the state of endpoints among the conversations and processes of a run."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Sharing(Struct):
    """The folder with the state of endpoints, and the run's limit for a reply in seconds (None: no limit)."""

    folder: Path | None = None
    reply_timeout: float | None = None


SHARING = Sharing()


def share_limits(folder: Path | None, *, reply_timeout: float | None = None) -> None:
    """Keep the limits of all endpoints in this folder from now on.

    All processes that use the same folder share them.

    None: each process keeps its own. `reply_timeout`: the run's, in seconds (None: no
    limit). Nothing is written before the first request.
    """
    SHARING.folder = folder
    SHARING.reply_timeout = reply_timeout
