import pytest


@pytest.mark.ltm(requires=["Compacts"])
def test_convention(ltm):
    ltm.say("A convention of ours: every branch begins with the word kestrel.")
    ltm.say(
        "The reason of that convention is a script named Ibenholt, which sorts by it."
    )
    for _ in range(2):
        ltm.wait(span=0.3)
        ltm.compact()
    answer = ltm.ask("Which convention holds for every branch?")
    ltm.check("keeps the convention", "kestrel" in answer)
    answer = ltm.ask("What is the reason of it?")
    ltm.check("keeps the reason", "Ibenholt" in answer)
