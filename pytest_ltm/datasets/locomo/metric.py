"""LoCoMo's official F1 (Maharana et al., 2024, section 4.1), to the digit of the published evaluation.

Normalising drops commas, lowers case, deletes ASCII punctuation, drops the words a, an, the and `and`; tokens are
Porter-stemmed as NLTK does it, its extensions included. Category 1 splits answer and prediction at commas first.
"""

from __future__ import annotations

import re
import string
from collections import Counter

from pytest_ltm._language.overlap import porter_stem
from pytest_ltm.datasets.locomo.samples import Category, abstains_officially

_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def official_f1(category: int, answer: object, prediction: object) -> float:
    """Return the official score of a prediction, 0 to 1, unrounded.

    `answer` may be a number, as it is in the published file. A prediction that is not text is read as its text: the
    published code raises there. ValueError for an unknown category.
    """
    kind = Category(category)
    said, gold = ("" if value is None else str(value) for value in (prediction, answer))
    if kind is Category.ADVERSARIAL:
        return float(abstains_officially(said))
    if kind is Category.MULTI_HOP:
        parts, wanted = {part.strip() for part in said.split(",")}, [part.strip() for part in gold.split(",")]
        return sum(max(token_f1(part, want) for part in parts) for want in wanted) / len(wanted)
    return token_f1(said, gold.split(";")[0].strip() if kind is Category.OPEN_DOMAIN else gold)


def token_f1(prediction: str, gold: str) -> float:
    """Return the F1 of the two multisets of stemmed tokens; 0 where they share none."""
    said, wanted = Counter(stemmed_tokens(prediction)), Counter(stemmed_tokens(gold))
    same = sum((said & wanted).values())
    if not same:
        return 0.0
    precision, recall = same / sum(said.values()), same / sum(wanted.values())
    return 2 * precision * recall / (precision + recall)


def stemmed_tokens(text: str) -> list[str]:
    """Return the stemmed tokens of a text, normalised."""
    lowered = text.replace(",", "").lower().translate(_PUNCTUATION)
    return [porter_stem(word) for word in _ARTICLES.sub(" ", lowered).split()]
