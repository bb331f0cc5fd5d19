"""Directions told in free text, as legs: so many kilometres in one direction, from a place, to a place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pytest_ltm.evaluators._words import NUMBERS, ONES, TENS, plain, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Point: TypeAlias = tuple[float, float]

UNIT: dict[str, Point] = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
"""One kilometre in each direction: east is the first coordinate, north the second."""

_SHORT = {way[0]: way for way in UNIT}
_ONE = "|".join((*ONES, *TENS, "a", "an", r"half\sa"))
_TOKEN = re.compile(
    rf"""(?P<km>(?:\d{{1,6}}(?:[.,]\d{{1,3}})?|\b(?:{_ONE})(?:[ ]and)?(?:[ ]a[ ]half)?)
            \s?-?\s?(?:kms?|kilomet(?:er|re)s?)\b
        |\b(?:another|further)\s(?:km|kilomet(?:er|re))\b
        |\bkilomet(?:er|re)s?\W{{1,6}}\d{{1,4}}(?!\w))
    |(?P<side>\b(?:north|south)[- ]?(?:east|west)(?:ern|wards?)?\b)
    |(?P<way>\b(?:north|south|east|west)(?:wards?|bound)?\b)
    |(?P<open>\()|(?P<close>\))
    |(?P<line>\n)
    |(?P<end>[.!?](?=\s|$)|;|->|=>|→|\bthen\b)
    |(?P<colon>:|\s[-\u2013\u2014]\s)
    |(?P<to>\b(?:arriv(?:e|es|ing)|be|are)[ ](?:at|in)\b)
    |(?P<from>\b(?:from|of|leaving|leave|at|once|after)\b)
    |(?P<word>[^\W_]+)""",
    re.VERBOSE,
)
_LIES = frozenset(["is", "lies", "sits", "was", "located", "situated", "which", "being"])
_STOPS = frozenset(".!?;")
_ARTICLES = frozenset(("the", "a", "an"))


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
        token = _Token(found.lastgroup or "word", found.group())
        if token.text not in _ARTICLES:
            yield token


def _with_places(tokens: Iterator[_Token], places: Sequence[str]) -> Iterator[_Token]:
    """Put place names together: at most as many tokens are looked ahead as the longest name has words."""
    names = sorted(((_name(place), place) for place in places), key=lambda name: -len(name[0]))
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


def _name(place: str) -> tuple[str, ...]:
    return tuple(word for word in words(place) if word not in _ARTICLES)


class _Legs:
    """Collects legs from tokens; a leg ends with its line, or where the next one's distance or direction begins."""

    def __init__(self) -> None:
        self.legs: list[Leg] = []
        self.leg = Leg()
        self.last = _Token("line", "")
        self.parts = ""
        """The kinds of the leg's parts in their order: `k` for its distance, `w` for its way."""
        self.heading: str | None = None
        """The place that the line, or the text before a bracket, announces as the leg's goal."""
        self.departed = False
        """The line has named a place to leave."""
        self.describing = False
        """The sentence tells where the goal lies: no leg."""
        self.ended = ""
        """What has ended since the leg's last part: "." for a sentence, "->" for a step, "" for nothing."""
        self.touching = False
        """Neither a place nor the end of a sentence has come since the last distance."""
        self.aside = 0

    def read(self, tokens: Iterator[_Token]) -> list[Leg]:
        """Return the legs of all tokens."""
        for token in tokens:
            self._take(token)
            self.touching = token.kind == "km" or (self.touching and token.kind not in ("place", "end", "line"))
            self.last = token
        self._close()
        return self.legs

    def _take(self, token: _Token) -> None:
        match token.kind:
            case "km":
                self._distance(_kilometres(token.text))
            case "way":
                self._way(token.text[:5] if token.text[:5] in UNIT else token.text[:4])
            case "side":
                self._way("?")
            case "place":
                self._place(token.text)
            case "open" | "close":
                self._bracket(token.kind)
            case "end":
                self.ended, self.describing = "." if token.text in _STOPS else "->", False
            case "line":
                self._line()
            case "colon" | "word":
                self._other(token)

    def _other(self, token: _Token) -> None:
        """Take a colon, the letter of a direction, or the verb that tells where the goal lies."""
        if token.kind == "colon":
            announced = self.last.kind == "place" and not self.departed
            self.heading = self.last.text if announced else self.heading
        elif self.last.kind == "km" and token.text in _SHORT:
            self._way(_SHORT[token.text])
        elif self.last == _Token("place", self.leg.goal or "") and token.text in _LIES:
            self.describing = self.leg.whole

    def _distance(self, km: float) -> None:
        if self.describing or (self.aside and self.leg.whole and self.leg.km == km):
            return
        way = None
        if self.leg.km is not None:
            way = self.leg.way if self.parts.endswith("ww") and self.last.kind == "way" else None
            self._close()
        self._begin()
        self.leg = Leg(km, way or self.leg.way, self.leg.origin, self.leg.goal)
        self.parts += "k"

    def _way(self, way: str) -> None:
        if self.describing:
            return
        said_again = self.leg.way == way and (
            (self.parts.endswith("wk") and self.touching) or (self.aside and self.leg.whole)
        )
        if said_again or (self.leg.way == way and self.leg.km is None and self.last.kind != "end"):
            self.parts += "w"
            return
        if self.leg.way is not None:
            self._close()
        self._begin()
        self.leg = Leg(self.leg.km, way, self.leg.origin, self.leg.goal)
        self.parts += "w"

    def _begin(self) -> None:
        self.ended = ""
        if not self.parts:
            self.leg = Leg(origin=self.leg.origin, goal=self.heading)
            self.heading = None

    def _place(self, place: str) -> None:
        leg = self.leg
        if self.last.kind == "from":
            self.departed = True
            if leg.whole and self.ended and not self.aside:
                self._close()
                self.leg = Leg(origin=place)
            elif leg.origin is None:
                self.leg = Leg(leg.km, leg.way, place, leg.goal)
        elif self.parts and leg.goal is None and not (leg.whole and self.ended == "."):
            self.leg = Leg(leg.km, leg.way, leg.origin, place)

    def _bracket(self, kind: str) -> None:
        if kind == "close":
            self.aside = max(self.aside - 1, 0)
            return
        self.aside += 1
        if self.last.kind == "place" and (not self.parts or (self.leg.whole and self.leg.goal is not None)):
            if self.leg.goal != self.last.text:
                self._close()
            self.heading = self.last.text if not self.parts else None

    def _line(self) -> None:
        if self.leg.whole or not self.parts:
            self._close()
        self.heading, self.departed, self.describing, self.aside = None, False, False, 0

    def _close(self) -> None:
        if self.parts:
            self.legs.append(self.leg)
        self.leg, self.parts = Leg(), ""


def _kilometres(text: str) -> float:
    digits = re.search(r"\d{1,6}(?:[.,]\d{1,3})?", text)
    if digits:
        return float(digits.group().replace(",", "."))
    first = words(text)[0]
    half = 0.5 if "half" in text else 0.0
    return half if text.startswith("half") else NUMBERS.get(first, 1) + half
