"""The retrieval metrics of LongMemEval: their oddities individually, then every published vector."""

from __future__ import annotations

import json
import math

import pytest
from benchmark_data import LONGMEMEVAL

from pytest_ltm.datasets.longmemeval.evaluation import (
    retrieval_scores,
    session_of,
    turns_as_sessions,
)

VECTORS = LONGMEMEVAL / "retrieval_vectors_dev.json"


def test_the_published_discount_counts_two_ranks_in_full() -> None:
    second = retrieval_scores(["f1", "gold", "f2"], ["f1", "gold", "f2"], {"gold"}, 3)

    assert second.ndcg_any == 1.0
    assert second.ndcg == pytest.approx(1 / math.log2(3))


def test_nothing_to_find_is_all_found_and_none_found() -> None:
    nothing = retrieval_scores(["a", "b"], ["a", "b"], set(), 1)

    assert (nothing.recall_any, nothing.recall_all, nothing.ndcg_any, nothing.ndcg) == (
        0.0,
        1.0,
        0.0,
        0.0,
    )


def test_any_and_all_differ_where_some_are_found() -> None:
    some = retrieval_scores(["g1", "f", "g2"], ["g1", "f", "g2"], {"g1", "g2"}, 2)

    assert (some.recall_any, some.recall_all) == (1.0, 0.0)


def test_turns_of_one_session_count_as_one_until_k_sessions_are_seen() -> None:
    corpus = ["s_1", "s_3", "s_5", "g_1"]

    assert retrieval_scores(corpus, corpus, {"g_1"}, 2).recall_any == 0.0
    assert turns_as_sessions(corpus, corpus, {"g_1"}, 2).recall_any == 1.0


def test_a_session_keeps_its_own_underscores() -> None:
    assert session_of("answer_4be1b6b4_2_7") == "answer_4be1b6b4_2"


@pytest.mark.published
def test_every_published_vector_is_met() -> None:
    compared = 0
    for vector in json.loads(VECTORS.read_text(encoding="utf-8")):
        corpus, gold = vector["corpus_ids"], set(vector["correct_docs"])
        ranked = [corpus[place] for place in vector["rankings"]]
        for metric, published in (
            (retrieval_scores, vector["metrics"]),
            (turns_as_sessions, vector["turn2session"]),
        ):
            for k, expected in published.items():
                ours = metric(ranked, corpus, gold, int(k))
                assert {
                    name: getattr(ours, name) for name in expected
                } == pytest.approx(expected, abs=1e-8), vector
                compared += 1
    assert compared
