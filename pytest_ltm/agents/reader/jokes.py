"""Jokes, and which of them was told at a certain time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.dates import MONTHS
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import UNDERSTOOD, WORDS, Topic, first_match

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNote, ReaderNotebook


_INTRODUCED = lazy_pattern(
    r"([^:.?!]*\bjoke\b[^:.?!]*)[:.!?]\s+(\S.*)"
    r"|[^:.?!]{0,60}\b(?:(?:this|silly) one|here's one|one for you|made me laugh|get this)\b[^:.?!]{0,30}:\s+(\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_AGAIN = lazy_pattern(r"\b(?:which|what|tell me|repeat|recall|remember)\b", re.IGNORECASE)
_AGO = lazy_pattern(r"\bago\b", re.IGNORECASE)
_TO_YOU = lazy_pattern(r"\byour?\b", re.IGNORECASE)
_LENGTH = lazy_pattern(r"(\d+)\s*(day|hour|minute|second)s?\b", re.IGNORECASE)
_FEW_SENTENCES = 250
_DATE = rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)})\b"
_LIFE = [lazy_pattern(said, re.IGNORECASE) for said in (_DATE, *(said for said, _ in WORDS["life"].values()))]
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
# Seconds within which two moments are the same: people say minutes, some of them rounded down.
_SAME_TIME = 60.0


class Jokes(Topic):
    """Keeps the jokes that are introduced as such; others, told without a word, are among the statements."""

    kinds = ("joke",)
    about = lazy_pattern(rf"\bjokes?\b|\A{_INTRODUCED.pattern}", re.IGNORECASE | re.DOTALL)
    forgets = lazy_pattern(r"\b(?:forget|disregard)\b[^.:?!]*\bjokes?\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a joke, or tell one again."""
        if _AGAIN.search(turn.text) and (_AGO.search(turn.text) or turn.text.rstrip().endswith("?")):
            joke = _recall_joke(turn, notes)
            return f"You told me this joke: {joke.content}" if joke else "I do not remember that joke."
        introduced = _INTRODUCED.match(turn.text)
        if introduced is None:
            return None
        notes.add(turn, "joke", introduced[2] or introduced[3])
        return "Good one."


def elapsed_seconds(text: str) -> float:
    """Return the seconds that `3 hours and 25 minutes` means; 0 if the text names no duration."""
    return float(sum(int(number) * _SECONDS[unit.lower()] for number, unit in _LENGTH.findall(text)))


def _recall_joke(turn: IncomingTurn, notes: ReaderNotebook) -> ReaderNote | None:
    """Return what was told nearest to the moment that the question means; at one moment jokes come first."""
    if turn.now is None or not _AGO.search(turn.text):
        return notes.newest("joke") or notes.newest("statement")
    moment = turn.now - elapsed_seconds(turn.text)
    joke, statement = _nearest_note("joke", moment, notes), _nearest_note("statement", moment, notes)
    if joke is None or statement is None:
        return joke or statement
    return joke if _time_distance(joke, moment) <= _time_distance(statement, moment) + _SAME_TIME else statement


def _nearest_note(kind: str, moment: float, notes: ReaderNotebook) -> ReaderNote | None:
    """Return the note told nearest to a moment; time never runs back, so the search ends when it gets worse."""
    best: list[ReaderNote] = []
    understood = {note.position for note in notes.notes_of_kind(UNDERSTOOD)}
    for note in notes.visible(kind):
        if note.position in understood:
            continue
        if best and _time_distance(note, moment) > _time_distance(best[0], moment):
            break
        if best and _time_distance(note, moment) < _time_distance(best[0], moment):
            best = []
        best.append(note)
    return max(best, key=_like_a_joke, default=None)


def _like_a_joke(note: ReaderNote) -> tuple[bool, int]:
    """Return how much a text is like a joke: a few sentences to nobody that do not tell of the user's life."""
    text = note.content
    like = len(text) <= _FEW_SENTENCES and not _TO_YOU.search(text) and not first_match(_LIFE, text)
    return like, len(text.encode())  # a character of Chinese says as much as a few letters


def _time_distance(note: ReaderNote, moment: float) -> float:
    return abs(note.time - moment) if note.time is not None else float("inf")
