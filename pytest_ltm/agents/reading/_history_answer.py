"""The answer to a question about a told history, from the passages that share words with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._history_dates import apart, when, written
from pytest_ltm.agents.reading._history_index import sentences
from pytest_ltm.agents.reading._history_lines import ASSISTANT
from pytest_ltm.agents.reading._history_phrases import amount, fresh, person, place
from pytest_ltm.agents.reading._history_question import named, wanted
from pytest_ltm.agents.reading._history_words import stems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import date

    from pytest_ltm.agents.reading._history_index import Found, Index, Passage
    from pytest_ltm.agents.reading._history_question import Question

NOT_MENTIONED = "That was not mentioned."
_LEAST = 0.34
"""The share of a question's weight that the best passage has to have words of."""
_LOOKED_AT = 6
"""So many of the best passages are looked at for a phrase."""
_AS_GOOD = 0.9
"""Of passages nearly as good as the best, the newest counts: what was said last is so."""
_OWN, _OTHERS = 1.4, 0.7
"""What a passage is worth more if who is asked about says it, and less if somebody else does."""
_PARTS = re.compile(r"\s+(?:or|and)\s+(?:the |my |when )?|,\s*", re.IGNORECASE)
_NO = re.compile(r"\b(?:not|never|no|n't|nobody|nothing|haven't|didn't|don't|wasn't|isn't)\b", re.IGNORECASE)
_SURELY = re.compile(r"not (?:mentioned|said|known)|no information|cannot be (?:known|answered)", re.IGNORECASE)


def answer(question: Question, index: Index, sees: Callable[[int], bool], today: date | None) -> str:
    """Return the answer; NOT_MENTIONED where nothing that can be seen matches."""
    words = wanted(question.text, index.speakers)
    found = _ranked(question, index, words, sees)
    if question.kind == "choice":
        return _chosen(question, index, sees)
    if question.kind == "elapsed":
        return _elapsed(question, index, sees, question.at or today) or NOT_MENTIONED
    if question.kind == "order" and (first := _ordered(question, index, sees)):
        return first
    if not found or found[0].share < _LEAST:
        return NOT_MENTIONED
    if not question.short:
        return _sentence(question, _newest(found), words)
    return _phrase(question, found, words)


def _ranked(question: Question, index: Index, words: AbstractSet[str], sees: Callable[[int], bool]) -> list[Found]:
    """Return what shares words with the question, best first: who is asked about is the best witness."""
    found = index.search(words, sees)
    asked = named(question.text, index.speakers)
    if not asked or len(asked) == len(index.speakers):
        return found
    weighed = [(one.worth * (_OWN if one.passage.speaker in asked else _OTHERS), one) for one in found[:50]]
    return [one for _, one in sorted(weighed, key=lambda pair: -pair[0])]


def _newest(found: Sequence[Found]) -> Passage:
    good = [one.passage for one in found if one.worth >= _AS_GOOD * found[0].worth and one.passage.speaker != ASSISTANT]
    return max(good, key=lambda passage: passage.number, default=found[0].passage)


def _closest(text: str, words: AbstractSet[str]) -> str:
    return max(sentences(text), key=lambda one: len(words & set(stems(one))))


def _sentence(question: Question, passage: Passage, words: AbstractSet[str]) -> str:
    """Return what the best passage says in full; a date in front where it is asked for."""
    if question.kind == "when" and passage.at is not None:
        said = _closest(passage.text, words)
        return f"{when(said, passage.at) or when(passage.text, passage.at) or written(passage.at)}."
    if question.kind == "yes or no":
        return f"{_yes_or_no(passage, words)}. {passage.text}"
    if question.kind == "amount":
        for one in sorted(sentences(passage.text), key=lambda s: -len(words & set(stems(s)))):
            if amount(one, question.text):
                return one
    return passage.text


def _yes_or_no(passage: Passage, words: AbstractSet[str]) -> str:
    return "No" if _NO.search(_closest(passage.text, words)) else "Yes"


