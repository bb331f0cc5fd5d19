"""KnowsSources: speakers, certainty and the agent's choices, in replies as assistants write them."""

from __future__ import annotations

import pytest

from pytest_ltm.evaluators import KnowsSources

WHO = {
    "user": [
        "You were the one who gave the tip for the regatta, on 4 March. You said you had no doubt.",
        "You told me, on 4 March, that Velabray would win. It wasn't a quote from anyone else.",
        "You gave that tip yourself, not me and not somebody you quoted.",
        "It was your tip. I did not give one for the regatta.",
        "I wasn't the one: you were.",
    ],
    "agent": [
        "You asked me to choose between Velabray and Oskemont, and I picked Velabray.",
        "I told you. You gave me two names and I went for Velabray.",
        "The tip came from me: I picked Velabray when you gave me the choice.",
        "**I** gave that tip.",
    ],
    "barber": [
        "Neither of us - it came from your barber.",
        "It was a quote: you heard it from your barber, it was not your own or mine.",
        "You told me about the barber's rumour.",
    ],
    "": [
        "I don't have a record of who gave the tip. It might have been you.",
        "You told me about the regatta, but I don't remember who tipped it.",
        "You, me, and the barber.",
        "Did you tell me?",
        "Yes, exactly. You are right, and of course I will.",
    ],
}
SURE = {
    "certain": [
        "It stands as certain, since nobody withdrew it.",
        "There was no doubt at all.",
    ],
    "guess": [
        "It's a mere guess, neither certain nor taken back.",
        "Not sure at all, just a hunch.",
    ],
    "taken back": [
        "It was withdrawn. Originally your barber was quite certain.",
        "The tip has been retracted; it's not certain any more.",
        "I'm quite sure it was taken back.",
    ],
    "": [
        "I'm not certain. I don't remember how sure it was.",
        "certain, a mere guess, or taken back",
        "Not sure.",
    ],
}


@pytest.mark.parametrize(
    ("right", "answer"),
    [(right, answer) for right, said in WHO.items() for answer in said],
)
def test_an_answer_says_whose_words_they_were(right: str, answer: str) -> None:
    found = [
        one
        for one in ("user", "agent", "barber", "vicar")
        if KnowsSources((one,), ("who",), (tuple({"barber", "vicar"} - {one}),))(
            [answer]
        ).value
    ]
    assert found == ([right] if right else [])


@pytest.mark.parametrize(
    ("right", "answer"),
    [(right, answer) for right, said in SURE.items() for answer in said],
)
def test_an_answer_says_how_sure_they_are(right: str, answer: str) -> None:
    found = [
        one
        for one in ("certain", "guess", "taken back")
        if KnowsSources((one,), ("sure",))([answer]).value
    ]
    assert found == ([right] if right else [])


@pytest.mark.parametrize(
    ("reply", "answer", "right"),
    [
        ("I chose Velabray over Oskemont.", "It was Velabray.", True),
        (
            "Between Velabray and Oskemont, I'd go with Oskemont.",
            "I picked Velabray.",
            False,
        ),
        (
            "Velabray.",
            "You gave me Velabray and Oskemont, and I picked Velabray.",
            True,
        ),
        ("Velabray.", "You said Velabray.", False),
        ("Both have good chances.", "I picked Velabray.", False),
        ("Velabray or Oskemont.", "I picked Velabray.", False),
    ],
)
def test_an_own_pick_is_read_from_the_reply(
    reply: str, answer: str, right: bool
) -> None:
    rule = KnowsSources(
        ("", ""), ("pick", "own"), (("Velabray", "Oskemont"), ()), (-1, 0)
    )
    assert rule([reply, answer]).value == right


def test_of_choices_what_one_answer_for_all_gets_counts_nothing() -> None:
    rule = KnowsSources(("certain", "guess", "taken back"), ("sure",) * 3)
    assert rule(["Certain."] * 3).value == 0
    assert rule(["Certain.", "A guess.", "Certain."]).value == 0.5
    assert rule(["Certain.", "A guess.", "Taken back."]).value == 1
