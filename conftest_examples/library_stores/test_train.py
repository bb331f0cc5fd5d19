def test_train(ltm):
    ltm.say("My train to Ghent leaves from platform 14.")
    ltm.wait(span=0.9)
    answer = ltm.ask("From which platform does my train leave?")
    ltm.check("names the platform", "platform 14" in answer)
