"""The format of a quiz: questions with answers, to be returned as a JSON list.

Fillers write it, and compute the cost of each fact with `cost_of`; the embedded reader
answers it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from pytest_ltm.api.model import TokenCounter

# The first line of every `trivia` message.
INSTRUCTION = (
    "Here is a quiz in which every question already has its answer. "
    "Please return the answers, in the order of the questions, as one JSON list of strings."
)
# The last line of every trivia message, so that the message does not end with a line
# break that might be stripped.
CLOSING = "That was the last question."


class QuizFact(NamedTuple):
    """A question and its only answer; each one line."""

    question: str
    answer: str


class FactTokens(NamedTuple):
    """The cost of a fact in tokens."""

    message: int
    both: int
    """Message and reply together."""


def cost_of(fact: QuizFact, counter: TokenCounter) -> FactTokens:
    """Return the tokens that a fact adds to the message and to the reply.

    At least one, so that every sum grows.
    """
    message = max(1, counter.count(fact_line(fact)))
    return FactTokens(message, message + counter.count(answer_item(fact.answer)))


def fact_line(fact: QuizFact) -> str:
    """Return the line of a fact in a message.

    It ends with a line break, so that token counts of lines add up.
    """
    return f"Q: {fact.question} A: {fact.answer}\n"


def answer_item(answer: str) -> str:
    """Return the item of an answer in the reply; it begins with a space, so that token counts add up."""
    return f" {json.dumps(answer, ensure_ascii=False)},"


def message_of(
    facts: Iterable[QuizFact], instruction: str = INSTRUCTION, closing: str = CLOSING
) -> str:
    """Return the message that asks for the answers."""
    return f"{instruction}\n{''.join(map(fact_line, facts))}{closing}"


def reply_of(answers: Sequence[str]) -> str:
    """Return the reply that a trivia message asks for."""
    return json.dumps(list(answers), ensure_ascii=False)


def answers_of(message: str) -> list[str] | None:
    """Return the answers that a trivia message asks for, in order; None for any other message.

    The message may be in any language.
    """
    first, *lines = message.strip().split("\n")
    if first != INSTRUCTION and not (
        lines and lines[0].startswith("Q: ") and first in _foreign_first_lines()
    ):
        return None
    return [text.rpartition(" A: ")[2] for text in lines if text.startswith("Q: ")]


@cache
def _foreign_first_lines() -> frozenset[str]:
    """Return the first lines of quizzes in other languages."""
    # Loaded lazily: only texts that look like a quiz in another language need it.
    from pytest_ltm.locales import CODES, load_language

    first_lines: set[str] = set()
    for code in CODES:
        first_lines.update(load_language(code).filler.get("instructions", ()))
    return frozenset(first_lines)
