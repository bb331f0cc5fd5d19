"""Whatever nobody else understands: statements are kept, questions get the statement nearest in words."""

from __future__ import annotations

import json
import re
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.small_talk import is_small_talk
from pytest_ltm.agents.reader.notes import COMMON

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


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
