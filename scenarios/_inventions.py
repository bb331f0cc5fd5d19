"""Invented words: names of worlds, towns, people and machines that nobody can know from anywhere else."""

from __future__ import annotations

import random

_STARTS = (
    "Tav",
    "Orm",
    "Vel",
    "Quen",
    "Bresk",
    "Dall",
    "Imber",
    "Yst",
    "Korv",
    "Lamm",
    "Nerr",
    "Osk",
    "Pell",
    "Rhond",
    "Sarv",
    "Thul",
    "Umbr",
    "Vard",
    "Wexl",
    "Zann",
    "Ald",
    "Brum",
    "Cael",
    "Drev",
    "Esk",
    "Falk",
    "Grum",
    "Hesl",
)
_MIDDLES = (
    "a",
    "e",
    "i",
    "o",
    "u",
    "an",
    "ar",
    "em",
    "en",
    "er",
    "il",
    "in",
    "ol",
    "on",
    "or",
    "un",
)
_ENDS = (
    "bray",
    "doth",
    "fell",
    "gard",
    "holt",
    "ka",
    "lith",
    "mere",
    "mont",
    "nick",
    "phy",
    "quist",
    "ra",
    "rond",
    "sk",
    "stane",
    "thra",
    "via",
    "vik",
    "wen",
    "zel",
    "dun",
    "mak",
    "tosh",
)


def name_pattern() -> str:
    """Return the regular expression of all words that can be invented."""
    return "".join(f"(?:{'|'.join(parts)})" for parts in (_STARTS, _MIDDLES, _ENDS))


class Inventions:
    """Invents words, each of them once."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._made: set[str] = set()

    def name(self) -> str:
        """Return a new name, such as `Velarmere`."""
        while True:
            word = "".join(
                self._rng.choice(parts) for parts in (_STARTS, _MIDDLES, _ENDS)
            )
            if word not in self._made and not any(
                word[:4] == other[:4] for other in self._made
            ):
                self._made.add(word)
                return word

    def person(self) -> str:
        """Return a first and a last name."""
        return f"{self.name()} {self.name()}"
