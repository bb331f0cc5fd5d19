import pytest

from pytest_ltm import Ask, Definition, Say, spread


def locker(rng, parameters):  # noqa: ARG001 - every generator is called with both
    """Called for each example before the conversation begins; the same seed gives the same code."""
    code = f"{rng.randrange(10_000):04}"
    told = Say(f"The code of my locker is {code}.")
    aside = Say(f"My locker is number {rng.randrange(100, 1000)}, beside the stairs.")
    question = Ask("Which code opens my locker?", about=[told.text])
    return Definition(
        steps=spread([told, aside, question]), expected=code, replies=(code,)
    )


@pytest.mark.ltm(generate=locker, examples=2, skills="R", version="1")
def test_locker(ltm):
    [answer] = ltm.play(ltm.definition)
    assert ltm.definition.expected in answer
