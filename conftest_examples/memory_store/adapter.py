from uuid import uuid4


class StoreAgent:
    """A chat function with mem0's `search` and `add`; each conversation is a user of the store."""

    def __init__(self, store, chat):
        self.store, self.chat, self.user, self.found = store, chat, uuid4().hex, []

    def reply(self, message):
        hits = self.store.search(message, filters={"user_id": self.user})["results"]
        self.found = [hit["memory"] for hit in hits]
        answer = self.chat(self.found, message)
        self.accept(message, answer)
        return answer

    def accept(self, message, reply):
        said = [
            {"role": "user", "content": message},
            {"role": "assistant", "content": reply},
        ]
        self.store.add(said, user_id=self.user)

    def retrieved(self):
        return self.found


class LettaAgent:
    """An agent on a Letta server, which holds all of its memory."""

    def __init__(self, client, **settings):
        self.client, self.id = client, client.agents.create(**settings).id

    def reply(self, message):
        answer = self.client.agents.messages.create(
            self.id, messages=[{"role": "user", "content": message}]
        )
        said = [
            part.content
            for part in answer.messages
            if part.message_type == "assistant_message"
        ]
        return "\n".join(said)

    def close(self):
        self.client.agents.delete(self.id)
