def test_birthday(ltm):
    user = ltm.user(
        "You plan a birthday party for ten with the assistant. In passing you mention that Ana is allergic to nuts.",
        model="guest:writes",  # or a language model: "openai:gpt-4o-mini"
        facts=["allergic to nuts"],
        turns=6,
    )
    user.talk()
    ltm.wait(span=0.9)
    answer = ltm.ask("What may Ana not eat?", about=user.telling("allergic to nuts"))
    ltm.check("names nuts", "nuts" in answer.lower())


def test_moving_day(ltm):
    user = ltm.user(
        "You plan to move.",
        model=["I am moving to Turku in May.", "The van costs 90 a day."],
    )
    user.talk()
    ltm.wait(span=0.9)
    ltm.check("names Turku", "Turku" in ltm.ask("Where am I moving to?"))
