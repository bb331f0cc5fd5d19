"""What an answer comes to: models reason at length, and only their conclusion is the answer."""

from __future__ import annotations

import re

from pytest_ltm.evaluators._words import STOP_WORDS, words

SHORT = 400
"""An answer of at most so many characters is taken as a whole."""
_LEAST = 15
"""A conclusion has at least so many characters."""
_FEW = 3
"""So few words are of no language."""

_MARKS = re.compile(
    r"(?:\bfinal answer|\b(?:my|the|your) (?:\w+ )?answer(?: to (?:\w+ ){0,3}question)? (?:is|would be)|"
    r"\banswer\W{0,6}[:\n]|\btherefore\b|\bin conclusion\b|\bto conclude\b|\bin summary\b|\bthus,|\bhence\b|\bso,)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')*\]]{0,3}\s+|\n+")
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning|scratchpad)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_ENGLISH = frozenset(STOP_WORDS) | {"yes"}


def spoken(answer: str) -> str:
    """Return what an answer says aloud: without the thinking that some models put in tags before it."""
    return _THOUGHT.sub("", answer).strip() if "<" in answer else answer.strip()


def conclusion(answer: str) -> str:
    """Return the part of an answer that says what it comes to.

    A short answer is its own conclusion; of a long one it is what its last mark begins ("therefore", "the answer is"),
    or else its last three sentences.
    """
    text = spoken(answer)
    if len(text) <= SHORT:
        return text
    tail = text[-2 * SHORT :]
    marks = [found.start() for found in _MARKS.finditer(tail)]
    if marks and len(tail) - marks[-1] > _LEAST:
        return tail[marks[-1] :]
    return " ".join([part for part in _SENTENCE.split(tail[-SHORT:]) if part.strip()][-3:])


def is_english(text: str) -> bool:
    """Return whether rules that know English words can read a text: it has a common one, or hardly any words."""
    said = words(text)
    return len(said) <= _FEW or not _ENGLISH.isdisjoint(said)
