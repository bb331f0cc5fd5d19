"""Openings and closings of an answer are recognized by their purpose for the asker; words that may be content stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.talk import Topic

QUESTION = "How many ferrets do I have?"
ANSWER = "You keep two ferrets."
OPENINGS = (
    "I've looked through the chat log, and this is what I found: ",
    "According to what we talked about, ",
    "Right away!\n\n",
    f"You asked: {QUESTION}\n",
    f"**{QUESTION}**\n\n",
    "[Retrieved 4 memories]\n",
)
CLOSINGS = (
    " Shall I make a list of it?",
    "\n\nIf you need more, just ask.",
    "\nI'll keep that in mind.",
    " Hope this is what you were after!",
    "\n\nWarm regards,\nYour assistant",
    "\n\nSource: our conversation",
    "\n\n*812 tokens, 3.1 s*",
)


def strip(said: str, gold: str = "2") -> str:
    return normalize(said, topic=Topic(QUESTION, gold))


@pytest.mark.parametrize("opening", ["", *OPENINGS])
@pytest.mark.parametrize("closing", ["", *CLOSINGS])
def test_an_answer_is_read_without_the_talk_around_it(
    opening: str, closing: str
) -> None:
    assert strip(f"{opening}{ANSWER}{closing}") == ANSWER


@pytest.mark.parametrize(
    "said",
    [
        "You told me: two.",
        "I think I have it: two.",
        "Two. That is how the tale goes.",
        "Two. That was a joke.",
        "Two. Did I make that up?",
        "Two. Would your ferrets like a third one?",
        "Two. Let me know if Rex is one, too.",
        "Two (not).",
        "He told me this: two.",
        "Please tell me more: two?",
        "Originally: two.",
        "Let me know when you find out.",
        "Just ask me:\nHope",
    ],
)
def test_what_may_mean_something_stays(said: str) -> None:
    assert strip(said) == normalize(said, topic=None)


@pytest.mark.parametrize(
    "closing",
    [
        *CLOSINGS[2:4],
        " Let me check.",
        " Good question!",
        " I need to look that up for you.",
        " That's news to me.",
    ],
)
def test_what_is_said_behind_a_question_may_answer_it(closing: str) -> None:
    assert closing.strip() in strip(f"Two?{closing}")
    assert closing.strip() not in strip(f"{ANSWER}{closing}")


def test_words_of_what_is_expected_are_no_talk() -> None:
    closing = "Two. I'll keep that in mind."

    assert strip(closing) == "Two."
    assert strip(closing, gold="in mind") == closing


@given(
    st.lists(st.sampled_from([*OPENINGS, *CLOSINGS, ANSWER, "No. "]), max_size=6).map(
        "".join
    )
)
def test_reading_a_reading_changes_nothing(said: str) -> None:
    stripped = strip(said)

    assert strip(stripped) == stripped


@pytest.mark.parametrize(
    "ending",
    [
        "50",
        "Answer: 50",
        "**Answer:** 4",
        "answer: 20%",
        "Answer: good",
        "[Final answer: a nice story]",
    ],
)
def test_what_a_reply_calls_its_answer_and_a_bare_figure_are_no_notes(
    ending: str,
) -> None:
    reply = f"You told me how many films you saw last spring.\n\n{ending}"
    topic = Topic("How many films did I see?", "5")
    assert normalize(reply, topic=topic).endswith(ending)
