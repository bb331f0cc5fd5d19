import faiss
import numpy as np
from word_vectors import SIZE, vectors


class FaissStore:
    """A FAISS index; texts, times and users are stored separately."""

    package = "faiss-cpu"

    def __init__(self):
        self.index = faiss.IndexIDMap2(faiss.IndexFlatIP(SIZE))
        self.rows, self.next = {}, 0

    def add(self, text, *, role, at, session, user):
        self.next += 1
        self.rows[self.next] = (user, text, at)
        row = np.float32(vectors([text]))
        self.index.add_with_ids(row, np.array([self.next]))
        return self.next

    def search(self, query, *, k, user):
        own = [key for key, row in self.rows.items() if row[0] == user]
        only = faiss.SearchParameters(sel=faiss.IDSelectorBatch(own))
        asked = np.float32(vectors([query]))
        keys = self.index.search(asked, k, params=only)[1][0].tolist()
        return [
            (key, self.rows[key][1], None, self.rows[key][2])
            for key in keys
            if key >= 0
        ]

    def delete(self, key):
        self.index.remove_ids(np.array([key]))
        self.rows.pop(key)
