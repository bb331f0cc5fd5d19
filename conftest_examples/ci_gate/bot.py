class Bot:
    """Remembers every message."""

    notes_kept: int | None = None

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if not message.endswith("?"):
            self.notes.append(message)
            return "Noted."
        kept = self.notes if self.notes_kept is None else self.notes[-self.notes_kept :]
        return " ".join(kept)


class Cheaper(Bot):
    """A version that saves memory: it keeps only the last three messages."""

    notes_kept = 3
