"""Jokes, tips and their sources; and a fallback that answers with the statement nearest in words."""

from __future__ import annotations

import json
from heapq import merge
from itertools import groupby

from pytest_ltm.agents.reader.notes import (
    COMMON,
    UNDERSTOOD,
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNote,
    ReaderNotebook,
    Topic,
    first_match,
)
from pytest_ltm.language.dates import MONTH_PATTERN, MONTHS
from pytest_ltm.language.small_talk import is_relayed, is_small_talk

_RE = Patterns("general", MONTH=MONTH_PATTERN, MONTHS=MONTHS)


USER = "you"
READER = "me"


class Tips(
    Topic, kinds=("tip", "withdrawn"), about=_RE.about_tips, forgets=_RE.forgets_tips
):
    """Keeps tips with their sources, gives one on request, and knows whose each was."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Give a tip, note what a message says about one, or answer a question."""
        text = turn.text
        if choice := _RE.choice.search(text):
            _note_tip(turn, notes, choice["contest"], READER, choice["one"])
            return f"{choice['one']}."
        if tip := _RE.tip.search(text):
            quoted = _RE.quoted.search(text)
            contest = tip["contest"] or tip["other"]
            winner = tip["winner"] or tip["named"]
            return _note_tip(
                turn, notes, contest, f"your {quoted[1]}" if quoted else USER, winner
            )
        if withdrawn := _RE.withdrawn.search(text):
            return notes.add(turn, "withdrawn", withdrawn["contest"])
        if turn.asks:
            return _answer_tip(text, notes)
        return None


def _note_tip(
    turn: IncomingTurn, notes: ReaderNotebook, contest: str, source: str, winner: str
) -> str:
    day = _RE.day.search(turn.text)
    level = "a mere guess" if _RE.unsure.search(turn.text) else "certain"
    tip = {
        "contest": contest,
        "source": source,
        "winner": winner,
        "day": day[0] if day else "",
        "level": level,
    }
    return notes.add(turn, "tip", tip)


def _answer_tip(question: str, notes: ReaderNotebook) -> str | None:
    tips = notes.contents("tip")
    place = next(
        (n for n, tip in enumerate(tips) if f"the {tip['contest']}" in question), -1
    )
    if place < 0:
        return "I don't know." if tips else None
    tip = tips[place]
    if tip["source"] == READER:
        picked = f"I picked {tip['winner']}."
    else:
        picked = "I don't know."
    # the newest come first
    next_one = f"The {tips[place - 1]['contest']}." if place else "I don't know."
    withdrawn = tip["contest"] in notes.contents("withdrawn")
    level = "It has been taken back." if withdrawn else f"It is {tip['level']}."
    source_line = f"It was {tip['source']}."
    day = f"On {tip['day']}."
    answers = (
        (_RE.next, next_one),
        (_RE.whose, source_line),
        (_RE.own, picked),
        (_RE.on_day, day),
    )
    for pattern, answer in answers:
        if pattern.search(question):
            return answer
    return level


_FEW_SENTENCES = 250
_LIFE = [
    _RE.date,
    *_RE.compile_group([said for said, _ in WORDS["life"].values()], "(?i)"),
]
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
# Seconds within which two moments are the same: people name minutes, sometimes rounded
# down.
_SAME_TIME = 60.0


class Jokes(Topic, kinds=("joke",), about=_RE.about_jokes, forgets=_RE.forgets_jokes):
    """Keeps jokes that are introduced as such; others are among the statements."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a joke, or tell one again."""
        if _RE.again.search(turn.text) and (_RE.ago.search(turn.text) or turn.asks):
            joke = _recall_joke(turn, notes)
            if joke:
                return f"You told me this joke: {joke.content}"
            return "I do not remember that joke."
        introduced = _RE.introduced.match(turn.text)
        if introduced is None:
            return None
        return notes.add(turn, "joke", introduced[2] or introduced[3], "Good one.")


def elapsed_seconds(text: str) -> float:
    """Return the seconds in `3 hours and 25 minutes`; 0 if the text names no duration."""
    seconds = 0.0
    for number, unit in _RE.length.findall(text):
        seconds += int(number) * _SECONDS[unit.lower()]
    return seconds


