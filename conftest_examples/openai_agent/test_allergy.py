def test_allergy(ltm):
    ltm.say("The guest with the allergy to walnuts is my aunt Ines.")
    ltm.wait(span=0.9)
    answer = ltm.ask("Which guest has the allergy to walnuts?")
    ltm.check("knows the guest", "Ines" in answer)
