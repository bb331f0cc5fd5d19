"""Words that scenarios invent, such as `Velarmere`: recognisable by their form, but not by meaning."""

from __future__ import annotations

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
NAME_PARTS = (_STARTS, _MIDDLES, _ENDS)
"""An invented word has one part of each."""


def name_pattern() -> str:
    """Return the regular expression that matches every possible invented word."""
    return "".join(f"(?:{'|'.join(parts)})" for parts in NAME_PARTS)
