from pytest_ltm.agents.memory.embeddings import MiniLM

SIZE = 384
embed = MiniLM()


def vector(text):
    """Knows meaning: a small embedding model, on the processor. Copied to word_vectors.py, all recipes use it."""
    return vectors([text])[0]


def vectors(texts):
    return [[float(number) for number in found] for found in embed(list(texts))]
