import tempfile
from datetime import datetime
from uuid import uuid4

from qdrant_client import QdrantClient, models
from word_vectors import SIZE, vector


class QdrantStore:
    package = "qdrant-client"

    def __init__(self):
        self.path = tempfile.mkdtemp()
        self.client = QdrantClient(path=self.path)
        size = models.VectorParams(size=SIZE, distance=models.Distance.COSINE)
        self.client.create_collection("texts", vectors_config=size)

    def reopen(self):
        self.client.close()
        self.client = QdrantClient(path=self.path)

    def add(self, text, *, role, at, session, user):
        key, about = str(uuid4()), {"text": text, "user": user, "at": at.isoformat()}
        point = models.PointStruct(id=key, vector=vector(text), payload=about)
        self.client.upsert("texts", [point])
        return key

    def search(self, query, *, k, user):
        own = models.FieldCondition(key="user", match=models.MatchValue(value=user))
        found = self.client.query_points(
            "texts", vector(query), query_filter=models.Filter(must=[own]), limit=k
        )
        times = [datetime.fromisoformat(p.payload["at"]) for p in found.points]
        rows = zip(found.points, times, strict=True)
        return [(p.id, p.payload["text"], p.score, at) for p, at in rows]

    def delete(self, key):
        self.client.delete("texts", [key])
