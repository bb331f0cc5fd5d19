"""How far two texts overlap: ROUGE and BLEU by well-known libraries, imported when first used, bounded in time."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from rapidfuzz.distance import LCSseq

from pytest_ltm._core.storage.errors import ConfigurationError
from pytest_ltm.language.patterns import lazy_pattern

# Characters compared; a longer text is cut, for ROUGE-L takes time with the product of
# both lengths.
LIMIT = 20_000
_WORD = lazy_pattern(r"\w+")
_ASCII_WORD = lazy_pattern("[a-z0-9]+")
_STEMMER = "nltk.stem.porter"
_ORDERS = (1, 2, 4)


def rouge_l(target: str, text: str) -> float:
    """Return the f-measure of ROUGE-L, Porter-stemmed (Lin, 2004), of a sentence and a text: that of rouge-score."""
    wanted, given = _stemmed_words(target), _stemmed_words(text)
    shared = LCSseq.similarity(wanted, given)
    if not shared:
        return 0.0
    precision, recall = shared / len(given), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def _stemmed_words(text: str) -> list[str]:
    words = _ASCII_WORD.findall(text[:LIMIT].lower())
    # as rouge-score does: it stems no word of three letters or fewer
    return [porter_stem(word) if len(word) > 3 else word for word in words]


@lru_cache(maxsize=50_000)
def porter_stem(word: str) -> str:
    """Return the Porter stem of one word, as NLTK's stemmer with its default extensions gives it."""
    return str(_make_stemmer().stem(word))


@cache
def _make_stemmer() -> Any:
    """Return NLTK's stemmer, imported without all else of NLTK: that takes 70 MB, and a second."""
    spec = None if "nltk" in sys.modules else find_spec("nltk")
    if spec is None or spec.origin is None:
        return import_module(_STEMMER).PorterStemmer()
    folder = Path(spec.origin).parent
    try:
        for name, place in (("nltk", folder), ("nltk.stem", folder / "stem")):
            sys.modules[name] = package = ModuleType(name)
            package.__path__ = [str(place)]
        return import_module(_STEMMER).PorterStemmer()
    finally:  # whoever imports NLTK later gets all of it
        for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
            del sys.modules[name]


def rouge_scores(target: str, text: str) -> dict[str, float]:
    """Return `rouge1`, `rouge2` and `rougeL`: the f-measures of the rouge-score library, Porter-stemmed."""
    result = make_rouge_scorer().score(target[:LIMIT], text[:LIMIT])
    return {name: float(score.fmeasure) for name, score in result.items()}


@cache
def make_rouge_scorer() -> Any:
    """Return the scorer of the rouge-score library; ConfigurationError if that is not installed."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise ConfigurationError(
            f"ROUGE needs rouge-score: pip install 'pytest-ltm[rouge]' ({error})"
        ) from error
    return RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)


def bleu_scores(target: str, text: str) -> dict[str, float]:
    """Return `bleu1`, `bleu2` and `bleu4` of one sentence: words in lower case, smoothed where no n-gram is shared.

    The smoothing adds 0.1 to counts of 0 (method 1 of Chen and Cherry, 2014).
    """
    wanted, said = (_WORD.findall(each[:LIMIT].casefold()) for each in (target, text))
    if set(wanted).isdisjoint(said):
        return {f"bleu{order}": 0.0 for order in _ORDERS}
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smooth = SmoothingFunction().method1
    scores = (
        sentence_bleu([wanted], said, (1 / order,) * order, smoothing_function=smooth)
        for order in _ORDERS
    )
    return {
        f"bleu{order}": float(score)
        for order, score in zip(_ORDERS, scores, strict=True)
    }
