"""Numbered steps of instructions, and questions about them: by number, by order, or by what they say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.agents.reading._nearest import nearest, stems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm.agents.reading._notes import Notebook, Turn

_STEP = re.compile(r"^Step (\d{1,3}): *(\S.*)$", re.MULTILINE)
_MANY = re.compile(r"^.{0,200}\b\d{1,3} steps\b")
_FRAME = re.compile(r"^.{0,80}\binstructions for the [\w ]{1,60}: |^.{0,100}\bneed its instructions\. ")
_FORGET = re.compile(r"\bforget\b.{0,60}\binstructions\b", re.IGNORECASE)
_BY_NUMBER = re.compile(r"\bstep (\d{1,3})\b", re.IGNORECASE)
_BY_ORDINAL = re.compile(r"\b(\w{1,12}) step\b", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBER = re.compile(r"\bnumber\b", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:directly|next step|you do) after\b")
_BEFORE = re.compile(r"\b(?:directly|last step) before\b")
_FEWEST, _LONGEST, _ENOUGH = 3, 20_000, 2


class InstructionRecall:
    """Keeps the steps of the newest instructions.

    Where they were told without saying how many there are, questions may come without saying what they are about: taken
    for such are those that speak of a step, or share several words with one.
    """

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note instructions, answer a question, forget on request."""
        if len(turn.text) > _LONGEST:
            return None
        told = _STEP.findall(turn.text)
        if len(told) >= _FEWEST:
            notes.add(turn, "steps", {"steps": [text for _, text in told], "announced": bool(_MANY.search(turn.text))})
            return "Noted."
        if turn.brief and _FORGET.search(turn.text):
            notes.drop("steps")
            return "Forgotten."
        if not turn.brief or not turn.text.rstrip().endswith("?"):
            return None
        framed, newest = _FRAME.match(turn.text), notes.newest("steps")
        if newest is None:
            return "I do not have those instructions." if framed else None
        question = turn.text[framed.end() :] if framed else turn.text
        steps, announced = newest.content["steps"], newest.content["announced"]
        return _answer(question, steps) if framed or (not announced and _fits(question, steps)) else None


def _fits(question: str, steps: Sequence[str]) -> bool:
    asked = stems(question)
    return bool(re.search(r"\bsteps?\b", question)) or max(len(asked & stems(step)) for step in steps) >= _ENOUGH


def _answer(question: str, steps: Sequence[str]) -> str:
    at = _named(question, len(steps))
    if at is not None:
        return steps[at]
    at = steps.index(nearest(question, steps))
    if _NUMBER.search(question):
        return f"Step {at + 1}"
    if _AFTER.search(question):
        at += 1
    elif _BEFORE.search(question):
        at -= 1
    return steps[at] if 0 <= at < len(steps) else "There is no such step."


def _named(question: str, number: int) -> int | None:
    """Return the place of the step that a question names by its number."""
    named = [int(digits) for digits in _BY_NUMBER.findall(question)]
    for word in map(str.lower, _BY_ORDINAL.findall(question)):
        named += [_ORDINALS.index(word) + 1] if word in _ORDINALS else [number] if word == "final" else []
    return next((place - 1 for place in named if 1 <= place <= number), None)
