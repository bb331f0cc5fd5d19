"""Whether an answer is right, by rules and without a model: yes, no, or nobody could tell.

The rules follow the judging rules of the paper (Wu et al., ICLR 2025, section 3.4 and appendix): an abstention question
wants a refusal; a temporal one forgives an error of one day (one week or month is left to a judge); an updated fact may
come with the old one; a preference is judged by a rubric, which no rule can read; all others want the whole answer.
Whoever cannot tell says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval._schema import is_abstention
from pytest_ltm.datasets.rulings._amount_rule import amount_ruling
from pytest_ltm.datasets.rulings._conclusion import SHORT, conclusion, refuses
from pytest_ltm.datasets.rulings._gold import read_gold
from pytest_ltm.datasets.rulings._phrase_rule import phrase_ruling
from pytest_ltm.datasets.rulings._quantities import quantities
from pytest_ltm.datasets.rulings._ruling import CANNOT_TELL, HEDGED, Ruling
from pytest_ltm.evaluators._words import words

if TYPE_CHECKING:
    from pytest_ltm.datasets.rulings._gold import Gold

_DAYS_ASKED = re.compile(r"\bhow many days\b", re.IGNORECASE)
_UNITS_ASKED = re.compile(r"\bhow many (?:hours|weeks|months|years)\b", re.IGNORECASE)
ONE_OFF = Ruling("unscored", "is one off, and not of days")
_WANTS_FACTS = re.compile(
    r"\b(?:please (?:provide|answer|share|give|tell)|(?:could|can) you (?:please )?(?:provide|share))\b", re.IGNORECASE
)
"""How an answer asks the user for the facts that it would need."""
_AROUND = 12
"""So many words may stand around an answer that repeats the expected one."""


def rule(*, question_id: str, question_type: str, question: str, answer: object, hypothesis: str) -> Ruling:
    """Return what the rules say of a hypothesis; the id's suffix decides on abstention before the type does."""
    if is_abstention(question_id):
        return _abstention(hypothesis)
    if question_type == "single-session-preference":
        return Ruling("unscored", "a preference is judged by a rubric, which needs a judge")
    if not hypothesis.strip():
        return Ruling("no", "says nothing")
    gold = read_gold(str(answer), question)
    if _repeats(gold, hypothesis):
        return Ruling("yes", "repeats the expected answer")
    return _by_kind(gold, question_type, question, hypothesis)


def _by_kind(gold: Gold, question_type: str, question: str, hypothesis: str) -> Ruling:
    end = conclusion(hypothesis)
    refused = refuses(end)
    match gold.kind:
        case "yes or no":
            return _yes_or_no(gold, end, refused=refused)
        case "amount":
            if question_type == "temporal-reasoning":
                return _time(gold, question, end, refused=refused)
            return amount_ruling(gold, end, refused=refused, forgiving=False)
        case "order":
            return CANNOT_TELL if refused else Ruling("unscored", "an order of events")
        case "phrase":
            return phrase_ruling(gold, question, hypothesis, end, refused=refused)


def _time(gold: Gold, question: str, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an amount of time: one day off is forgiven; one week or month off, judges see either way."""
    days = _DAYS_ASKED.search(question) is not None
    strict = amount_ruling(gold, end, refused=refused, forgiving=days)
    if strict.verdict == "no" and _UNITS_ASKED.search(question):
        mild = amount_ruling(gold, end, refused=refused, forgiving=True)
        return ONE_OFF if mild.verdict == "yes" else strict
    return strict


def _repeats(gold: Gold, hypothesis: str) -> bool:
    """Return whether the answer is the expected one word for word, alone or in a short sentence."""
    said, expected = words(hypothesis), words(gold.whole)
    if not expected or f" {' '.join(expected)} " not in f" {' '.join(said)} ":
        return False
    around = hypothesis.replace(gold.whole, "")
    doubt = refuses(around) or HEDGED.search(around) or quantities(around)
    return len(said) - len(expected) <= _AROUND and not doubt


def _abstention(hypothesis: str) -> Ruling:
    if refuses(conclusion(hypothesis)):
        return Ruling("yes", "says that it cannot be known")
    if _WANTS_FACTS.search(hypothesis):
        return Ruling("yes", "asks for what it was not told")
    if refuses(hypothesis) or len(hypothesis) > SHORT:
        return Ruling("unscored", "refuses on the way and answers in the end, or tells no end")
    return Ruling("no", "answers what cannot be known")


def _yes_or_no(gold: Gold, end: str, *, refused: bool) -> Ruling:
    expected, said = words(gold.texts[0])[0], {"yes", "no"} & set(words(end)[:2])
    if len(said) != 1:
        return CANNOT_TELL if refused else Ruling("unscored", "says neither yes nor no")
    return Ruling("yes" if expected in said else "no", f"says {said.pop()}")
