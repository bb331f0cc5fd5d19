"""How far two texts overlap: ROUGE and BLEU by well-known libraries, imported when first used, bounded in time."""

from __future__ import annotations

from functools import cache
from typing import Any

from pytest_ltm._language.patterns import lazy_pattern

# Characters compared; a longer text is cut, for ROUGE-L takes time with the product of both lengths.
LIMIT = 20_000
_WORD = lazy_pattern(r"\w+")
_ORDERS = (1, 2, 4)


def rouge_l(target: str, text: str) -> float:
    """Return the f-measure of ROUGE-L, Porter-stemmed (Lin, 2004), of a sentence and a text."""
    return rouge_scores(target, text, "rougeL")["rougeL"]


def rouge_scores(target: str, text: str, *kinds: str) -> dict[str, float]:
    """Return the f-measures of the rouge-score library, Porter-stemmed, by name: `rouge1`, `rouge2`, `rougeL`."""
    result = _rouge_scorer(kinds or ("rouge1", "rouge2", "rougeL")).score(target[:LIMIT], text[:LIMIT])
    return {name: float(score.fmeasure) for name, score in result.items()}


@cache
def _rouge_scorer(kinds: tuple[str, ...]) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(kinds), use_stemmer=True)


def bleu_scores(target: str, text: str) -> dict[str, float]:
    """Return `bleu1`, `bleu2` and `bleu4` of one sentence: words in lower case, smoothed where no n-gram is shared.

    The smoothing adds 0.1 to counts of 0 (method 1 of Chen and Cherry, 2014).
    """
    wanted, said = (_WORD.findall(each[:LIMIT].casefold()) for each in (target, text))
    if set(wanted).isdisjoint(said):
        return {f"bleu{order}": 0.0 for order in _ORDERS}
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smooth = SmoothingFunction().method1
    return {
        f"bleu{order}": float(sentence_bleu([wanted], said, (1 / order,) * order, smoothing_function=smooth))
        for order in _ORDERS
    }
