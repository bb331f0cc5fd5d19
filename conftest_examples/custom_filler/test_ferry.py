def test_ferry(ltm):
    ltm.say("The last ferry to the island leaves at twenty past nine.")
    ltm.wait(span=0.9)
    answer = ltm.ask("When does the last ferry to the island leave?")
    ltm.check("knows the time", "twenty past nine" in answer)
