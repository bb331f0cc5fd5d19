"""Errands: quotes to append, rules, reminders, shopping lists, and lines to compose."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from pytest_ltm.agents.reader.notes import (
    COMMON,
    SMALL_NUMBERS,
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_kind,
    first_match,
)
from pytest_ltm.language.numbers import NUMBERS, ONES

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_IN_WORDS = "second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
_RE = Patterns("errands", DAYS=_DAYS, ORDINALS=_IN_WORDS, HOURS=ONES[1:13])
_LENGTHS = {
    "three quarters of an hour": 45,
    "an hour and a half": 90,
    "two and a half hours": 150,
    "a day and two hours": 1560,
}


class Reminders(
    Topic,
    kinds=("reminder", "reminded"),
    about=_RE.about_reminders,
    forgets=_RE.forgets_reminders,
):
    """Keeps reminders, and adds those to a reply that have become due since the last one."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a reminder that is requested, moved or cancelled."""
        if turn.now is None:
            return None
        mention = _RE.about.search(turn.text)
        request = _RE.wanted.search(turn.text)
        if mention is not None:
            if _RE.off.search(turn.text):
                when = {}
            else:
                when = _named_moment(turn.text.lower(), turn.now)
            return notes.add(
                turn, "reminder", {"thing": mention[1], "when": when}, "As you wish."
            )
        when = _named_moment(turn.text.lower(), turn.now) if request else {}
        if request is None or not when:
            return None
        return notes.add(
            turn,
            "reminder",
            {"thing": request["thing"], "task": request["task"], "when": when},
            "I will.",
        )

    def appendix(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the due reminders that are still visible and have not been mentioned in a reply."""
        if turn.now is None:
            return None
        last: dict[str, float] = {}
        for note in reversed([*notes.visible("reminded")]):
            last[note.content] = note.time or 0.0
        # The newest note on each thing: its moments, and when it was noted; no moments:
        # cancelled.
        newest: dict[str, tuple[Mapping[str, Any], float]] = {}
        tasks: dict[str, str] = {}
        for note in reversed([*notes.visible("reminder")]):
            newest[note.content["thing"]] = note.content["when"], note.time or 0.0
            if "task" in note.content:
                tasks[note.content["thing"]] = note.content["task"]
        due = []
        for thing, (when, since) in newest.items():
            if not when:
                continue
            first = when["first"]
            period = when["every"]
            last_told = max(since, last.get(thing, since))
            # Due if one of its moments lies between its last mention and now.
            if period:
                is_due = (turn.now - first) // period > (last_told - first) // period
            else:
                is_due = last_told < first
            if is_due and first <= turn.now:
                notes.add(turn, "reminded", thing)
                due.append(f"It is time to {tasks.get(thing, f'see to the {thing}')}.")
        return " ".join(due) or None


def _named_moment(text: str, now: float) -> dict[str, float]:
    """Return the first moment that a text names, and its period in seconds, 0 for once."""
    often = _RE.every.search(text)
    weekly = _RE.day.search(text)
    if often:
        period = 60.0 * int(often[1] or often[2])
        return {"first": now + period, "every": period}
    clock = _RE.clock.search(text)
    if clock is None:
        minutes = _named_minutes(text)
        if minutes:
            return {"first": now + 60.0 * minutes, "every": 0.0}
        return {}
    today = datetime.fromtimestamp(now, timezone.utc)
    first = today.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(
        minutes=_of_day(clock)
    )
    if weekly:
        first += timedelta(days=(_DAYS.index(weekly[1]) - first.weekday()) % 7)
    elif "tomorrow" in text:
        first += timedelta(days=1)
    if first <= today:
        first += timedelta(days=7 if weekly else 1)
    return {"first": first.timestamp(), "every": 7 * 86400.0 if weekly else 0.0}


def _named_minutes(text: str) -> int:
    """Return the first length of time that a text names, in minutes; 0 if it names none."""
    for phrase, minutes in _LENGTHS.items():
        if phrase in text:
            return minutes
    for number, unit in _RE.length.findall(text):
        if number.isdecimal() or number in NUMBERS:
            count = int(NUMBERS.get(number, number))
            return count * 60 if unit.startswith("hour") else count
    return 0


def _of_day(clock: re.Match[str]) -> int:
    """Return the minutes since midnight of a time of day."""
    if clock["word"]:
        return (
            NUMBERS[clock["word"]] * 60
            + (30 if clock["past"] else 0)
            + (720 if clock["part"] == "evening" else 0)
        )
    if clock["half"]:
        hour = int(clock["hour"]) % 12 + (12 if clock["half"] == "pm" else 0)
    else:
        hour = int(clock["hour"])
    return hour * 60 + int(clock["minute"])


class Instructions:
    """Keeps quotes with their authors and appends one to the requested reply, whatever that is about."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a quote or an instruction; drop instructions on request."""
        if not turn.is_brief:
            return None
        if quoted := _note_quote(turn, notes):
            return quoted
        text = turn.text
        if _RE.forget.search(text) and _RE.add.search(text) and _RE.reply.search(text):
            return notes.drop("instruction")
        number = _RE.ordinal.search(text)
        adds_quote = _RE.add.search(text) and _RE.a_quote.search(text)
        if number is None or not adds_quote or not _RE.reply.search(text):
            return None
        # The reply to the instruction counts unless it says otherwise.
        count_text = next(filter(None, number.groups()))
        if count_text.isdigit():
            nth = int(count_text)
        else:
            nth = _IN_WORDS.index(count_text.lower()) + 2
        due = turn.position + (nth if _RE.later.search(text) else nth - 1)
        return notes.add(turn, "instruction", {"due": due, "text": text}, "I will.")

    def appendix(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the quote that is due now, if instruction and quote are both still visible."""
        for order in notes.visible("instruction"):
            if order.content["due"] == turn.position:
                # The newest by an author whom the instruction names; the newest of all
                # if it names none.
                text = order.content["text"]
                quotes = notes.contents("quote")
                named_quotes = [quote for quote in quotes if quote["author"] in text]
                if named_quotes:
                    return str(named_quotes[0]["quote"])
                if quotes and not _RE.name.search(text):
                    return str(quotes[0]["quote"])
                return None
        return None


def _note_quote(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    match = first_match(_RE["quoted"], turn.text)
    if match is None:
        return None
    surroundings = f"{turn.text[: match.start()]}{turn.text[match.end() :]}"
    signed = match.start() == 0 and _RE.signed.match(turn.text, match.end())
    author = max(_RE.name.findall(surroundings), key=len, default="")
    if not author or not (signed or _RE.a_quote.search(surroundings)):
        return None
    return notes.add(turn, "quote", {"author": author, "quote": match.group(1)})


# --- Rules such as "whenever I mention X, say Y": kept, and followed when a message is
# about X.

_MEANT = _RE.compile_group([list(both) for both in WORDS["rules"].items()])
# The minimum share of a message's telling words that a rule must share unless it says
# "mention".
_ABOUT_IT = 0.25
# The longest message, in characters, that is matched with rules without "mention".
_SHORT = 120


class TriggerResponse(Topic, kinds=("rule",), forgets=_RE.forgets_trigger_response):
    """Keeps rules, and replies with the sentence of the newest one that a message triggers."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or follow one."""
        match = _RE.rule.search(html.unescape(turn.text))
        if match is not None:
            return notes.add(
                turn, "rule", {"when": match["when"], "say": match["say"]}, "I will."
            )
        if _RE.another_speaks.match(turn.text):
            return None
        for rule in notes.contents("rule"):
            if _matches_rule(rule["when"], turn.text):
                return str(rule["say"])
        return None


def _matches_rule(when: str, text: str) -> bool:
    """Return whether a message triggers a rule."""
    mention = _RE.mention.search(when)
    if mention is not None:
        return (
            re.search(rf"\b{re.escape(mention[1].strip())}\b", text, re.IGNORECASE)
            is not None
        )
    if len(text) > _SHORT:
        return False
    for waits, means in _MEANT:
        if waits.search(when):
            return means.search(text) is not None
    quoted = _RE.word_quoted.findall(when)
    if quoted:
        words = [_squeeze_letters(word) for word in _RE.word.findall(text)]
        return _squeeze_letters(quoted[0]) in words
    spoken_words = _telling_words(text)
    rule_words = _telling_words(when)
    return bool(spoken_words) and len(spoken_words & rule_words) >= _ABOUT_IT * len(
        spoken_words
    )


def _squeeze_letters(word: str) -> str:
    """Return the letters of a word, with runs collapsed: `Achooo!` and `achoo` are the same."""
    return _RE.runs.sub(r"\1", "".join(_RE.word.findall(word)).lower())


def _telling_words(text: str) -> frozenset[str]:
    words = set()
    for word in _RE.word.findall(text.lower()):
        if word not in COMMON["rule"]:
            words.add(re.sub(r"(?:ing|s)$", "", word))
    return frozenset(words)


_ORDERS = Patterns("orders", NUMBERS=SMALL_NUMBERS, WORDS=list(SMALL_NUMBERS)[:9])

# The longest message, in characters, that may be about the list without mentioning it.
_SHORT_CHANGE = 110


class ShoppingList(
    Topic,
    kinds=("shopping",),
    forgets=_ORDERS.forgets_shopping_list,
    forgotten="Your shopping list is empty.",
):
    """Keeps every change of the list, and replies with the resulting list."""

    def claims(self, text: str) -> bool:
        """Return whether a message mentions the list, or changes a quantity as people change a list."""
        spoken = (
            len(text) <= _SHORT_CHANGE
            and _ORDERS.spoken.search(text)
            and _ORDERS.changes.search(text)
        )
        return bool(spoken) or _ORDERS.known.search(text) is not None

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a change, or return the list."""
        if _ORDERS.asked.search(turn.text):
            shopping: dict[str, int] = {}
            last = ""
            for note in reversed(list(notes.visible("shopping"))):
                kind, name, number = note.content
                last = item = name or last
                count = shopping.get(item, 0)
                shopping[item] = {
                    "more": count + number,
                    "less": count - number,
                    "set": number,
                    "none": 0,
                }[kind]
                if shopping[item] <= 0 or not item:
                    del shopping[item]
            items = []
            for item, number in shopping.items():
                items.append({"item": item, "quantity": number})
            return json.dumps(items)
        change = _list_change(turn.text)
        if change is None:
            return None
        return notes.add(turn, "shopping", change)


def _list_change(text: str) -> list[str | int] | None:
    """Return the kind of change, the item in the singular, and the number; None if there is no change.

    The item is "" if the text refers to the item named before.
    """
    if missing := _ORDERS.out_of.search(text):
        return [
            "more",
            _singular_item(missing[1]),
            SMALL_NUMBERS.get(missing[2].lower()) or int(missing[2]),
        ]
    counted = _ORDERS.counted.search(text) or _ORDERS.count.search(text)
    if counted is None or counted.group(counted.lastindex or 1).lower() == "list":
        if _ORDERS.none_left.search(text):
            match = first_match(_ORDERS["all_of"], text)
        else:
            match = None
        if match:
            return ["none", _singular_item(match.group(1)), 0]
        return None
    alone = counted.re.pattern == _ORDERS.count.pattern
    if alone:
        word = counted[1] or counted[2]
        item = ""
    else:
        word = counted[1]
        item = _singular_item(counted[2])
    number = SMALL_NUMBERS.get(word.lower()) or (int(word) if word.isdigit() else 0)
    if _ORDERS.set.search(text):
        kind = "set"
    elif _ORDERS.off.search(text):
        kind = "less"
    else:
        kind = "more"
    return [kind, item, number] if number else None


def _singular_item(item: str) -> str:
    name = item.strip().lower()
    if name.endswith("s") and not name.endswith("ss"):
        return name[:-1]
    return name


_GIVEN = _ORDERS["given"]
_NAMED = _ORDERS["named"]
_SORTS = {sort: frozenset(words.split()) for sort, words in WORDS["sorts"].items()}
_WAYS = {
    "opens": "{w}:",
    "mentions": "{w}",
    "brackets": "[{w}]",
    "capitals": "{W}",
    "stars": "*{w}*",
    "tag": "#{w}",
    "closes": "{w}",
}


class StandingOrders(
    Topic, kinds=("order",), about=_ORDERS.about_orders, forgets=_ORDERS.forgets_orders
):
    """Keeps orders on how to write lines, and composes lines that follow the current ones."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note an order or a change of one, or compose a line."""
        text = turn.text
        task = _ORDERS.task.search(text)
        if task is not None and not first_match(_GIVEN.values(), text):
            return _compose_line(task["thing"], task["place"], notes)
        # The lines that an order is for: "every", or their subject or purpose; "" if
        # the text does not say.
        match = _ORDERS.when.search(text)
        if _ORDERS.every.search(text):
            when = "every"
        elif match:
            when = match["what"].lower()
        else:
            when = ""
        kind, given = first_kind(_GIVEN, text)
        if when and given:
            order = {"kind": kind, "word": given[1], "when": when}
            return notes.add(turn, "order", order, "I will.")
        change = _changed_order(text, when, notes)
        if change is None:
            return None
        return notes.add(turn, "order", change)


def _changed_order(
    text: str, when: str, notes: ReaderNotebook
) -> dict[str, str] | None:
    """Return the change that a text makes to an earlier order, found by its kind or its word."""
    kind = _order_kind(text, notes)
    if kind is None:
        return None
    change = {"kind": kind}
    if _ORDERS.dropped.search(text) or _ORDERS.back.search(text):
        if _ORDERS.stays.search(text) or _ORDERS.back.search(text):
            change["revoked"] = ""
        else:
            change["revoked"] = "yes"
    elif when:
        change["when"] = when
    elif new := _ORDERS.new.search(text):
        change["word"] = new["new"] or new["taken"]
    return change


def _order_kind(text: str, notes: ReaderNotebook) -> str | None:
    """Return the kind of the earlier order that a text names, by itself or by its word."""
    kind_by_word: dict[str, str] = {}
    for note in notes.visible("order"):
        if word := note.content.get("word"):
            kind_by_word[word] = note.content["kind"]
    if not kind_by_word:
        return None
    kind, _ = first_kind(_NAMED, text)
    if kind:
        return kind
    for word in _ORDERS.word.findall(text):
        if word in kind_by_word:
            return kind_by_word[word]
    return None


def _compose_line(thing: str, place: str, notes: ReaderNotebook) -> str:
    """Return a line about one thing, for a place, that follows all current orders."""
    orders: dict[str, dict[str, str]] = {}
    for note in reversed(list(notes.visible("order"))):
        orders.setdefault(note.content["kind"], {}).update(note.content)
    fits = {
        "every",
        place.lower(),
        *(sort for sort, words in _SORTS.items() if thing.lower() in words),
    }
    by_kind: dict[str, str] = {}
    for kind, template in _WAYS.items():
        order = orders.get(kind, {})
        is_wanted = order.get("when") in fits and not order.get("revoked")
        if is_wanted and "word" in order:
            word = order["word"]
            by_kind[kind] = template.format(w=word, W=word.upper())
    first = by_kind.pop("opens", "")
    last = by_kind.pop("closes", "")
    parts = (first, f"so much for {thing},", *by_kind.values(), last)
    return " ".join(filter(None, parts))
