"""Projects: notes on goals, tasks, files, conventions, corrections, reasons and secrets."""

from __future__ import annotations

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
)

_RE = Patterns("work")
WORK = "work"
# Kinds that replace each other: the newest note on a server counts, corrected or not.
_ANSWERED_BY = {"correction": ("correction", "server")}


class Projects(Topic, about=_RE.about):
    """Notes statements on projects, and answers questions about them."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the reply to a statement or question on a project; None: not handled."""
        kind, told = first_kind(_RE["told"], turn.text)
        if told:
            return notes.add(turn, WORK, [kind, *told.group("p", "v"), turn.text])
        kind, question = first_kind(_RE["asked"], turn.text)
        return _answer(kind, question["p"], notes) if question else None


def _answer(kind: str, project: str, notes: ReaderNotebook) -> str:
    kinds = _ANSWERED_BY.get(kind, (kind,))
    for name, subject, value, _ in notes.contents(WORK):
        if name in kinds and subject == project:
            return f"{value}."
    return "I do not know."
