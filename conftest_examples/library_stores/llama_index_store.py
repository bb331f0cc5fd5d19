from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import VectorMemory
from word_vectors import SIZE, vector


class Words(MockEmbedding):
    def _get_text_embedding(self, text):
        return vector(text)

    _get_query_embedding = _get_text_embedding


class LlamaIndexStore:
    """LlamaIndex's VectorMemory, with a text per message and a single user."""

    package = "llama-index-core"

    def __init__(self):
        self.memory = VectorMemory.from_defaults(embed_model=Words(embed_dim=SIZE))
        self.memory.batch_by_user_message = False

    def add(self, text, *, role, at, session, user):
        self.memory.put(ChatMessage(role=role, content=text))

    def search(self, query, *, k):
        self.memory.retriever_kwargs = {"similarity_top_k": k}
        return [message.content for message in self.memory.get(query)]
