"""Small talk: the sentences of filler, and recognising messages made of them."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pytest_ltm.api.storage import load_packaged_yaml
from pytest_ltm.language.invented_words import name_pattern

# Characters of the longest message that relays another person's words.
LONGEST_RELAYED = 700
# The separator of several of them in one message.
PARAGRAPHS = "\n\n"
_OWN = re.compile(r"\b[Mm]y\b")
# Words that make a message about the user or the agent, too.
_PERSONS = re.compile(r"\b(?:i|me|mine|myself|we|us|our|you|your)\b", re.IGNORECASE)


@cache
def read_templates() -> dict[str, Any]:
    """Return the sentences with alternatives and slots, and the words for the slots."""
    templates: dict[str, Any] = load_packaged_yaml(__file__, "small_talk.yml")
    return templates


@cache
def _known() -> re.Pattern[str]:
    """Return the pattern of the beginning of small talk: any template."""
    templates = read_templates()
    patterns = map(_read_pattern, [*templates["sentences"], *templates["trivia"]])
    return re.compile(rf"(?:{'|'.join(patterns)})(?=\s|$)", re.IGNORECASE)


@cache
def _relayed() -> re.Pattern[str]:
    """Return the pattern of a whole message that relays another person's words."""
    return re.compile("|".join(map(_read_pattern, read_templates()["relays"])))


def _read_pattern(template: str) -> str:
    """Return the pattern that matches all texts from a template."""
    parts = re.split(r"([][|]|\{\w+\})", template)
    return "".join(_slot_patterns().get(part) or re.escape(part) for part in parts)


@cache
def _slot_patterns() -> dict[str, str]:
    templates = read_templates()
    names = templates["names"]
    words = {**templates["slots"], "name": names, "friend": names}
    slots = {}
    for slot, values in words.items():
        alternatives = "|".join(map(re.escape, values))
        slots[f"{{{slot}}}"] = f"(?:{alternatives})"
    # A last name is a signature only after a full sentence or a list of several lines.
    free = {"{fact}": "(?:.+)", "{text}": r"(?s:.*[^\w\s,;:]|.*\n.*)"}
    return {"[": "(?:", "]": ")", "|": "|", **slots, **free}


def is_small_talk(message: str) -> bool:
    """Return whether a message begins like this filler."""
    return _known().match(message) is not None


def is_relayed(message: str) -> bool:
    """Return whether a message only relays words of strangers to all scenarios, or is about them."""
    for text in message.split(PARAGRAPHS):
        if len(text) > LONGEST_RELAYED:
            return False
        if not (_relayed().fullmatch(text) or _is_about_stranger(text)):
            return False
    return True


def tell_of_stranger(text: str, stranger: str) -> str:
    """Return a text about the user's own thing as if it were a stranger's; "" if it says more."""
    if not _OWN.search(text) or _PERSONS.search(text):
        return ""
    return _OWN.sub(f"{stranger}'s", text)


def _is_about_stranger(text: str) -> bool:
    if _OWN.search(text) or _PERSONS.search(text):
        return False
    return _possessive_strangers().search(text) is not None


@cache
def _possessive_strangers() -> re.Pattern[str]:
    """Return the pattern of an owner's first and last name."""
    name = name_pattern()
    return re.compile(rf"\b{name} {name}'s\b")
