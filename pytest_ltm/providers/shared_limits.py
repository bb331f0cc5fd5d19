"""Where the state of endpoints is kept, which the conversations and processes of a run share."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Sharing(Struct):
    """Where the state of endpoints is kept, and the run's limit for one reply in seconds (None: there is none)."""

    folder: Path | None = None
    reply_timeout: float | None = None


SHARING = Sharing()


def share_limits(folder: Path | None, *, reply_timeout: float | None = None) -> None:
    """From now on keep the limits of all endpoints in this folder, for all processes that name the same one.

    None: each process keeps its own. `reply_timeout` (seconds, None: no limit) is that
    of the run. Nothing is written before a model is asked.
    """
    SHARING.folder = folder
    SHARING.reply_timeout = reply_timeout
