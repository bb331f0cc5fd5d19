def test_train(ltm):
    ltm.say("My train to Ghent leaves from platform 14.")
    ltm.wait(span=0.5)
    ltm.check(
        "names the platform",
        "14" in ltm.ask("From which platform does my train to Ghent leave?"),
    )
