from pytest_ltm.agents.memory.embeddings import MiniLM

SIZE = 384
embed = MiniLM()


def vector(text):
    """Understands meaning: a small embedding model on the CPU. Copied over word_vectors.py, it serves all recipes."""
    return vectors([text])[0]


def vectors(texts):
    return [[float(number) for number in found] for found in embed(list(texts))]
