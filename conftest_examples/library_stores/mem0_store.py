import os
import tempfile
from datetime import datetime

from mem0 import Memory
from word_vectors import SIZE, vector, vectors

os.environ.setdefault("OPENAI_API_KEY", "none")


class Mem0Store:
    """mem0 without its language model (infer=False): texts are stored unchanged."""

    package = "mem0ai"

    def __init__(self):
        self.path = tempfile.mkdtemp()
        place = {"path": f"{self.path}/vectors", "embedding_model_dims": SIZE}
        store = {"provider": "qdrant", "config": {**place, "on_disk": True}}
        history = {"history_db_path": f"{self.path}/history.db"}
        self.memory = Memory.from_config({"vector_store": store, **history})
        words = self.memory.embedding_model
        words.embed = lambda text, *_: vector(text)
        words.embed_batch = lambda texts, *_: vectors(texts)

    def add(self, text, *, role, at, session, user):
        told = [{"role": role, "content": text}], {"at": at.isoformat()}
        kept = self.memory.add(told[0], user_id=user, infer=False, metadata=told[1])
        return [row["id"] for row in kept["results"]]

    def search(self, query, *, k, user):
        own = {"user_id": user}
        found = self.memory.search(query, filters=own, top_k=k, threshold=0.0)
        hits = found["results"]
        times = [datetime.fromisoformat(hit["metadata"]["at"]) for hit in hits]
        rows = zip(hits, times, strict=True)
        return [(hit["id"], hit["memory"], hit["score"], at) for hit, at in rows]

    def delete(self, key):
        self.memory.delete(key)
