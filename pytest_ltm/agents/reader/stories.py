"""Reader's abilities for stories: plays, a secret meeting, an evening in a restaurant, passages, books."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ltm.agents.reader.notes import (
    UNDERSTOOD,
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
    first_match,
)
from pytest_ltm.language.clauses import split_sentences

_RE = Patterns("plays")
_EVENTS = _RE.compile_group(WORDS["play"])
_BELIEF = _RE["belief"]
# Where a line of each kind of event names the thing, and its new place.
_NAME_POSITIONS = {"moved": (1, 0), "lies": (0, 1), "kept": (1, 2), "moves": (1, 2)}


class SallyAnne(
    Topic, kinds=("play",), forgets=_RE.forgets_sally_anne, forgotten="All right."
):
    """Notes the lines of a play, and replays them when asked about beliefs."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a line, or answer as JSON from the visible lines."""
        last_question = _RE.over.match(turn.text)
        question = last_question[1] if last_question else turn.text
        place = _answer_play(question, notes)
        if place or last_question:
            return json.dumps({"answer": place or "unknown"})
        line = _RE.line.match(turn.text)
        if line is None:
            return None
        event = _parse_event(line["line"].strip())
        if event:
            notes.add(turn, "play", event)
            notes.add(turn, UNDERSTOOD, event)
        # without the mark it may be anything: others note it as well
        return "I see." if line["mark"] else None


def _parse_event(line: str) -> list[str] | None:
    """Return the kind of an event and its names; None if the line tells of none."""
    for kind, pattern in _EVENTS.items():
        if match := pattern.match(line):
            return [kind, *match.groups()]
    return None


def _answer_play(question: str, notes: ReaderNotebook) -> str | None:
    """Return the place that a question about a play asks for; None for any other question, or if unknown."""
    if "here " not in question:
        return None
    # Questions about beliefs also match the search pattern, so they are tried first.
    for pattern in (*_BELIEF, _RE.search, _RE.start, _RE.end):
        if match := pattern.search(question):
            break
    else:
        return None
    play = _Play.after(notes.contents("play")[::-1])
    if pattern is _BELIEF[0]:
        return play.shared.get((match[1], match[2], match[3]))
    if pattern is _BELIEF[1]:
        return play.shared.get((match["who"], match["whom"], match["thing"]))
    if pattern is _RE.search:
        return play.known.get((match[1] or match[3], match[2] or match[4]))
    places = play.places.get(match[1], [None])
    return places[0] if pattern is _RE.start else places[-1]


@dataclass
class _Play:
    """The state of a play after some lines."""

    room: str
    """The room with the things."""
    present: list[str] = field(default_factory=list)
    """The puppets in that room."""
    places: dict[str, list[str | None]] = field(default_factory=dict)
    """The successive places of each thing; None if not told."""
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    """Where each puppet last saw a thing."""
    shared: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Where a puppet last saw a thing together with another puppet."""

    @classmethod
    def after(cls, lines: Sequence[Sequence[Any]]) -> _Play:
        """Return the state after the lines, each its kind and its names."""
        play = cls(_room_of(lines))
        for kind, *names in lines:
            play.add(kind, names)
        return play

    def add(self, kind: str, names: Sequence[str]) -> None:
        """Play one line."""
        if kind == "joins":
            kind = "enters"
            names = (names[1], names[0])
        if kind in _NAME_POSITIONS:
            thing, place = _NAME_POSITIONS[kind]
            self.places.setdefault(names[thing], []).append(names[place])
        elif kind != "remark":
            mover = names[1] if kind == "gone" else names[0]
            self.present = [puppet for puppet in self.present if puppet != mover]
            if kind in {"enters", "is"} and names[1] == self.room:
                self.present.append(mover)
        # Everybody present knows where everything is, and who else sees it.
        for thing_name, places in self.places.items():
            for puppet in self.present:
                self.known[puppet, thing_name] = str(places[-1])
                for companion in self.present:
                    self.shared[puppet, companion, thing_name] = str(places[-1])


def _room_of(lines: Sequence[Sequence[Any]]) -> str:
    """Return the room of the things: named with them, or that of the first puppet that moves one."""
    room_of_puppet: dict[str, str] = {}
    for kind, *names in lines:
        match kind:
            case "kept":
                return str(names[0])
            case "lies" if names[2]:
                return str(names[2])
            case "enters" | "is":
                room_of_puppet[names[0]] = names[1]
            case "moves" if names[0] in room_of_puppet:
                return room_of_puppet[names[0]]
    return ""


# --- Coded messages about a secret meeting.

_CODES: list[tuple[re.Pattern[str], str, str]] = []
"""The pattern of each message, the part of the meeting that it is about, and its meaning."""
for _kind, _cues in WORDS["meeting"].items():
    for _cue, _meaning in _cues.items():
        _CODES.append((_RE.compile_group(_cue), _kind, _meaning))
_LABELS = {"place": "Where", "time": "When", "item": "Bring"}


class SpyMeeting(
    Topic, kinds=("spy",), forgets=_RE.forgets_spy_meeting, forgotten="Understood."
):
    """Notes the meaning of each message, and tells place, time and thing when asked."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a message, or combine the visible ones."""
        if _RE.asked.search(turn.text):
            newest = notes.newest_values("spy")
            parts = []
            for kind, label in _LABELS.items():
                if kind in newest:
                    parts.append(f"{label}: {newest[kind]}.")
            return " ".join(parts) or "I do not know."
        if _RE.three_senders.search(turn.text):
            return "I am all ears."
        published = _RE.published.match(turn.text)
        if not published and not _RE.named.search(turn.text):
            return None
        message = published[1] if published else turn.text
        for cue, kind, meaning in _CODES:
            if cue.search(message):
                return notes.add(turn, "spy", [kind, meaning], "Received.")
        return "Received." if published else None


