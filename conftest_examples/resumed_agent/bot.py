import json


class Bot:
    """Keeps notes, and can be restored to an earlier state: after a fault, or in another process."""

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if not message.endswith("?"):
            self.notes.append(message)
            return "Noted."
        words = set(message.rstrip("?").lower().split())
        return max(
            self.notes,
            key=lambda note: len(words & set(note.rstrip(".").lower().split())),
        )

    def save(self):
        return json.dumps(self.notes).encode()

    def load(self, state):
        self.notes = json.loads(state)
