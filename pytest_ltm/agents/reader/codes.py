"""Codes of people's things: told, changed, and known by way of another thing that has the same one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_CODE = lazy_pattern(r"\b[a-z]{2,8}\d{2,4}\b")
_THING = lazy_pattern(
    r"\b(?!(?:It|That|What|Here|There|Let|He|She)'s)(?P<owner>(?:[A-Z]\w+ )?[A-Z]\w+)'s (?P<thing>[a-z]+(?: [a-z]+)?)"
)
_OVER = lazy_pattern(
    r"\b(?:no longer|any more|anymore|used to|was once|is over|has been changed|was changed|don't use)\b"
)
_SAME = lazy_pattern(r"\b(?:code|opens?|type|works)\b")
_BOTH = 2


class Codes(Topic):
    """Keeps what is said of codes, and looks up that of a thing, also by things that have the same one."""

    kinds = ("code",)
    about = lazy_pattern(r"'s [a-z]")
    forgets = lazy_pattern(r"\bforget all the codes\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a code or that two are the same, or answer a question once anything of the kind was told."""
        things = [(match["owner"], match["thing"]) for match in _THING.finditer(turn.text)]
        codes = _CODE.findall(turn.text)
        linked = not codes and len(things) == _BOTH and _SAME.search(turn.text) is not None
        if things and (len(codes) == 1 or linked):
            if not _OVER.search(turn.text):
                notes.add(turn, "code", [things, codes])
            return "Noted."
        if len(things) == 1 and not codes and next(notes.visible("code"), None):
            return _code_of(*things[0], [note.content for note in notes.visible("code")])
        return None


def _code_of(owner: str, thing: str, known: Sequence[Sequence[Sequence[Sequence[str]]]]) -> str:
    """Return the code of a thing, or of what has the same one, from one to the next."""
    near, seen = [(owner, thing)], set[tuple[str, str]]()
    while near:
        place = near.pop(0)
        seen.add(place)
        for things, codes in known:
            if any(_is_same_thing(place, other) for other in things):
                if codes:
                    return str(codes[0])
                near += [
                    other
                    for other in _owned_things(things)
                    if not any(_is_same_thing(other, one) for one in (*seen, *near))
                ]
    return "I don't know."


def _owned_things(things: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    return ((owner, thing) for owner, thing in things)


def _is_same_thing(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two are the same thing: what follows its name may be taken for a part of it."""
    (owner, thing), (whose, what) = one, other
    first, second = thing.split(), what.split()
    return _named_alike(owner, whose) and (
        first == second or _is_short_form(first, second) or _is_short_form(second, first)
    )


def _named_alike(one: str, other: str) -> bool:
    """Return whether two names mean one person: of a family several may have codes, and some are called by it alone."""
    first, second = one.split(), other.split()
    return first[-1] == second[-1] and (first == second or len(first) != len(second))


def _is_short_form(name: Sequence[str], longer: Sequence[str]) -> bool:
    """Return whether both begin alike, and a second word belongs to the sentence rather than to the name."""
    return name[0] == longer[0] and (len(name) == 1 or len(longer) == 1 or bool({name[1], longer[1]} & _VERBS))


# What follows a thing's name without being part of it.
_VERBS = frozenset((
    "is", "opens", "takes", "needs", "used", "was", "with", "has", "now", "also", "too", "have", "the", "what", "you",
    "type", "and", "no", "please", "opened", "took", "needed", "until", "in", "by", "which", "whatever", "same",
))  # fmt: skip
