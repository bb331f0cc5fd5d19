"""How questions are put: as the published evaluation asks (in words of our own), or freely.

The published evaluation asks for a short phrase, in the conversation's own words where possible; for temporal questions
it adds that the session's date gives an approximate one; an adversarial question is a choice of two in random order.
Scores under the two ways of asking are never mixed: the way is part of the plan's fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._categories import Category

if TYPE_CHECKING:
    import random

    from pytest_ltm.datasets.locomo._schema import Question

ASKINGS = ("official", "free")
NOT_MENTIONED = "Not mentioned in the conversation"
"""What the choice of an adversarial question calls its right answer; holds the official phrase."""
VERSION = 1
"""Of the wordings."""

_SHORT = "Answer with a short phrase, in words of the conversation where you can."
_DATED = "Say when, as a date; the date of the session gives at least an approximate one."


@dataclass(frozen=True, slots=True)
class Put:
    """A question as it is put."""

    text: str
    choices: tuple[str, ...] = ()
    """What (a), (b) ... stand for, where it is a choice."""


def put(question: Question, asking: str, rng: random.Random) -> Put:
    """Return the question in the words of the way of asking; `rng` orders the choices."""
    if asking == "free":
        return Put(f"About the conversation that you have read: {question.text}")
    if question.category is Category.ADVERSARIAL:
        return _choice(question, rng)
    dated = f" {_DATED}" if question.category is Category.TEMPORAL else ""
    return Put(f"About the conversation that you have read: {question.text} {_SHORT}{dated}")


def _choice(question: Question, rng: random.Random) -> Put:
    choices = [NOT_MENTIONED, question.adversarial_answer or question.answer or "Something else"]
    rng.shuffle(choices)
    listed = " ".join(f"({letter}) {choice}" for letter, choice in zip("ab", choices, strict=True))
    text = f"About the conversation that you have read: {question.text} Choose one of the two: {listed}"
    return Put(text, tuple(choices))
