"""BM25 of the embedded reader ranks like another implementation."""

from __future__ import annotations

import random

import bm25s
import pytest

from pytest_ltm.agents.reader.memory_policies import WordIndex


def index_of(*texts: str) -> WordIndex:
    index = WordIndex()
    for text in texts:
        index.add(text.split())
    return index


@pytest.mark.parametrize("seed", range(5))
def test_texts_rank_as_in_another_implementation_of_bm25(seed: int) -> None:
    rng = random.Random(seed)
    texts = [
        " ".join(rng.choices("abcdefghij", k=rng.randint(3, 40))) for _ in range(60)
    ]
    query = rng.choices("abcdefghijk", k=4)
    other = bm25s.BM25()
    other.index([text.split() for text in texts], show_progress=False)

    ranked = index_of(*texts).rank(query)

    scores = other.get_scores([word for word in query if word in other.vocab_dict])
    assert [scores[number] for number in ranked] == pytest.approx(
        sorted(scores[scores > 0], reverse=True), rel=1e-5
    )


def test_a_text_that_shares_no_word_is_not_ranked() -> None:
    assert index_of("a boat", "a canoe").rank(["canoe", "lake"]) == [1]
    assert index_of("a boat", "").rank([]) == []
    assert WordIndex().rank(["boat"]) == []


def test_of_equal_texts_the_older_comes_first() -> None:
    assert index_of("same words", "same words", "same words").rank(["words"]) == [
        0,
        1,
        2,
    ]


def test_a_text_that_is_added_later_is_weighed_with_the_others() -> None:
    index = index_of("a boat on the lake")
    assert index.rank(["boat"]) == [0]

    index.add(["boat"])

    assert index.rank(["boat"]) == [1, 0]
