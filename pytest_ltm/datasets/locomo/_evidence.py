"""The evidence that questions cite: ids of turns, some of them malformed in the published file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_ID = re.compile(r"D:?(\d+):(\d+)")


def repaired(cited: Iterable[object], known: Collection[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that citations mean, each once, and a sentence for each that had to be repaired or left out.

    One citation may hold several ids, and an id leading zeros or a colon too many. What points to no turn is left out.
    """
    found: dict[str, None] = {}
    notes: list[str] = []
    for text in cited:
        ids = [f"D{int(session)}:{int(turn)}" for session, turn in _ID.findall(str(text))]
        there = [one for one in ids if one in known]
        found.update(dict.fromkeys(there))
        if not there:
            notes.append(f"the evidence {text!r} points to no turn")
        elif there != [text]:
            lost = "" if len(there) == len(ids) else ", the rest points to no turn"
            notes.append(f"the evidence {text!r} is read as {', '.join(there)}{lost}")
    return tuple(found), tuple(notes)
