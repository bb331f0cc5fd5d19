def test_allotment(ltm, ltm_judge):
    ltm.say("On my allotment I used to keep hens.")
    ltm.wait(span=0.4)
    ltm.say(
        "After the fox had been there I gave that up. Now there are five hives of bees."
    )
    ltm.wait(span=0.9)
    question = "Which animals are there on my allotment now?"
    answer = ltm.ask(question)
    ltm.check(
        "is right",
        ltm_judge.grade(question, answer, reference="bees, and no hens any more"),
    )
    ltm.check("does not boast", "as an AI" not in answer)
