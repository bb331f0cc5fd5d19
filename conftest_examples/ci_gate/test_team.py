import pytest

COLOURS = ["red", "green", "ochre"]


def test_move(ltm):
    ltm.say("Our team moved from the second to the fourth floor.")
    ltm.wait(span=0.8)
    assert "fourth" in ltm.ask("On which floor is our team?")


@pytest.mark.ltm(pass_k=2)
def test_colour(ltm):
    colour = ltm.random.choice(COLOURS)
    ltm.say(f"The door of our office is {colour}.")
    ltm.wait(span=0.5)
    answer = ltm.ask("Which colour has our door?")
    ltm.check("names the colour", colour in answer)


def test_today(ltm):
    ltm.say("Lunch is at noon today.")
    assert "noon" in ltm.ask("When is lunch?")
