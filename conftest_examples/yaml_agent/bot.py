class Bot:
    """Sees only the last few messages; its key would be for a service."""

    def __init__(self, limit, *, key):
        self.limit, self.key, self.messages = limit, key, []

    def reply(self, message):
        self.messages = [*self.messages, message][-self.limit :]
        return " ".join(self.messages) if message.endswith("?") else "Noted."
