"""Open questions about a told history: dated conversations of others, and earlier sessions of the user's own.

Extractive: what shares the rarest words with the question is looked at, and a sentence or a short phrase of it is the
answer. It says that something was not mentioned where nothing matches. It knows no data set.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._history_answer import answer
from pytest_ltm.agents.reading._history_index import Index
from pytest_ltm.agents.reading._history_lines import dated, is_told
from pytest_ltm.agents.reading._history_question import is_about_a_conversation, read

if TYPE_CHECKING:
    from datetime import date

    from pytest_ltm.agents.reading._notes import Notebook, Turn

KIND = "history"


class ToldHistory:
    """Keeps what was told with a date, and what is told after it; answers what is plainly asked about that."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note what was told; answer a question that has a date in front, or says that it is about a conversation."""
        when, rest = dated(turn.text)
        begun = bool(notes.every(KIND))
        if (turn.told and (begun or when is not None)) or (when is not None and is_told(rest)):
            notes.add(turn, KIND, [turn.text, turn.reply, None if turn.now is None else str(_day(turn.now))])
            return "I have read it."
        if begun and (when is not None or is_about_a_conversation(rest)):
            return answered(turn, notes)
        return None


class OpenQuestions:
    """Takes every other question for one about the history, where one was told."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Answer a question."""
        asks = notes.every(KIND) and "?" in turn.text
        return answered(turn, notes) if asks else None


def answered(turn: Turn, notes: Notebook) -> str:
    """Return the answer to a question from the history that can be seen."""
    notes.overlook()
    index = notes.derived(KIND, Index)
    index.grow(notes.every(KIND))
    return answer(read(turn.text), index, notes.sees, None if turn.now is None else _day(turn.now))


def _day(now: float) -> date:
    return datetime.fromtimestamp(now, tz=timezone.utc).date()
