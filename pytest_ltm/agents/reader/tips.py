"""Tips: who gave which for a contest, the user, the reader itself or somebody quoted; when, and how sure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.dates import MONTH_PATTERN
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import Topic

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


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
