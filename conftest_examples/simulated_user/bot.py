class Bot:
    """Remembers all it is told, and repeats it when it is asked."""

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
