"""Directions told in free text, as legs: so many kilometres in one direction, from a place, to a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pytest_ltm.evaluators._words import NUMBERS, ONES, TENS, plain, words

Point: TypeAlias = tuple[float, float]

UNIT: dict[str, Point] = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
"""One kilometre in each direction: east is the first coordinate, north the second."""

_ONE = "|".join((*ONES, *TENS, "a", "an", "half a"))
_TOKEN = re.compile(
    rf"""(?P<km>(?:\d{{1,6}}(?:[.,]\d{{1,3}})?|\b(?:{_ONE})(?:[ ]a[ ]half)?)\s?-?\s?(?:kms?|kilomet(?:er|re)s?)\b)
    |(?P<swapped>\bkilomet(?:er|re)s?\W{{1,6}}\d{{1,4}}(?!\w))
    |(?P<side>\b(?:north|south)[- ]?(?:east|west)(?:ern|wards?)?\b)
    |(?P<way>\b(?:north|south|east|west)(?:wards?|ern|bound)?\b)
    |(?P<open>\()|(?P<close>\))
    |(?P<end>[.!?](?=\s|$)|\n|;|->|=>|→|\bthen\b)
    |(?P<from>\b(?:from|of|leaving|leave|at|once|after)\b)
    |(?P<word>[^\W_]+)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of a route; what the text does not tell is None."""

    km: float | None = None
    way: str | None = None
    """`north`, `south`, `east` or `west`; `?` for a direction between them."""
    origin: str | None = None
    goal: str | None = None

    @property
    def whole(self) -> bool:
        """Tell whether it can be walked."""
        return self.km is not None and self.way in UNIT


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def read_legs(text: str, places: Sequence[str]) -> list[Leg]:
    """Return the legs that a text tells, in its order; places are matched as words, the longest name first."""
    return _Legs().read(_with_places(_tokens(text), places))


def walk(legs: Sequence[Leg]) -> Point:
    """Return where the legs lead, in kilometres east and north of their start."""
    x = sum(UNIT[leg.way or ""][0] * (leg.km or 0) for leg in legs if leg.whole)
    y = sum(UNIT[leg.way or ""][1] * (leg.km or 0) for leg in legs if leg.whole)
    return round(x, 3), round(y, 3)


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(plain(text)):
        yield _Token(found.lastgroup or "word", found.group())


def _with_places(tokens: Iterator[_Token], places: Sequence[str]) -> Iterator[_Token]:
    """Put place names together: at most as many tokens are looked ahead as the longest name has words."""
    names = sorted(((tuple(words(place)), place) for place in places), key=lambda name: -len(name[0]))
    longest = max((len(name) for name, _ in names), default=1)
    ahead: list[_Token] = []
    for token in tokens:
        ahead.append(token)
        if len(ahead) >= longest:
            yield from _shifted(ahead, names)
    while ahead:
        yield from _shifted(ahead, names)


def _shifted(ahead: list[_Token], names: Sequence[tuple[tuple[str, ...], str]]) -> Iterator[_Token]:
    said = tuple(token.text for token in ahead)
    for name, place in names:
        if name and said[: len(name)] == name:
            del ahead[: len(name)]
            yield _Token("place", place)
            return
    yield ahead.pop(0)


class _Legs:
    """Collects legs from tokens; a leg ends where the next one's distance or direction begins."""

    def __init__(self) -> None:
        self.legs: list[Leg] = []
        self.leg = Leg()
        self.before: str | None = None
        """The place named last before the leg, in the same sentence."""
        self.leaving = False
        self.aside = 0
        self.fresh = False
        """A sentence has ended since the leg's last part."""

    def read(self, tokens: Iterator[_Token]) -> list[Leg]:
        for token in tokens:
            self._take(token)
            self.leaving = token.kind == "from" or (self.leaving and token.text in ("the", "you", "re", "your"))
        self._close()
        return self.legs

    def _take(self, token: _Token) -> None:
        match token.kind:
            case "km" | "swapped":
                self._part(km=_kilometres(token.text))
            case "way" if not token.text.endswith("ern"):
                self._part(way=token.text[:5] if token.text[:5] in UNIT else token.text[:4])
            case "side":
                self._part(way="?")
            case "place":
                self._place(token.text)
            case "open":
                self.aside += 1
            case "close":
                self.aside = max(self.aside - 1, 0)
            case "end":
                self.fresh, self.before, self.aside = True, None, 0

    def _part(self, km: float | None = None, way: str | None = None) -> None:
        """Add a distance or a direction to the leg, or begin the next leg with it."""
        old = self.leg.km if way is None else self.leg.way
        new: float | str | None = km if way is None else way
        again = old == new and (self.aside or (not self.fresh and self.leg.goal is None))
        if old is not None and not again:
            self._close()
        leg = self.leg
        self.leg = Leg(leg.km if km is None else km, leg.way if way is None else way, leg.origin, leg.goal)
        self.fresh = False

    def _place(self, place: str) -> None:
        leg = self.leg
        begun = leg.km is not None or leg.way is not None
        if self.leaving and begun and (leg.whole or not self.fresh) and leg.goal is None and not self.fresh:
            self.leg = Leg(leg.km, leg.way, place, leg.goal or self.before)
        elif self.leaving and not (begun and not leg.whole):
            self._close()
            self.leg = Leg(origin=place)
        elif begun and leg.goal is None:
            self.leg = Leg(leg.km, leg.way, leg.origin, place)
        self.before = place

    def _close(self) -> None:
        if self.leg.km is not None or self.leg.way is not None:
            self.legs.append(self.leg)
        self.leg = Leg()


def _kilometres(text: str) -> float:
    digits = re.search(r"\d{1,6}(?:[.,]\d{1,3})?", text)
    if digits:
        return float(digits.group().replace(",", "."))
    first = words(text)[0]
    half = 0.5 if "half" in text else 0.0
    return half if text.startswith("half") else NUMBERS.get(first, 1) + half
