"""Two facts about a flat for rent."""


def test_rent(ltm):
    ltm.say("The landlord of the flat asks for 840 euros a month.")
    ltm.wait(span=0.4)
    ltm.say("He has come down: the flat is 790 euros a month now.")
    ltm.wait(span=0.9)
    answer = ltm.ask("How much is the rent of the flat now, per month?")
    ltm.check("names the new rent", "790" in answer)
    ltm.check("does not name the old one", "840" not in answer)


def test_floor(ltm):
    ltm.say("The flat is on the fourth floor.")
    ltm.wait(span=0.9, time="2h")
    assert "fourth" in ltm.ask("On which floor is the flat?")
