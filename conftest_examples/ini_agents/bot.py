class Long:
    """Repeats everything that it remembers."""

    limit: int | None = None

    def __init__(self):
        self.messages = []

    def reply(self, message):
        self.messages.append(message)
        if self.limit is not None:
            del self.messages[: -self.limit]
        return " ".join(self.messages) if message.endswith("?") else "Noted."


class Short(Long):
    limit = 2
