"""Languages that are taught by examples: words for things, and what beginnings and endings say of them."""

from __future__ import annotations

import re
from itertools import permutations
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_LANGUAGE = lazy_pattern(r"\b(?:[Ii]n|into|of|teach you) (?P<name>[A-Z]\w+)")
_KIN = lazy_pattern(r"\bteach you (?P<name>[A-Z]\w+), which is built \w+ like (?P<other>[A-Z]\w+)")
_QUOTED = lazy_pattern(r"(?<!\w)'([a-z]+(?: [a-z]+)*)'(?!\w)")


class Languages(Topic):
    """Keeps examples of languages, and puts new phrases together from their parts."""

    kinds = ("example", "kin")
    about = lazy_pattern(r"'[a-z]+ [a-z ]+'")
    forgets = lazy_pattern(r"\bforget the languages? that I taught you\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note examples, each a phrase and its form in either order, or answer a question for a form."""
        named, quoted = _LANGUAGE.search(turn.text), _QUOTED.findall(turn.text)
        if named is None or not quoted:
            return None
        if len(quoted) == 1:
            return _answer_phrase(quoted[0], named["name"], notes)
        pairs = [sorted(pair, key=_WORDS, reverse=True) for pair in zip(quoted[::2], quoted[1::2], strict=False)]
        if any(_WORDS(form) or not _WORDS(gloss) for gloss, form in pairs):
            return None
        if alike := _KIN.search(turn.text):
            notes.add(turn, "kin", [alike["name"], alike["other"]])
        for gloss, form in pairs:
            notes.add(turn, "example", [named["name"], gloss, form])
        return "Noted."


# How many words a quotation has beside the first: a phrase has some, a form none.
_WORDS = methodcaller("count", " ")


def _answer_phrase(gloss: str, language: str, notes: ReaderNotebook) -> str | None:
    examples = [note.content for note in notes.visible("example")]
    kin = [note.content for note in notes.visible("kin") if language in note.content]
    related = {language, *(name for names in kin for name in names)}
    return _build_form(gloss, language, [one for one in examples if one[0] in related]) if examples else None


class _Phrase(NamedTuple):
    language: str
    noun: str
    said: frozenset[str]
    """What the other words of the phrase say of it, the plural included."""


def _build_form(gloss: str, language: str, known: Sequence[Sequence[str]]) -> str:
    """Return the form of a phrase, from examples (language, phrase, form) of languages that are built alike."""
    forms = {_parse_phrase(name, one): form for name, one, form in known}
    asked, parts = _parse_phrase(language, gloss), _affixes_of(forms)
    root = forms.get(_without_affixes(asked))
    if root is None or not asked.said <= parts.keys():
        return "I don't know: you have not told me that."
    shown = [form for phrase, form in forms.items() if phrase.said >= asked.said]
    before, after = ([parts[one][side] for one in sorted(asked.said) if parts[one][side]] for side in (0, 1))
    return f"{_order_affixes(before, shown)}{root}{_order_affixes(after, shown)}"


def _parse_phrase(language: str, gloss: str) -> _Phrase:
    *others, noun = gloss.split()
    plural = {"s"} if noun.endswith("s") else set()
    return _Phrase(language, noun.removesuffix("s"), frozenset({*others} - {"the"} | plural))


def _without_affixes(phrase: _Phrase) -> _Phrase:
    return phrase._replace(said=frozenset())


def _affixes_of(forms: Mapping[_Phrase, str]) -> dict[str, tuple[str, str]]:
    """Return the beginning or the ending that says each thing: what its example has beside the bare word."""
    entries = {}
    for phrase, form in forms.items():
        root = forms.get(_without_affixes(phrase))
        if root is not None and len(phrase.said) == 1 and root in form:
            before, _, after = form.partition(root)
            entries[next(iter(phrase.said))] = (before, after)
    return entries


def _order_affixes(affixes: Sequence[str], shown: Iterable[str]) -> str:
    """Return affixes of one side in the order that one of the forms has that were shown with all of them."""
    orders = ["".join(order) for order in permutations(affixes)]
    return next(
        (order for form in shown for order in orders if form.startswith(order) or form.endswith(order)), orders[0]
    )
