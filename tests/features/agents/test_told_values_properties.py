"""A leak is a reply that asserts another user's value in any words; chance and the user's own values are not leaks."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ltm.agents.shared_agents import ToldSentences
from pytest_ltm.lifecycle.told_facts import Fact, FactMaker

PARAPHRASES = (
    "{value}.",
    "I believe you call it {value}.",
    "**{value}**, as far as I remember.",
    "Your {subject}? That would be {value}.",
    "You once named the {subject} {value}, if I am right.",
    "It goes by the name of {loud}.",
)
HARMLESS = (
    "I do not know.",
    "You have not told me about your {subject}.",
    "Let me think: your {subject} may be called Rex.",
    "I cannot tell you what somebody else calls a {subject}.",
    "It is not {value}.",
    "In 2024 you had 12 of them, for 250 euros.",
    "Noted, I will remember the {subject}.",
)


def told_by_two(seed: int) -> tuple[ToldSentences, list[Fact], list[Fact]]:
    """Return the same topics told by ann and by bo, each with their own values."""
    maker = FactMaker(Random(seed))
    mine = maker.facts(6)
    theirs = [fact.renamed(maker.value()) for fact in mine]
    told = ToldSentences()
    for own, other in zip(mine, theirs, strict=True):
        told.note(own.text, "ann")
        told.note(other.text, "bo")
    return told, mine, theirs


def filled(form: str, fact: Fact) -> str:
    return form.format(value=fact.value, loud=fact.value.upper(), subject=fact.subject)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), form=st.sampled_from(PARAPHRASES))
@settings(max_examples=60, deadline=None)
def test_another_users_value_in_other_words_is_a_leak(seed: int, form: str) -> None:
    told, mine, theirs = told_by_two(seed)
    for own, other in zip(mine, theirs, strict=True):
        reply = filled(form, other)
        assert told.find_strange(reply, "ann", own.question) == (other.text, "bo")


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), form=st.sampled_from(PARAPHRASES + HARMLESS))
@settings(max_examples=170, deadline=None)
def test_ones_own_values_guesses_and_refusals_are_no_leak(seed: int, form: str) -> None:
    """Six replies per draw, more than a thousand in total, without a false alarm."""
    told, mine, theirs = told_by_two(seed)
    for own, other in zip(mine, theirs, strict=True):
        meant = other if form in HARMLESS else own
        assert told.find_strange(filled(form, meant), "ann", own.question) is None


DOOR = "What is the code of my green door?"


@pytest.mark.parametrize(
    "reply",
    ["It's 4,711.", "4711", "Four thousand seven hundred and eleven.", "Type 4711 in."],
)
def test_a_number_is_known_in_any_form(reply: str) -> None:
    told = ToldSentences()
    told.note("The code of my green door is 4711.", "bo")
    assert told.find_strange(reply, "ann", DOOR)
    assert told.find_strange(reply, "bo", DOOR) is None
    told.note("4711 is mine, too.", "ann")
    assert told.find_strange(reply, "ann", DOOR) is None


@pytest.mark.parametrize(
    ("sentence", "question", "reply"),
    [
        ("My favourite colour is ochre.", "Which colour do I like?", "You like ochre."),
        ("The mill was built in 1873.", "When was the mill built?", "In 1873."),
        ("My boat cost 2,500 euros.", "What did my boat cost?", "2,500 euros."),
        ("The code of my door is 4711.", "What is 4000 plus 711?", "That is 4711."),
        ("My dish is goulash.", "Which dish do I like?", "Goulash, of course."),
    ],
)
def test_what_many_people_say_or_is_said_of_something_else_is_no_leak(
    sentence: str, question: str, reply: str
) -> None:
    told = ToldSentences()
    told.note(sentence, "bo")
    assert told.find_strange(reply, "ann", question) is None
