def test_conference(ltm):
    ltm.say("The conference moves from Porto to Lisbon.")
    ltm.wait(span=0.9)
    answer = ltm.ask("Where does the conference take place?")
    ltm.check("names the place", "Lisbon" in answer)
