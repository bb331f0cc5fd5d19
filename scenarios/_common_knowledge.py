"""Common knowledge that nobody doubts, each of one word or number: what other worlds may have otherwise."""

from __future__ import annotations

from dataclasses import dataclass

SOUND, COLOUR, TASTE, COUNT = "sound", "colour", "taste", "count"


@dataclass(frozen=True, slots=True)
class Thing:
    """Something of which everybody knows the sound, the colour, the taste, or how many it has of something."""

    aspect: str
    name: str
    value: str
    """In our world."""
    unit: str = ""
    """What is counted of it."""

    def fact(self, value: str) -> str:
        """Return that it is so, in words."""
        verb = {
            SOUND: "",
            COLOUR: f" {self._be}",
            TASTE: f" {self._verb('taste')}",
            COUNT: " has",
        }[self.aspect]
        return f"{self.name}{verb} {value}{self.unit and f' {self.unit}'}"

    def question(self) -> str:
        """Return what asks for it, without a question mark."""
        return {
            SOUND: f"what sound do {self.name} make",
            COLOUR: f"what colour {self._be} {self.name}",
            TASTE: f"what {self._verb('do')} {self.name} taste like",
            COUNT: f"how many {self.unit} does {self.name} have",
        }[self.aspect]

    def like(self, other: Thing) -> str:
        """Return that it is in this as another thing is, in words."""
        same = self.unit == other.unit
        return {
            SOUND: f"{self.name} make the same sound as {other.name}",
            COLOUR: f"{self.name} {self._be} the same colour as {other.name}",
            TASTE: f"{self.name} {self._verb('taste')} the same as {other.name}",
            COUNT: f"{self.name} has as many {self.unit} as {other.name}{'' if same else f' has {other.unit}'}",
        }[self.aspect]

    @property
    def _plural(self) -> bool:
        return self.name.endswith("s") and not self.name.endswith("ss")

    @property
    def _be(self) -> str:
        return "are" if self._plural else "is"

    def _verb(self, verb: str) -> str:
        return verb if self._plural else {"do": "does"}.get(verb, f"{verb}s")


_SOUNDS = {
    "dogs": "bark",
    "cats": "meow",
    "cows": "moo",
    "ducks": "quack",
    "frogs": "croak",
    "lions": "roar",
    "hens": "cluck",
    "owls": "hoot",
    "sheep": "bleat",
    "horses": "neigh",
    "bees": "buzz",
    "pigs": "grunt",
}
_COLOURS = {
    "snow": "white",
    "milk": "white",
    "grass": "green",
    "spinach": "green",
    "blood": "red",
    "ripe tomatoes": "red",
    "coal": "black",
    "soot": "black",
    "canaries": "yellow",
    "carrots": "orange",
    "pumpkins": "orange",
    "elephants": "grey",
    "flamingos": "pink",
}
_TASTES = {
    "sugar": "sweet",
    "honey": "sweet",
    "maple syrup": "sweet",
    "vinegar": "sour",
    "lemons": "sour",
    "sea water": "salty",
    "tears": "salty",
}
_COUNTS = {
    "a week": (7, "days"),
    "a year": (12, "months"),
    "a day": (24, "hours"),
    "an hour": (60, "minutes"),
    "a minute": (60, "seconds"),
    "a century": (100, "years"),
    "a spider": (8, "legs"),
    "a horse": (4, "legs"),
    "an ant": (6, "legs"),
    "a bird": (2, "legs"),
    "a bicycle": (2, "wheels"),
    "a violin": (4, "strings"),
    "an octopus": (8, "arms"),
    "a chessboard": (64, "squares"),
}
THINGS = (
    *(Thing(SOUND, name, value) for name, value in _SOUNDS.items()),
    *(Thing(COLOUR, name, value) for name, value in _COLOURS.items()),
    *(Thing(TASTE, name, value) for name, value in _TASTES.items()),
    *(Thing(COUNT, name, str(value), unit) for name, (value, unit) in _COUNTS.items()),
)
VALUES = {
    SOUND: tuple(_SOUNDS.values()),
    COLOUR: (
        "white",
        "green",
        "red",
        "black",
        "yellow",
        "orange",
        "grey",
        "pink",
        "blue",
        "brown",
        "purple",
    ),
    TASTE: (
        "sweet",
        "sour",
        "salty",
        "bitter",
        "peppery",
        "minty",
        "smoky",
        "fishy",
        "nutty",
        "cheesy",
    ),
    COUNT: tuple(map(str, range(3, 41))),
}
"""What there may be of each aspect, here or elsewhere."""
ALSO = {
    "bark": "woof",
    "meow": "miaow|mew",
    "croak": "ribbit",
    "bleat": "baa",
    "neigh": "whinny",
    "grunt": "oink",
    "buzz": "hum",
    "sour": "acidic|tart",
    "salty": "salt",
    "grey": "gray",
    "minty": "mint",
    "smoky": "smoke",
    "fishy": "fish",
    "nutty": "nut",
    "cheesy": "cheese",
}
"""Other words for some of them."""


def spellings(value: str) -> str:
    """Return a value and other words for it, with | between."""
    return f"{value}|{ALSO[value]}" if value in ALSO else value
