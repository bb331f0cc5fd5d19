"""What the user wants done: a quote appended, a rule followed, a shopping list kept, a joke told again."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

from pytest_ltm.reader.notes import COMMON, SMALL_NUMBERS, Topic, first_match

if TYPE_CHECKING:
    from pytest_ltm.reader.notes import Note, Notebook, Turn


_QUOTED = (
    re.compile(r"\"(.{8,600})\"", re.DOTALL),
    re.compile(r"[“„](.{8,600})[”“]", re.DOTALL),
    re.compile(r"(?<!\w)['‘](.{8,600})['’](?!\w)", re.DOTALL),
)
_SIGNED = re.compile(r"\s*[-–—]\s*\S")
_A_QUOTE = re.compile(r"\b(?:quote|quotation|line|words|saying|sentence)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[^.!?:]\s)[A-Z][\w.’-]+(?:\s+(?:[a-z]{2,3}\s+)?[A-Z][\w.’-]*)*")
_ADD = re.compile(r"\b(?:append|add|attach|recite|put|include|write)\b", re.IGNORECASE)
_REPLY = re.compile(r"\b(?:repl(?:y|ies)|responses?|messages?|statements?|answers?)\b", re.IGNORECASE)
_FORGET = re.compile(r"^[^\"'“]{0,60}\b(?:forget|disregard|cancel)\b", re.IGNORECASE)
_ORDINAL = re.compile(r"\b(\d{1,4})(?:st|nd|rd|th)\b|\breply number (\d{1,4})\b|\bnext (\d{1,4})\b", re.IGNORECASE)
_LATER = re.compile(r"\bnew message\b|\bafter the next\b", re.IGNORECASE)


class Instructions:
    """Keeps quotes with their authors and adds one to the reply that was asked for, whatever it is about."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a quote or an instruction, drop instructions on request."""
        if not turn.brief:
            return None
        return _quoted(turn, notes) or _forgotten(turn, notes) or _instructed(turn, notes)

    def appendix(self, turn: Turn, notes: Notebook) -> str | None:
        """Return the quote that is due now, if instruction and quote can both still be seen."""
        for order in notes.visible("instruction"):
            if order.content["due"] == turn.position:
                return _quote_by(order.content["text"], notes)
        return None


def _forgotten(turn: Turn, notes: Notebook) -> str | None:
    if not (_FORGET.search(turn.text) and _ADD.search(turn.text) and _REPLY.search(turn.text)):
        return None
    notes.drop("instruction")
    return "Forgotten."


def _instructed(turn: Turn, notes: Notebook) -> str | None:
    """Note which reply the quote belongs to; the reply to the instruction counts unless it says otherwise."""
    words = turn.text
    number = _ORDINAL.search(words)
    if number is None or not (_ADD.search(words) and _A_QUOTE.search(words) and _REPLY.search(words)):
        return None
    nth = int(next(digits for digits in number.groups() if digits))
    due = turn.position + (nth if _LATER.search(words) else nth - 1)
    notes.add(turn, "instruction", {"due": due, "text": words})
    return "I will."


def _quoted(turn: Turn, notes: Notebook) -> str | None:
    found = first_match(_QUOTED, turn.text)
    if found is None:
        return None
    rest = f"{turn.text[: found.start()]}{turn.text[found.end() :]}"
    signed = found.start() == 0 and _SIGNED.match(turn.text, found.end())
    author = max(_NAME.findall(rest), key=len, default="")
    if not author or not (signed or _A_QUOTE.search(rest)):
        return None
    notes.add(turn, "quote", {"author": author, "quote": found.group(1)})
    return "Noted."


def _quote_by(order: str, notes: Notebook) -> str | None:
    """Return the newest quote whose author the instruction names."""
    quotes = (note.content for note in notes.visible("quote"))
    return next((str(said["quote"]) for said in quotes if said["author"] in order), None)


# --- Rules such as "whenever I mention X, say Y": kept, and followed when a message is about X.