# --- An evening in a restaurant, as a guest who knows what was ordered.

_UNDECIDED = "What would you recommend?"


class Restaurant:
    """Orders the first suitable item on the menu, and insists on it."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Reply to the waiter as a guest, from the visible notes."""
        if not _RE.waiter.match(turn.text):
            return _note_message(turn, notes)
        menu = _read_menu(turn.text)
        if menu["drinks"]:
            notes.add(turn, "menu", menu)
            return _order_drink(turn, menu["drinks"], notes)
        if _RE.eat.search(turn.text) or _RE.gone.search(turn.text):
            return _order_dish(turn, notes)
        if _RE.served.search(turn.text):
            return _check_dish(turn, notes)
        if _RE.drank.search(turn.text):
            return _name_drink(notes)
        return "Thank you."


def _read_menu(text: str) -> dict[str, list[str]]:
    menu: dict[str, list[str]] = {"dishes": [], "drinks": []}
    kind = "dishes"
    for line in text.split("\n"):
        if section := _RE.section.match(line):
            kind = "drinks" if _RE.drinks.search(section[1]) else "dishes"
        elif item := _RE.item.match(line):
            menu[kind].append(item[1].strip())
    return menu


def _name_drink(notes: ReaderNotebook) -> str:
    drink = notes.newest("drink")
    if drink is None:
        return "I am afraid I do not remember."
    return f"I had the {drink.content}, thank you."


def _order_drink(
    turn: IncomingTurn, drinks: Sequence[str], notes: ReaderNotebook
) -> str | None:
    """Order the plainest suitable drink: a short name without brackets."""
    wish = _wishes(notes)[0]
    suitable = [drink for drink in drinks if wish in drink.lower()] or drinks
    plainest = min(suitable, key=lambda drink: ("(" in drink, len(drink))).lower()
    return notes.add(turn, "drink", plainest, f"I would like the {plainest}, please.")


