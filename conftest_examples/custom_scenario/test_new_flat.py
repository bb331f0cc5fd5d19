def test_new_flat(ltm):
    """A fact that changes: the newer city counts, the older ones must not come back."""
    ltm.say("I was born in Bergen, and since last autumn I have had a flat in Ghent.")
    ltm.wait(span=0.5)
    ltm.say("I have signed the contract: from next month on I shall live in Tartu.")
    ltm.wait(span=0.9, time="3h")
    answer = ltm.ask("In which city will my flat be next year?", answer="In Tartu.")
    ltm.check("names the new city", "Tartu" in answer)
    ltm.check("names no former city", "Ghent" not in answer and "Bergen" not in answer)
