import os
from collections import defaultdict

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import FactExtractionMemoryBlock
from llama_index.llms.openai_like import OpenAILike
from word_vectors import vectors

FORM = r'root ::= "<facts>\n  <fact>" [^<\n]{1,120} "</fact>\n</facts>"'


class LlamaIndexFacts:
    """LlamaIndex's own extraction, a block of facts per user and day, with a model at OPENAI_BASE_URL."""

    package = "llama-index-core"

    def __init__(self):
        place = {"api_base": os.environ["OPENAI_BASE_URL"], "is_chat_model": True}
        form = {"extra_body": {"grammar": FORM}}  # for llama.cpp's server
        limits = {"temperature": 0, "max_tokens": 60, "additional_kwargs": form}
        self.model = OpenAILike(model="SmolLM2", **place, **limits)
        self.blocks = defaultdict(dict)

    async def add(self, text, *, role, at, session, user):
        block = FactExtractionMemoryBlock(llm=self.model)
        block = self.blocks[user].setdefault(at.date(), block)
        await block.aput([ChatMessage(role=role, content=text)])

    def search(self, query, *, k, user):
        asked, facts = vectors([query])[0], self.list(user=user)
        rows = zip(facts, vectors(facts), strict=True)
        near = [(sum(map(float.__mul__, asked, row)), fact) for fact, row in rows]
        return [fact for _, fact in sorted(near, key=lambda pair: -pair[0])[:k]]

    def list(self, *, user):
        return [fact for block in self.blocks[user].values() for fact in block.facts]
