"""The recorded results of a conversation, from its folder."""

from __future__ import annotations

from pathlib import Path

from pytest_ltm.api.journal import RESULTS, ConversationResult, read_results
from pytest_ltm.api.storage import LtmError


def recorded_result(folder: Path) -> ConversationResult | None:
    """Return a conversation's results; None if there are no readable ones."""
    try:
        return read_results(folder / RESULTS)
    except LtmError:
        return None
