from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)


class PydanticAiStore:
    """A Pydantic AI message history, its only memory: returns the newest k messages."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.messages = []

    def add(self, text, *, role, at, session, user):
        if role == "user":
            self.messages.append(
                ModelRequest(parts=[UserPromptPart(text, timestamp=at)])
            )
        else:
            self.messages.append(ModelResponse(parts=[TextPart(text)], timestamp=at))

    def search(self, query, *, k):
        newest = self.messages[-k:][::-1]
        return [
            (None, one.parts[0].content, None, getattr(one.parts[0], "timestamp", None))
            for one in newest
        ]

    def save(self):
        return ModelMessagesTypeAdapter.dump_json(self.messages)

    def load(self, state):
        self.messages = ModelMessagesTypeAdapter.validate_json(state)
