import tempfile
from datetime import datetime
from uuid import uuid4

import chromadb
from word_vectors import vector


class ChromaStore:
    package, path = "chromadb", ""

    def reopen(self):
        client = chromadb.PersistentClient(self.path)
        self.texts = client.get_or_create_collection("texts", embedding_function=None)

    def __init__(self):
        self.path = tempfile.mkdtemp()
        self.reopen()

    def add(self, text, *, role, at, session, user):
        row = {"documents": [text], "embeddings": [vector(text)]}
        key, about = str(uuid4()), {"user": user, "at": at.isoformat()}
        self.texts.add(ids=[key], metadatas=[about], **row)
        return key

    def search(self, query, *, k, user):
        found = self.texts.query([vector(query)], n_results=k, where={"user": user})
        rows = zip(
            found["ids"][0], found["documents"][0], found["metadatas"][0], strict=True
        )
        return [(i, s, None, datetime.fromisoformat(m["at"])) for i, s, m in rows]

    def delete(self, key):
        self.texts.delete(ids=[key])
