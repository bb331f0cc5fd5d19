class Bot:
    """Stores the messages as notes, and answers with the note that shares most words with the question."""

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
        """Continue with only a summary, and return it."""
        self.notes = self.notes[: self.kept]
        return "\n".join(self.notes)


class Careless(Bot):
    """Keeps only the newest note."""

    kept = 1