def _recall_joke(turn: IncomingTurn, notes: ReaderNotebook) -> ReaderNote | None:
    """Return the note nearest to the moment in the question; at the same moment jokes come first."""
    if turn.now is None or not _RE.ago.search(turn.text):
        return notes.newest("joke") or notes.newest("statement")
    moment = turn.now - elapsed_seconds(turn.text)
    joke = _nearest_note("joke", moment, notes)
    statement = _nearest_note("statement", moment, notes)
    if joke is None or statement is None:
        return joke or statement
    if _time_distance(joke, moment) <= _time_distance(statement, moment) + _SAME_TIME:
        return joke
    return statement


def _nearest_note(kind: str, moment: float, notes: ReaderNotebook) -> ReaderNote | None:
    """Return the note nearest to a moment; time never runs backwards, so the search can stop early."""
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
    """Return how joke-like a text is.

    Jokes are a few sentences, neither addressed to the agent nor about the user's life.
    """
    text = note.content
    like = (
        len(text) <= _FEW_SENTENCES
        and not _RE.to_you.search(text)
        and not first_match(_LIFE, text)
    )
    # in bytes: a Chinese character says as much as a few letters
    return like, len(text.encode())


def _time_distance(note: ReaderNote, moment: float) -> float:
    if note.time is not None:
        return abs(note.time - moment)
    return float("inf")


class General:
    """Claims every message."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, or answer with the one that shares most words with the question."""
        if (
            not turn.is_brief
            or _RE.forget.search(turn.text)
            or _RE.ready.search(turn.text)
        ):
            return "Understood."
        if turn.asks or _RE.request.match(turn.text) or _RE.in_a_word.search(turn.text):
            if turn.told:
                return ""
            return notes.derived("statement", _Statements).nearest_statement(
                turn.text, notes
            )
        return notes.add(turn, "statement", turn.text)


class _Statements:
    """An index of the statements by word, extended on demand."""

    def __init__(self) -> None:
        self._known = 0
        self._numbers: dict[str, list[int]] = {}
        """The numbers of statements, by word."""

    def nearest_statement(self, question: str, notes: ReaderNotebook) -> str:
        """Return the visible statement with most words of the question, the newest of equals."""
        statements = notes.notes_of_kind("statement")
        for number in range(self._known, len(statements)):
            for word in _significant_words(statements[number].content):
                self._numbers.setdefault(word, []).append(number)
        self._known = len(statements)
        having = []
        for word in _significant_words(question):
            if word in self._numbers:
                having.append(self._numbers[word])
        best = "I do not know."
        most_shared = 0
        for number, words in groupby(merge(*map(reversed, having), reverse=True)):
            shared = sum(1 for _ in words)
            if shared > most_shared and notes.sees(statements[number].position):
                best = f"You told me: {statements[number].content}"
                most_shared = shared
                if most_shared == len(having):
                    break
        return best


def _significant_words(text: str) -> frozenset[str]:
    return (
        frozenset(word.lower()[:6] for word in _RE.word.findall(text))
        - COMMON["statement"]
    )


# --- The opening message, which only announces what the conversation will be like.


class Announcement:
    """Claims the first message if it is an announcement, which answers no question."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Reply without noting anything."""
        if turn.position or not announces_questions(turn.text):
            return None
        notes.overlook()
        return "Noted."


def announces_questions(message: str) -> bool:
    """Return whether a first message announces a conversation with questions."""
    return _RE.coming.search(message) is not None


# --- Trivia that only keeps the reader busy: questions with answers to return as JSON,
# or just remarks.

# Such a message has its request and its first pair within this many characters.
_HEAD = 400
_MARK = " A: "


class Trivia:
    """Returns the answers of `Q: ..., A: ...` lines.

    No later question is about them, or about quiz remarks, small talk, or what other
    people told.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:  # noqa: ARG002 - the protocol's signature
        """Return the answers as a JSON list, if requested."""
        head = turn.text[:_HEAD]
        if _RE.remark.match(head) or is_relayed(turn.text) or is_small_talk(head):
            return "Noted."
        if not (_RE.first.search(head) and _RE.wanted.search(head)):
            return None
        if turn.told:
            return "[]"
        return json.dumps(example_answers(turn.text), ensure_ascii=False)


def example_answers(message: str) -> list[str]:
    """Return the text after the last `A: ` of each `Q:` line, in order."""
    lines = (line for line in message.split("\n") if line.startswith("Q: "))
    return [line.rpartition(_MARK)[2].strip() for line in lines]
