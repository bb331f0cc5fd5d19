"""What the user wants done: a quote appended, a rule followed, a reminder added once it is due."""

from __future__ import annotations

import html
import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from pytest_ltm._language.numbers import NUMBERS
from pytest_ltm.agents.reader.notes import COMMON, WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic, first_match

if TYPE_CHECKING:
    from collections.abc import Mapping


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_IN_WORDS = "second third fourth fifth sixth seventh eighth ninth tenth".split()  # noqa: SIM905
_RE = Patterns("errands", DAYS=_DAYS, ORDINALS=_IN_WORDS)
_LENGTHS = {
    "three quarters of an hour": 45, "an hour and a half": 90, "two and a half hours": 150, "a day and two hours": 1560,
}  # fmt: skip


class Reminders(Topic, kinds=("reminder", "reminded"), about=_RE.about_reminders, forgets=_RE.forgets_reminders):
    """Keeps what it is to remind of and when, and adds to a reply what has become due since it replied last."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a reminder that is wanted, moved or called off."""
        if turn.now is None:
            return None
        about, wanted = _RE.about.search(turn.text), _RE.wanted.search(turn.text)
        if about is not None:
            when = {} if _RE.off.search(turn.text) else _named_moment(turn.text.lower(), turn.now)
            return notes.add(turn, "reminder", {"thing": about[1], "when": when}, "As you wish.")
        when = _named_moment(turn.text.lower(), turn.now) if wanted else {}
        if wanted is None or not when:
            return None
        return notes.add(turn, "reminder", {"thing": wanted["thing"], "task": wanted["task"], "when": when}, "I will.")

    def appendix(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return what is due, if it can still be seen and no reply since has told it."""
        if turn.now is None:
            return None
        last = {note.content: note.time or 0.0 for note in reversed([*notes.visible("reminded")])}
        # The newest that was said of each thing: the moments, and since when; no moments: it was called off.
        newest: dict[str, tuple[Mapping[str, Any], float]] = {}
        tasks: dict[str, str] = {}
        for note in reversed([*notes.visible("reminder")]):
            newest[note.content["thing"]] = note.content["when"], note.time or 0.0
            if "task" in note.content:
                tasks[note.content["thing"]] = note.content["task"]
        due = []
        for thing, (when, since) in newest.items():
            if when and _falls_between(when, max(since, last.get(thing, since)), turn.now):
                notes.add(turn, "reminded", thing)
                due.append(f"It is time to {tasks.get(thing, f'see to the {thing}')}.")
        return " ".join(due) or None


def _falls_between(when: Mapping[str, Any], since: float, now: float) -> bool:
    """Return whether a moment of it falls after one time and not after another."""
    first, every = when["first"], when["every"]
    if not every:
        return bool(since < first <= now)
    return bool(first <= now and (now - first) // every > (since - first) // every)


def _named_moment(text: str, now: float) -> dict[str, float]:
    """Return the first moment that a text names, and after how many seconds it comes again, 0: never."""
    often, weekly = _RE.every.search(text), _RE.day.search(text)
    if often:
        every = 60.0 * int(often[1] or often[2])
        return {"first": now + every, "every": every}
    clock = _RE.clock.search(text)
    if clock is None:
        minutes = _minutes_in(text)
        return {"first": now + 60.0 * minutes, "every": 0.0} if minutes else {}
    today = datetime.fromtimestamp(now, timezone.utc)
    first = today.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(minutes=_of_day(clock))
    if weekly:
        first += timedelta(days=(_DAYS.index(weekly[1]) - first.weekday()) % 7)
    elif "tomorrow" in text:
        first += timedelta(days=1)
    if first <= today:
        first += timedelta(days=7 if weekly else 1)
    return {"first": first.timestamp(), "every": 7 * 86400.0 if weekly else 0.0}


def _of_day(clock: re.Match[str]) -> int:
    """Return the minutes since midnight that a time of day says."""
    if clock["word"]:
        return NUMBERS[clock["word"]] * 60 + (30 if clock["past"] else 0) + (720 if clock["part"] == "evening" else 0)
    hour = int(clock["hour"]) % 12 + (12 if clock["half"] == "pm" else 0) if clock["half"] else int(clock["hour"])
    return hour * 60 + int(clock["minute"])


def _minutes_in(text: str) -> int:
    known = next((minutes for said, minutes in _LENGTHS.items() if said in text), 0)
    if known:
        return known
    for number, unit in _RE.length.findall(text):
        if number.isdecimal() or number in NUMBERS:
            return int(NUMBERS.get(number, 0) or number) * (60 if unit.startswith("hour") else 1)
    return 0


class Instructions:
    """Keeps quotes with their authors and adds one to the reply that was asked for, whatever it is about."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a quote or an instruction, drop instructions on request."""
        if not turn.is_brief:
            return None
        if quoted := _note_quote(turn, notes):
            return quoted
        if all(pattern.search(turn.text) for pattern in (_RE.forget, _RE.add, _RE.reply)):
            return notes.drop("instruction")
        return _note_instruction(turn, notes)

    def appendix(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Return the quote that is due now, if instruction and quote can both still be seen."""
        for order in notes.visible("instruction"):
            if order.content["due"] == turn.position:
                return _quote_by(order.content["text"], notes)
        return None


def _note_instruction(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    """Note which reply the quote belongs to; the reply to the instruction counts unless it says otherwise."""
    words = turn.text
    number = _RE.ordinal.search(words)
    if number is None or not (_RE.add.search(words) and _RE.a_quote.search(words) and _RE.reply.search(words)):
        return None
    count_text = next(count_text for count_text in number.groups() if count_text)
    nth = int(count_text) if count_text.isdigit() else _IN_WORDS.index(count_text.lower()) + 2
    due = turn.position + (nth if _RE.later.search(words) else nth - 1)
    return notes.add(turn, "instruction", {"due": due, "text": words}, "I will.")


def _note_quote(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    match = first_match(_RE["quoted"], turn.text)
    if match is None:
        return None
    rest = f"{turn.text[: match.start()]}{turn.text[match.end() :]}"
    signed = match.start() == 0 and _RE.signed.match(turn.text, match.end())
    author = max(_RE.name.findall(rest), key=len, default="")
    if not author or not (signed or _RE.a_quote.search(rest)):
        return None
    return notes.add(turn, "quote", {"author": author, "quote": match.group(1)})


def _quote_by(order: str, notes: ReaderNotebook) -> str | None:
    """Return the newest quote whose author the instruction names; the newest of all if it names none of them."""
    quotes = notes.contents("quote")
    named = [quote for quote in quotes if quote["author"] in order]
    return next((str(quote["quote"]) for quote in named or ([] if _RE.name.search(order) else quotes)), None)


# --- Rules such as "whenever I mention X, say Y": kept, and followed when a message is about X.

_MEANT = _RE.compile_group([list(both) for both in WORDS["rules"].items()])
# The least share of a message's telling words that the rule names too, where it does not say "mention".
_ABOUT_IT = 0.25
# Characters of the longest message that is held against rules that do not say "mention".
_SHORT = 120


class TriggerResponse(Topic, kinds=("rule",), forgets=_RE.forgets_trigger_response):
    """Keeps rules and says the sentence of the newest one that a message is about."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or follow one."""
        match = _RE.rule.search(html.unescape(turn.text))
        if match is not None:
            return notes.add(turn, "rule", {"when": match["when"], "say": match["say"]}, "I will.")
        if _RE.another_speaks.match(turn.text):
            return None
        rules = notes.contents("rule")
        return next((rule["say"] for rule in rules if _matches_rule(rule["when"], turn.text)), None)


def _matches_rule(when: str, text: str) -> bool:
    """Tell whether a message is what a rule waits for."""
    mention = _RE.mention.search(when)
    if mention is not None:
        return re.search(rf"\b{re.escape(mention[1].strip())}\b", text, re.IGNORECASE) is not None
    if len(text) > _SHORT:
        return False
    for waits, means in _MEANT:
        if waits.search(when):
            return means.search(text) is not None
    quoted = _RE.word_quoted.findall(when)
    if quoted:
        return _squeeze_letters(quoted[0]) in {_squeeze_letters(word) for word in _RE.word.findall(text)}
    spoken_words, wanted = _telling_words(text), _telling_words(when)
    return bool(spoken_words) and len(spoken_words & wanted) >= _ABOUT_IT * len(spoken_words)


def _squeeze_letters(word: str) -> str:
    """Return the letters of a word, those in a row once: `Achooo!` and `achoo` are the same."""
    return _RE.runs.sub(r"\1", "".join(_RE.word.findall(word)).lower())


def _telling_words(text: str) -> frozenset[str]:
    return frozenset(
        re.sub(r"(?:ing|s)$", "", word) for word in _RE.word.findall(text.lower()) if word not in COMMON["rule"]
    )
