"""The overlap of two texts: ROUGE and BLEU, in bounded time."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from typing import Any

from rapidfuzz.distance import LCSseq

from pytest_ltm.api.storage import ConfigurationError, lazy_pattern
from pytest_ltm.language.porter import porter_stem

# Characters compared; longer texts are cut, as the time of ROUGE-L is the product of
# both lengths.
LIMIT = 20_000
_WORD = lazy_pattern(r"\w+")
_ASCII_WORD = lazy_pattern("[a-z0-9]+")
_ORDERS = (1, 2, 4)
# The count used in place of zero shared n-grams.
_SMOOTHED = 0.1


def rouge_l(target: str, text: str) -> float:
    """Return the F-measure of ROUGE-L, Porter-stemmed (Lin, 2004), of two texts, as rouge-score computes it."""
    wanted = _stemmed_words(target)
    given = _stemmed_words(text)
    shared = LCSseq.similarity(wanted, given)
    if not shared:
        return 0.0
    precision = shared / len(given)
    recall = shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def _stemmed_words(text: str) -> list[str]:
    words = _ASCII_WORD.findall(text[:LIMIT].lower())
    # rouge-score does not stem words of three letters or fewer
    return [porter_stem(word) if len(word) > 3 else word for word in words]


def rouge_scores(target: str, text: str) -> dict[str, float]:
    """Return `rouge1`, `rouge2` and `rougeL`: the F-measures of the rouge-score library, Porter-stemmed."""
    result = make_rouge_scorer().score(target[:LIMIT], text[:LIMIT])
    return {name: float(score.fmeasure) for name, score in result.items()}


@cache
def make_rouge_scorer() -> Any:
    """Create the scorer of the rouge-score library; ConfigurationError if it is not installed."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise ConfigurationError(
            f"ROUGE needs rouge-score: pip install 'pytest-ltm[rouge]' ({error})"
        ) from error
    return RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)


def bleu_scores(target: str, text: str) -> dict[str, float]:
    """Return the sentence scores `bleu1`, `bleu2` and `bleu4`, lower-cased, smoothed if no n-gram is shared.

    Papineni et al., 2002; the smoothing replaces counts of 0 with 0.1 (method 1 of Chen
    and Cherry, 2014).
    """
    wanted, said = (_WORD.findall(each[:LIMIT].casefold()) for each in (target, text))
    if set(wanted).isdisjoint(said):
        return {f"bleu{order}": 0.0 for order in _ORDERS}
    precisions = [_ngram_precision(wanted, said, size) for size in range(1, 5)]
    brevity = min(1.0, math.exp(1 - len(wanted) / len(said)))
    return {
        f"bleu{order}": brevity * _geometric_mean(precisions[:order])
        for order in _ORDERS
    }


def _ngram_precision(wanted: list[str], said: list[str], size: int) -> float:
    """Return the clipped n-gram precision of an answer."""
    here = _count_ngrams(said, size)
    shared = _count_ngrams(wanted, size) & here
    return (shared.total() or _SMOOTHED) / max(1, here.total())


def _count_ngrams(words: list[str], size: int) -> Counter[tuple[str, ...]]:
    shifted = [words[start:] for start in range(size)]
    return Counter(zip(*shifted, strict=False))


def _geometric_mean(shares: list[float]) -> float:
    weight = 1 / len(shares)
    return math.exp(math.fsum(weight * math.log(share) for share in shares))
