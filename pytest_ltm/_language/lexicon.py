"""Word lists of this room, read from one text file when they are first needed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def _read_sections() -> dict[str, str]:
    text = files(__package__).joinpath("lexicon.txt").read_text("utf-8")
    parts = (part.partition("]\n") for part in text.split("\n[")[1:])
    return {name: body for name, _, body in parts}


@cache
def word_set(section: str) -> frozenset[str]:
    """Return the words of a section."""
    return frozenset(_read_sections()[section].split())


@cache
def phrase_list(section: str) -> tuple[str, ...]:
    """Return the phrases of a section, in its order; bars stand between them."""
    return tuple(phrase.strip() for phrase in _read_sections()[section].replace("\n", "").split("|") if phrase.strip())
