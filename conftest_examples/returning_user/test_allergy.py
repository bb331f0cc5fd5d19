def test_what_is_to_be_remembered(ltm):
    ltm.say("Please remember that I am allergic to walnuts.")
    ltm.new_session()
    assert "walnuts" in ltm.ask("What am I allergic to?")


def test_what_is_only_said(ltm):
    ltm.say("My sister is allergic to plums.")
    ltm.new_session()
    assert "plums" in ltm.ask("What is my sister allergic to?")
