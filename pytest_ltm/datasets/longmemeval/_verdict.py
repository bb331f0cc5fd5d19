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
from pytest_ltm.datasets.rulings._abstention_rule import abstention_ruling
from pytest_ltm.datasets.rulings._amount_rule import amount_ruling
from pytest_ltm.datasets.rulings._assertion import doubt_of
from pytest_ltm.datasets.rulings._choice_rule import options_of
from pytest_ltm.datasets.rulings._conclusion import conclusion, spoken
from pytest_ltm.datasets.rulings._gold import read_gold
from pytest_ltm.datasets.rulings._order_rule import order_ruling
from pytest_ltm.datasets.rulings._phrase_rule import phrase_ruling
from pytest_ltm.datasets.rulings._quantities import quantities
from pytest_ltm.datasets.rulings._refusals import refuses
from pytest_ltm.datasets.rulings._ruling import HEDGED, Ruling
from pytest_ltm.datasets.rulings._yes_or_no_rule import yes_or_no_ruling
from pytest_ltm.evaluators._clauses import level, places
from pytest_ltm.evaluators._words import words

if TYPE_CHECKING:
    from pytest_ltm.datasets.rulings._gold import Gold

_DAYS_ASKED = re.compile(r"\bhow many days\b", re.IGNORECASE)
_UNITS_ASKED = re.compile(r"\bhow (?:many (?:hours|weeks|months|years)|long)\b", re.IGNORECASE)
ONE_OFF = Ruling("unscored", "is one off, and not of days")
_AROUND = 12
"""So many words may stand around an answer that repeats the expected one."""


def rule(*, question_id: str, question_type: str, question: str, answer: object, hypothesis: str) -> Ruling:
    """Return what the rules say of a hypothesis; the id's suffix decides on abstention before the type does."""
    if is_abstention(question_id):
        return abstention_ruling(hypothesis, question, str(answer))
    if question_type == "single-session-preference":
        return Ruling("unscored", "a preference is judged by a rubric, which needs a judge")
    if not spoken(hypothesis):
        return Ruling("no", "says nothing")
    gold = read_gold(str(answer), question)
    if _repeats(gold, question, spoken(hypothesis)):
        return Ruling("yes", "repeats the expected answer")
    return _by_kind(gold, question_type, question, hypothesis)


def _by_kind(gold: Gold, question_type: str, question: str, hypothesis: str) -> Ruling:
    end = conclusion(hypothesis)
    refused = refuses(end)
    match gold.kind:
        case "yes or no":
            return yes_or_no_ruling(gold, end, refused=refused)
        case "amount":
            if question_type == "temporal-reasoning":
                return _time(gold, question, end)
            return amount_ruling(gold, question, end, forgiving=False)
        case "order":
            return order_ruling(gold, end, refused=refused)
        case "phrase":
            return phrase_ruling(gold, question, hypothesis, end, refused=refused)


def _time(gold: Gold, question: str, end: str) -> Ruling:
    """Return the ruling on an amount of time: one day off is forgiven; one week or month off, judges see either way."""
    days = _DAYS_ASKED.search(question) is not None
    strict = amount_ruling(gold, question, end, forgiving=days)
    if strict.verdict == "no" and _UNITS_ASKED.search(question):
        mild = amount_ruling(gold, question, end, forgiving=True)
        return ONE_OFF if mild.verdict == "yes" else strict
    return strict


def _repeats(gold: Gold, question: str, said: str) -> bool:
    """Return whether the answer is the expected one word for word, alone or in a short sentence."""
    expected, text = words(gold.whole), level(said)
    if words(said) == expected:
        return bool(expected)
    spots = places(text, gold.whole)
    around = said.replace(gold.whole, "")
    plain_amount = gold.kind == "amount" and gold.whole == gold.texts[0]
    if plain_amount or options_of(question) or len(words(said)) - len(expected) > _AROUND or len(spots) != 1:
        return False
    if HEDGED.search(around) or quantities(around) or refuses(around):
        return False
    return len(expected) > _AROUND or not doubt_of([gold.whole], question, said)
