"""The official F1 of LoCoMo: its rules individually, then every published row."""

from __future__ import annotations

import json

import pytest
from benchmark_data import LOCOMO, lines_of

from pytest_ltm.datasets.locomo.samples import Category
from pytest_ltm.datasets.locomo.strict import official_f1, stemmed_tokens
from pytest_ltm.language.porter import porter_stem


def test_categories_have_the_numbers_of_the_file() -> None:
    labels = {category.value: category.label for category in Category}

    assert labels == {
        1: "multi-hop",
        2: "temporal",
        3: "open-domain",
        4: "single-hop",
        5: "adversarial",
    }


def test_tokens_lose_articles_punctuation_and_endings() -> None:
    assert stemmed_tokens("The dogs, and A cat's 1,000 toys!") == [
        "dog",
        "cat",
        "1000",
        "toy",
    ]


def test_f1_balances_what_is_missing_and_what_is_too_much() -> None:
    assert official_f1(4, "green lamp", "the lamp was green") == pytest.approx(0.8)


def test_an_open_domain_gold_counts_up_to_its_semicolon() -> None:
    assert official_f1(3, "Probably; she said so twice", "probably") == 1.0


def test_a_multi_hop_gold_is_the_mean_over_its_parts() -> None:
    assert official_f1(1, "rowing, chess", "chess, judo") == 0.5


def test_an_adversarial_question_wants_one_of_two_phrases() -> None:
    assert official_f1(5, "a boat", "That is NOT MENTIONED anywhere.") == 1.0
    assert official_f1(5, "a boat", "a boat") == 0.0


def test_numbers_are_read_as_their_text() -> None:
    assert official_f1(2, 2022, 2022) == 1.0


def test_nothing_shared_is_zero_also_where_nothing_was_said() -> None:
    assert official_f1(4, "boat", "") == 0.0
    assert official_f1(4, "the and", "the and") == 0.0


def test_an_unknown_category_is_refused() -> None:
    with pytest.raises(ValueError, match="6"):
        official_f1(6, "a", "a")


@pytest.mark.published
def test_every_edge_vector_is_met_and_a_numeric_prediction_is_read_where_the_original_raises() -> (
    None
):
    rows = json.loads((LOCOMO / "f1_edge_vectors.json").read_text(encoding="utf-8"))
    ours = [
        official_f1(row["category"], row["answer"], row["prediction"]) for row in rows
    ]

    raised = [
        (row["prediction"], f1)
        for row, f1 in zip(rows, ours, strict=True)
        if isinstance(row["score"], str)
    ]
    assert raised == [(3, 1.0)]
    for row, f1 in zip(rows, ours, strict=True):
        if not isinstance(row["score"], str):
            assert f1 == pytest.approx(row["score"], abs=1e-12), row


@pytest.mark.slow
@pytest.mark.published
def test_every_published_row_has_its_f1() -> None:
    rows = lines_of(LOCOMO / "judged_and_f1_dev.jsonl.gz")

    assert len(rows) == 4563
    assert [
        round(official_f1(row["category"], row["answer"], row["prediction"]), 6)
        for row in rows
    ] == [row["f1"] for row in rows]


@pytest.mark.published
def test_every_published_stem_is_met() -> None:
    stems = json.loads(
        (LOCOMO / "porter_stem_vectors.json").read_text(encoding="utf-8")
    )

    assert {word: porter_stem(word) for word in stems} == stems
