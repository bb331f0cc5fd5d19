def test_boat(ltm):
    ltm.say("My boat is called Petrel.")
    ltm.wait(span=0.9)
    ltm.check("names the boat", "Petrel" in ltm.ask("What is my boat called?"))
