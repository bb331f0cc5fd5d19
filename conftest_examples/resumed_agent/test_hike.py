def test_boots(ltm):
    ltm.say("My walking boots are in the cellar.")
    ltm.wait(span=0.2)
    ltm.say("I have taken the walking boots to the cobbler.")
    ltm.wait(span=0.6)
    assert "cobbler" in ltm.ask("Where are my walking boots now?")


def test_summit(ltm):
    ltm.say("The summit that we want to reach is the Vihren.")
    ltm.wait(span=0.9)
    assert "Vihren" in ltm.ask("Which summit do we want to reach?")
