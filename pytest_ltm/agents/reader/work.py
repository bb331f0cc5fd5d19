"""What is said of projects: notes of goals, tasks, files, conventions, corrections, reasons and secrets."""

from __future__ import annotations

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    first_match,
)

_RE = Patterns("work")
WORK = "work"
# What replaces what: of a server the newest counts, be it corrected or not.
_ANSWERED_BY = {"correction": ("correction", "server")}


class Projects:
    """Notes what is said of projects, and answers what is asked of them."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the reply to what is said or asked of a project; None: not mine."""
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
