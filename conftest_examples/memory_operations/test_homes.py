def test_homes(ltm):
    ltm.say("Ada lives in Porto.", tells={"Ada's home": "Porto"})
    ltm.say("Bruno lives in Brno.", tells={"Bruno's home": "Brno"})
    ltm.wait(span=0.4)
    ltm.say("Ada has moved to Turku.", tells={"Ada's home": "Turku"})
    ltm.say("Please forget about Bruno.", tells={"Bruno's home": None})
    ltm.wait(span=0.9)
    ltm.ask(
        "Where does Ada live?", about=["Ada lives in Porto.", "Ada has moved to Turku."]
    )
    ltm.check("finds where Ada lives now", "Turku" in " ".join(ltm.retrieved or ()))
    ltm.ask(
        "Where does Bruno live?",
        about=["Bruno lives in Brno.", "Please forget about Bruno."],
    )
    ltm.check("finds nothing of Bruno", "Brno" not in " ".join(ltm.retrieved or ()))
