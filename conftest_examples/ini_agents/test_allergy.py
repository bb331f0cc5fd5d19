def test_allergy(ltm):
    ltm.say("Please keep in mind that my sister is allergic to walnuts.")
    ltm.wait(span=0.9, time="2d")
    answer = ltm.ask("What must I leave out of my sister's birthday cake?")
    ltm.check("knows the allergy", "walnut" in answer.lower())
