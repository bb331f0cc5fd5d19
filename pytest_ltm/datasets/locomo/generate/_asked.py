"""A question with its gold answer, and what a careful listener knows: the facts by the turns that told them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo.generate import _texts
from pytest_ltm.datasets.locomo.generate._talk import HAPPENED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from pytest_ltm.datasets.locomo._categories import Category
    from pytest_ltm.datasets.locomo.generate._graph import Event
    from pytest_ltm.datasets.locomo.generate._talk import Said
    from pytest_ltm.datasets.locomo.generate._texts import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question."""

    category: Category
    pattern: str
    """Its text before names and things are filled in."""
    filling: Mapping[str, str]
    """`who`, `theme` ...: what is filled in."""
    gold: str
    """Of an adversarial question: what it wrongly suggests."""
    evidence: tuple[str, ...]

    @property
    def text(self) -> str:
        """The question."""
        return self.pattern.format(**self.filling)


@dataclass(frozen=True, slots=True)
class Told:
    """One fact, heard."""

    turn: Said
    event: Event
    """Only who it is about, its kind and what the turn says of it are used."""
    value: str

    @property
    def kind(self) -> Kind:
        """What kind of thing was told."""
        return _texts.kinds()[self.event.kind]


@dataclass(frozen=True)
class Heard:
    """All facts of a conversation, by what they are."""

    speakers: tuple[str, str]
    days: Mapping[int, date]
    """Of the sessions, by number."""
    turns: Sequence[Said]

    @cached_property
    def facts(self) -> Mapping[tuple[str, str], Told]:
        """Facts by event id and what of it; in the order of their turns."""
        return {
            (reveal.event.id, reveal.what): Told(turn, reveal.event, reveal.value)
            for turn in self.turns
            for reveal in turn.reveals
        }

    def happened(self) -> Iterator[Told]:
        """Yield what happened or is so, without its details."""
        return (told for (_, what), told in self.facts.items() if what == HAPPENED)

    def other(self, who: str) -> str:
        """Return the speaker who is not `who`."""
        one, two = self.speakers
        return two if who == one else one

    def mentioned(self, words: str, by: str | None = None) -> bool:
        """Whether the words occur in a turn or caption (of that speaker), in any case."""
        wanted = words.casefold()
        texts = [self._texts[by]] if by else self._texts.values()
        whole = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
        return any(wanted in text and whole.search(text) for text in texts)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {
            who: "\n".join(f"{one.text} {one.caption}".casefold() for one in self.turns if one.speaker == who)
            for who in self.speakers
        }

    @cached_property
    def pools(self) -> Mapping[str, str]:
        """The pool of each theme of which something was told."""
        lines = _texts.lines()
        themed = (told.event for told in self.happened() if "theme" in told.event.roles)
        return {event.roles["theme"]: lines[event.kind.partition("/")[0]].theme for event in themed}


def filling(event: Event) -> dict[str, str]:
    """Return what a question about the event may name."""
    named = {name: event.roles[name] for name in ("theme", "new", "job") if name in event.roles}
    return {"who": event.who, **named}


def bare(value: str) -> str:
    """Return a value as a third person gives it: `my aunt Greta` is `aunt Greta`."""
    return re.sub(r"^my ", "", value, flags=re.IGNORECASE).replace(" my ", " their ")
