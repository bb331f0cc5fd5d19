class Bot:
    """Remembers all messages, and repeats them when asked."""

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if message.endswith("?"):
            return " ".join(self.notes)
        self.notes.append(message)
        return "Happy to help. Go on."


class Goldfish:
    """Remembers nothing."""

    def reply(self, message):
        return f"Happy to help with those {len(message.split())} words. Go on."
