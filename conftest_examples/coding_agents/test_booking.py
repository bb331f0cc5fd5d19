import pytest


@pytest.mark.ltm(requires=["TakesTools"])
def test_booking(ltm):
    ltm.tool("book", {"time": "string"}, returns="booked")
    ltm.say("Tables are always for 19:30.")
    ltm.wait(span=0.8)
    ltm.ask("Book a table, please.")
    ltm.check_call("book", time="19:30")