def _phrase(question: Question, found: Sequence[Found], words: AbstractSet[str]) -> str:
    best = found[0].passage
    said = _closest(best.text, words)
    match question.kind:
        case "when" if best.at is not None:
            return when(said, best.at) or when(best.text, best.at) or written(best.at)
        case "yes or no":
            return _yes_or_no(best, words)
        case "amount":
            tried = (amount(one, question.text) for one in _lines(found, words))
        case "who":
            tried = (person(one, words) for one in _lines(found, words))
        case "where":
            tried = (place(one, words) for one in _lines(found, words))
        case _:
            return _what(question, found, words)
    return next((phrase for phrase in tried if phrase), None) or _what(question, found, words)


def _lines(found: Sequence[Found], words: AbstractSet[str]) -> list[str]:
    """Return the sentences of the best passages, each passage's closest first."""
    lines: list[str] = []
    for one in found[:_LOOKED_AT]:
        lines += sorted(sentences(one.passage.text), key=lambda said: -len(words & set(stems(said))))
    return lines


def _what(question: Question, found: Sequence[Found], words: AbstractSet[str]) -> str:
    closest = [_closest(one.passage.text, words) for one in found[: 4 if question.several else 1]]
    phrases = [phrase for line in closest if (phrase := fresh(line, words))]
    return ", ".join(dict.fromkeys(phrases)) or closest[0]


def _chosen(question: Question, index: Index, sees: Callable[[int], bool]) -> str:
    """Return the choice that has most evidence in what was said by who is asked about; letter and text."""
    asked = named(question.text, index.speakers)
    words = wanted(question.text, index.speakers)
    best, most = question.choices[0], -1.0
    for choice in question.choices:
        worth = _evidence(choice[1], words, asked, index, sees) if not _SURELY.search(choice[1]) else _LEAST * 1.5
        if worth > most:
            best, most = choice, worth
    return f"({best[0]}) {best[1]}"


def _evidence(
    text: str, words: AbstractSet[str], asked: Sequence[str], index: Index, sees: Callable[[int], bool]
) -> float:
    own = wanted(text, index.speakers)
    found = index.search(words | own, sees)[:3]
    if not found:
        return 0.0
    best = found[0]
    return 0.0 if asked and best.passage.speaker not in asked else best.share


def _elapsed(question: Question, index: Index, sees: Callable[[int], bool], today: date | None) -> str | None:
    """Return how far two days lie apart: those of two things, or of one and of the question."""
    parts = re.split(r"\bbetween\b|\bbefore\b|\bafter\b|\bsince\b|\bwhen\b|\band\b|\bfrom\b", question.text)
    days = [day for part in parts if (day := _day_of(part, index, sees)) is not None]
    if "ago" in question.text or len(days) < 2:  # noqa: PLR2004 - of one thing and of today
        whole = _day_of(question.text, index, sees)
        days = [whole, today] if whole is not None and today is not None else []
    if len(days) < 2 or days[0] == days[1]:  # noqa: PLR2004 - between two
        return None
    return f"{apart(days[0], days[1], question.unit)}."


def _day_of(text: str, index: Index, sees: Callable[[int], bool]) -> date | None:
    found = [one for one in index.search(wanted(text, index.speakers), sees) if one.passage.speaker != ASSISTANT]
    return found[0].passage.at if found else None


def _ordered(question: Question, index: Index, sees: Callable[[int], bool]) -> str | None:
    """Return which of the things that a question names was first, or last, by the days on which they were told."""
    head, _, listed = question.text.rpartition("first")
    backwards = not head
    if backwards:
        _, _, listed = question.text.partition(",")
    things = [part.strip(" ?,.:") for part in re.split(r"\bor\b|,", listed) if len(part.strip(" ?,.:")) > 2]  # noqa: PLR2004
    days = [(_day_of(thing, index, sees), thing) for thing in things]
    known = [(day, thing) for day, thing in days if day is not None]
    if len(known) < 2:  # noqa: PLR2004 - nothing to compare
        return None
    return (max if backwards else min)(known, key=lambda pair: pair[0])[1]
