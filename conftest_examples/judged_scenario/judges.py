def strict(question):
    """Judge what stands between the lines of the fence: a stand-in for a model, it only knows about bees."""
    answer = question.partition("<<<<< ANSWER")[2].rpartition("ANSWER >>>>>")[0]
    found = "bees" in answer.lower()
    return f"The answer {'names' if found else 'does not name'} the bees. GRADE: {'yes' if found else 'no'}"
