"""Our stemmer and BLEU equal NLTK's on any text, without requiring NLTK."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.language import porter
from pytest_ltm.language.overlap import bleu_scores
from pytest_ltm.language.porter import porter_stem

_ENDINGS = (
    *porter._STEP_2,
    *porter._STEP_3,
    *porter._STEP_4,
    *("", "s", "es", "ed", "ing", "ies", "ied", "eed", "y", "e", "ll", "logi", "sses"),
)
_BEGINNINGS = st.text("abcdefghijklmnopqrstuvwxyz0123456789", max_size=7)
_WORDS = st.builds(
    "".join, st.tuples(_BEGINNINGS, *[st.sampled_from(_ENDINGS)] * 2)
).filter(bool)
_SENTENCES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=14)


def stem_by_nltk(word: str) -> str:
    from nltk.stem.porter import PorterStemmer

    return str(PorterStemmer().stem(word))


@given(_WORDS)
def test_a_stem_is_that_of_nltk(word: str) -> None:
    assert porter_stem(word) == stem_by_nltk(word)


@pytest.mark.parametrize("word", [*porter._IRREGULAR, "a", "", "2026"])
def test_an_odd_word_has_the_stem_of_nltk(word: str) -> None:
    assert porter_stem(word) == stem_by_nltk(word)


def test_a_word_of_any_length_has_a_stem() -> None:
    assert porter_stem("y" * 5_000) == "y" * 4_999 + "i"


@given(_SENTENCES, _SENTENCES)
def test_bleu_is_that_of_nltk(wanted: list[str], said: list[str]) -> None:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    scores = bleu_scores(" ".join(wanted), " ".join(said))
    if set(wanted).isdisjoint(said):
        assert set(scores.values()) == {0.0}
        return
    for order in (1, 2, 4):
        published = sentence_bleu(
            [wanted],
            said,
            (1 / order,) * order,
            smoothing_function=SmoothingFunction().method1,
        )
        assert scores[f"bleu{order}"] == float(published)
