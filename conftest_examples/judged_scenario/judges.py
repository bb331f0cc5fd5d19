def strict(question):
    """Judge the text between the fence lines: a stand-in for a model, which only knows about bees."""
    answer = question.partition("<<<<< ANSWER")[2].rpartition("ANSWER >>>>>")[0]
    found = "bees" in answer.lower()
    return f"The answer {'names' if found else 'does not name'} the bees. GRADE: {'yes' if found else 'no'}"
