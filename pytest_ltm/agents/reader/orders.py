"""Standing orders for the lines that the user asks for, and the user's shopping list: given, changed, revoked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_ltm.agents.reader.notes import SMALL_NUMBERS, WORDS, Patterns, Topic, first_match

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook

_RE = Patterns("orders", NUMBERS=SMALL_NUMBERS, WORDS=list(SMALL_NUMBERS)[:9])

# Characters of the longest message that is about the list without a word of it.
_SHORT = 110


class ShoppingList(
    Topic, kinds=("shopping",), forgets=_RE.forgets_shopping_list, forgotten="Your shopping list is empty."
):
    """Keeps every change of the list and answers with what they come to."""

    def claims(self, text: str) -> bool:
        """Return whether a message is about the list, or speaks of a number of things as people do of one."""
        spoken = len(text) <= _SHORT and _RE.spoken.search(text) and _RE.changes.search(text)
        return bool(spoken) or _RE.known.search(text) is not None

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a change, or tell the list."""
        if _RE.asked.search(turn.text):
            shopping: dict[str, int] = {}
            last = ""
            for note in reversed(list(notes.visible("shopping"))):
                kind, named, number = note.content
                last = item = named or last
                before = shopping.get(item, 0)
                shopping[item] = {"more": before + number, "less": before - number, "set": number, "none": 0}[kind]
                if shopping[item] <= 0 or not item:
                    del shopping[item]
            return json.dumps([{"item": item, "quantity": number} for item, number in shopping.items()])
        change = _list_change(turn.text)
        if change is None:
            return None
        return notes.add(turn, "shopping", change)


def _list_change(text: str) -> list[str | int] | None:
    """Return the kind of change, the item in the singular, and the number; None if the text tells none.

    The item is "" where the text speaks of what was named before.
    """
    if out := _RE.out_of.search(text):
        return ["more", _singular_item(out[1]), SMALL_NUMBERS.get(out[2].lower()) or int(out[2])]
    counted = _RE.counted.search(text) or _RE.count.search(text)
    if counted is None or counted.group(counted.lastindex or 1).lower() == "list":
        whole = first_match(_RE["all_of"], text) if _RE.none_left.search(text) else None
        return ["none", _singular_item(whole.group(1)), 0] if whole else None
    alone = counted.re.pattern == _RE.count.pattern
    word, item = (counted[1] or counted[2], "") if alone else (counted[1], _singular_item(counted[2]))
    number = SMALL_NUMBERS.get(word.lower()) or (int(word) if word.isdigit() else 0)
    kind = "set" if _RE.set.search(text) else "less" if _RE.off.search(text) else "more"
    return [kind, item, number] if number else None


def _singular_item(item: str) -> str:
    name = item.strip().lower()
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


_GIVEN, _NAMED = _RE["given"], _RE["named"]
_SORTS = {sort: frozenset(words.split()) for sort, words in WORDS["sorts"].items()}
_WAYS = {
    "opens": "{w}:", "mentions": "{w}", "brackets": "[{w}]", "capitals": "{W}", "stars": "*{w}*", "tag": "#{w}",
    "closes": "{w}",
}  # fmt: skip


class StandingOrders(Topic, kinds=("order",), about=_RE.about_standing_orders, forgets=_RE.forgets_standing_orders):
    """Keeps what is said of orders for lines, and writes a line as those want it that hold."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note an order or what becomes of it, or write a line."""
        text = turn.text
        task = _RE.task.search(text)
        if task is not None and not any(given.search(text) for given in _GIVEN.values()):
            return _compose_line(task["thing"], _orders_in_force(task["thing"], task["place"], notes))
        # What lines an order is for: "every", or what they are about, or for; "" if a text does
        # not say.
        match = _RE.when.search(text)
        when = "every" if _RE.every.search(text) else match["what"].lower() if match else ""
        for kind, given in _GIVEN.items():
            if when and (match := given.search(text)):
                return notes.add(turn, "order", {"kind": kind, "word": match[1], "when": when}, "I will.")
        change = _changed_order(text, when, notes)
        if change is None:
            return None
        return notes.add(turn, "order", change)


def _changed_order(text: str, when: str, notes: ReaderNotebook) -> dict[str, str] | None:
    """Return what a text says of an order that was given before, by its kind or by its word."""
    known = {word: note.content["kind"] for note in notes.visible("order") if (word := note.content.get("word"))}
    if not known:
        return None
    named = [kind for kind, label in _NAMED.items() if label.search(text)]
    named += [known[word] for word in _RE.word.findall(text) if word in known]
    if not named:
        return None
    change = {"kind": named[0]}
    if _RE.dropped.search(text) or _RE.back.search(text):
        change["revoked"] = "" if _RE.stays.search(text) or _RE.back.search(text) else "yes"
    elif when:
        change["when"] = when
    elif new := _RE.new.search(text):
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
