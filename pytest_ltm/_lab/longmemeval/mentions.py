"""What users mention of themselves beside the evidence: other rows of the same texts, told in the same ways."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from pytest_ltm._lab.longmemeval.session_text import (
    WORDS,
    Aside,
    Attribute,
    Happening,
    ItemSeries,
    Made,
    Taste,
    Update,
    all_of,
)
from pytest_ltm._language.words import content_stems, upper_first

if TYPE_CHECKING:
    from collections.abc import Collection


_IN_THEME = 0.5  # how often a user mentions something of the theme that is talked about, if there is something left
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_Row = Attribute | Update | ItemSeries | Happening | Taste | Made


class Mentions:
    """All that one person may mention, in a random order, and again in other words once all has been told.

    What is true of a person is so wherever the person speaks; `backwards` begins at the other end, so that two sources
    for one person seldom tell the same. Nothing is told of `themes`, or in the words of `heard`.
    """

    def __init__(self, person: str, themes: Collection[str], heard: frozenset[str], *, backwards: bool = False) -> None:
        rng = Random(f"longmemeval person {person}")
        self._values = {row.key: rng.choice(row.values) for row in (*all_of(Attribute), *all_of(Update))}
        priced = ((row, item) for row in all_of(ItemSeries) for item in row.items)
        self._prices = {(row.key, item): rng.choice(row.values or (0,)) for row, item in priced}
        kinds = (Attribute, Update, ItemSeries, Happening, Taste, Made)
        rows: list[_Row] = [row for kind in kinds for row in all_of(kind)]
        known = [(row, item) for row in rows for item in (row.items if isinstance(row, ItemSeries) else ("",))]
        rng.shuffle(known)
        untold = (one for one in known if one[0].theme not in themes)
        self.known = [one for one in untold if not content_stems(_row_topic(one[0])) & heard]
        """Rows that may be told, of a series each with an item; the last one comes first."""
        if backwards:
            self.known.reverse()
        self._left: list[tuple[_Row, str]] = []
        self._rng = Random(f"longmemeval mentions {person} {backwards}")

    def next(self, theme: str) -> Aside | None:
        """Return what is mentioned next while a theme is talked about; None if there is nothing to tell."""
        if not self._left:
            self._left = self.known[:]
        near = [place for place, (row, _) in enumerate(self._left) if row.theme == theme]
        if not self._left:
            return None
        return self._told(*self._left.pop(near[-1] if near and self._rng.random() < _IN_THEME else -1))

    def _told(self, row: _Row, item: str) -> Aside:
        rng = self._rng
        match row:
            case Attribute():
                number = fill_values(rng.choice(row.say), v=self._values[row.key])
            case Update():
                number = fill_values(rng.choice(row.old), v=self._values[row.key])
            case ItemSeries():
                number = fill_values(rng.choice(row.say), item=item, v=self._prices[row.key, item])
            case Happening():
                number = fill_values(rng.choice(row.say), when=rng.choice(WORDS))
            case Taste():
                number = rng.choice(row.say)
            case Made():
                return Aside(request=row.request, made=written_list(row, draw_assistant_values(rng, row)))
        return Aside(number, row.nod)


def _row_topic(row: _Row) -> str:
    """Return the words that say what a row is about."""
    match row:
        case Taste():
            return " ".join(row.say)
        case Happening():
            return f"{row.thing} {row.past}"
        case _:
            return " ".join((*row.words, *([row.ask] if isinstance(row.ask, str) else row.ask)))


_ARTICLE = re.compile(r"\b[Aa](?= \{(\w+)\})")
_VOWEL = re.compile(r"(?!one|uni|use|usu|eu|ukulele)[aeiou]", re.IGNORECASE)


def fill_values(text: str, **values: object) -> str:
    """Return the text with its values, each also with a capital: `{item}`, `{Item}`; "a {item}" may be "an oak"."""
    text = _ARTICLE.sub(lambda result: result[0] + "n" * bool(_VOWEL.match(str(values.get(result[1], "")))), text)
    return text.format(**values, **{upper_first(name): upper_first(str(value)) for name, value in values.items()})


def draw_assistant_values(rng: Random, row: Made) -> dict[str, str]:
    """Return what an assistant makes up: slot -> entry, in the order in which they are listed."""
    if row.how == "amount":
        names = rng.sample(row.entries, min(6, len(row.entries)))
        return dict(zip(names, (f"${value}" for value in rng.sample(row.values, len(names))), strict=True))
    slots = row.slots or _ORDINALS
    return dict(zip(slots, rng.sample(row.entries, len(slots)), strict=True))


def written_list(row: Made, entries: dict[str, str]) -> str:
    """Return the list or table as the assistant writes it."""
    named = (f"{upper_first(slot)}: {entry}" for slot, entry in entries.items())
    lines = entries.values() if row.how == "nth" else named
    return "\n".join([f"**{row.title}**", *(f"{number}. {line}" for number, line in enumerate(lines, start=1))])
