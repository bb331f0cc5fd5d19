def test_button(ltm):
    ltm.say("Never press the red button in room 12.")
    ltm.wait(span=0.9)
    answer = ltm.ask("In which room is the button that I must not press?")
    ltm.check("names the room", "room 12" in answer)
