"""Changes in the user's life, and the facts of several people who share the reader."""

from __future__ import annotations

from typing import NamedTuple

from pytest_ltm.agents.reader.notes import (
    UNDERSTOOD,
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
)
from pytest_ltm.language.dates import MONTH_PATTERN

_RE = Patterns("household", MONTH=MONTH_PATTERN)
_HOME = "home"
_UNTOLD = "You have not told me that."
_PRIVATE = "I can't tell you that; it is private."


class _State(NamedTuple):
    """The value of something from a day on; the first state has no known day."""

    value: str
    day: str


class Changes(Topic, kinds=("state", "case"), forgets=_RE.forgets_changes):
    """Keeps where the user lives and goes: the former value, the new one, and the day of the change."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a state, which others may note as well; or answer what holds, what held before, or since when."""
        if turn.asks:
            return _answer_change(turn.text, notes)
        if cases := _RE.case.findall(turn.text):
            return _note_cases(turn, cases, notes)
        label, match = first_kind(_RE["told"], turn.text)
        if match:
            day = _RE.day.search(turn.text)
            state = [label, match[match.lastindex or 0], day[1] if day else ""]
            notes.add(turn, "state", state)
            notes.add(turn, UNDERSTOOD, "state")
        return None


def _note_cases(
    turn: IncomingTurn, cases: list[tuple[str, str]], notes: ReaderNotebook
) -> str:
    """Note what holds at each home."""
    for place, clause in cases:
        label, match = first_kind(_RE["told"], clause)
        if match:
            notes.add(turn, "case", [label, place, match[match.lastindex or 0]])
    return "Noted."


def _answer_change(question: str, notes: ReaderNotebook) -> str | None:
    """Return the answer; None unless it is about one of the user's things with a known state."""
    if not _RE.of_user.search(question):
        return None
    label, _ = first_kind(_RE["asked"], question)
    states = _states_of(label, notes)
    if not states:
        return None
    if _RE.since.search(question):
        return f"On {states[-1].day}." if states[-1].day else _UNTOLD
    if _RE.before.search(question):
        return f"{states[-2].value}." if len(states) > 1 else _UNTOLD
    return f"{states[-1].value}."


def _states_of(label: str, notes: ReaderNotebook) -> list[_State]:
    """Return the states of something in order; those of the homes if it depends on the home."""
    value_by_place: dict[str, str] = {}
    for case_label, place, value in notes.contents("case"):
        if case_label == label:
            value_by_place[place] = value
    states = []
    for state_label, value, day in notes.contents("state")[::-1]:
        if not value_by_place:
            if state_label == label:
                states.append(_State(value, day))
        elif state_label == _HOME and value in value_by_place:
            states.append(_State(value_by_place[value], day))
    return states


class SharingPeople(
    Topic, kinds=("members", "of member"), forgets=_RE.forgets_sharing_people
):
    """Keeps the statements of several people who share the reader separate.

    Nobody is told those of another.
    """

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note who shares the reader, or what one of them says; answer questions.

        Others may note statements as well.
        """
        if introduction := _RE.introduction.search(turn.text):
            names = _RE.member.findall(introduction[1])
            return notes.add(turn, "members", names)
        members = notes.newest("members")
        sharing = [] if members is None else members.content
        named = _RE.member.findall(turn.text)
        speaker = next((name for name in named if name in sharing), "")
        topics = _RE["topics"] if speaker else {}
        topic, match = first_kind(topics, turn.text)
        # Texts with dates are secrets for some of the others, until a day; another
        # ability handles them.
        if match is None or _RE.dated.search(turn.text):
            return None
        if not turn.asks:
            value = match[1] if match.lastindex else turn.text
            notes.add(turn, "of member", [speaker, topic, value])
            notes.add(turn, UNDERSTOOD, "of member")
            return None
        if not _RE.own.search(turn.text):
            return _PRIVATE
        for value in notes.values_of("of member", speaker, topic):
            return f"You told me: {value}"
        return _UNTOLD
