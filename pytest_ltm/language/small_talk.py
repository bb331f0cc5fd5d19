"""Small talk: the sentences of which filler is made, and whether a message is some of it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pytest_ltm._core.storage.schema import load_packaged_yaml


@cache
def read_templates() -> dict[str, Any]:
    """Return the sentences with alternatives and slots, and the words for the slots."""
    templates: dict[str, Any] = load_packaged_yaml(__file__, "small_talk.yml")
    return templates


@cache
def _known() -> re.Pattern[str]:
    """Return what a message of small talk begins with: any of the templates."""
    slots = {
        name: "|".join(map(re.escape, words))
        for name, words in read_templates()["slots"].items()
    }
    slots["fact"] = ".+"

    meant = {"[": "(?:", "]": ")", "|": "|"} | {
        f"{{{name}}}": f"(?:{words})" for name, words in slots.items()
    }

    def pattern(template: str) -> str:
        parts = re.split(r"([][|]|\{\w+\})", template)
        return "".join(meant.get(part) or re.escape(part) for part in parts)

    templates = map(
        pattern, [*read_templates()["sentences"], *read_templates()["trivia"]]
    )
    return re.compile(rf"(?:{'|'.join(templates)})(?=\s|$)", re.IGNORECASE)


def is_small_talk(message: str) -> bool:
    """Return whether a message begins as this filler's do."""
    return _known().match(message) is not None
