import math
import re
import zlib

SIZE = 256


def vector(text):
    """Stands in for an embedding model: counts words in 256 buckets. It does not understand meaning."""
    places = [0.0] * SIZE
    for word in re.findall(r"\w+", text.lower()):
        places[zlib.crc32(word.encode()) % SIZE] += 1.0
    length = math.hypot(*places) or 1.0
    return [place / length for place in places]


def vectors(texts):
    return [vector(text) for text in texts]
