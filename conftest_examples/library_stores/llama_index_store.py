from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import VectorMemory
from word_vectors import vector


class Words(BaseEmbedding):
    def _get_text_embedding(self, text):
        return vector(text)

    def _get_query_embedding(self, query):
        return vector(query)

    async def _aget_query_embedding(self, query):
        return vector(query)


class LlamaIndexStore:
    """LlamaIndex's VectorMemory, a text for each message."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.memory = VectorMemory.from_defaults(embed_model=Words())
        self.memory.batch_by_user_message = False
        self.times = {}

    def add(self, text, *, role, at, session, user):
        self.memory.put(ChatMessage(role=role, content=text))
        self.times.setdefault(text, at)

    def search(self, query, *, k):
        self.memory.retriever_kwargs = {"similarity_top_k": k}
        found = [one.content for one in self.memory.get(query)]
        return [(None, text, None, self.times.get(text)) for text in found]
