from datetime import datetime
from uuid import uuid4

import numpy as np
from txtai import Embeddings
from word_vectors import vectors

QUERY = "select id, text, score, at from txtai where similar(:query) and user = :user"


def embed(texts):
    return np.float32(vectors(texts))


class TxtaiStore:
    """txtai's in-memory embeddings database."""

    package = "txtai"

    def __init__(self):
        self.texts = Embeddings(method="external", transform=embed, content=True)

    def add(self, text, *, role, at, session, user):
        key = str(uuid4())
        row = {"text": text, "user": user, "at": at.isoformat()}
        self.texts.upsert([(key, row, None)])
        return key

    def search(self, query, *, k, user):
        found = self.texts.search(QUERY, k, parameters={"query": query, "user": user})
        times = datetime.fromisoformat
        return [(r["id"], r["text"], r["score"], times(r["at"])) for r in found]

    def delete(self, key):
        self.texts.delete([key])
