import re

from adapter import StoreAgent


class WordStore:
    """Stands in for mem0's Memory: stores messages, and finds those that share most words."""

    def __init__(self):
        self.notes = []

    def add(self, messages, *, user_id):
        self.notes += [
            (user_id, message["content"])
            for message in messages
            if message["role"] == "user"
        ]

    def search(self, query, *, filters, top_k=3):
        def shared(text):
            return len(
                set(re.findall(r"\w+", text.lower()))
                & set(re.findall(r"\w+", query.lower()))
            )

        mine = [text for user, text in self.notes if user == filters["user_id"]]
        return {
            "results": [
                {"memory": text}
                for text in sorted(mine, key=shared, reverse=True)[:top_k]
            ]
        }


def chat(notes, message):
    """Stands in for a model that gets notes and a message."""
    return " ".join(notes) if message.endswith("?") else "Noted."


def make():
    return StoreAgent(WordStore(), chat)
