import re


class Bot:
    """Stores the messages; answers with the newest note that shares a long word with the question."""

    def __init__(self):
        self.notes = []

    def reply(self, message):
        if not message.endswith("?"):
            self.notes.insert(0, message)
            return "Noted."
        asked = set(re.findall(r"\w{6,}", message))
        return next(
            (note for note in self.notes if asked & set(re.findall(r"\w{6,}", note))),
            "Who knows?",
        )