_RULE = re.compile(
    r"\b(?:whenever|each time(?: that)?|every time(?: that)?|as soon as)\s+(?P<when>I\b.{2,200}?),?\s+"
    r"(?:then |please |you )*"
    r"(?:say|reply with|answer with)\b[^\"':]{0,30}:\s*(?P<quote>[\"'])(?P<say>.{3,400})(?P=quote)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_MENTION = re.compile(r"\bmention (.+)", re.IGNORECASE | re.DOTALL)
_WORD_QUOTED = re.compile(r"'([^']+)'")
_WORD = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"(.)\1+")
_ABOUT_IT = 0.25
"""The least share of a message's telling words that the rule names too, where it does not say "mention"."""
_SHORT = 120
"""Characters of the longest message that is held against rules that do not say "mention"."""


class TriggerResponse(Topic):
    """Keeps rules and says the sentence of the newest one that a message is about."""

    kinds = ("rule",)
    forgets = re.compile(r"^\W*(?:\w+ ){0,3}?(?:cancel|forget|drop|disregard)\b.*\bsay\b.*\bwhenever\b", re.IGNORECASE)

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a rule, or follow one."""
        told = _RULE.search(html.unescape(turn.text))
        if told is not None:
            notes.add(turn, "rule", {"when": told["when"], "say": told["say"]})
            return "I will."
        rules = (note.content for note in notes.visible("rule"))
        return next((rule["say"] for rule in rules if _about(rule["when"], turn.text)), None)


def _about(when: str, text: str) -> bool:
    """Tell whether a message is what a rule waits for."""
    mention = _MENTION.search(when)
    if mention is not None:
        return re.search(rf"\b{re.escape(mention[1].strip())}\b", text, re.IGNORECASE) is not None
    if len(text) > _SHORT:
        return False
    quoted = _WORD_QUOTED.findall(when)
    if quoted:
        return _squeezed(quoted[0]) in {_squeezed(word) for word in _WORD.findall(text)}
    said, wanted = _telling(text), _telling(when)
    return bool(said) and len(said & wanted) >= _ABOUT_IT * len(said)


def _squeezed(word: str) -> str:
    """Return the letters of a word, those in a row once: `Achooo!` and `achoo` are the same."""
    return _RUNS.sub(r"\1", "".join(_WORD.findall(word)).lower())


def _telling(text: str) -> frozenset[str]:
    return frozenset(
        re.sub(r"(?:ing|s)$", "", word) for word in _WORD.findall(text.lower()) if word not in COMMON["rule"]
    )


# --- The user's shopping list: what was put on it, taken off, corrected.

_ASKED = re.compile(r"\bwhat\b|\bjson\b|\bwhich\b|\btell me\b", re.IGNORECASE)
_COUNTED = re.compile(
    rf"\b(\d{{1,6}}|{'|'.join(SMALL_NUMBERS)})\s+(?:more\s+)?([a-z][a-z -]*?)"
    r"(?=\s*(?:[.,;:!?]|$|\b(?:on|off|from|to|for|than|altogether|please|and)\b))",
    re.IGNORECASE,
)
_ALL_OF = re.compile(
    r"\b(?:any|enough|the|my|all)\s+([a-z][a-z -]*?)\s*(?:\bat all\b|\bany more\b|[.,;:])", re.IGNORECASE
)
_NONE_LEFT = re.compile(r"\b(?:not need any|no longer need|all of them|take them|enough)\b", re.IGNORECASE)
_OFF = re.compile(r"\b(?:remove|take|strike|delete)\b", re.IGNORECASE)
_SET = re.compile(r"\b(?:altogether|instead|correct)\b", re.IGNORECASE)


class ShoppingList(Topic):
    """Keeps every change of the list and answers with what they come to."""

    kinds = ("shopping",)
    about = re.compile(
        r"\b(?:shopping list|(?:put it|items) on the list)\b"
        r"|\A\s*(?:I want to buy|I require|(?:please )?remove)\s+(?:another\s+)?\d",
        re.IGNORECASE,
    )
    forgets = re.compile(r"\bbought (?:everything|all)\b|\blist is empty\b|\bforget\b|\bdisregard\b", re.IGNORECASE)
    forgotten = "Your shopping list is empty."

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a change, or tell the list."""
        if _ASKED.search(turn.text):
            return _told(notes)
        change = _change(turn.text)
        if change is None:
            return None
        notes.add(turn, "shopping", change)
        return "Noted."


