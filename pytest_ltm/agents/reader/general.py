"""Jokes, tips and who gave them; and whatever nobody else understands: the statement nearest in words is the answer."""

from __future__ import annotations

import json
import re
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_ltm._language.dates import MONTH_PATTERN, MONTHS
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.small_talk import is_small_talk
from pytest_ltm.agents.reader.notes import COMMON, UNDERSTOOD, WORDS, Topic, first_match

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNote, ReaderNotebook


_CONTEST = r"the (?P<contest>[a-z-]+(?: (?!is\b|has\b|by\b|as\b)[a-z-]+)?)"
_OTHER = _CONTEST.replace("contest", "other")
_CHOICE = lazy_pattern(rf"\bwin {_CONTEST}, (?P<one>[A-Z]\w+) or [A-Z]\w+\?")
_TIP = lazy_pattern(rf"\b(?P<winner>[A-Z]\w+) will win {_CONTEST}|\btip for {_OTHER} is (?P<named>[A-Z]\w+)")
_WITHDRAWN = lazy_pattern(rf"\btip for {_CONTEST} has been (?:taken back|withdrawn)")
_DAY = lazy_pattern(rf"\b\d{{1,2}} (?:{MONTH_PATTERN})[a-z]*\b", re.IGNORECASE)
_QUOTED = lazy_pattern(r"\bmy (?!own\b)(\w+)")
_UNSURE = lazy_pattern(r"\bguess\w*|\bhunch\b|\brumour\b")
_NEXT = lazy_pattern(r"\bnext\b")
_ON_DAY = lazy_pattern(r"\bday\b")
_WHOSE = lazy_pattern(r"\bwho (?:tipped|gave)\b|\bwhose\b|\bdid I tell\b", re.IGNORECASE)
_OWN = lazy_pattern(r"\byour own tip\b|\bdid you (?:yourself )?pick\b")
USER, READER = "you", "me"


