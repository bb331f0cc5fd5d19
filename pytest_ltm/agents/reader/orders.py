"""Standing orders for the lines that the user asks for, and the user's shopping list: given, changed, revoked."""

from __future__ import annotations

import json
import re

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.agents.reader.notes import SMALL_NUMBERS, WORDS, IncomingTurn, ReaderNotebook, Topic, first_match

_ASKED = lazy_pattern(r"\bwhat\b|\bjson\b|\bwhich\b|\btell me\b", re.IGNORECASE)
_NUMBER = rf"\b(\d{{1,6}}|{'|'.join(SMALL_NUMBERS)})"
_ITEM = (
    r"(?!(?:of|more|fewer|less|in|km|altogether|too)\b)([a-z][a-z -]*?)"
    r"(?=\s*(?:[.,;:!?]|$|\b(?:on|off|from|to|for|than|altogether|please|and|as|in|at|while|this|again|after|either|too|"
    r"fewer|less|should|would|will|wrong|any more|so)\b))"
)
_COUNTED = lazy_pattern(rf"{_NUMBER}\s+(?:more\s+)?{_ITEM}", re.IGNORECASE)
# A number of what was named before.
_COUNT = lazy_pattern(
    rf"{_NUMBER} (?:more|fewer|too many|altogether|in (?:total|all)|of (?:them|those|these))\b|\banother (\w+)",
    re.IGNORECASE,
)
# The thing, and how many to get.
_OUT_OF = lazy_pattern(rf"\b(?:out of|low on|last of the) {_ITEM}.*{_NUMBER}\b", re.IGNORECASE)
_ALL_OF = [
    lazy_pattern(rf"\b{word}\s+{_ITEM}", re.IGNORECASE)
    for word in ("any", "(?:enough|plenty of)", "no", "without", "(?:all the|the|my|all)")
]
_NONE_LEFT = lazy_pattern(
    r"\b(?:not need any|no longer need|don't need any|all of them|take them|enough|plenty|without)\b"
    r"|\b(?:all|forget|skip|scrap|drop|leave out) the\b|^no (?!longer\b)\w",
    re.IGNORECASE,
)
_OFF = lazy_pattern(
    r"\b(?:remove|take|strike|delete|drop|scratch|cut|knock|fewer|less|too many|come off)\b", re.IGNORECASE
)
_SET = lazy_pattern(r"\b(?:altogether|instead|correct|in total|in all)\b", re.IGNORECASE)
# What only a message about the list has.
_KNOWN = lazy_pattern(
    r"\b(?:shopping list|(?:put it|items) on the list)\b|`item`"
    r"|\A\s*(?:I want to buy|I require|(?:please )?remove)\s+(?:another\s+)?\d",
    re.IGNORECASE,
)
_WORDS = "|".join(list(SMALL_NUMBERS)[:9])
# How messages begin that want something got, or not got.
_BEGINNINGS = (
    "please|actually|hmm|sorry|oh|also|and|no|wait|hang on|on second thoughts|come to think of it|get|add|buy|remove|"
    "drop|scratch|cut|strike|take|knock|make|remind me|don't let me|we mustn't|let's|it should be|that's|another|"
    "that won't do|guests are coming|(?:I|we)(?:'re|'ll|'d)? (?:need|must|could|want|have to|should|like|out|low|found|"
    f"still|asked|got|used)|{_WORDS}"
)
_SPOKEN = lazy_pattern(
    rf"\A(?=(?:{_BEGINNINGS})\b)(?=.*\b(?:{_WORDS})\b)"
    r"|\A(?:(?:forget|skip|scrap|drop|leave out) the|no) [a-z -]+[.,]"
    r"|\b(?:don't need any|plenty of|were enough) [a-z -]+",
    re.IGNORECASE,
)
_CHANGES = lazy_pattern(
    r"\b(?:need|must get|do with|buy|get|pick up|forget|and|also|add|more|another|remove|drop|scratch|cut|strike|knock|"
    r"take|fewer|less|too many|altogether|in (?:total|all)|skip|scrap|leave (?:out|them out)|no)\b",
    re.IGNORECASE,
)
# Characters of the longest message that is about the list without a word of it.
_SHORT = 110


class ShoppingList(Topic):
    """Keeps every change of the list and answers with what they come to."""

    kinds = ("shopping",)
    forgets = lazy_pattern(
        r"\bbought (?:everything|all)\b|\blist is empty\b|\b(?:forget|disregard)\b.*\blist\b", re.IGNORECASE
    )
    forgotten = "Your shopping list is empty."

    def claims(self, text: str) -> bool:
        """Return whether a message is about the list, or speaks of a number of things as people do of one."""
        spoken = len(text) <= _SHORT and _SPOKEN.search(text) and _CHANGES.search(text)
        return bool(spoken) or _KNOWN.search(text) is not None

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a change, or tell the list."""
        if _ASKED.search(turn.text):
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
        notes.add(turn, "shopping", change)
        return "Noted."


def _list_change(text: str) -> list[str | int] | None:
    """Return the kind of change, the item in the singular, and the number; None if the text tells none.

    The item is "" where the text speaks of what was named before.
    """
    if out := _OUT_OF.search(text):
        return ["more", _singular_item(out[1]), SMALL_NUMBERS.get(out[2].lower()) or int(out[2])]
    counted = _COUNTED.search(text) or _COUNT.search(text)
    if counted is None or counted.group(counted.lastindex or 1).lower() == "list":
        whole = first_match(_ALL_OF, text) if _NONE_LEFT.search(text) else None
        return ["none", _singular_item(whole.group(1)), 0] if whole else None
    alone = counted.re.pattern == _COUNT.pattern
    word, item = (counted[1] or counted[2], "") if alone else (counted[1], _singular_item(counted[2]))
    number = SMALL_NUMBERS.get(word.lower()) or (int(word) if word.isdigit() else 0)
    kind = "set" if _SET.search(text) else "less" if _OFF.search(text) else "more"
    return [kind, item, number] if number else None


def _singular_item(item: str) -> str:
    name = item.strip().lower()
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


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
        # What lines an order is for: "every", or what they are about, or for; "" if a text does
        # not say.
        match = _WHEN.search(text)
        when = "every" if _EVERY.search(text) else match["what"].lower() if match else ""
        for kind, given in _GIVEN.items():
            if when and (match := given.search(text)):
                notes.add(turn, "order", {"kind": kind, "word": match[1], "when": when})
                return "I will."
        change = _changed_order(text, when, notes)
        if change is None:
            return None
        notes.add(turn, "order", change)
        return "Noted."


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
