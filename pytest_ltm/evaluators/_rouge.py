"""ROUGE-L with stemming, by the rouge-score library, bounded in time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

LIMIT = 20_000
"""Characters compared; a longer answer is cut, for the library's time grows with the product of both lengths."""


def rouge_l(target: str, text: str) -> float:
    """Return the f-measure of ROUGE-L, Porter-stemmed (Lin, 2004), of a sentence and a text."""
    return float(_scorer().score(target[:LIMIT], text[:LIMIT])["rougeL"].fmeasure)


@lru_cache(maxsize=1)
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 - heavy: brings in nltk

    return RougeScorer(["rougeL"], use_stemmer=True)
