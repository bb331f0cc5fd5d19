"""Passages with titles, each of one fact, some of which put another right; and questions that take several of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import Topic, first_match

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook

_SOURCE = (
    r"(?:Report of the [A-Z]\w+ [A-Z]\w+|Letter from [A-Z]\w+ [A-Z]\w+|"
    r"[A-Z]\w+ (?:Almanac|Gazetteer|Handbook|Register|Companion|Chronicle))"
)
_TITLE = lazy_pattern(rf"\b[Tt]he ({_SOURCE})")
_CORRECTS = (
    lazy_pattern(
        rf"\b[Tt]he (?P<title>{_SOURCE}) (?:corrects|puts right|contradicts, rightly,) the (?P<old>{_SOURCE}):"
    ),
    lazy_pattern(
        rf"(?:mistake in the (?P<in>{_SOURCE})|\b[Tt]he (?P<old>{_SOURCE}) is wrong)[^,]*, "
        rf"(?:says|according to) the (?P<title>{_SOURCE}):"
    ),
)
_WORK, _PERSON, _TOWN = r"(?:[Tt]he )?(?P<{}>[A-Z]\w+ [A-Z]\w+)", r"(?P<{}>[A-Z]\w+ [A-Z]\w+)", r"(?P<{}>[A-Z]\w+)"
_FACTS = tuple(
    (relation, lazy_pattern(pattern.format(work=_WORK.format("subject"), person=_PERSON.format("subject"),
                                    founder=_PERSON.format("value"), number=r"(?P<value>\d+)",
                                    town=_TOWN.format("subject"), name=_TOWN.format("value"))))
    for relation, pattern in (
        ("founder", "{work} was (?:founded|set up|started) by {founder}"),
        ("founder", "{founder} (?:founded|set up) {work}"),
        ("opening", "{work} (?:was founded|was set up|opened) in {number}"),
        ("opening", "{number} saw {work}"),
        ("staff", "{work} (?:employs|gives work to) {number}"),
        ("staff", "{number} people work at {work}"),
        ("birth", "{person} was born in {number}"),
        ("birth", "{person}'s year of birth (?:was|is) {number}"),
        ("birthplace", "{person} was born in {name}"),
        ("birthplace", "{name} is (?:the birthplace|the native town) of {person}"),
        ("river", "{town} (?:lies|stands) on the {name}"),
        ("river", "[Tt]he {name} (?:flows|runs) through {town}"),
    )
)  # fmt: skip
_NAMED = lazy_pattern(r"\bthe ([A-Z]\w+ [A-Z]\w+)")


class Passages(Topic):
    """Keeps what passages say and which titles they have, and answers from several of them with their titles."""

    kinds = ("passage",)
    about = lazy_pattern(rf"\b[Tt]he {_SOURCE}|\bpassages\b")
    forgets = lazy_pattern(r"\bforget all the passages\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a passage says, or answer a question."""
        if "passages" in turn.text:
            return _answer_about_works(turn.text, notes)
        corrects = first_match(_CORRECTS, turn.text)
        title = corrects["title"] if corrects else next(iter(_TITLE.findall(turn.text)), "")
        rest = _TITLE.sub(" ", turn.text)
        for relation, pattern in _FACTS:
            if title and (fact := pattern.search(rest)):
                notes.add(turn, "passage", [relation, fact["subject"], fact["value"], title])
                return "Noted."
        return None


def _answer_about_works(question: str, notes: ReaderNotebook) -> str | None:
    """Return the answer to a question about works, and the titles of the passages that it was worked out from."""
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for note in notes.visible("passage"):  # the newest first: what puts another right is newer
        relation, subject, value, title = note.content
        known.setdefault((relation, subject), (value, title))
    works = _NAMED.findall(question)
    kind = next((kind for kind in _ANSWERS if re.search(kind, question)), "")
    if not works or not kind or not known:
        return None
    titles = dict[str, None]()

    def look(relation: str, subject: str) -> str:
        value, title = known[relation, subject]
        titles[title] = None
        return value

    try:
        answer = _ANSWERS[kind](look, works)
    except KeyError:
        return "I don't know."
    return f"{answer}. Sources: {', '.join(titles)}."


def _founder_birthplace(look: Callable[[str, str], str], works: list[str]) -> str:
    return look("birthplace", look("founder", works[0]))


# By what a question has.
_ANSWERS: Mapping[str, Callable[[Callable[[str, str], str], list[str]], str]] = {
    r"\b[Ww]hich river\b": lambda look, works: look("river", _founder_birthplace(look, works)),
    r"\b[Ii]n which town\b": _founder_birthplace,
    r"\b[Hh]ow many people\b": lambda look, works: str(sum(int(look("staff", work)) for work in works)),
    r"\b[Ww]ho was born\b": lambda look, works: min(
        [look("founder", work) for work in works], key=lambda person: int(look("birth", person))
    ),
    r"\b[Ww]hich (?:is older|was founded)\b": lambda look, works: (
        "The " + min(works, key=lambda work: int(look("opening", work)))
    ),
}
