import pytest


@pytest.mark.ltm(requires=["TakesTools"])
def test_table(ltm):
    ltm.tool(
        "book_table",
        {"place": "string", "time": "string"},
        returns="booked",
        description="Books a table for one.",
    )
    ltm.say("I never have breakfast before 10:00.")
    ltm.wait(span=0.8)
    ltm.ask("Book a table at Rossi's.")
    ltm.check_call("book_table", place="Rossi's", time="10 am")
    ltm.check_called_once("book_table")
