"""Languages that are taught by examples: words for things, and what beginnings and endings say of them."""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._text.patterns import later
from pytest_ltm.reader.notes import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm.reader.notes import Notebook, Turn


_LANGUAGE = later(r"\b(?:[Ii]n|of|teach you) (?P<name>[A-Z]\w+)")
_QUOTED = later(r"(?<!\w)'([a-z]+(?: [a-z]+)*)'(?!\w)")


class Languages(Topic):
    """Keeps examples of languages, and puts new phrases together from their parts."""

    kinds = ("example",)
    about = later(r"'[a-z]+ [a-z ]+'")
    forgets = later(r"\bforget the languages? that I taught you\b", re.IGNORECASE)

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note examples, each a phrase and its form in either order, or answer a question for a form."""
        named = _LANGUAGE.search(turn.text)
        quoted = _QUOTED.findall(turn.text)
        if named is None:
            return None
        if len(quoted) == 1:
            known = [note.content[1:] for note in notes.visible("example") if note.content[0] == named["name"]]
            return _form(quoted[0], known)
        for one, other in zip(quoted[::2], quoted[1::2], strict=False):
            notes.add(turn, "example", [named["name"], *((one, other) if " " in one else (other, one))])
        return "Noted."


class _Phrase(NamedTuple):
    noun: str
    said: frozenset[str]
    """What the other words of the phrase say of it, the plural included."""


def _form(gloss: str, known: Sequence[Sequence[str]]) -> str:
    """Return the form of a phrase, from examples of a phrase and its form."""
    forms = {_phrase(one): form for one, form in known}
    asked = _phrase(gloss)
    root, parts = forms.get(_Phrase(asked.noun, frozenset())), _parts(forms)
    if root is None or not asked.said <= parts.keys():
        return "I don't know."
    shown = [form for phrase, form in forms.items() if phrase.said >= asked.said]
    before, after = ([parts[one][side] for one in sorted(asked.said) if parts[one][side]] for side in (0, 1))
    return f"{_ordered(before, shown)}{root}{_ordered(after, shown)}"


def _phrase(gloss: str) -> _Phrase:
    *others, noun = gloss.split()
    plural = {"s"} if noun.endswith("s") else set()
    return _Phrase(noun.removesuffix("s"), frozenset({*others} - {"the"} | plural))


def _parts(forms: Mapping[_Phrase, str]) -> dict[str, tuple[str, str]]:
    """Return the beginning or the ending that says each thing: what its example has beside the bare word."""
    found = {}
    for (noun, said), form in forms.items():
        root = forms.get(_Phrase(noun, frozenset()))
        if root is not None and len(said) == 1 and root in form:
            before, _, after = form.partition(root)
            found[next(iter(said))] = (before, after)
    return found


def _ordered(affixes: Sequence[str], shown: Iterable[str]) -> str:
    """Return affixes of one side in the order that one of the forms has that were shown with all of them."""
    orders = ["".join(order) for order in permutations(affixes)]
    return next(
        (order for form in shown for order in orders if form.startswith(order) or form.endswith(order)), orders[0]
    )
