"""Projects: notes on goals, tasks, files, conventions, corrections, reasons and secrets."""

from __future__ import annotations

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    first_match,
)

_RE = Patterns("work")
WORK = "work"
# Kinds that replace each other: the newest note on a server counts, corrected or not.
_ANSWERED_BY = {"correction": ("correction", "server")}


class Projects:
    """Notes statements on projects, and answers questions about them."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the reply to a statement or question on a project; None: not handled."""
        if not turn.is_brief or not _RE.about.search(turn.text):
            return None
        for kind, patterns in _RE["told"].items():
            if found := first_match(patterns, turn.text):
                return notes.add(turn, WORK, [kind, *found.group("p", "v"), turn.text])
        for kind, pattern in _RE["asked"].items():
            if found := pattern.search(turn.text):
                return _answer(kind, found["p"], notes)
        return None


def _answer(kind: str, project: str, notes: ReaderNotebook) -> str:
    kinds = _ANSWERED_BY.get(kind, (kind,))
    for name, subject, value, _ in notes.contents(WORK):
        if name in kinds and subject == project:
            return f"{value}."
    return "I do not know."