class Tips(Topic):
    """Keeps tips with their sources, gives one when it is asked to, and knows whose each was."""

    kinds = ("tip", "withdrawn")
    about = lazy_pattern(r"\btip(?:s|ped)?\b|\bwin\b|\byou (?:yourself )?pick\b")
    forgets = lazy_pattern(r"\bforget all tips\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Give a tip, note what a message tells of one, or answer a question."""
        text = turn.text
        if choice := _CHOICE.search(text):
            _note_tip(turn, notes, choice["contest"], READER, choice["one"])
            return f"{choice['one']}."
        if tip := _TIP.search(text):
            quoted = _QUOTED.search(text)
            contest, winner = tip["contest"] or tip["other"], tip["winner"] or tip["named"]
            _note_tip(turn, notes, contest, f"your {quoted[1]}" if quoted else USER, winner)
            return "Noted."
        if withdrawn := _WITHDRAWN.search(text):
            notes.add(turn, "withdrawn", withdrawn["contest"])
            return "Noted."
        return _answer_tip(text, notes) if text.rstrip().endswith("?") else None


def _note_tip(turn: IncomingTurn, notes: ReaderNotebook, contest: str, source: str, winner: str) -> None:
    day = _DAY.search(turn.text)
    notes.add(
        turn,
        "tip",
        {
            "contest": contest, "source": source, "winner": winner, "day": day[0] if day else "",
            "level": "a mere guess" if _UNSURE.search(turn.text) else "certain",
        },
    )  # fmt: skip


def _answer_tip(question: str, notes: ReaderNotebook) -> str | None:
    known = [note.content for note in notes.visible("tip")]
    place = next((n for n, tip in enumerate(known) if f"the {tip['contest']}" in question), -1)
    if place < 0:
        return "I don't know." if known else None
    tip = known[place]
    picked = f"I picked {tip['winner']}." if tip["source"] == READER else "I don't know."
    next_one = f"The {known[place - 1]['contest']}." if place else "I don't know."  # the newest come first
    withdrawn = any(note.content == tip["contest"] for note in notes.visible("withdrawn"))
    for pattern, answer in (
        (_NEXT, next_one),
        (_WHOSE, f"It was {tip['source']}."),
        (_OWN, picked),
        (_ON_DAY, f"On {tip['day']}."),
    ):
        if pattern.search(question):
            return answer
    return "It has been taken back." if withdrawn else f"It is {tip['level']}."


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


_REQUEST = lazy_pattern(r"\s*(?:please\s+)?(?:tell|name|list|say|give|repeat|remind|answer)\b", re.IGNORECASE)
# A question that ends in how to answer it.
_IN_A_WORD = lazy_pattern(
    r"\?\s+(?:one|just|only|no|a)\b[^.?!]*\b(?:word|two|which|reasons|please)\b[^.?!]*\.$", re.IGNORECASE
)
_READY = lazy_pattern(r"\b(?:understood|ready|clear|okay|ok|all right|agreed)\s*\?\s*$", re.IGNORECASE)
_FORGET = lazy_pattern(r"\b(?:forget|disregard)\b", re.IGNORECASE)
_WORD = lazy_pattern(r"[^\W_]{3,}")


class General:
    """Claims every message."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, or answer with the one that shares most words with the question."""
        if not turn.is_brief or _FORGET.search(turn.text) or _READY.search(turn.text):
            return "Understood."
        if turn.text.rstrip().endswith("?") or _REQUEST.match(turn.text) or _IN_A_WORD.search(turn.text):
            return "" if turn.told else notes.derived("statement", _Statements).nearest_statement(turn.text, notes)
        notes.add(turn, "statement", turn.text)
        return "Noted."


class _Statements:
    """Which statements have which words, as far as they have been looked at."""

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
        having = [self._numbers[word] for word in _significant_words(question) if word in self._numbers]
        best, most = "I do not know.", 0
        for number, words in groupby(merge(*map(reversed, having), reverse=True)):
            shared = sum(1 for _ in words)
            if shared > most and notes.sees(statements[number].position):
                best, most = f"You told me: {statements[number].content}", shared
                if most == len(having):
                    break
        return best


def _significant_words(text: str) -> frozenset[str]:
    return frozenset(word.lower()[:6] for word in _WORD.findall(text)) - COMMON["statement"]


# --- The message that begins a conversation and only says what it is going to be like.

_COMING = lazy_pattern(r"\bgoing to\b.*\b(?:later|afterwards)\b[^.!?]*\bask\b", re.IGNORECASE | re.DOTALL)


class Announcement:
    """Claims the first message if it announces: nothing in it is an answer to anything."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Keep nothing of it."""
        if turn.position or not announces_questions(turn.text):
            return None
        notes.overlook()
        return "Noted."


def announces_questions(message: str) -> bool:
    """Return whether a first message says what is going to come, and that there will be questions."""
    return _COMING.search(message) is not None


# --- Trivia that only keeps the reader busy: questions with their answers, to be returned as JSON or just remarked on.

# Characters within which such a message says what it wants and begins with its first pair.
_HEAD = 400
_WANTED = lazy_pattern(r"\b(?:trivia|answers?)\b.*\bjson\b", re.IGNORECASE | re.DOTALL)
_FIRST = lazy_pattern(r"^Q: ", re.MULTILINE)
_MARK = " A: "
# What was asked in a quiz, and the answer.
_REMARK = lazy_pattern(r"[^\n?:]*\bquiz\b[^\n?:]*:[ \n][^\n?]+\? [^\n?]{1,80}\.(?:\n|$)", re.IGNORECASE)


class Trivia:
    """Returns the answers of `Q: ..., A: ...` lines.

    Nobody asks about them later, nor about remarks on a quiz, nor about small talk.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:  # noqa: ARG002 - the protocol's signature
        """Return the answers as a JSON list, where they are wanted."""
        head = turn.text[:_HEAD]
        if _REMARK.match(head) or is_small_talk(head):
            return "Noted."
        if not (_FIRST.search(head) and _WANTED.search(head)):
            return None
        return "[]" if turn.told else json.dumps(example_answers(turn.text), ensure_ascii=False)


def example_answers(message: str) -> list[str]:
    """Return what stands after the last `A: ` of each `Q:` line, in order."""
    lines = (line for line in message.split("\n") if line.startswith("Q: "))
    return [line.rpartition(_MARK)[2].strip() for line in lines]
