"""Wrong answers made from the right one to a question of a data set; one that passes is a defect of the rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.dates import DAYS, MONTHS
from pytest_ltm._language.rulings.gold import read_gold
from pytest_ltm._language.words import content_stems, plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator


_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_UNITS = (
    ("kilometres", "miles"), ("kilometers", "miles"), ("km", "miles"), ("miles", "km"), ("days", "weeks"),
    ("weeks", "months"), ("months", "years"), ("years", "months"), ("hours", "days"), ("minutes", "hours"),
    ("minutes", "seconds"), ("$", "€"), ("£", "$"), ("€", "$"), ("dollars", "euros"), ("euros", "dollars"),
    ("pounds", "dollars"), ("francs", "euros"), ("%", " euros"), ("kg", "pounds"), ("am", "pm"), ("pm", "am"),
)  # fmt: skip
_PEOPLE = ("neighbour", "sister", "colleague", "uncle")
# By so much an amount is changed: further than any rule forgives.
_PAST = 7


def answer_mutants(question: str, gold: str, other: str = "something else") -> Iterator[tuple[str, str]]:
    """Yield wrong answers, each with the way in which it was made.

    Args:
        question: The question of the data set.
        gold: The answer that is expected, as the file has it.
        other: The answer to another question, to which this one's may be confused.

    Example:
        >>> dict(mutants("Where did I go?", "Turku", "Ghent"))["swapped"]
        'Ghent'
    """
    read = read_gold(gold, question)
    right = read.texts[0].strip().rstrip(".")
    if read.kind == "yes or no":
        yield "swapped", "No." if plain_words(right)[0] == "yes" else "Yes."
        yield "either-or", "Either yes or no."
        return
    if content_stems(other) & content_stems(right):  # both might be right
        other = "a green kettle"
    who = next(one for one in _PEOPLE if one not in f"{question} {right}".lower())
    yield "denied", f"It was not {right}."
    yield "denied", f"Not {right}, that came later."
    yield "denied", f"It is {other}, not {right}."
    yield "either-or", f"Either {right} or {other}."
    yield "either-or", f"{other} or {right}"
    yield "either-or", f"{right} or {other}, I mix them up."
    yield "swapped", other
    yield "swapped", f"It is {other}."
    yield "quoted in a refusal", f"I have no record of that. You never told me whether it is {right}."
    yield "quoted in a refusal", f"I'm sorry, I can't say whether it is {right}; I don't remember it."
    yield "another subject", f"For your {who} it is {right}; for you it is {other}."
    yield "another subject", f"Your {who}'s is {right}."
    yield from _changed_answers(right)


def _changed_answers(right: str) -> Iterator[tuple[str, str]]:
    """Yield the answer with another amount, unit, month or day of the week."""
    numbers = _NUMBER.findall(right)
    for number in numbers:
        value = float(number.replace(",", "")) + _PAST
        yield "changed amount", right.replace(number, f"{value:,g}" if "," in number else f"{value:g}", 1)
    for unit, another in _UNITS if numbers else ():
        if re.search(rf"(?<![a-z]){re.escape(unit)}(?![a-z])", right.lower()):
            yield "changed unit", re.sub(rf"(?i)(?<![a-z]){re.escape(unit)}(?![a-z])", another, right, count=1)
    for way, names in (("changed month", MONTHS), ("changed day", DAYS)):
        for place, name in enumerate(names):
            if re.search(rf"\b{name}\b", right):
                yield way, re.sub(rf"\b{name}\b", names[(place + 2) % len(names)], right)


def invented_answers(other: str) -> Iterator[tuple[str, str]]:
    """Yield answers to a question that cannot be answered; `other`: the answer to another question."""
    yield "answered what was never said", f"It is {other}."
    yield "answered what was never said", f"I'm not sure, but I think it is {other}."
