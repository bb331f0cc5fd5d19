"""Standing orders for lines that the user asks for: given, changed, revoked, taken up again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import WORDS, Topic

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook


_TASK = lazy_pattern(
    r"\b(?:write me|i'd like|i need|have|give me|how about) a line about (?P<thing>\w+) for (?P<place>[\w ]+?)"
    r"(?=[.,!?]|$)",
    re.IGNORECASE,
)
_GIVEN = {
    "opens": lazy_pattern(r"\b(?:begin|start|open) with the word (\w+)", re.IGNORECASE),
    "closes": lazy_pattern(r"\b(?:end|close|finish) with the word (\w+)", re.IGNORECASE),
    "brackets": lazy_pattern(r"\bthe word (\w+) in square brackets", re.IGNORECASE),
    "capitals": lazy_pattern(r"\bthe word (\w+) in capital letters", re.IGNORECASE),
    "stars": lazy_pattern(r"\bthe word (\w+) between two asterisks", re.IGNORECASE),
    "tag": lazy_pattern(r"\bthe tag #(\w+)", re.IGNORECASE),
    "mentions": lazy_pattern(r"\b(?:work in|slip in|use) the word (\w+)", re.IGNORECASE),
}
_NAMED = {
    "opens": lazy_pattern(r"\bthe opening word\b", re.IGNORECASE),
    "closes": lazy_pattern(r"\bthe closing word\b", re.IGNORECASE),
    "brackets": lazy_pattern(r"\bthe word in brackets\b", re.IGNORECASE),
    "capitals": lazy_pattern(r"\bthe word in capitals\b", re.IGNORECASE),
    "stars": lazy_pattern(r"\bthe word between asterisks\b", re.IGNORECASE),
    "tag": lazy_pattern(r"\bthe tag\b", re.IGNORECASE),
    "mentions": lazy_pattern(r"\bthe word to be worked in\b", re.IGNORECASE),
}
_WHEN = lazy_pattern(
    r"\b(?:lines|a line|a line is) (?:about|for) (?!me\b|which\b)(?P<what>(?:the )?\w+(?: (?!please|work|slip|use|put|"
    r"write|set|add|attach|include|begin|start|open|end|close|finish|if|without|and|that)\w+)*)",
    re.IGNORECASE,
)
_EVERY = lazy_pattern(r"\b(?:every line|all lines|whenever you write me a line)\b", re.IGNORECASE)
_STAYS = lazy_pattern(r"\bbut (?:it|I)\b")
_DROPPED = lazy_pattern(r"\b(?:drop|scrap|do without|leave out|no more)\b", re.IGNORECASE)
_BACK = lazy_pattern(r"\b(?:bring back|reinstate)\b", re.IGNORECASE)
_NEW = lazy_pattern(r"\b(?i:make|let)\b.*? (?P<new>[A-Z]\w+)|\b(?i:take|use|put) (?P<taken>\w+) instead of\b")
_WORD = lazy_pattern(r"\b[A-Z]\w+\b")
_SORTS = {sort: frozenset(words.split()) for sort, words in WORDS["sorts"].items()}
_WAYS = {
    "opens": "{w}:", "mentions": "{w}", "brackets": "[{w}]", "capitals": "{W}", "stars": "*{w}*", "tag": "#{w}",
    "closes": "{w}",
}  # fmt: skip


class StandingOrders(Topic):
    """Keeps what is said of orders for lines, and writes a line as those want it that hold."""

    kinds = ("order",)
    about = lazy_pattern(
        r"\blines?\b|\bthe (?:tag|word|\w+ing word)\b|\b(?:drop|scrap|do without|leave out|no more|bring back|"
        r"reinstate|instead of)\b",
        re.IGNORECASE,
    )
    forgets = lazy_pattern(r"\bforget\b[^.:?!]*\brules for lines\b", re.IGNORECASE)

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note an order or what becomes of it, or write a line."""
        text = turn.text
        task = _TASK.search(text)
        if task is not None and not any(given.search(text) for given in _GIVEN.values()):
            return _compose_line(task["thing"], _orders_in_force(task["thing"], task["place"], notes))
        when = _order_condition(text)
        for kind, given in _GIVEN.items():
            if when and (match := given.search(text)):
                notes.add(turn, "order", {"kind": kind, "word": match[1], "when": when})
                return "I will."
        change = _changed_order(text, when, notes)
        if change is None:
            return None
        notes.add(turn, "order", change)
        return "Noted."


def _order_condition(text: str) -> str:
    """Return what lines an order is for: "every", or what they are about, or for; "" if a text does not say."""
    match = _WHEN.search(text)
    return "every" if _EVERY.search(text) else match["what"].lower() if match else ""


def _changed_order(text: str, when: str, notes: ReaderNotebook) -> dict[str, str] | None:
    """Return what a text says of an order that was given before, by its kind or by its word."""
    known = {word: note.content["kind"] for note in notes.visible("order") if (word := note.content.get("word"))}
    if not known:
        return None
    named = [kind for kind, label in _NAMED.items() if label.search(text)]
    named += [known[word] for word in _WORD.findall(text) if word in known]
    if not named:
        return None
    change = {"kind": named[0]}
    if _DROPPED.search(text) or _BACK.search(text):
        change["revoked"] = "" if _STAYS.search(text) or _BACK.search(text) else "yes"
    elif when:
        change["when"] = when
    elif new := _NEW.search(text):
        change["word"] = new["new"] or new["taken"]
    return change


def _orders_in_force(thing: str, place: str, notes: ReaderNotebook) -> dict[str, str]:
    """Return the words of the orders that hold in a line about this, for that, by their kinds."""
    orders: dict[str, dict[str, str]] = {}
    for note in reversed(list(notes.visible("order"))):
        orders.setdefault(note.content["kind"], {}).update(note.content)
    fits = {"every", place.lower(), *(sort for sort, words in _SORTS.items() if thing.lower() in words)}
    return {
        kind: order["word"]
        for kind, order in orders.items()
        if order.get("when") in fits and "word" in order and not order.get("revoked")
    }


def _compose_line(thing: str, orders: dict[str, str]) -> str:
    by_kind = {
        kind: way.format(w=orders[kind], W=orders[kind].upper()) for kind, way in _WAYS.items() if kind in orders
    }
    first, last = by_kind.pop("opens", ""), by_kind.pop("closes", "")
    return " ".join(part for part in (first, f"so much for {thing},", *by_kind.values(), last) if part)
