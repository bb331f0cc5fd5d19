"""An evening in a restaurant, as a guest who knows what was ordered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_WAITER = re.compile(r"Waiter:")
_ROLES = re.compile(r"\bwaiter\b[^\n]*\b(?:guest|customer)\b", re.IGNORECASE)
_FORGET = re.compile(r"\brestaurant\b[^\n]*\bforget\b", re.IGNORECASE)
_SECTION = re.compile(r"^([A-Z][^:.\d\n]{2,40}):[ \t]*$")
_ITEM = re.compile(r"^\d{1,3}\. (.+)$")
_DRINKS = re.compile(r"\b(?:drinks|beverages)\b", re.IGNORECASE)
_EAT = re.compile(r"\blike to eat\b")
_GONE = re.compile(r"\bsold out\b|\bunavailable\b")
_SERVED = re.compile(r"\b(?:There you are|Here you are|Dinner is served):")
_DRANK = re.compile(r"\bWhat was it\?|\bWhat were you having\?")


class Restaurant:
    """Orders what stands first on the menu, and insists on it."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Reply to the waiter as a guest, from what can still be seen."""
        if not _WAITER.match(turn.text):
            return _agreed(turn, notes)
        menu = _menu(turn.text)
        if menu["drinks"]:
            notes.add(turn, "menu", menu)
            return _drink(turn, menu["drinks"], notes)
        if _EAT.search(turn.text) or _GONE.search(turn.text):
            return _order(turn, notes)
        if _SERVED.search(turn.text):
            return _received(turn, notes)
        if _DRANK.search(turn.text):
            drink = notes.newest("drink")
            return f"I had the {drink.content}, thank you." if drink else "I am afraid I do not remember."
        return "Thank you."


def _agreed(turn: Turn, notes: Notebook) -> str | None:
    if not turn.brief or not (_ROLES.search(turn.text) or _FORGET.search(turn.text)):
        return None
    notes.drop("menu", "drink", "dish")
    return "All right."


def _menu(text: str) -> dict[str, list[str]]:
    """Return the dishes and drinks of a menu, as printed."""
    menu: dict[str, list[str]] = {"dishes": [], "drinks": []}
    kind = "dishes"
    for line in text.split("\n"):
        if section := _SECTION.match(line):
            kind = "drinks" if _DRINKS.search(section[1]) else "dishes"
        elif item := _ITEM.match(line):
            menu[kind].append(item[1].strip())
    return menu


def _drink(turn: Turn, drinks: list[str], notes: Notebook) -> str:
    """Order the plainest drink: a short name without brackets."""
    drink = min(drinks, key=lambda name: ("(" in name, len(name))).lower()
    notes.add(turn, "drink", drink)
    return f"I would like the {drink}, please."


def _order(turn: Turn, notes: Notebook) -> str:
    menu = notes.newest("menu")
    ordered = [note.content for note in notes.visible("dish")]
    dishes = menu.content["dishes"] if menu else []
    dish = next((name for name in dishes if name not in turn.text and name not in ordered), None)
    if dish is None:
        return "What would you recommend?"
    notes.add(turn, "dish", dish)
    return f"I will have the {dish}, please."


def _received(turn: Turn, notes: Notebook) -> str:
    dish = notes.newest("dish")
    if dish is None or dish.content in turn.text:
        return "Thank you very much."
    return f"Excuse me, this is not what I ordered. I ordered the {dish.content}."
