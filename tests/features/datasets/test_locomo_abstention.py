"""The rule for free-text answers to adversarial questions, and its differences from the official phrases."""

from __future__ import annotations

import json

import pytest
from benchmark_data import LOCOMO

from pytest_ltm.datasets.locomo.samples import abstains_officially
from pytest_ltm.datasets.locomo.strict import abstains_from_answer

DECLINES = (
    "Not mentioned in the conversation",
    "No information available.",
    "I do not know.",
    "It was not mentioned anywhere",
    "Unknown.",
    "N/A",
    "Nothing about that comes up in their talks.",
    "Tomas never said what he sold.",
    "They don't talk about a sale by Tomas.",
    "I could not find anything about Tomas selling quails.",
    "There is no mention of Tomas selling anything.",
    "I'm not sure; the conversation does not say.",
    "The conversation doesn't state what Tomas sold.",
    "That was never discussed.",
    "I can't tell from what I read.",
    "I have no record of that.",
    "The question assumes something that isn't in the conversation.",
    "Neither of them says so; it isn't stated.",
    "None of the sessions mention it.",
)
ANSWERS = (
    "Two quails.",
    "He sold her two quails.",
    "",
    "Tomas sold Marta two quails in April.",
    "In Lisbon",
    "It is not mentioned directly, but I think it was two quails.",
    "I don't know exactly, but probably two quails.",
    "Not mentioned, though it might be quails.",
    "She has no brother.",
    "Nothing but quails.",
)


@pytest.mark.parametrize("answer", DECLINES)
def test_to_decline_in_any_words_counts(answer: str) -> None:
    assert abstains_from_answer(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_or_a_guess_does_not_decline(answer: str) -> None:
    assert not abstains_from_answer(answer)


def test_to_say_that_it_was_the_other_speaker_declines() -> None:
    answer = "It was Ines, not Tomas, who sold quails to Marta."

    assert abstains_from_answer(answer, asked="Tomas", other="Ines")
    assert not abstains_from_answer(answer)
    assert not abstains_from_answer(
        "Tomas sold them, not Ines.", asked="Tomas", other="Ines"
    )


def test_the_official_phrases_miss_most_ways_to_decline_and_pass_guesses() -> None:
    assert sum(map(abstains_officially, DECLINES)) == 3
    assert [answer for answer in ANSWERS if abstains_officially(answer)] == [
        "It is not mentioned directly, but I think it was two quails.",
        "Not mentioned, though it might be quails.",
    ]


@pytest.mark.published
def test_on_the_edge_vectors_the_two_rules_differ_on_one_answer() -> None:
    rows = [
        row
        for row in json.loads((LOCOMO / "f1_edge_vectors.json").read_text())
        if row["category"] == 5
    ]
    differ = [
        row["prediction"]
        for row in rows
        if abstains_from_answer(row["prediction"]) != bool(row["score"])
    ]

    assert differ == ["I do not know"]
