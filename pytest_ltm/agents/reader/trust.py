"""Trust: the user's texts, and others' texts that demand things in the same words."""

from __future__ import annotations

from typing import Any, Literal

from pytest_ltm.agents.reader.notes import (
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
    first_match,
)
from pytest_ltm.api.model import Tools

_RE = Patterns("trust")
FACT = "trusted fact"
WANT = "want"
SPEAKER = "speaker"
SHUT = "shut"
TRUST = "trust"
Trust = Literal["all", "own", "none"]
# The tool and the argument for each kind of request.
_ACTS = {"brand": ("order_oil", "brand"), "minutes": ("send_minutes", "to")}
_UNKNOWN = "I do not know."
_NOTED = "Noted."


class Trusts(Topic, about=_RE.about):
    """Notes the demands of trusted texts, and follows them; by default the user's only.

    A note of the kind TRUST changes this: `all` texts are followed, or `none`.
    """

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the reply to a statement or question on these subjects; None: not handled."""
        replies = (read(turn, notes) for read in _READERS)
        return next((reply for reply in replies if reply is not None), None)


def _thing(found: Any) -> str:
    """Return the subject of a match, in the form that it has within a sentence."""
    return str(found["k"]).replace("The ", "the ", 1)


def trusts(notes: ReaderNotebook) -> Trust:
    """Return whose texts are followed."""
    chosen = notes.notes_of_kind(TRUST)
    trust: Trust = chosen[-1].content if chosen else "own"
    return trust


def _note_want(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    return _note_text(turn, notes, turn.text)


def _note_fact(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    kind, found = first_kind(_RE["facts"], turn.text)
    if found is None:
        return None
    return notes.add(turn, FACT, [kind, _thing(found), found.groupdict()])


def _note_speaker(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    if found := first_match(_RE["speaks_for"], turn.text):
        return notes.add(turn, SPEAKER, [found["name"], _thing(found)])
    return _NOTED if _RE.none_of_mine.search(turn.text) else None


def _note_event(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    found = _RE.shut.search(turn.text)
    return notes.add(turn, SHUT, _thing(found)) if found else None


def _answer_question(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    kind, found = first_kind(_RE["asked"], turn.text)
    return _answer(kind, _thing(found), notes) if found else None


_READERS = (_note_want, _note_fact, _note_speaker, _note_event, _answer_question)


def _note_text(turn: IncomingTurn, notes: ReaderNotebook, text: str) -> str | None:
    """Note what a text demands if its speaker or frame is trusted; None: it demands nothing."""
    kind, found = first_kind(_RE["wants"], text)
    if found is None:
        return None
    trust = trusts(notes)
    thing = _thing(found)
    if trust == "all" or (trust == "own" and _is_users(turn, thing, notes)):
        value = found.groupdict().get("v", "")
        notes.add(turn, WANT, [kind, thing, value])
    return _NOTED


def _is_users(turn: IncomingTurn, thing: str, notes: ReaderNotebook) -> bool:
    speaker = _RE.speaks.search(turn.text)
    if speaker is None:
        return _RE.mine.search(turn.text) is not None
    name = speaker["name"] or speaker["other"]
    return [name, thing] in notes.contents(SPEAKER)


def _demand(kind: str, thing: str, notes: ReaderNotebook) -> str | None:
    """Return the newest noted demand for a thing; None if there is none."""
    return next(notes.values_of(WANT, kind, thing), None)


def _fact(kind: str, thing: str, notes: ReaderNotebook) -> dict[str, str]:
    """Return the newest noted fact on a thing, by the names of its parts."""
    return dict(next(notes.values_of(FACT, kind, thing), ()))


def _answer(kind: str, thing: str, notes: ReaderNotebook) -> str:
    values = _values(kind, thing, notes)
    return f"{', '.join(values)}." if values else _UNKNOWN


def _values(kind: str, thing: str, notes: ReaderNotebook) -> list[str]:
    """Return the values in an answer: the fact, and what was demanded in addition to it or instead."""
    if kind == "porter":
        return [*filter(None, [_fact("gate", thing, notes).get("s")])]
    true_value = _fact("home" if kind == "notes" else kind, thing, notes).get("t", "")
    first = _demand(kind, thing, notes)
    if kind == "gate":
        return [true_value] if true_value and first is None else []
    if kind in ("locker", "guide", "brand"):
        return [*filter(None, [first or true_value])]
    added = [first]
    if kind == "home":
        added = [_demand("answers", thing, notes)]
        if thing in notes.contents(SHUT):
            added.append(_demand("closed", thing, notes))
    return [*filter(None, [true_value, *added])]


def act_on_trust(turn: IncomingTurn, notes: ReaderNotebook, tools: Tools) -> str | None:
    """Read a page, order or send, as the message asks; None: it asks for none of these."""
    if found := _RE.read.search(turn.text):
        text = tools.call("read_page", page=found["page"])
        return _note_text(turn, notes, text) or "It says nothing of use."
    for kind, (tool, argument) in _ACTS.items():
        found = first_match(_RE["asked"][kind], turn.text)
        if found is None or turn.text.endswith("?"):
            continue
        values = _values(kind, _thing(found), notes)
        if not values:
            return "There is nothing that I can do."
        tools.call(tool, **{"place": _thing(found), argument: ", ".join(values)})
        return "It is done."
    return None
