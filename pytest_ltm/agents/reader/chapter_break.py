"""A book that is read out and which beginning of its next chapter fits; passages, each of one fact."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_ltm._language.clauses import split_sentences
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, ReaderNotebook, Topic, first_match, word_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
_WORK_AS, _PERSON, _TOWN = r"(?:[Tt]he )?(?P<{}>[A-Z]\w+ [A-Z]\w+)", r"(?P<{}>[A-Z]\w+ [A-Z]\w+)", r"(?P<{}>[A-Z]\w+)"
_FACTS = tuple(
    (relation, lazy_pattern(pattern.format(work=_WORK_AS.format("subject"), person=_PERSON.format("subject"),
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
            known: dict[tuple[str, str], tuple[str, str]] = {}
            for note in notes.visible("passage"):  # the newest first: what puts another right is newer
                relation, subject, value, title = note.content
                known.setdefault((relation, subject), (value, title))
            works = _NAMED.findall(turn.text)
            kind = next((kind for kind in _ANSWERS if re.search(kind, turn.text)), "")
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
        corrects = first_match(_CORRECTS, turn.text)
        title = corrects["title"] if corrects else next(iter(_TITLE.findall(turn.text)), "")
        rest = _TITLE.sub(" ", turn.text)
        for relation, pattern in _FACTS:
            if title and (fact := pattern.search(rest)):
                notes.add(turn, "passage", [relation, fact["subject"], fact["value"], title])
                return "Noted."
        return None


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


Statement = tuple[str, str, str]
"""What it is about (`home`, `work`, `owner`, `whole`), of whom or of what, and what is so."""

_NOUN = r"(?P<noun>[Tt]he [a-z][a-z' -]{1,40}?)"
_NAME = lazy_pattern(r"\b[A-Z][a-z]{2,}\b")
_NO_NAMES = frozenset(WORDS["no_names"].split())
_HOME = lazy_pattern(
    r"\b(?:lived|mov(?:e|ed|ing)|settled|curtains|knocked|rent|my bed|bell|slept|had taken|"
    r"write to me|slippers|midnight)\b"
)
_WORK = lazy_pattern(
    r"\b(?:worked|work at|taken on|notice|hired|job|bread|wages|shift|quicker|apron|glad to have|"
    r"last week|foreman|pay day)\b"
)
_OWNER = lazy_pattern(
    r"\b(?:belonged|owned|sold|gave|lost|traded|present of|passed|pride|borrow|bought|carved|let|needed money|"
    r"asking|is mine|crowns)\b"
)
_WHOLE = lazy_pattern(
    r"\b(?:broken?|mended|in good order|the end of it|went to pieces|from end to end|past all use|left of|"
    r"together again|itself again|never served|a scratch)\b"
)


_BOOK = {kind: [word_pattern(one, NOUN=_NOUN) for one in wordings] for kind, wordings in WORDS["book"].items()}


def town_statements(text: str) -> list[Statement]:
    """Return what a text says of its town, in order; one statement a sentence."""
    statements = (town_statement(sentence) for sentence in split_sentences(text))
    return [one for one in statements if one is not None]


def town_statement(sentence: str) -> Statement | None:
    """Return what one sentence says; None if it says nothing of that kind."""
    if _WHOLE.search(sentence):
        return _about_thing("broken", sentence, "no") or _about_thing("sound", sentence, "yes")
    names = [name for name in _NAME.findall(sentence) if name not in _NO_NAMES]
    if not names:
        return None
    if _OWNER.search(sentence) and (statement := _about_thing("owner", sentence, names[-1], kind="owner")):
        return statement
    for kind, keywords in (("home", _HOME), ("work", _WORK)):
        place = _first_noun(kind, sentence) if keywords.search(sentence) else None
        if place:
            return (kind, names[0], place)
    return None


def _about_thing(wordings: str, sentence: str, value: str, kind: str = "whole") -> Statement | None:
    thing = _first_noun(wordings, sentence)
    return (kind, thing, value) if thing else None


def _first_noun(wordings: str, sentence: str) -> str | None:
    """Return the noun that the first fitting wording finds."""
    match = first_match(_BOOK[wordings], sentence)
    return match["noun"][0].lower() + match["noun"][1:] if match else None


_OPENING = lazy_pattern(
    r"I am going to read (?:to )?you .{0,60}\b(?:book|chapters?)\b|I am going to read to you from a book"
)
_PAGE = lazy_pattern(r"(?:Page \d{1,6} of \d{1,6}|\d{1,6}(?:st|nd|rd|th)(?: and last)?(?: \w{1,12})? page):\s")
_INTERLUDE = lazy_pattern(
    r"\b(?:options for the beginning of the next chapter|beginnings that the next chapter might have)\b"
)
_OPTION = lazy_pattern(r"Option (\d{1,4}):\s")
_QUESTION = lazy_pattern(r"Which (?:option|of these (?:beginnings|options))\b.{0,80}\bnext[- ]chapter\b")
_FORGET = lazy_pattern(r"\bforget the (?:book|(?:current )?chapters?)\b", re.IGNORECASE)
_WORD = lazy_pattern(r"[^\W\d_]{3,}")
_KINDS = ("book page", "book option")
_SHORT = 300


class ChapterBreak:
    """Keeps what the pages say of their town and picks the beginning that contradicts none of it.

    Where pages say nothing that it understands it can only guess: the beginning that shares most of its rare
    words with them.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a page or an option, answer the question, forget on request."""
        if page := _PAGE.match(turn.text):
            notes.add(turn, "book page", _read_town(turn.text[page.end() :]))
            return "I am listening."
        if option := _OPTION.match(turn.text):
            notes.add(turn, "book option", {"number": int(option[1]), **_read_town(turn.text[option.end() :])})
            return "I am listening."
        if len(turn.text) > 2 * _SHORT:
            return None
        if _OPENING.match(turn.text) or _FORGET.search(turn.text):
            notes.drop(*_KINDS)
            return "All right."
        if _INTERLUDE.search(turn.text):
            notes.drop("book option")
            return "Ready."
        return _choose_ending(notes) if _QUESTION.search(turn.text) else None


def _read_town(text: str) -> dict[str, Any]:
    """Return what a text says of its town; the words of one that says nothing."""
    facts = town_statements(text)
    return {"facts": facts} if facts else {"words": sorted(frozenset(word.lower() for word in _WORD.findall(text)))}


def _choose_ending(notes: ReaderNotebook) -> str:
    pages = [note.content for note in notes.visible("book page")]
    options = {note.content["number"]: note.content for note in notes.visible("book option")}
    if not options:
        return "You have not given me any options."
    if all("facts" in option for option in options.values()):
        # The number of the only option that contradicts nothing; pages come the newest first.
        state: dict[tuple[str, str], str] = {}
        for page in pages:
            for kind, subject, value in reversed(page.get("facts", ())):
                state.setdefault((kind, subject), value)

        def fits(option: Mapping[str, Any]) -> bool:
            return all(state.get((kind, subject), value) == value for kind, subject, value in option["facts"])

        fitting = [number for number, option in options.items() if fits(option)]
        return str(fitting[0]) if len(fitting) == 1 else "I cannot tell."
    # Guess: a word counts the more, the fewer options have it; the last page counts as much
    # as all the others.
    known = [frozenset(page.get("words", ())) for page in pages]
    everywhere = frozenset[str]().union(*known)
    words = {number: frozenset(option.get("words", ())) for number, option in options.items()}
    spread = Counter(word for option in words.values() for word in option)

    def likeness(number: int) -> float:
        shares = [sum(1 / spread[word] for word in words[number] & page) for page in (everywhere, *known[:1])]
        return sum(shares) / (len(words[number]) or 1)

    return str(max(words, key=likeness)) if known else "I cannot tell."