def _order_dish(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    """Order the first suitable dish that is neither gone nor ordered before."""
    menu = notes.newest("menu")
    ordered = notes.contents("dish")
    avoided = _wishes(notes)[1]
    for dish in menu.content["dishes"] if menu else ():
        is_gone = dish in turn.text or dish in ordered
        if not is_gone and avoided not in dish:
            return notes.add(turn, "dish", dish, f"I will have the {dish}, please.")
    return _UNDECIDED


def _note_message(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    """Begin a new evening if the message explains the guest's role or asks to forget the last one."""
    if not turn.is_brief or not (
        _RE.roles.search(turn.text) or _RE.forget_restaurant.search(turn.text)
    ):
        return None
    notes.drop("menu", "drink", "dish", "wishes")
    if wishes := _RE.wishes.search(turn.text):
        notes.add(turn, "wishes", wishes.groups())
    return "All right."


def _wishes(notes: ReaderNotebook) -> tuple[str, str]:
    r"""Return what a drink must contain, and what a dish must not; "" for any drink, "\0" for any dish."""
    wishes = notes.newest("wishes")
    if wishes:
        return (str(wishes.content[0]), str(wishes.content[1]))
    return ("", "\0")


def _check_dish(turn: IncomingTurn, notes: ReaderNotebook) -> str:
    dish = notes.newest("dish")
    avoided = _wishes(notes)[1]
    if avoided in turn.text:
        return f"Excuse me, I cannot eat {avoided}."
    if dish is None or dish.content in turn.text:
        return "Thank you very much."
    return f"Excuse me, this is not what I ordered. I ordered the {dish.content}."


# --- Titled passages, and questions that combine them.

_BOOKS = Patterns("chapter_break")


class Passages(
    Topic,
    kinds=("passage",),
    about=_BOOKS.about_passages,
    forgets=_BOOKS.forgets_passages,
):
    """Keeps what titled passages say, and answers by combining them, with their titles."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what a passage says, or answer a question."""
        if "passages" in turn.text:
            return _answer_from_passages(turn.text, notes)
        correction = first_match(_BOOKS["corrects"], turn.text)
        if correction:
            title = correction["title"]
        else:
            title = next(iter(_BOOKS.title.findall(turn.text)), "")
        untitled = _BOOKS.title.sub(" ", turn.text)
        relation, fact = first_kind(_BOOKS["facts"], untitled)
        if not title or fact is None:
            return None
        content = [relation, fact["subject"], fact["value"], title]
        return notes.add(turn, "passage", content)


class _PassageFacts:
    """The newest facts of the passages; `look_up` notes the titles of those that it was asked for."""

    def __init__(self, notes: ReaderNotebook) -> None:
        self.titles: dict[str, None] = {}
        self.newest: dict[tuple[str, str], tuple[str, str]] = {}
        # newest first: corrections are newer
        for note in notes.visible("passage"):
            relation, subject, value, title = note.content
            self.newest.setdefault((relation, subject), (value, title))

    def look_up(self, relation: str, subject: str) -> str:
        """Return the value of a subject's relation; KeyError if no passage has it."""
        value, title = self.newest[relation, subject]
        self.titles[title] = None
        return value


def _answer_from_passages(question: str, notes: ReaderNotebook) -> str | None:
    """Return the answer with its sources; None if it is not about these passages."""
    works = _BOOKS.named.findall(question)
    facts = _PassageFacts(notes)
    cue = next((cue for cue in _ANSWERS if re.search(cue, question)), None)
    if not works or cue is None or not facts.newest:
        return None
    try:
        answer = _ANSWERS[cue](facts.look_up, works)
    except KeyError:
        return "I don't know."
    return f"{answer}. Sources: {', '.join(facts.titles)}."


LookUp = Callable[[str, str], str]
"""Returns the value of a relation (`founder`, `staff`, ...) of a subject."""


def _birthplace_of_founder(look_up: LookUp, works: list[str]) -> str:
    return look_up("birthplace", look_up("founder", works[0]))


def _river_of_founder(look_up: LookUp, works: list[str]) -> str:
    return look_up("river", _birthplace_of_founder(look_up, works))


def _total_staff(look_up: LookUp, works: list[str]) -> str:
    return str(sum(int(look_up("staff", work)) for work in works))


def _oldest_founder(look_up: LookUp, works: list[str]) -> str:
    founders = [look_up("founder", work) for work in works]
    return min(founders, key=lambda person: int(look_up("birth", person)))


def _oldest_work(look_up: LookUp, works: list[str]) -> str:
    return "The " + min(works, key=lambda work: int(look_up("opening", work)))


# By the wording of a question.
_ANSWERS: Mapping[str, Callable[[LookUp, list[str]], str]] = {
    r"\b[Ww]hich river\b": _river_of_founder,
    r"\b[Ii]n which town\b": _birthplace_of_founder,
    r"\b[Hh]ow many people\b": _total_staff,
    r"\b[Ww]ho was born\b": _oldest_founder,
    r"\b[Ww]hich (?:is older|was founded)\b": _oldest_work,
}


# --- Books: statements on a town, and the ending that fits them.

Statement = tuple[str, str, str]
"""The relation (`home`, `work`, `owner`, `whole`), its subject, and the value."""

_NO_NAMES = frozenset(WORDS["no_names"].split())


_BOOK = _BOOKS.compile_group(WORDS["book"])


def town_statements(text: str) -> list[Statement]:
    """Return the statements of a text on its town, in order; at most one per sentence."""
    statements = map(town_statement, split_sentences(text))
    return [statement for statement in statements if statement is not None]


def town_statement(sentence: str) -> Statement | None:
    """Return the statement of one sentence; None if it has none of these kinds."""
    # Broken or sound refers to the thing alone, whoever else is named.
    if _BOOKS.whole.search(sentence):
        return _about_thing("broken", sentence, "no") or _about_thing(
            "sound", sentence, "yes"
        )
    names = [name for name in _BOOKS.name.findall(sentence) if name not in _NO_NAMES]
    if not names:
        return None
    if _BOOKS.owner.search(sentence) and (
        statement := _about_thing("owner", sentence, names[-1], kind="owner")
    ):
        return statement
    for kind, keywords in (("home", _BOOKS.home), ("work", _BOOKS.work)):
        place = _first_noun(kind, sentence) if keywords.search(sentence) else None
        if place:
            return (kind, names[0], place)
    return None


def _about_thing(
    wordings: str, sentence: str, value: str, kind: str = "whole"
) -> Statement | None:
    thing = _first_noun(wordings, sentence)
    return (kind, thing, value) if thing else None


def _first_noun(wordings: str, sentence: str) -> str | None:
    """Return the noun in the first matching wording."""
    match = first_match(_BOOK[wordings], sentence)
    if match:
        return match["noun"][0].lower() + match["noun"][1:]
    return None


_KINDS = ("book page", "book option")
_SHORT = 300


class ChapterBreak:
    """Keeps what the pages say about their town, and picks the ending that contradicts none of it.

    If the pages say nothing that it understands, it guesses: the ending that shares
    most of its rare words with them.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a page or an option, answer the question, forget on request."""
        if page := _BOOKS.page.match(turn.text):
            return notes.add(
                turn,
                "book page",
                _read_town(turn.text[page.end() :]),
                "I am listening.",
            )
        if option := _BOOKS.option.match(turn.text):
            content = {
                "number": int(option[1]),
                **_read_town(turn.text[option.end() :]),
            }
            return notes.add(turn, "book option", content, "I am listening.")
        if len(turn.text) > 2 * _SHORT:
            return None
        if _BOOKS.opening.match(turn.text) or _BOOKS.forget.search(turn.text):
            notes.drop(*_KINDS)
            return "All right."
        if _BOOKS.interlude.search(turn.text):
            notes.drop("book option")
            return "Ready."
        return _choose_ending(notes) if _BOOKS.question.search(turn.text) else None


def _read_town(text: str) -> dict[str, Any]:
    """Return the statements of a text on its town; its words if it has none."""
    facts = town_statements(text)
    if facts:
        return {"facts": facts}
    return {"words": sorted(frozenset(map(str.lower, _BOOKS.word.findall(text))))}


def _choose_ending(notes: ReaderNotebook) -> str:
    pages = notes.contents("book page")
    options: dict[int, Mapping[str, Any]] = {}
    for note in notes.visible("book option"):
        options[note.content["number"]] = note.content
    if not options:
        return "You have not given me any options."
    if all("facts" in option for option in options.values()):
        return _consistent_ending(options, pages)
    if pages:
        return _likely_ending(options, pages)
    return "I cannot tell."


def _consistent_ending(
    options: Mapping[int, Mapping[str, Any]], pages: Sequence[Mapping[str, Any]]
) -> str:
    """Return the number of the only option without a contradiction to the pages."""
    state: dict[tuple[str, str], str] = {}
    for page in pages:  # newest first
        for kind, subject, value in reversed(page.get("facts", ())):
            state.setdefault((kind, subject), value)

    def fits(option: Mapping[str, Any]) -> bool:
        for kind, subject, value in option["facts"]:
            if state.get((kind, subject), value) != value:
                return False
        return True

    fitting = [number for number, option in options.items() if fits(option)]
    if len(fitting) == 1:
        return str(fitting[0])
    return "I cannot tell."


def _likely_ending(
    options: Mapping[int, Mapping[str, Any]], pages: Sequence[Mapping[str, Any]]
) -> str:
    """Guess: rarer words count more, and the last page counts as much as all pages together."""
    words_of_pages = [frozenset(page.get("words", ())) for page in pages]
    everywhere = frozenset[str]().union(*words_of_pages)
    words: dict[int, frozenset[str]] = {}
    spread = Counter[str]()
    for number, option in options.items():
        words[number] = frozenset(option.get("words", ()))
        spread.update(words[number])

    def likeness(number: int) -> float:
        share = 0.0
        for page_words in (everywhere, words_of_pages[0]):
            share += sum(1 / spread[word] for word in words[number] & page_words)
        return share / (len(words[number]) or 1)

    return str(max(words, key=likeness))
