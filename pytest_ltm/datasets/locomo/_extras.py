"""What a LoCoMo file holds beside turns and questions: events, observations, summaries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.locomo._evidence import repaired
from pytest_ltm.datasets.locomo._schema import Events, Observation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_ltm._fields import Field

_SESSION = re.compile(r"session_(\d+)")


def events_in(item: Field | None, speakers: tuple[str, str]) -> Iterator[Events]:
    """Yield the events of each session; DefinitionError for what cannot be read, here and below."""
    for name, one in (item.mapping() if item else {}).items():
        found = _SESSION.search(name)
        if not found:
            continue
        fields = one.mapping()
        of = {speaker: _sentences(fields.get(speaker)) for speaker in speakers}
        yield Events(int(found[1]), str(fields["date"].value) if "date" in fields else "", of)


def observations_in(item: Field | None, known: Collection[str]) -> Iterator[Observation]:
    """Yield the facts noted after sessions; `known`: the ids of turns that there are."""
    for name, one in (item.mapping() if item else {}).items():
        found = _SESSION.search(name)
        for speaker, notes in (one.mapping() if found else {}).items():
            for note in notes.items("observations"):
                yield _observation(note, speaker, int(found[1]) if found else 0, known)


def summaries_in(item: Field | None) -> dict[int, str]:
    """Return the summaries by the number of the session, without empty ones."""
    found = ((_SESSION.search(name), one) for name, one in (item.mapping() if item else {}).items())
    return {int(name[1]): one.text() for name, one in found if name and one.value}


def _sentences(item: Field | None) -> tuple[str, ...]:
    values = () if item is None else item.value if isinstance(item.value, list) else (item.value,)
    return tuple(str(value) for value in values if value)


def _observation(note: Field, speaker: str, session: int, known: Collection[str]) -> Observation:
    parts: list[Any] = note.value if isinstance(note.value, list) else [note.value]
    cited = parts[1] if len(parts) > 1 else ()
    evidence, _ = repaired(cited if isinstance(cited, list | tuple) else [cited], known)
    return Observation(speaker, str(parts[0]) if parts else "", evidence, session)