def _change(text: str) -> list[str | int] | None:
    """Return the kind of change, the item in the singular, and the number; None if the text tells none."""
    if _NONE_LEFT.search(text):
        whole = _ALL_OF.search(text)
        return ["none", _singular(whole.group(1)), 0] if whole else None
    counted = _COUNTED.search(text)
    if counted is None:
        return None
    number = SMALL_NUMBERS.get(counted.group(1).lower()) or int(counted.group(1))
    kind = "set" if _SET.search(text) else "less" if _OFF.search(text) else "more"
    return [kind, _singular(counted.group(2)), number]


def _singular(item: str) -> str:
    name = item.strip().lower()
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _told(notes: Notebook) -> str:
    """Return the list that the visible changes come to, as JSON."""
    shopping: dict[str, int] = {}
    for change in reversed(list(notes.visible("shopping"))):
        kind, item, number = change.content
        before = shopping.get(item, 0)
        shopping[item] = {"more": before + number, "less": before - number, "set": number, "none": 0}[kind]
        if shopping[item] <= 0:
            del shopping[item]
    return json.dumps([{"item": item, "quantity": number} for item, number in shopping.items()])


# --- Jokes, and which of them was told so long ago.

_INTRODUCED = re.compile(r"([^:.?!]*\bjoke\b[^:.?!]*)[:.!]\s+(\S.*)", re.IGNORECASE | re.DOTALL)
_AGAIN = re.compile(r"\b(?:which|what|tell me|repeat|recall|remember)\b", re.IGNORECASE)
_AGO = re.compile(r"\bago\b", re.IGNORECASE)
_LENGTH = re.compile(r"(\d+)\s*(day|hour|minute|second)s?\b", re.IGNORECASE)
_SECONDS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_SAME_TIME = 60.0
"""Seconds within which two moments are the same: people say minutes, some of them rounded down."""


class Jokes(Topic):
    """Keeps the jokes that are introduced as such; others, told without a word, are among the statements."""

    kinds = ("joke",)
    about = re.compile(r"\bjokes?\b", re.IGNORECASE)
    forgets = re.compile(r"\b(?:forget|disregard)\b[^.:?!]*\bjokes?\b", re.IGNORECASE)

    def read(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a joke, or tell one again."""
        if _AGAIN.search(turn.text) and (_AGO.search(turn.text) or turn.text.rstrip().endswith("?")):
            joke = _recalled(turn, notes)
            return f"You told me this joke: {joke.content}" if joke else "I do not remember that joke."
        introduced = _INTRODUCED.match(turn.text)
        if introduced is None:
            return None
        notes.add(turn, "joke", introduced.group(2))
        return "Good one."


def elapsed(text: str) -> float:
    """Return the seconds that `3 hours and 25 minutes` means; 0 if the text names no duration."""
    return float(sum(int(number) * _SECONDS[unit.lower()] for number, unit in _LENGTH.findall(text)))


def _recalled(turn: Turn, notes: Notebook) -> Note | None:
    """Return what was told nearest to the moment that the question means; at one moment jokes come first."""
    if turn.now is None or not _AGO.search(turn.text):
        return notes.newest("joke") or notes.newest("statement")
    moment = turn.now - elapsed(turn.text)
    joke, statement = _nearest("joke", moment, notes), _nearest("statement", moment, notes)
    if joke is None or statement is None:
        return joke or statement
    return joke if _distance(joke, moment) <= _distance(statement, moment) + _SAME_TIME else statement


def _nearest(kind: str, moment: float, notes: Notebook) -> Note | None:
    """Return the note told nearest to a moment; time never runs back, so the search ends when it gets worse."""
    best: Note | None = None
    for note in notes.visible(kind):
        if best is not None and _distance(note, moment) > _distance(best, moment):
            break
        best = note
    return best


def _distance(note: Note, moment: float) -> float:
    return abs(note.time - moment) if note.time is not None else float("inf")
