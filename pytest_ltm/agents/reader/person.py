"""What the user says of themselves: a favourite colour, names, and facts of their life that change."""

from __future__ import annotations

import json

from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic, first_match

_RE = Patterns("person", COLOURS=WORDS["colours"].split())

# Characters of the longest message that tells of a favourite colour without saying so.
_SHORT = 120


class Colours:
    """Keeps every favourite colour that is told and answers with the newest that can be seen."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, answer a question, forget on request."""
        if not turn.is_brief:
            return None
        about = _RE.liking.search(turn.text) and _RE.mine.search(turn.text)
        colour = (_told_colour(turn.text) if about else None) or _moved_on(turn.text)
        if colour is not None:
            return notes.add(turn, "colour", colour)
        if not (about and _RE.colour.search(turn.text)):
            return None
        if _RE.forget.search(turn.text):
            return notes.drop("colour")
        if not ("?" in turn.text or _RE.wish.match(turn.text)):
            return None
        newest = notes.newest("colour")
        return f"Your favourite colour is {newest.content}." if newest else "You have not told me."


def _told_colour(text: str) -> str | None:
    """Return the colour that a statement names as the favourite, else None."""
    if "?" in text or _RE.forget.search(text):
        return None
    named = _RE.names.search(text)
    if _RE.colour.search(text):
        match = named or first_match(_RE["unlisted"], text)
        return match.group(1).strip() if match else None
    bare = _RE.bare.search(text)
    word = (bare.group(1) or bare.group(2)) if bare else ""
    return word if _RE.names.fullmatch(word) else None


def _moved_on(text: str) -> str | None:
    """Return the colour that a short statement speaks of, as people do once a favourite colour is known; else None."""
    if len(text) > _SHORT or "?" in text or _RE.forget.search(text) or not _RE.moved_on.search(text):
        return None
    match = _RE.unnamed.search(text)
    return match[1] if match else None


# --- The names that the user goes by: the one told last, and the list of all of them.

_TOLD, _UNTOLD = (_RE.compile_group(WORDS[how], "(?i)") for how in ("names", "names without the word"))


class Names(Topic, kinds=("name",), forgets=_RE.forgets_names):
    """Keeps every name that the user tells as the own one."""

    def claims(self, text: str) -> bool:
        """Return whether a message is about a name of the user's."""
        about = _RE.mine_names.search(text) and _RE.about.search(text)
        return bool(about) or (len(text) <= _SHORT and first_match(_UNTOLD, text) is not None)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a name, list all or tell the newest."""
        if _RE.asked.search(turn.text) and not first_match(_UNTOLD, turn.text):
            return None if _RE.of_another.search(turn.text) else _answer_person(turn.text, notes)
        match = first_match([*_TOLD, *_UNTOLD], turn.text)
        if match is None:
            return None
        return notes.add(turn, "name", match.group(1))


def _answer_person(question: str, notes: ReaderNotebook) -> str | None:
    names = notes.contents("name")
    if _RE.all.search(question):
        return json.dumps(names[::-1], ensure_ascii=False)
    if not _RE.one.search(question):
        return None
    return f"Your name is {names[0]}." if names else "You have not told me your name."


# --- What the user says of their own life: what is so now, after changes, corrections, withdrawals and rumours.

# By what it is about: how it is said, and how it is asked for.
_LIFE = _RE.compile_group(WORDS["life"], "(?i)")
_KIND, _HABIT = "personal", "habit"
# How a habit is told, and how it is asked for.
_HABITS = _RE.compile_group([[rf"\bI (?:always )?(?:{did})", asked] for did, asked in WORDS["habits"]], "(?i)")


class ConflictingPersonalInformation(
    Topic, kinds=(_KIND, _HABIT), forgets=_RE.forgets_conflicting_personal_information
):
    """Keeps what the user says to be so, and answers with the last that has not been withdrawn."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a statement, or answer a question."""
        asks = turn.text.rstrip().endswith("?")
        for number, forms in enumerate(_HABITS):
            if match := forms[asks].search(turn.text):
                exception = _RE.occasion.search(turn.text) is not None
                if value := match[match.lastindex or 0] if match.re.groups else None:
                    return notes.add(turn, _HABIT, [number, exception, value], "Good to know.")
                known = notes.contents(_HABIT)
                return next(
                    (f"{value}." for n, other, value in known if (n, other) == (number, exception)),
                    "You have not told me.",
                )
        if not asks:
            if withdrawn := _RE.withdrawn.search(turn.text):
                # What somebody takes something back about who says that, or only the value.
                what = withdrawn[1]
                if what in _LIFE:
                    label = what
                else:
                    contents = notes.contents(_KIND)
                    label = next((label for label, value in contents if value == what.rsplit(maxsplit=1)[-1]), None)
                if label is not None:
                    notes.add(turn, _KIND, [label, None])
                return "I will forget that, then." if label else None
            pairs = ((label, words.search(turn.text)) for label, (words, _) in _LIFE.items())
            pair = next(((label, one[one.lastindex or 0]) for label, one in pairs if one), None)
            if pair is not None and not _RE.rumour.search(turn.text):
                notes.add(turn, _KIND, list(pair))
            return None  # it may be about anything else as well: others note it, too
        label = next((label for label, (_, asked) in _LIFE.items() if asked.search(turn.text)), None)
        return _so_now(label, notes) if label else None


def _so_now(label: str, notes: ReaderNotebook) -> str | None:
    """Return what is so; None if it was never told: others may know."""
    withdrawn = 0
    for note in notes.visible(_KIND):
        topic, value = note.content
        if topic != label:
            continue
        if value is None:
            withdrawn += 1
        elif withdrawn:
            withdrawn -= 1
        else:
            return f"As far as I know: {value}."
    return None
