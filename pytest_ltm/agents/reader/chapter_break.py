"""A book that is read out and which beginning of its next chapter fits; passages, each of one fact."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_ltm._language.clauses import split_sentences
from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic, first_match

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_RE = Patterns("chapter_break")


class Passages(Topic, kinds=("passage",), about=_RE.about_passages, forgets=_RE.forgets_passages):
    """Keeps what passages say and which titles they have, and answers from several of them with their titles."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a passage says, or answer a question."""
        if "passages" in turn.text:
            known: dict[tuple[str, str], tuple[str, str]] = {}
            for note in notes.visible("passage"):  # the newest first: what puts another right is newer
                relation, subject, value, title = note.content
                known.setdefault((relation, subject), (value, title))
            works = _RE.named.findall(turn.text)
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
        corrects = first_match(_RE["corrects"], turn.text)
        title = corrects["title"] if corrects else next(iter(_RE.title.findall(turn.text)), "")
        rest = _RE.title.sub(" ", turn.text)
        for relation, wordings in _RE["facts"].items():
            if title and (fact := first_match(wordings, rest)):
                return notes.add(turn, "passage", [relation, fact["subject"], fact["value"], title])
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

_NO_NAMES = frozenset(WORDS["no_names"].split())


_BOOK = _RE.compile_group(WORDS["book"])


def town_statements(text: str) -> list[Statement]:
    """Return what a text says of its town, in order; one statement a sentence."""
    statements = (town_statement(sentence) for sentence in split_sentences(text))
    return [one for one in statements if one is not None]


def town_statement(sentence: str) -> Statement | None:
    """Return what one sentence says; None if it says nothing of that kind."""
    # What is broken or sound is said of a thing alone, whoever else is named.
    if _RE.whole.search(sentence):
        return _about_thing("broken", sentence, "no") or _about_thing("sound", sentence, "yes")
    names = [name for name in _RE.name.findall(sentence) if name not in _NO_NAMES]
    if not names:
        return None
    if _RE.owner.search(sentence) and (statement := _about_thing("owner", sentence, names[-1], kind="owner")):
        return statement
    for kind, keywords in (("home", _RE.home), ("work", _RE.work)):
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


_KINDS = ("book page", "book option")
_SHORT = 300


class ChapterBreak:
    """Keeps what the pages say of their town and picks the beginning that contradicts none of it.

    Where pages say nothing that it understands it can only guess: the beginning that shares most of its rare
    words with them.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a page or an option, answer the question, forget on request."""
        if page := _RE.page.match(turn.text):
            return notes.add(turn, "book page", _read_town(turn.text[page.end() :]), "I am listening.")
        if option := _RE.option.match(turn.text):
            told = {"number": int(option[1]), **_read_town(turn.text[option.end() :])}
            return notes.add(turn, "book option", told, "I am listening.")
        if len(turn.text) > 2 * _SHORT:
            return None
        if _RE.opening.match(turn.text) or _RE.forget.search(turn.text):
            notes.drop(*_KINDS)
            return "All right."
        if _RE.interlude.search(turn.text):
            notes.drop("book option")
            return "Ready."
        return _choose_ending(notes) if _RE.question.search(turn.text) else None


def _read_town(text: str) -> dict[str, Any]:
    """Return what a text says of its town; the words of one that says nothing."""
    facts = town_statements(text)
    return {"facts": facts} if facts else {"words": sorted(frozenset(word.lower() for word in _RE.word.findall(text)))}


def _choose_ending(notes: ReaderNotebook) -> str:
    pages = notes.contents("book page")
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
