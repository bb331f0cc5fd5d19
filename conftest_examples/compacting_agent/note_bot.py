class Bot:
    """Keeps what it is told in notes, and answers with the one that has most words of the question."""

    kept = 1_000

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if not message.endswith("?"):
            self.notes.insert(0, message)
            return "Noted."
        asked = {word for word in message.strip("?").split() if len(word) > 4}
        return max(self.notes, key=lambda note: sum(word in note for word in asked))

    def compact(self):
        """Go on with a summary alone, and return it."""
        self.notes = self.notes[: self.kept]
        return "\n".join(self.notes)


class Careless(Bot):
    """Keeps the newest note only."""

    kept = 1
