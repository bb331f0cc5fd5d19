import tempfile

from mem0 import Memory
from mem0.configs.embeddings.base import BaseEmbedderConfig
from mem0.embeddings.base import EmbeddingBase
from word_vectors import SIZE, vector


class Words(EmbeddingBase):
    def embed(self, text, memory_action=None):
        return vector(text)

    def embed_batch(self, texts, memory_action=None):
        return [vector(text) for text in texts]


class Mem0Store:
    """mem0 without its language model (infer=False): texts are kept as they are."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        place = {"path": f"{self.folder.name}/vectors", "embedding_model_dims": SIZE}
        unused = {"provider": "openai", "config": {"api_key": "none"}}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "embedder": unused,
                "llm": unused,
                "history_db_path": f"{self.folder.name}/history.db",
            }
        )
        self.memory.embedding_model = Words(BaseEmbedderConfig(embedding_dims=SIZE))
        self.times, self.user = {}, None

    def add(self, text, *, role, at, session, user):
        self.user = user
        said = [{"role": role, "content": text}]
        kept = self.memory.add(said, user_id=user, run_id=session, infer=False)
        ids = [one["id"] for one in kept["results"]]
        self.times.update(dict.fromkeys(ids, at))
        return ids

    def search(self, query, *, k):
        if self.user is None:
            return []
        found = self.memory.search(
            query, filters={"user_id": self.user}, top_k=k, threshold=0.0
        )["results"]
        return [
            (one["id"], one["memory"], one["score"], self.times.get(one["id"]))
            for one in found
        ]

    def close(self):
        self.memory.close()
        self.folder.cleanup()
