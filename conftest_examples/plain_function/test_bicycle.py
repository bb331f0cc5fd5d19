def test_bicycle(ltm):
    ltm.say("I have lent my bicycle to Ines.")
    ltm.wait(span=0.9)
    answer = ltm.ask("Has Ines or Joao got my bicycle?")
    ltm.check("names the borrower", "Ines" in answer)
    ltm.check("names nobody else", "Joao" not in answer)
