"""How far two texts overlap, without a trained model: ROUGE (Lin, 2004), BLEU (Papineni et al., 2002)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

LIMIT = 20_000
"""Characters compared; a longer text is cut, for ROUGE-L takes time with the product of both lengths."""
_WORD = re.compile(r"\w+")
_ORDERS = (1, 2, 4)


def rouge(gold: str, answer: str) -> dict[str, float]:
    """Return the f-measures `rouge1`, `rouge2` and `rougeL` of the rouge-score library, Porter-stemmed."""
    found = _scorer().score(gold[:LIMIT], answer[:LIMIT])
    return {name: float(found[name].fmeasure) for name in ("rouge1", "rouge2", "rougeL")}


def bleu(gold: str, answer: str) -> dict[str, float]:
    """Return `bleu1`, `bleu2` and `bleu4` of one sentence: words in lower case, smoothed where no n-gram is shared.

    The smoothing adds 0.1 to counts of 0 (method 1 of Chen and Cherry, 2014).
    """
    reference, said = _words(gold), _words(answer)
    if not reference or not set(reference) & set(said):
        return {f"bleu{order}": 0.0 for order in _ORDERS}
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu  # noqa: PLC0415 - heavy

    smooth = SmoothingFunction().method1
    return {
        f"bleu{order}": float(sentence_bleu([reference], said, (1 / order,) * order, smoothing_function=smooth))
        for order in _ORDERS
    }


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:LIMIT].casefold())


@lru_cache(maxsize=1)
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 - heavy: brings in nltk

    return RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
