"""Tellings that hold notes in the place of turns: what the retrieval baselines of the paper search.

Maharana et al. (2024) retrieve over turns, over observations (facts noted after a session, with the turns that they
come from) and over summaries of sessions. Told these, any agent that retrieves is that baseline.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError
from pytest_ltm._history import PastExchange

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.datasets.locomo._schema import Sample, Session

NOTED = ("observations", "summaries")
"""The tellings that hold notes."""
READ = "I have read it."
_SESSION = re.compile(r"[DOS](\d+)")


def noted(sample: Sample, telling: str) -> list[PastExchange]:
    """Return the notes of a sample by date, an exchange each; DatasetError if it has none.

    An observation holds the turns that it comes from, so that what is retrieved is named by turns; a summary is
    `S<session>`, which recalls compare by session.
    """
    notes = _observations if telling == "observations" else _summaries
    found = [past for session in sample.sessions for past in notes(sample, session)]
    if not found:
        raise DatasetError(f"--ltm-locomo-telling={telling}: conversation {sample.id!r} of the file has no {telling}")
    return found


def session_of(past: PastExchange) -> int:
    """Return the number of the session that an exchange of any telling belongs to."""
    found = _SESSION.match(past.id)
    return int(found[1]) if found else 0


def held_by(past: Sequence[PastExchange], evidence: Sequence[str]) -> tuple[str, ...]:
    """Return what an Ask may be about: the evidence as it was told.

    A turn that was told keeps its id. In a telling of notes, one that no note holds is named by its session's notes.
    """
    told = {name for one in past for name in (one.id, *one.holds)}
    found: dict[str, None] = {}
    for turn in evidence:
        number = _SESSION.match(turn)
        of_session = [one.id for one in past if number and session_of(one) == int(number[1])]
        found.update(dict.fromkeys([turn] if turn in told else of_session))
    return tuple(found)


def _observations(sample: Sample, session: Session) -> Iterator[PastExchange]:
    of_session = (note for note in sample.observations if note.session == session.number and note.text.strip())
    for number, note in enumerate(of_session, start=1):
        text = f"[{session.when}] {note.text}"
        yield PastExchange(f"O{session.number}:{number}", session.at, text, READ, text, note.evidence)


def _summaries(sample: Sample, session: Session) -> Iterator[PastExchange]:
    summary = sample.summaries.get(session.number, "")
    if summary.strip():
        text = f"[{session.when}] {summary}"
        yield PastExchange(f"S{session.number}", session.at, text, READ, text)
